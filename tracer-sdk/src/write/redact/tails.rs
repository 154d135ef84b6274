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

    /// These tails and those of a word in lower case, which is given from its last letter to its first.
    pub(super) const fn and(self, reversed: &[u8]) -> Self {
        let [last, before, ..] = reversed else {
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

    /// Whether the last word of `name`, a number behind it left out, may be one of these.
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        let mut rest = name;
        while let [head @ .., last] = rest {
            match letter(*last) {
                Some(last) => {
                    let before = self.before.get(last).copied().unwrap_or_default();
                    return self.anything
                        || match head.last() {
                            None => before != 0,
                            Some(byte) => letter(*byte).map_or(before != 0, |byte| before & (1 << byte) != 0),
                        };
                }
                // A letter of another script may be another form of one of these.
                None if !last.is_ascii() => return true,
                None => rest = head,
            }
        }
        false
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
