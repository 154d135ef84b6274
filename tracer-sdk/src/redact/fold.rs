//! Names as they are compared: letters and digits in lower case, without separators, from the last to the first.
//!
//! Letters that only look different are the same: full-width forms, mathematical, circled and letter-like ones
//! (compatibility folding). A name is folded once, whatever it is compared with.

/// How many letters at the end of a name are compared; no redact key is longer.
const MAX_LETTERS: usize = 64;

/// A word as names are compared: from its last letter to its first.
pub(super) const fn backwards<const LENGTH: usize>(word: &[u8; LENGTH]) -> [u8; LENGTH] {
    let mut reversed = *word;
    let mut position = 0;
    while position < LENGTH {
        reversed[position] = word[LENGTH - 1 - position];
        position += 1;
    }
    reversed
}

/// Words, each [`backwards`].
macro_rules! words_backwards {
    ($($word:literal),* $(,)?) => {
        [$({
            const WORD: [u8; $word.len()] = $crate::redact::fold::backwards($word);
            WORD.as_slice()
        }),*]
    };
}
pub(super) use words_backwards;

/// The end of a name, reversed.
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
    #[inline]
    const fn of(byte: u8) -> Self {
        const KINDS: [FoldKind; 256] = {
            let mut kinds = [FoldKind::Separator; 256];
            let mut byte = 0;
            while byte < 128 {
                kinds[byte as usize] = match byte {
                    b'a'..=b'z' => FoldKind::Lower,
                    b'A'..=b'Z' => FoldKind::Upper,
                    b'0'..=b'9' => FoldKind::Digit,
                    _ => FoldKind::Separator,
                };
                byte += 1;
            }
            kinds
        };
        KINDS[byte as usize]
    }

    /// Whether a word begins at a letter of this kind: after a separator, at a case change (`authToken`,
    /// `oauth2Token`), or at the last capital of a run that goes on in lower case (`APIKey`).
    #[inline]
    fn begins_word(self, before: Self, next: Self) -> bool {
        matches!(before, Self::Separator | Self::Other)
            || (self == Self::Upper && (before != Self::Upper || next == Self::Lower))
    }
}

impl FoldedName {
    pub(super) fn new(name: &[u8]) -> Self {
        let end = name.get(name.len().saturating_sub(MAX_LETTERS)..).unwrap_or(name);
        if end.len() == name.len() && name.is_ascii() {
            Self::of_ascii(name)
        } else {
            Self::of_any(name)
        }
    }

    /// As [`new`](Self::new), of at most as many bytes as there is room for, which are all ASCII: nearly every name.
    fn of_ascii(name: &[u8]) -> Self {
        let mut folded = Self {
            letters: [0; MAX_LETTERS],
            length: 0,
            starts: 0,
        };
        let mut kind = name
            .last()
            .map_or(FoldKind::Separator, |last| FoldKind::of(*last));
        let mut next = FoldKind::Separator;
        for (position, byte) in name.iter().enumerate().rev() {
            let before = match position.checked_sub(1).and_then(|before| name.get(before)) {
                Some(before) => FoldKind::of(*before),
                None => FoldKind::Separator,
            };
            if kind != FoldKind::Separator
                && let Some(place) = folded.letters.get_mut(folded.length)
            {
                *place = byte.to_ascii_lowercase();
                folded.starts |= u64::from(kind.begins_word(before, next)) << folded.length;
                folded.length += 1;
            }
            next = kind;
            kind = before;
        }
        folded
    }

    fn of_any(name: &[u8]) -> Self {
        let mut folded = Self {
            letters: [0; MAX_LETTERS],
            length: 0,
            starts: 0,
        };
        let mut end = name.len();
        // The letter whose beginning is not known yet, and what follows it.
        let mut open: Option<(FoldKind, FoldKind)> = None;
        let mut next = FoldKind::Separator;
        while let Some(&byte) = end.checked_sub(1).and_then(|last| name.get(last)) {
            let character = if byte.is_ascii() {
                end -= 1;
                Folded::Ascii(byte)
            } else {
                let (character, start) = character_before(name, end);
                end = start;
                character
            };
            let kind = match character {
                Folded::Ascii(byte) => FoldKind::of(byte),
                Folded::Other(_) => FoldKind::Other,
                Folded::Nothing => continue,
            };
            folded.close(open.take(), kind);
            let is_full = match character {
                Folded::Ascii(byte) if kind != FoldKind::Separator => folded.push(byte.to_ascii_lowercase()),
                Folded::Other(character) => {
                    let mut buffer = [0; 4];
                    let bytes = character.encode_utf8(&mut buffer).as_bytes();
                    bytes.iter().rev().any(|&byte| folded.push(byte))
                }
                _ => false,
            };
            if is_full {
                // What comes before is not looked at: the name goes on, so nothing begins here.
                return folded;
            }
            if kind != FoldKind::Separator {
                open = Some((kind, next));
            }
            next = kind;
        }
        folded.close(open, FoldKind::Separator);
        folded
    }

    /// Appends a letter, and says whether there is no room for it.
    fn push(&mut self, letter: u8) -> bool {
        match self.letters.get_mut(self.length) {
            Some(place) => {
                *place = letter;
                self.length += 1;
                false
            }
            None => true,
        }
    }

    fn close(&mut self, open: Option<(FoldKind, FoldKind)>, before: FoldKind) {
        if let Some((kind, next)) = open
            && kind.begins_word(before, next)
        {
            // `open` is set only behind a letter, and there are 64 at most.
            self.starts |= 1 << (self.length - 1);
        }
    }

    /// The letters from `position` on, towards the beginning of the name.
    pub(super) fn from(&self, position: usize) -> &[u8] {
        self.letters.get(position..self.length).unwrap_or_default()
    }

    pub(super) fn is_at_beginning(&self, position: usize) -> bool {
        position >= self.length
    }

    /// `position` without the digits there: `api_key_2` is an `api_key`.
    pub(super) fn without_number(&self, position: usize) -> usize {
        let digits = self
            .from(position)
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        position + digits.count()
    }

    /// Whether the letter before `position`, which ends a comparison, begins a word.
    pub(super) fn is_word_start(&self, position: usize) -> bool {
        position > 0 && self.starts & (1 << (position - 1)) != 0
    }

    /// The letters of the word that ends at `position`, reversed.
    pub(super) fn rest_of_word(&self, position: usize) -> &[u8] {
        let mut end = position;
        while end < self.length && !self.is_word_start(end) {
            end += 1;
        }
        self.letters.get(position..end).unwrap_or_default()
    }

    /// The position behind `reversed` when the words at `position` spell it.
    pub(super) fn spelled(&self, position: usize, reversed: &[u8]) -> Option<usize> {
        let end = position + reversed.len();
        (self.from(position).starts_with(reversed) && self.is_word_start(end)).then_some(end)
    }

    /// As [`spelled`](Self::spelled), its plural, too.
    pub(super) fn spelled_or_plural(&self, position: usize, reversed: &[u8]) -> Option<usize> {
        self.spelled(position, reversed).or_else(|| {
            let stem = plural_endings(self.from(position), reversed.first() == Some(&b'h'));
            stem.into_iter()
                .flatten()
                .find_map(|length| self.spelled(position + length, reversed))
        })
    }
}

/// The lengths of the endings that `reversed` may have as a plural.
pub(super) fn plural_endings(reversed: &[u8], may_be_es: bool) -> [Option<usize>; 2] {
    let is_plural = reversed.first() == Some(&b's');
    let is_es = may_be_es && reversed.starts_with(b"se");
    [is_plural.then_some(1), is_es.then_some(2)]
}

/// What a character is folded to.
#[derive(Clone, Copy)]
enum Folded {
    Ascii(u8),
    /// A letter of another script, in lower case where that is one character.
    Other(char),
    /// A character that is not seen.
    Nothing,
}

/// The character outside ASCII that ends at `end`, and where it starts.
fn character_before(name: &[u8], end: usize) -> (Folded, usize) {
    let head = name.get(..end).unwrap_or_default();
    let length = head
        .iter()
        .rev()
        .take(4)
        .take_while(|byte| matches!(byte, 0x80..=0xbf))
        .count();
    let start = end.saturating_sub(length + 1);
    let text = head
        .get(start..)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(character) => (fold(character), start),
        // Not reachable: names are parts of strings.
        None => (Folded::Ascii(b' '), end.saturating_sub(1)),
    }
}

/// Compatibility folding as far as letters, digits and separators of names go.
fn fold(character: char) -> Folded {
    match ascii_form(character) {
        Some(byte) => Folded::Ascii(byte),
        None if matches!(
            character,
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0f}' | '\u{feff}'
        ) =>
        {
            Folded::Nothing
        }
        None => {
            let mut lower = character.to_lowercase();
            Folded::Other(lower.next().filter(|_| lower.len() == 0).unwrap_or(character))
        }
    }
}

/// The ASCII character of which `character` is another form.
fn ascii_form(character: char) -> Option<u8> {
    /// Letter-like symbols, which are holes in the mathematical alphabets, and the two that case folding joins.
    const SINGLE: [(char, u8); 31] = [
        ('ſ', b's'),
        ('\u{212a}', b'k'),
        ('ℂ', b'C'),
        ('ℊ', b'g'),
        ('ℋ', b'H'),
        ('ℌ', b'H'),
        ('ℍ', b'H'),
        ('ℎ', b'h'),
        ('ℐ', b'I'),
        ('ℑ', b'I'),
        ('ℒ', b'L'),
        ('ℓ', b'l'),
        ('ℕ', b'N'),
        ('ℙ', b'P'),
        ('ℚ', b'Q'),
        ('ℛ', b'R'),
        ('ℜ', b'R'),
        ('ℝ', b'R'),
        ('ℤ', b'Z'),
        ('ℨ', b'Z'),
        ('ℬ', b'B'),
        ('ℭ', b'C'),
        ('ℯ', b'e'),
        ('ℰ', b'E'),
        ('ℱ', b'F'),
        ('ℳ', b'M'),
        ('ℴ', b'o'),
        ('ℹ', b'i'),
        ('﹣', b'-'),
        ('﹍', b'_'),
        ('․', b'.'),
    ];
    let number = u32::from(character);
    let from = |first: u32, base: u8, count: u32| {
        u8::try_from((number - first) % count)
            .ok()
            .map(|offset| base + offset)
    };
    match number {
        // Full-width forms.
        0xff01..=0xff5e => from(0xff01, b'!', 94),
        0x3000 => Some(b' '),
        // Mathematical alphabets and digits: capitals, then small letters.
        0x1d400..=0x1d6a3 => match (number - 0x1d400) % 52 {
            0..=25 => from(0x1d400, b'A', 52),
            _ => from(0x1d400 + 26, b'a', 52),
        },
        0x1d7ce..=0x1d7ff => from(0x1d7ce, b'0', 10),
        // Circled and squared letters.
        0x24b6..=0x24cf => from(0x24b6, b'A', 26),
        0x24d0..=0x24e9 => from(0x24d0, b'a', 26),
        0x1f130..=0x1f149 => from(0x1f130, b'A', 26),
        _ => SINGLE
            .iter()
            .find(|(other, _)| *other == character)
            .map(|(_, byte)| *byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::tails::may_be_ascii;

    fn spelled(name: &str, word: &str) -> bool {
        let reversed: Vec<u8> = word.bytes().rev().collect();
        FoldedName::new(name.as_bytes()).spelled(0, &reversed).is_some()
    }

    #[test]
    fn letters_are_compared_after_compatibility_folding() {
        for name in [
            "ｐａｓｓｗｏｒｄ",
            "ＰＡＳＳＷＯＲＤ",
            "ｄｂ＿ｐａｓｓｗｏｒｄ",
            "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
            "𝖯𝖺𝗌𝗌𝗐𝗈𝗋𝖽",
            "ⓟⓐⓢⓢⓦⓞⓡⓓ",
            "paſſword",
            "pass\u{200b}word",
            "db－password",
            "dbＰassword",
        ] {
            assert!(spelled(name, "password"), "{name}");
        }
        for name in ["рassword", "passwörd", "xpassword", "ｘｐａｓｓｗｏｒｄ"] {
            assert!(!spelled(name, "password"), "{name}");
        }
    }

    #[test]
    fn every_full_width_character_is_its_ascii_one() {
        for byte in b'!'..=b'~' {
            let wide = char::from_u32(0xff01 + u32::from(byte - b'!')).unwrap();
            assert_eq!(ascii_form(wide), Some(byte));
        }
        let letters: Vec<u8> = ('\u{1d400}'..='\u{1d433}').filter_map(ascii_form).collect();
        assert_eq!(letters, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    }

    #[test]
    fn what_is_folded_to_ascii_is_never_ruled_out_before() {
        for character in ('\u{80}'..=char::MAX)
            .filter(|&character| !matches!(fold(character), Folded::Other(other) if !other.is_ascii()))
        {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            assert!(may_be_ascii([bytes[0], bytes[1]]), "{character:?}");
        }
    }

    #[test]
    fn only_the_end_of_an_endless_name_is_compared() {
        let name = "x".repeat(100_000) + "_token";
        assert!(spelled(&name, "token"));
        assert!(!spelled(&"token".repeat(1000), "token"));
    }
}
