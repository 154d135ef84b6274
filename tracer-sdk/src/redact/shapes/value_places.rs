//! Where a value begins and ends: the gap before it, and the quotes around it.

use crate::format::names::markers::REDACTED;
use crate::redact::text::Text;
use crate::redact::values::MAX_JUDGED;

/// The most blanks between a name, its separator and the value, on one line.
pub(super) const MAX_BLANKS: usize = 24;

/// The most blanks and line breaks between them.
pub(super) const MAX_BLANK_LINES: usize = 128;

/// What the colour of a terminal begins with, which is no part of a value.
pub(super) const COLOUR: u8 = 0x1b;

/// Blanks and line breaks; a line break may be spelled `\n`.
pub(super) struct Gap {
    pub(super) end: usize,
    pub(super) has_lines: bool,
}

impl Gap {
    /// The gap from `start` on; nothing when it is too wide.
    #[inline]
    pub(super) fn from(text: &Text<'_>, start: usize) -> Option<Self> {
        // Mostly there is none.
        let is_gap = match text.at(start) {
            b' ' | b'\t' | b'\n' | b'\r' => true,
            b'\\' => matches!(text.at(start + 1), b'n' | b'r' | b't'),
            _ => false,
        };
        if is_gap {
            Self::wide(text, start)
        } else {
            Some(Self {
                end: start,
                has_lines: false,
            })
        }
    }

    fn wide(text: &Text<'_>, start: usize) -> Option<Self> {
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let mut end = text.run_within(start, MAX_BLANKS + 1, is_blank);
        let mut has_lines = false;
        loop {
            let is_escaped = text.at(end) == b'\\' && matches!(text.at(end + 1), b'n' | b'r' | b't');
            if !is_escaped && !matches!(text.at(end), b'\n' | b'\r') {
                break;
            }
            has_lines = true;
            end = text.run_within(end + 1 + usize::from(is_escaped), MAX_BLANK_LINES, is_blank);
            if end - start > MAX_BLANK_LINES {
                return None;
            }
        }
        let most = if has_lines { MAX_BLANK_LINES } else { MAX_BLANKS };
        (end - start <= most).then_some(Self { end, has_lines })
    }
}

/// A value in quotes.
pub(super) struct Quoted {
    pub(super) start: usize,
    /// As far as it was looked at.
    pub(super) seen: usize,
    pub(super) quote: u8,
    pub(super) backslashes: usize,
}

/// More backslashes before a quote are no text within texts.
const MAX_BACKSLASHES: usize = 64;

impl Quoted {
    /// The quoted value at `start`, after the letters that some languages set before quotes.
    pub(super) fn at(text: &Text<'_>, start: usize) -> Option<Self> {
        Self::within(text, start, MAX_JUDGED)
    }

    /// As [`at`](Self::at), of which about `most` bytes are looked at.
    pub(super) fn within(text: &Text<'_>, start: usize, most: usize) -> Option<Self> {
        // Mostly it begins at once, or with something else.
        let (start, quote_at) = match text.at(start) {
            b'"' | b'\'' | b'`' => (start, start),
            b'\\' | b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'F' | b'U' | b'N' | b'@' | b'E' | b'L'
            | b'c' | b'$' => {
                let letters = text.run_within(start, 3, |byte| {
                    matches!(
                        byte,
                        b'b' | b'r'
                            | b'f'
                            | b'u'
                            | b'B'
                            | b'R'
                            | b'F'
                            | b'U'
                            | b'N'
                            | b'@'
                            | b'E'
                            | b'L'
                            | b'c'
                            | b'$'
                    )
                });
                let start = if letters - start <= 2 { letters } else { start };
                (
                    start,
                    text.run_within(start, MAX_BACKSLASHES, |byte| byte == b'\\'),
                )
            }
            _ => return None,
        };
        let quote = text.at(quote_at);
        let backslashes = quote_at - start;
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        Some(Self {
            start: quote_at + 1,
            seen: quoted_end(text, quote_at + 1, quote, backslashes, most),
            quote,
            backslashes,
        })
    }

    /// Where it ends, however long it is.
    pub(super) fn end(&self, text: &Text<'_>) -> usize {
        quoted_end(text, self.start, self.quote, self.backslashes, usize::MAX)
    }

    /// The part that it is judged by.
    pub(super) fn judged<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.seen)
    }

    /// The position behind the quote that closes it, when that was seen.
    pub(super) fn behind(&self, text: &Text<'_>) -> Option<usize> {
        self.behind_end(text, self.seen)
    }

    fn behind_end(&self, text: &Text<'_>, end: usize) -> Option<usize> {
        let quote = text.run_within(end, MAX_BACKSLASHES, |byte| byte == b'\\');
        (text.at(quote) == self.quote).then_some(quote + 1)
    }

    /// As [`behind`](Self::behind), past markers that are in it; of one that `is_long` however far that is.
    pub(super) fn behind_markers(&self, text: &Text<'_>, is_long: bool) -> Option<usize> {
        let mut end = if is_long { self.end(text) } else { self.seen };
        while text.has(end, REDACTED.as_bytes()) {
            let most = if is_long { usize::MAX } else { MAX_JUDGED };
            end = quoted_end(text, end + REDACTED.len(), self.quote, self.backslashes, most);
        }
        self.behind_end(text, end)
    }
}

/// Where the text in quotes that begins at `start` ends; at the end of its line when no quote closes it. At most about
/// `most` bytes of it are looked at.
pub(super) fn quoted_end(text: &Text<'_>, start: usize, quote: u8, backslashes: usize, most: usize) -> usize {
    let limit = start.saturating_add(most);
    let mut position = start;
    loop {
        position = text.run_within(position, limit.saturating_sub(position), |byte| {
            byte != quote && byte != b'\\' && byte != b'\n'
        });
        if text.at(position) != b'\\' || position >= limit {
            return position;
        }
        let from = position;
        let run = text.run_within(position, limit - position, |byte| byte == b'\\');
        if text.at(run) == quote && run - position <= backslashes {
            return position;
        }
        // Backslashes escape each other in pairs, and one that is left over what follows.
        position = if backslashes == 0 && (run - position).is_multiple_of(2) {
            run
        } else {
            next_character(text, run).min(text.len())
        };
        // The escaped character may be the first of a marker.
        let marker = text.before_marker(from, position);
        if marker != position {
            return marker;
        }
    }
}

/// The position after the character at `position`.
fn next_character(text: &Text<'_>, position: usize) -> usize {
    text.run(position + 1, |byte| matches!(byte, 0x80..=0xbf))
}
