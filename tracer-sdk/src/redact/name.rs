//! Names around an anchor: where one begins and ends, with quotes or without.

use std::ops::Range;

use memchr::memmem;

use super::rules::is_url_safe;
use super::text::{BACK, Text, count};
use tracer_format::names::markers::REDACTED;

/// A name that may be that of a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignedName {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its beginning with its quote, and the position behind the quote that closes it.
    pub(super) outer: (usize, usize),
    pub(super) is_quoted: bool,
}

/// The signs of names.
pub(super) fn is_name(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.' || !byte.is_ascii()
}

impl AssignedName {
    /// The name that the anchor is part of, when something follows it that a value may follow. Within the last secret, which ends
    /// at `secret_end`, no name begins.
    pub(super) fn around(text: Text<'_>, anchor: &Range<usize>, secret_end: usize) -> Option<Self> {
        let floor = if secret_end <= anchor.start { secret_end } else { 0 };
        let mut end = anchor.end;
        while end - anchor.end < BACK
            && is_name(text.at(end))
            && !is_wide_separator(text, end)
            && !text.is_marker(end)
        {
            end += 1;
        }
        count(end - anchor.end);
        while end > anchor.end && matches!(text.before(end), b'.' | b'-') {
            end -= 1;
        }
        let closing = text.behind_quote(end);
        let behind = closing.map_or(end, |(behind, _)| behind);
        let may_follow = |byte: u8| !byte.is_ascii_alphanumeric() && byte != 0;
        if end - anchor.end >= BACK || !may_follow(text.at(behind)) {
            return None;
        }
        let back = |end: usize, has_blanks: bool| {
            let mut start = text.run_back(end, BACK, |byte| is_name(byte) || (has_blanks && byte == b' '));
            if let Some(wide) = (start..end).rev().find(|at| is_wide_separator(text, *at)) {
                start = wide + 3;
            }
            let marker = memmem::rfind(text.slice(start, end), REDACTED.as_bytes());
            start
                .max(floor)
                .max(marker.map_or(0, |at| start + at + REDACTED.len()))
        };
        let mut start = back(anchor.start, false);
        // A longer run is no name, unless that is a sentence in a script without blanks.
        if anchor.start - start >= BACK {
            if text.slice(start, anchor.start).is_ascii() {
                return None;
            }
            start = text.run_back(anchor.start, BACK, |byte| is_name(byte) && byte.is_ascii());
        }
        start += usize::from(start < anchor.start && text.is_escape(start));
        let quote = closing.map_or(0, |(_, quote)| quote);
        if quote != 0 && text.before(start) != quote {
            let with_blanks = back(start, true);
            if text.before(with_blanks) == quote {
                start = with_blanks;
            }
        }
        let is_quoted = quote != 0 && text.before(start) == quote;
        let outer = if is_quoted {
            (text.before_quote(start), behind)
        } else {
            (start, end)
        };
        Some(Self {
            start,
            end,
            outer,
            is_quoted,
        })
    }
}

pub(super) fn is_wide_separator(text: Text<'_>, at: usize) -> bool {
    text.has(at, "：") || text.has(at, "＝")
}
