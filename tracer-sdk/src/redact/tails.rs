//! A quick no: most names end in letters that no secret-like name ends in.

/// How many letters there are, and how many groups of three.
const LETTERS: usize = 26;
const GROUPS: usize = LETTERS * LETTERS * LETTERS;

/// The last three letters of words and of their plurals.
#[derive(Debug, Clone)]
pub(super) struct Tails {
    /// One bit for each group of three letters.
    groups: [u64; GROUPS.div_ceil(64)],
    /// Words of one letter, which are whole names, and those of two.
    ones: u32,
    twos: [u32; LETTERS],
    /// A word ends in something else than ASCII letters: everything may be a match.
    anything: bool,
}

impl Tails {
    pub(super) const fn none() -> Self {
        Self {
            groups: [0; GROUPS.div_ceil(64)],
            ones: 0,
            twos: [0; LETTERS],
            anything: false,
        }
    }

    /// These tails and those of a word in lower case, which is given from its last letter to its first.
    pub(super) fn and(mut self, reversed: &[u8]) -> Self {
        self.add(reversed);
        let [last, ..] = reversed else {
            return self;
        };
        for ending in [&b"s"[..], b"se"] {
            if ending.len() == 1 || *last == b'h' {
                self.add(&[ending, reversed].concat());
            }
        }
        self
    }

    fn add(&mut self, reversed: &[u8]) {
        let letters: Option<Vec<usize>> = reversed.iter().take(3).map(|byte| letter(*byte)).collect();
        match letters.as_deref() {
            Some([last, before, first]) => self.set(*first, *before, *last),
            // It may end a longer word of any letter.
            Some([last, before]) => {
                self.twos[*last] |= 1 << before;
                (0..LETTERS).for_each(|first| self.set(first, *before, *last));
            }
            _ => self.anything = true,
        }
    }

    /// These tails and a word of one letter, which counts as a whole name only.
    pub(super) fn and_alone(mut self, byte: u8) -> Self {
        self.ones |= letter(byte).map_or(0, |letter| 1 << letter);
        self
    }

    fn set(&mut self, first: usize, before: usize, last: usize) {
        let group = group(first, before, last);
        if let Some(bits) = self.groups.get_mut(group / 64) {
            *bits |= 1 << (group % 64);
        }
    }

    /// Whether the last word of `name`, a number behind it left out, may be one of these.
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        let mut last_letters = [0; 3];
        let mut count = 0;
        for &byte in name.iter().rev() {
            if let Some(letter) = letter(byte) {
                last_letters[count] = letter;
                count += 1;
                if count == last_letters.len() {
                    break;
                }
            } else if !byte.is_ascii() || (count > 0 && byte.is_ascii_digit()) {
                // A letter of another script may be another form of one of these.
                return true;
            }
        }
        let [last, before, first] = last_letters;
        self.anything
            || match count {
                0 => false,
                1 => self.ones & (1 << last) != 0,
                2 => self.twos[last] & (1 << before) != 0,
                _ => {
                    let group = group(first, before, last);
                    self.groups
                        .get(group / 64)
                        .is_some_and(|bits| bits & (1 << (group % 64)) != 0)
                }
            }
    }
}

const fn group(first: usize, before: usize, last: usize) -> usize {
    (first * LETTERS + before) * LETTERS + last
}

/// The number of a letter in the alphabet, whatever its case.
const fn letter(byte: u8) -> Option<usize> {
    if byte.is_ascii_alphabetic() {
        Some((byte.to_ascii_lowercase() - b'a') as usize)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_ends_in_a_word_may_match_however_it_is_spelled() {
        let tails = [&b"yekipa"[..], b"drowssap", b"di", b"hsah"]
            .into_iter()
            .fold(Tails::none(), Tails::and)
            .and_alone(b'k');
        for name in [
            "api_key",
            "API-KEY",
            "api_key_2",
            "passwords",
            "passWOR-D",
            "id",
            "user_id",
            "ids",
            "hashes",
            "k",
            "ｋｅｙ",
            "key2x",
            "é",
        ] {
            assert!(tails.may_match(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "_",
            "12",
            "max",
            "v",
            "di",
            "swordfish",
            "task",
            "description",
        ] {
            assert!(!tails.may_match(name.as_bytes()), "{name}");
        }
    }
}
