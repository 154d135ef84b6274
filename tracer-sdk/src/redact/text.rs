//! [`Text`]: a string's bytes; a rule reads some around its anchor.
//!
//! [`Text::run`] and [`Text::run_back`] take the most bytes that are read. Only [`Text::end_of`] has no bound: it finds
//! the end of an accepted secret, and the scan continues behind that.

use super::value::MAX_JUDGED;
use tracer_format::names::markers::{REDACTED, TRUNCATED};

/// Most bytes that a rule examines ahead of an anchor, and back.
pub(super) const AHEAD: usize = 512;
pub(super) const BACK: usize = 64;

/// The most backslashes before a quote in JSON within JSON.
const MAX_BACKSLASHES: usize = 16;

/// The most blanks between a name and a value, line breaks included.
const MAX_BLANKS: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

/// Blanks and line breaks; a line break may be spelled `\n`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) end: usize,
    pub(super) has_lines: bool,
}

/// A value in quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted {
    pub(super) start: usize,
    quote: u8,
    backslashes: usize,
    is_triple: bool,
}

impl<'a> Text<'a> {
    /// The byte at `position`; 0 past the end.
    pub(super) fn at(self, position: usize) -> u8 {
        self.0.get(position).copied().unwrap_or_default()
    }

    /// The byte before `position`; 0 at the beginning.
    pub(super) fn before(self, position: usize) -> u8 {
        position.checked_sub(1).map_or(0, |before| self.at(before))
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'a [u8] {
        self.0.get(start..end.min(self.0.len())).unwrap_or_default()
    }

    pub(super) fn has(self, position: usize, expected: &str) -> bool {
        self.slice(position, position + expected.len()) == expected.as_bytes()
    }

    pub(super) fn has_ignoring_case(self, position: usize, expected: &str) -> bool {
        self.slice(position, position + expected.len())
            .eq_ignore_ascii_case(expected.as_bytes())
    }

    pub(super) fn ends_with_ignoring_case(self, end: usize, expected: &str) -> bool {
        end.checked_sub(expected.len())
            .is_some_and(|start| self.has_ignoring_case(start, expected))
    }

    /// The part `start..end`, or the beginning of it that a value is judged by.
    pub(super) fn judged(self, start: usize, end: usize) -> &'a [u8] {
        let judged = self.slice(start, end.min(start + MAX_JUDGED));
        count(judged.len());
        judged
    }

    /// Finds where the run of bytes that `belongs` accepts, from `start` on, ends: at the latest after `most` bytes, or before a marker.
    pub(super) fn run(self, start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.slice(start, start.saturating_add(most));
        let ends = |(offset, byte): (usize, &u8)| {
            !belongs(*byte) || (*byte == b'_' && self.is_marker(start + offset))
        };
        let length = rest
            .iter()
            .enumerate()
            .position(|(offset, byte)| ends((offset, byte)))
            .unwrap_or(rest.len());
        count(length + 1);
        start + length
    }

    /// Finds where the run that `belongs` accepts ends, however long it is.
    pub(super) fn end_of(self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        self.run(start, usize::MAX, belongs)
    }

    /// Finds where the run that ends at `end` begins: of at most `most` bytes.
    pub(super) fn run_back(self, end: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let part = self.slice(end.saturating_sub(most), end);
        let length = part.iter().rev().take_while(|byte| belongs(**byte)).count();
        count(length + 1);
        end - length
    }

    pub(super) fn is_marker(self, position: usize) -> bool {
        self.has(position, REDACTED) || self.has(position, TRUNCATED)
    }

    /// Says whether a word may begin at `position`: not after a letter, digit, `_` or `-`, unless that is an escape like `\n`.
    pub(super) fn is_word_start(self, position: usize) -> bool {
        let before = self.before(position);
        !(before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-'))
            || self.is_escape(position.saturating_sub(1))
            || self.is_behind_marker(position)
    }

    /// Says whether the letter at `position` is that of an escaped line break or tab.
    pub(super) fn is_escape(self, position: usize) -> bool {
        matches!(self.at(position), b'n' | b'r' | b't') && self.before(position) == b'\\'
    }

    fn is_behind_marker(self, position: usize) -> bool {
        position
            .checked_sub(REDACTED.len())
            .is_some_and(|start| self.has(start, REDACTED))
    }

    /// The gap from `start` on.
    pub(super) fn gap(self, start: usize) -> Gap {
        let (mut end, mut has_lines) = (start, false);
        while end - start < MAX_BLANKS {
            match (self.at(end), self.at(end + 1)) {
                (b' ' | b'\t', _) => end += 1,
                (b'\n' | b'\r', _) => {
                    has_lines = true;
                    end += 1;
                }
                (b'\\', b'n' | b'r' | b't') => {
                    has_lines = true;
                    end += 2;
                }
                _ => break,
            }
        }
        count(end - start);
        Gap { end, has_lines }
    }

    /// The gap from `start` on within the line.
    pub(super) fn blanks(self, start: usize) -> usize {
        self.run(start, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// The quoted value at `start`, after the letters that some languages set before quotes.
    pub(super) fn quoted(self, start: usize) -> Option<Quoted> {
        let letters = self.run(start, 2, |byte| {
            matches!(
                byte,
                b'b' | b'B'
                    | b'r'
                    | b'R'
                    | b'f'
                    | b'F'
                    | b'u'
                    | b'U'
                    | b'N'
                    | b'E'
                    | b'L'
                    | b'@'
                    | b'$'
                    | b'c'
            )
        });
        let from = if self.is_quote_at(letters) { letters } else { start };
        let quote_at = self.run(from, MAX_BACKSLASHES, |byte| byte == b'\\');
        let quote = self.at(quote_at);
        if !is_quote(quote) {
            return None;
        }
        let backslashes = quote_at - from;
        let is_triple = backslashes == 0 && self.at(quote_at + 1) == quote && self.at(quote_at + 2) == quote;
        let start = if is_triple {
            // A backslash may escape the line break.
            let line = quote_at + 3;
            self.gap(line + usize::from(self.has(line, "\\\n"))).end
        } else {
            quote_at + 1
        };
        Some(Quoted {
            start,
            quote,
            backslashes,
            is_triple,
        })
    }

    fn is_quote_at(self, position: usize) -> bool {
        is_quote(self.at(self.run(position, MAX_BACKSLASHES, |byte| byte == b'\\')))
    }

    /// The position behind the backslashes and the quote at `position`, and that quote.
    pub(super) fn behind_quote(self, position: usize) -> Option<(usize, u8)> {
        let quote = self.run(position, MAX_BACKSLASHES, |byte| byte == b'\\');
        is_quote(self.at(quote)).then(|| (quote + 1, self.at(quote)))
    }

    /// The position before the quote that ends at `position` and its backslashes.
    pub(super) fn before_quote(self, position: usize) -> usize {
        self.run_back(position.saturating_sub(1), MAX_BACKSLASHES, |byte| byte == b'\\')
    }
}

pub(super) const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

impl Quoted {
    /// Finds where its text ends: before the quote that closes it, before a marker, at the end of the line, or after `most` bytes.
    pub(super) fn end(self, text: Text<'_>, most: usize) -> usize {
        let limit = self.start.saturating_add(most);
        let mut position = self.start;
        loop {
            let is_text = |byte| byte != self.quote && byte != b'\\' && (byte != b'\n' || self.is_triple);
            position = text.run(position, limit.saturating_sub(position), is_text);
            if self.is_triple && text.at(position) == self.quote && text.at(position + 1) != self.quote {
                position += 1;
                continue;
            }
            if text.at(position) != b'\\' || position >= limit {
                break;
            }
            let run = text.run(position, limit - position, |byte| byte == b'\\');
            if text.at(run) == self.quote && run - position <= self.backslashes {
                break;
            }
            // Backslashes escape each other in pairs, and one that is left over the next character.
            let is_escape = self.backslashes > 0 || !(run - position).is_multiple_of(2);
            position = if is_escape && !text.is_marker(run) {
                text.end_of(run + 1, |byte| matches!(byte, 0x80..=0xbf))
                    .min(text.0.len())
            } else {
                run
            };
        }
        if self.is_triple {
            text.run_back(position, position - self.start, |byte| byte.is_ascii_whitespace())
        } else {
            position
        }
    }

    /// The part that it is judged by.
    pub(super) fn judged<'a>(&self, text: Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.end(text, MAX_JUDGED))
    }

    /// The position behind the quote that closes it, when that is within `most` bytes.
    pub(super) fn behind(self, text: Text<'_>, most: usize) -> Option<usize> {
        let mut end = self.end(text, most);
        while text.has(end, REDACTED) {
            let rest = Self {
                start: end + REDACTED.len(),
                ..self
            };
            end = rest.end(text, most);
        }
        text.behind_quote(end)
            .filter(|(_, quote)| *quote == self.quote)
            .map(|(behind, _)| behind)
    }
}

/// Counts bytes that a rule reads, for tests.
#[cfg(test)]
pub(super) fn count(bytes: usize) {
    looked::add(bytes);
}

#[cfg(not(test))]
pub(super) const fn count(_: usize) {}

#[cfg(test)]
pub(super) mod looked {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Counts the bytes that `run` examines on this thread.
    pub(crate) fn during(run: impl FnOnce()) -> usize {
        let before = BYTES.get();
        run();
        BYTES.get() - before
    }
}
