//! A string as recognisers see it: bytes, runs of bytes, and the end of what is looked at.

use crate::format::names::markers::{REDACTED, TRUNCATED};

/// The bytes of a string, or of its beginning when it is too long to be looked at whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// The string goes on past these bytes.
    goes_on: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8], goes_on: bool) -> Self {
        Self { bytes, goes_on }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The byte at `position`; 0 past the end.
    pub(super) fn at(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or_default()
    }

    /// The byte before `position`; 0 at the beginning.
    pub(super) fn before(&self, position: usize) -> u8 {
        position.checked_sub(1).map_or(0, |before| self.at(before))
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn has(&self, position: usize, expected: &[u8]) -> bool {
        self.bytes
            .get(position..)
            .is_some_and(|rest| rest.starts_with(expected))
    }

    pub(super) fn has_ignoring_case(&self, position: usize, expected: &[u8]) -> bool {
        self.slice(position, position + expected.len())
            .eq_ignore_ascii_case(expected)
    }

    /// Whether `position` is the end of what is looked at, and the string goes on.
    pub(super) fn is_open_end(&self, position: usize) -> bool {
        self.goes_on && position >= self.bytes.len()
    }

    /// Where the run of bytes that `belongs` accepts, beginning at `start`, ends. A marker ends it too.
    pub(super) fn run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
        self.before_marker(start, start + length)
    }

    /// `end`, or the beginning of the first marker in `start..end`.
    pub(super) fn before_marker(&self, start: usize, end: usize) -> usize {
        let part = self.bytes.get(start..).unwrap_or_default();
        let mut offset = 0;
        while start + offset < end {
            let Some(found) = memchr::memchr(b'_', part.get(offset..end - start).unwrap_or_default()) else {
                break;
            };
            offset += found;
            let rest = part.get(offset..).unwrap_or_default();
            if rest.starts_with(REDACTED.as_bytes()) || rest.starts_with(TRUNCATED.as_bytes()) {
                return start + offset;
            }
            offset += 1;
        }
        end
    }

    /// Whether a word may begin at `position`: not after a letter, digit, `_` or `-`, unless that is an escape like `\n`.
    pub(super) fn is_token_start(&self, position: usize) -> bool {
        let before = self.before(position);
        let is_word = before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-');
        !is_word
            || (matches!(before, b'n' | b't' | b'r')
                && position
                    .checked_sub(2)
                    .is_some_and(|slash| self.at(slash) == b'\\'))
            || self.slice(position.saturating_sub(REDACTED.len()), position) == REDACTED.as_bytes()
    }
}

/// Letters and digits.
pub(super) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// What base64 for URLs is made of.
pub(super) fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
