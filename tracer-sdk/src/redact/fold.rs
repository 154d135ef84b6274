//! Names as they are compared: letters and digits in lower case, without separators, full-width forms as the plain ones.

/// Most bytes at the end of a name that are compared; no redact key is longer.
const MAX_LETTERS: usize = 64;

/// The end of a name, folded once and compared with many words.
pub(super) struct FoldedName {
    letters: [u8; MAX_LETTERS],
    length: usize,
    /// One bit for each letter that begins a word.
    starts: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FoldKind {
    Separator,
    Lower,
    Upper,
    Digit,
    /// A letter outside ASCII.
    Other,
}

impl FoldKind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            other if other.is_ascii() || other == '\u{200b}' => Self::Separator,
            _ => Self::Other,
        }
    }

    /// Says whether a word begins at a letter of this kind: after a separator, at a case change (`authToken`, `oauth2Token`), or at
    /// the last capital before lower case (`APIKey`).
    fn begins_word(self, before: Self, next: Self) -> bool {
        matches!(before, Self::Separator | Self::Other)
            || (self == Self::Upper && (before != Self::Upper || next == Self::Lower))
    }
}

impl FoldedName {
    pub(super) fn new(name: &[u8]) -> Self {
        let mut start = name.len().saturating_sub(MAX_LETTERS);
        let is_cut = start > 0;
        while name.get(start).is_some_and(|byte| matches!(byte, 0x80..=0xbf)) {
            start += 1;
        }
        // A name is part of a string, and ends where a character does.
        let end = name.get(start..).and_then(|end| std::str::from_utf8(end).ok());
        let mut characters = end.unwrap_or_default().chars().map(plain).peekable();
        let mut folded = Self {
            letters: [0; MAX_LETTERS],
            length: 0,
            starts: 0,
        };
        // The beginning of a long name is not compared: its first letter begins no word.
        let mut before = if is_cut {
            FoldKind::Lower
        } else {
            FoldKind::Separator
        };
        while let Some(character) = characters.next() {
            let kind = FoldKind::of(character);
            let next = characters
                .peek()
                .copied()
                .map_or(FoldKind::Separator, FoldKind::of);
            if kind != FoldKind::Separator {
                let begins = kind.begins_word(before, next);
                folded.push(character.to_lowercase().next().unwrap_or(character), begins);
            }
            before = kind;
        }
        folded
    }

    fn push(&mut self, letter: char, begins_word: bool) {
        let mut buffer = [0; 4];
        let bytes = letter.encode_utf8(&mut buffer).as_bytes();
        let end = self.length + bytes.len();
        if let Some(place) = self.letters.get_mut(self.length..end) {
            place.copy_from_slice(bytes);
            self.starts |= u64::from(begins_word) << self.length;
            self.length = end;
        }
    }

    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// The letters before `end`.
    pub(super) fn before(&self, end: usize) -> &[u8] {
        self.letters.get(..end.min(self.length)).unwrap_or_default()
    }

    /// `end` without the digits before it: `api_key_2` is an `api_key`.
    pub(super) fn without_number(&self, end: usize) -> usize {
        let digits = self.before(end).iter().rev();
        end - digits.take_while(|byte| byte.is_ascii_digit()).count()
    }

    pub(super) const fn begins_word(&self, position: usize) -> bool {
        position < MAX_LETTERS && self.starts & (1 << position) != 0
    }

    /// The letters before `end` of the word that continues there.
    pub(super) fn beginning_of_word(&self, end: usize) -> &[u8] {
        let start = (0..end).rev().find(|start| self.begins_word(*start)).unwrap_or(0);
        self.letters.get(start..end).unwrap_or_default()
    }

    /// Finds where `word` begins when the words before `end` spell it.
    pub(super) fn spelled(&self, end: usize, word: &str) -> Option<usize> {
        let start = self.before(end).strip_suffix(word.as_bytes())?.len();
        self.begins_word(start).then_some(start)
    }

    /// As [`spelled`](Self::spelled), its plural, too.
    pub(super) fn spelled_or_plural(&self, end: usize, word: &str) -> Option<usize> {
        self.spelled(end, word)
            .or_else(|| self.spelled(self.without_plural(end, word.ends_with('h'))?, word))
    }

    /// `end` without the `s` there, or the `es`.
    pub(super) fn without_plural(&self, end: usize, is_es: bool) -> Option<usize> {
        let plural = if is_es { "es" } else { "s" };
        self.before(end).strip_suffix(plural.as_bytes()).map(<[u8]>::len)
    }
}

/// The plain form of a full-width letter, digit or sign.
fn plain(character: char) -> char {
    match u32::from(character) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xff01 + u32::from('!')).unwrap_or(character),
        0x3000 => ' ',
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spells(name: &str, word: &str) -> bool {
        let name = FoldedName::new(name.as_bytes());
        name.spelled(name.length(), word).is_some()
    }

    #[test]
    fn full_width_letters_are_compared_as_plain_ones() {
        for name in [
            "ｐａｓｓｗｏｒｄ",
            "ＰＡＳＳＷＯＲＤ",
            "ｄｂ＿ｐａｓｓｗｏｒｄ",
            "db－password",
            "値password",
        ] {
            assert!(spells(name, "password"), "{name}");
        }
        for name in ["рassword", "passwörd", "xpassword", "ｘｐａｓｓｗｏｒｄ"] {
            assert!(!spells(name, "password"), "{name}");
        }
    }

    #[test]
    fn only_the_end_of_an_endless_name_is_compared() {
        assert!(spells(&("x".repeat(100_000) + "_token"), "token"));
        assert!(!spells(&"token".repeat(1000), "token"));
        assert!(spells(&("é値".repeat(1000) + "token"), "token"));
    }
}
