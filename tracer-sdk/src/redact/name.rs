//! Names around an anchor: where one begins and ends, with quotes or without.

use std::ops::Range;

use super::rules::is_url_safe;
use super::text::{BACK, Text, count};

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
        let is_in_name = |at: usize| is_name(text.at(at)) && !is_wide_separator(text, at);
        let mut end = (anchor.end..anchor.end + BACK).find(|at| !is_in_name(*at) || text.is_marker(*at))?;
        count(end - anchor.end);
        while end > anchor.end && matches!(text.before(end), b'.' | b'-') {
            end -= 1;
        }
        let closing = text.behind_quote(end);
        let behind = closing.map_or(end, |(behind, _)| behind);
        if text.at(behind).is_ascii_alphanumeric() || text.at(behind) == 0 {
            return None;
        }
        let floor = if secret_end <= anchor.start { secret_end } else { 0 };
        let back = |has_blanks: bool| {
            let belongs = |at: &usize| {
                let is_sign = is_in_name(*at) || (has_blanks && text.at(*at) == b' ');
                // The last byte of a wide separator.
                let is_wide = at
                    .checked_sub(2)
                    .is_some_and(|wide| is_wide_separator(text, wide));
                is_sign && !is_wide && !text.is_behind_marker(at + 1)
            };
            let from = anchor.start.saturating_sub(BACK).max(floor);
            let start = (from..anchor.start).rev().take_while(belongs).last();
            count(anchor.start - start.unwrap_or(anchor.start) + 1);
            start.unwrap_or(anchor.start)
        };
        let mut start = back(false);
        start += usize::from(start < anchor.start && text.is_escape(start));
        let is_open = |start: usize| closing.is_some_and(|(_, quote)| text.before(start) == quote);
        if closing.is_some() && !is_open(start) {
            start = Some(back(true)).filter(|start| is_open(*start)).unwrap_or(start);
        }
        let is_quoted = is_open(start);
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

fn is_wide_separator(text: Text<'_>, at: usize) -> bool {
    text.has(at, "：") || text.has(at, "＝")
}
