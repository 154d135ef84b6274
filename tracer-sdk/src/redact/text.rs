//! [`Text`]: a string's bytes; a rule reads some around its anchor.
//!
//! [`Text::run`] and [`Text::run_back`] take the most bytes that are read. Only [`Text::end_of`] has no bound: it finds
//! the end of an accepted secret, and the scan continues behind that.

use super::place::SecretPlace;
use super::rules::Alphabet;
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
pub(super) struct Blanks {
    pub(super) end: usize,
    pub(super) has_lines: bool,
}

/// A value in a text, with quotes or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) start: usize,
    extent: Extent,
}

/// Extent of a value.
#[derive(Debug, Clone, Copy)]
enum Extent {
    /// Up to this quote, behind as many backslashes as the one that opens it has, at most.
    Quoted {
        quote: u8,
        backslashes: usize,
        /// It is in three quotes, and may have several lines.
        is_triple: bool,
    },
    /// As long as its signs are of this alphabet.
    Bare(Alphabet),
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

    pub(super) fn is_behind_marker(self, position: usize) -> bool {
        position
            .checked_sub(REDACTED.len())
            .is_some_and(|start| self.has(start, REDACTED))
    }

    /// The blanks and line breaks from `start` on.
    pub(super) fn gap(self, start: usize) -> Blanks {
        let (mut end, mut has_lines) = (start, false);
        while end - start < MAX_BLANKS {
            match self.at(end) {
                b' ' | b'\t' => end += 1,
                b'\n' | b'\r' => {
                    has_lines = true;
                    end += 1;
                }
                b'\\' => {
                    let letter = self.run(end, MAX_BACKSLASHES, |byte| byte == b'\\');
                    if !self.is_escape(letter) {
                        break;
                    }
                    has_lines = true;
                    end = letter + 1;
                }
                _ => break,
            }
        }
        count(end - start);
        Blanks { end, has_lines }
    }

    /// The end of the blanks from `start` on within the line.
    pub(super) fn blanks(self, start: usize) -> usize {
        self.run(start, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// The end of the line that `start` is in, or of its first [`AHEAD`] bytes; a line break may be spelled `\n`.
    pub(super) fn line_end(self, start: usize) -> usize {
        let limit = (start + AHEAD).min(self.0.len());
        let mut end = start;
        loop {
            end = self.run(end, limit.saturating_sub(end), |byte| {
                !matches!(byte, b'\n' | b'\r' | b'\\')
            });
            match self.at(end) {
                b'\\' if end < limit => {
                    end = self.run(end, limit - end, |byte| byte == b'\\');
                    if self.is_escape(end) {
                        return end - 1;
                    }
                }
                // A marker.
                b'_' if end < limit => end += 1,
                _ => return end,
            }
        }
    }

    /// The value in quotes at `start`, after letters or signs that some languages set before quotes.
    pub(super) fn quoted(self, start: usize) -> Option<Value> {
        let prefix_end = self.run(start, MAX_PREFIX_BYTES, is_prefix_of_quotes);
        let (from, (behind, quote)) = [prefix_end, start]
            .into_iter()
            .find_map(|from| Some((from, self.behind_quote(from)?)))?;
        let backslashes = behind - 1 - from;
        let is_triple = backslashes == 0 && self.at(behind) == quote && self.at(behind + 1) == quote;
        // Behind three quotes the text may begin in the next line.
        let start = if is_triple {
            let line = behind + 2;
            self.gap(line + usize::from(self.has(line, "\\\n"))).end
        } else {
            behind
        };
        Some(Value {
            start,
            extent: Extent::Quoted {
                quote,
                backslashes,
                is_triple,
            },
        })
    }

    /// The value at `start`: in quotes, or as long as its signs are of this alphabet.
    pub(super) fn value(self, start: usize, alphabet: Alphabet) -> Value {
        self.quoted(start).unwrap_or(Value {
            start,
            extent: Extent::Bare(alphabet),
        })
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

/// The most letters and signs before quotes.
pub(super) const MAX_PREFIX_BYTES: usize = 2;

/// Letters and signs before quotes: `b"…"`, `N'…'`, `$@"…"`.
pub(super) const fn is_prefix_of_quotes(byte: u8) -> bool {
    matches!(
        byte.to_ascii_lowercase(),
        b'b' | b'c' | b'e' | b'f' | b'l' | b'n' | b'r' | b'u' | b'@' | b'$'
    )
}

pub(super) const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

impl Value {
    pub(super) fn is_quoted(&self) -> bool {
        matches!(self.extent, Extent::Quoted { .. })
    }

    /// Finds where it ends: where its alphabet does, before the quotes that close it, before a marker, at the end of the line, or after `most` bytes.
    fn end(self, text: Text<'_>, most: usize) -> usize {
        let (quote, backslashes, is_triple) = match self.extent {
            Extent::Bare(alphabet) => return text.run(self.start, most, alphabet),
            Extent::Quoted {
                quote,
                backslashes,
                is_triple,
            } => (quote, backslashes, is_triple),
        };
        let limit = self.start.saturating_add(most);
        let mut position = self.start;
        loop {
            position = text.run(position, limit.saturating_sub(position), |byte| {
                byte != quote && byte != b'\\' && (byte != b'\n' || is_triple)
            });
            let is_one_of_three = || {
                let quotes = text.slice(position, position + 3);
                is_triple && quotes.first() == Some(&quote) && quotes != [quote; 3]
            };
            if position < limit && is_one_of_three() {
                position += 1;
                continue;
            }
            if text.at(position) != b'\\' || position >= limit {
                break;
            }
            let run = text.run(position, limit - position, |byte| byte == b'\\');
            if text.at(run) == quote && run - position <= backslashes {
                break;
            }
            // Backslashes escape each other in pairs, and one that is left over the next character.
            let is_escape = backslashes > 0 || !(run - position).is_multiple_of(2);
            position = if is_escape && !text.is_marker(run) {
                text.end_of(run + 1, |byte| matches!(byte, 0x80..=0xbf))
                    .min(text.0.len())
            } else {
                run
            };
        }
        if is_triple {
            // The quotes may be in a line of their own.
            position = text.run_back(position, position - self.start, |byte| byte.is_ascii_whitespace());
        }
        position
    }

    /// The part that it is judged by.
    pub(super) fn judged<'a>(&self, text: Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.end(text, MAX_JUDGED))
    }

    /// The place of all of it.
    pub(super) fn place(self, text: Text<'_>) -> SecretPlace {
        SecretPlace::new(self.start, self.end(text, usize::MAX))
    }

    /// The position behind it and the quote that closes it, when that is within `most` bytes.
    pub(super) fn behind(self, text: Text<'_>, most: usize) -> Option<usize> {
        let mut end = self.end(text, most);
        let Extent::Quoted { quote, .. } = self.extent else {
            return Some(end);
        };
        while text.has(end, REDACTED) {
            let rest = Self {
                start: end + REDACTED.len(),
                ..self
            };
            end = rest.end(text, most);
        }
        text.behind_quote(end)
            .filter(|(_, closing)| *closing == quote)
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
