//! A quick no: most names end in letters that no secret-like name ends in. Without it 2 kB of a log take 1.7 times the
//! instructions.

/// How many letters there are, and the bits that number one of them.
const LETTERS: u16 = 26;
const LETTER_BITS: u32 = 5;

/// How many words of 64 bits hold a bit for each group of three letters.
const WORDS: usize = 1 << (3 * LETTER_BITS - 6);

/// The last three letters of words and of their plurals.
#[derive(Debug, Clone)]
pub(super) struct Tails {
    /// One bit for each group of three letters.
    groups: Box<[u64; WORDS]>,
    /// Words of one letter, which are whole names, and those of two.
    ones: u32,
    twos: [u32; LETTERS as usize],
}

impl Tails {
    pub(super) fn none() -> Self {
        Self {
            groups: Box::new([0; WORDS]),
            ones: 0,
            twos: [0; LETTERS as usize],
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
        let letters: Option<Vec<u16>> = reversed.iter().take(3).map(|byte| letter(*byte)).collect();
        match letters.as_deref() {
            Some([last, before, first]) => self.set(*first, *before, *last),
            // It may end a longer word of any letter.
            Some([last, before]) => {
                self.twos[usize::from(*last)] |= 1 << before;
                (0..LETTERS).for_each(|first| self.set(first, *before, *last));
            }
            // A word that ends in something else than ASCII letters: everything may be a match.
            _ => {
                self.groups.fill(u64::MAX);
                self.ones = u32::MAX;
                self.twos = [u32::MAX; LETTERS as usize];
            }
        }
    }

    /// These tails and a word of one letter, which counts as a whole name only.
    pub(super) fn and_alone(mut self, byte: u8) -> Self {
        self.ones |= letter(byte).map_or(0, |letter| 1 << letter);
        self
    }

    fn set(&mut self, first: u16, before: u16, last: u16) {
        let group = group(first, before, last);
        self.groups[usize::from(group / 64)] |= 1 << (group % 64);
    }

    /// Whether the last word of `name`, a number behind it left out, may be one of these.
    #[inline]
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        if let Some([first, before, last]) = name.last_chunk()
            && let (Some(first), Some(before), Some(last)) = (letter(*first), letter(*before), letter(*last))
        {
            return self.has(group(first, before, last));
        }
        if let Some([before, last]) = name.last_chunk()
            && last.is_ascii_alphanumeric()
            && !is_in_name(*before)
        {
            return letter(*last).map_or(self.ones == u32::MAX, |last| self.ones & (1 << last) != 0);
        }
        self.may_match_separated(name)
    }

    fn has(&self, group: u16) -> bool {
        self.groups[usize::from(group / 64)] & (1 << (group % 64)) != 0
    }

    /// As [`may_match`](Self::may_match), of a name that does not end in three letters.
    fn may_match_separated(&self, name: &[u8]) -> bool {
        let mut last_letters = [0; 3];
        let mut count = 0;
        let mut second = None;
        for &byte in name.iter().rev() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' => {
                    last_letters[count] = u16::from(byte.to_ascii_lowercase() - b'a');
                    count += 1;
                    if count == last_letters.len() {
                        break;
                    }
                }
                // The rest of a character outside ASCII, of which the first byte follows.
                0x80..=0xbf => second = Some(byte),
                // It may be another form of a letter.
                0xc0.. if second.take().is_none_or(|second| may_be_ascii([byte, second])) => return true,
                // No word has a digit within its last letters.
                b'0'..=b'9' if count > 0 => break,
                b'0'..=b'9' | b'_' | b'-' | b'.' | b' ' | b']' | b'?' => {}
                // Names end in no other sign; another letter is the last of none of these.
                _ => break,
            }
        }
        if second.is_some() {
            // The character began before the end that is looked at.
            return true;
        }
        let [last, before, first] = last_letters;
        match count {
            0 => self.ones == u32::MAX,
            1 => self.ones & (1 << last) != 0,
            2 => self.twos[usize::from(last)] & (1 << before) != 0,
            _ => self.has(group(first, before, last)),
        }
    }
}

/// Whether a name goes on before this byte.
const fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ' | 0x80..)
}

/// Whether a character that begins with these two bytes may be another form of an ASCII character, or one that is not
/// seen, as names are [folded](super::fold).
pub(super) const fn may_be_ascii(first_two: [u8; 2]) -> bool {
    matches!(
        first_two,
        [0xc2, 0xad]
            | [0xc5, 0xbf]
            | [0xe2, 0x80 | 0x81 | 0x84 | 0x92 | 0x93]
            | [0xe3, 0x80]
            | [0xef, 0xb8..=0xbd]
            | [0xf0, 0x9d | 0x9f]
    )
}

/// The number of a group, below 64 times [`WORDS`].
const fn group(first: u16, before: u16, last: u16) -> u16 {
    (first << (2 * LETTER_BITS)) | (before << LETTER_BITS) | last
}

/// The number of a letter in the alphabet, whatever its case.
#[inline]
const fn letter(byte: u8) -> Option<u16> {
    if byte.is_ascii_alphabetic() {
        Some((byte.to_ascii_lowercase() - b'a') as u16)
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
            "key2",
            "api_keyſ",
            "key\u{3000}",
            "key\u{200b}",
            "𝐤",
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
            "key2x",
            "é",
            "キー語",
            "Ⲁ",
            "k語",
            "a key\" 2",
            "task",
            "description",
        ] {
            assert!(!tails.may_match(name.as_bytes()), "{name}");
        }
    }
}
