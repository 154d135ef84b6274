//! A quick no: most names end in letters that no secret-like name ends in.

/// The last two letters of words and of their plurals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tails {
    /// For each last letter one bit for each letter before it.
    before: [u32; 26],
    /// A word ends in something else than two ASCII letters: everything may be a match.
    anything: bool,
}

impl Tails {
    pub(super) const fn none() -> Self {
        Self {
            before: [0; 26],
            anything: false,
        }
    }

    /// These tails and those of a word in lower case.
    pub(super) const fn and(self, word: &[u8]) -> Self {
        let [.., before, last] = word else {
            return Self {
                anything: true,
                ..self
            };
        };
        let with = self.and_pair(*before, *last).and_pair(*last, b's');
        if *last == b'h' {
            with.and_pair(b'e', b's')
        } else {
            with
        }
    }

    /// Whether the word that ends at the end of `name` may be one of these.
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        let [head @ .., last] = name else {
            return false;
        };
        let Some(last) = letter(*last) else {
            return self.anything;
        };
        let before = self.before.get(last).copied().unwrap_or_default();
        match head.last().map(|before| letter(*before)) {
            Some(Some(letter)) => self.anything || before & (1 << letter) != 0,
            _ => self.anything || before != 0,
        }
    }

    const fn and_pair(mut self, before: u8, last: u8) -> Self {
        match (letter(before), letter(last)) {
            // A letter's number is below 26, the length.
            (Some(before), Some(last)) => self.before[last] |= 1 << before,
            _ => self.anything = true,
        }
        self
    }
}

/// The number of a letter in the alphabet, whatever its case.
const fn letter(byte: u8) -> Option<usize> {
    if byte.is_ascii_alphabetic() {
        Some((byte.to_ascii_lowercase() - b'a') as usize)
    } else {
        None
    }
}
