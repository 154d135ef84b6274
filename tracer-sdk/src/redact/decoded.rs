//! What a text says once signs that are written otherwise are read: colours of a terminal are nothing, `&quot;`, `%22` and `\u0022` are
//! quotes. Secrets are looked for in that, too, and replaced in the text as it stands.

use std::ops::Range;

use super::byte_set::ByteSet;
use super::cut::character_boundary;
use super::shapes::{ANY, Beside, Sign, SignSink};

/// How far around such a sign, in the decoded text, something may be noticed because of it.
const AROUND: usize = 128;

/// How far around what changed it may be.
const AROUND_CHANGE: usize = 32;

/// How much of a text is decoded before the first change, of which no shape looks at more.
const BEFORE_CHANGES: usize = 4 * 1024;

/// The longest parameters of a colour.
const MAX_COLOUR_BYTES: usize = 24;

/// The most digits of an entity: more write no sign of ASCII.
const MAX_ENTITY_DIGITS: usize = 6;

/// How a colour begins.
pub(super) const ESCAPE: u8 = 0x1b;

/// A text without such signs.
pub(super) struct Decoded {
    pub(super) text: String,
    /// What is between them stands in both texts.
    signs: Vec<DecodedSign>,
}

/// A sign that was written otherwise, or a colour. Hostile texts have thousands: in numbers of twice the size they take so much
/// memory that the allocator gets it anew from the system for each text, a sixth of the time.
struct DecodedSign {
    /// Where it is in the decoded text.
    at: u32,
    /// Where it stands in the text.
    start: u32,
    end: u32,
    /// It is nothing in the decoded text.
    is_colour: bool,
}

impl DecodedSign {
    fn new(written: &WrittenSign, at: usize, start: usize) -> Self {
        // No text is so long: see `MAX_BYTES`.
        let small = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        Self {
            at: small(at),
            start: small(start),
            end: small(written.end),
            is_colour: written.sign.is_none(),
        }
    }

    const fn at(&self) -> usize {
        self.at as usize
    }

    /// Where it ends in the decoded text.
    const fn end_decoded(&self) -> usize {
        self.at() + !self.is_colour as usize
    }

    const fn start(&self) -> usize {
        self.start as usize
    }

    const fn end(&self) -> usize {
        self.end as usize
    }
}

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    let pairs = [
        *b"\x1b[", *b"\x1b(", *b"%2", *b"%3", *b"%4", *b"%5", *b"%6", *b"%7", *b"&#", *b"&q", *b"&a", *b"&l",
        *b"&g",
    ];
    for pair in pairs {
        // Their first bytes are rare.
        notice(Sign {
            pair,
            beside: Beside::Before(&ANY),
        });
    }
    // Backslashes are not.
    for (letter, after) in [(b'u', &b"0"[..]), (b'x', b"1234567"), (b'e', b"["), (b'0', b"3")] {
        notice(Sign {
            pair: [b'\\', letter],
            beside: Beside::After(after),
        });
    }
}

/// Whether a sign that is written otherwise begins at `at`.
pub(super) fn is_at(bytes: &[u8], at: usize) -> bool {
    WrittenSign::at(bytes, at).is_some()
}

/// A sign that is written otherwise, or a colour.
struct WrittenSign {
    end: usize,
    sign: Option<u8>,
}

impl WrittenSign {
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        match bytes.get(at)? {
            &ESCAPE => Self::colour(bytes, at + 1),
            b'%' => Self::percent(bytes, at + 1),
            b'&' => Self::entity(bytes, at + 1),
            b'\\' => Self::backslash(bytes, at + run_of(bytes, at, |byte| byte == b'\\')),
            _ => None,
        }
    }

    /// Only signs of ASCII count.
    fn new(sign: u8, end: usize) -> Option<Self> {
        matches!(sign, b' '..=b'~' | b'\n' | b'\r' | b'\t').then_some(Self {
            end,
            sign: Some(sign),
        })
    }

    fn colour(bytes: &[u8], start: usize) -> Option<Self> {
        let end = match bytes.get(start)? {
            b'(' => start + 1,
            b'[' => {
                let parameters = bytes.get(start + 1..)?;
                let length = parameters
                    .iter()
                    .take(MAX_COLOUR_BYTES)
                    .take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':' | b'?'));
                start + 1 + length.count()
            }
            _ => return None,
        };
        bytes.get(end)?.is_ascii_alphabetic().then_some(Self {
            end: end + 1,
            sign: None,
        })
    }

    /// `%22`, also within another URL: `%2522`.
    fn percent(bytes: &[u8], start: usize) -> Option<Self> {
        let (start, is_nested) = behind_repeated(bytes, start, b"25");
        match hexadecimal(bytes, start) {
            Some(sign) => Self::new(sign, start + 2),
            None => is_nested.then_some(Self {
                end: start,
                sign: Some(b'%'),
            }),
        }
    }

    /// `&quot;`, `&#34;`, `&#x22;`, also within another page: `&amp;quot;`.
    fn entity(bytes: &[u8], start: usize) -> Option<Self> {
        let (start, is_nested) = behind_repeated(bytes, start, b"amp;");
        let rest = bytes.get(start..)?;
        if let [b'#', number @ ..] = rest {
            let (digits, radix) = match number {
                [b'x' | b'X', digits @ ..] => (digits, 16),
                digits => (digits, 10),
            };
            let (mut sign, mut behind) = (0, digits);
            while let [digit, next @ ..] = behind
                && let Some(digit) = char::from(*digit).to_digit(radix)
                && digits.len() - next.len() <= MAX_ENTITY_DIGITS
            {
                (sign, behind) = (sign * radix + digit, next);
            }
            let sign = u8::try_from(sign).ok()?;
            return Self::new(sign, bytes.len() - behind.len() + 1).filter(|_| behind.first() == Some(&b';'));
        }
        // No two begin alike.
        let (name, sign): (&[u8], u8) = match rest.first().copied().unwrap_or_default() {
            b'q' => (b"quot;", b'"'),
            b'a' => (b"apos;", b'\''),
            b'l' => (b"lt;", b'<'),
            b'g' => (b"gt;", b'>'),
            b'n' => (b"nbsp;", b' '),
            b'e' => (b"equals;", b'='),
            _ => (b"", b'&'),
        };
        if !name.is_empty() && rest.starts_with(name) {
            return Self::new(sign, start + name.len());
        }
        is_nested.then_some(Self {
            end: start,
            sign: Some(b'&'),
        })
    }

    /// `\u0022`, `\x22`, `\e[0m`, behind the backslashes.
    fn backslash(bytes: &[u8], start: usize) -> Option<Self> {
        let rest = bytes.get(start..)?;
        let (sign, end) = match rest {
            [b'u', b'0', b'0', ..] => (hexadecimal(bytes, start + 3)?, start + 5),
            [b'x', ..] => (hexadecimal(bytes, start + 1)?, start + 3),
            [b'0', b'3', b'3', ..] => (ESCAPE, start + 3),
            [b'e', b'[', ..] => (ESCAPE, start + 1),
            _ => return None,
        };
        if sign == ESCAPE {
            Self::colour(bytes, end)
        } else {
            Self::new(sign, end)
        }
    }
}

/// How many bytes from `at` on `belongs` accepts.
fn run_of(bytes: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    bytes
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| belongs(**byte))
        .count()
}

/// The position behind all `repeated` at `start`, and whether there is one.
fn behind_repeated(bytes: &[u8], start: usize, repeated: &[u8]) -> (usize, bool) {
    let mut end = start;
    while bytes.get(end..).is_some_and(|rest| rest.starts_with(repeated)) {
        end += repeated.len();
    }
    (end, end > start)
}

/// The byte that two hexadecimal digits at `start` write.
fn hexadecimal(bytes: &[u8], start: usize) -> Option<u8> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    u8::try_from(digit(start)? * 16 + digit(start + 1)?).ok()
}

impl Decoded {
    /// `text` decoded, if there is anything to decode; what is before `start` stays as it is.
    pub(super) fn of(text: &str, start: usize) -> Option<Self> {
        static FIRST: ByteSet = ByteSet::of(&[ESCAPE, b'%', b'&', b'\\']);
        let bytes = text.as_bytes();
        let mut decoded = Self {
            text: String::new(),
            signs: Vec::new(),
        };
        // Copied up to here, and looked at.
        let (mut copied, mut position) = (0, start);
        while let Some(offset) = bytes
            .get(position..)
            .and_then(|rest| rest.iter().position(|byte| FIRST.has(*byte)))
        {
            position += offset;
            let Some(written) = WrittenSign::at(bytes, position) else {
                position += run_of(bytes, position, |byte| byte == b'\\').max(1);
                continue;
            };
            if decoded.signs.is_empty() {
                // Only a text with such a sign takes memory.
                decoded.text.reserve(text.len());
                decoded.signs.reserve(text.len() / 16);
            }
            decoded
                .text
                .push_str(text.get(copied..position).unwrap_or_default());
            decoded
                .signs
                .push(DecodedSign::new(&written, decoded.text.len(), position));
            if let Some(sign) = written.sign {
                decoded.text.push(char::from(sign));
            }
            position = written.end;
            copied = position;
        }
        if copied == 0 {
            return None;
        }
        decoded.text.push_str(text.get(copied..).unwrap_or_default());
        Some(decoded)
    }

    /// As [`of`](Self::of), a text in which these regions changed, as far as something may be noticed there because of it.
    pub(super) fn near(text: &str, changed: &[Range<usize>]) -> Option<Self> {
        let first = changed.iter().map(|region| region.start).min()?;
        Self::of(
            text,
            character_boundary(text, first.saturating_sub(BEFORE_CHANGES)),
        )
    }

    /// The last sign that `fits`; those that do come first.
    fn last_sign(&self, fits: impl FnMut(&DecodedSign) -> bool) -> Option<&DecodedSign> {
        let count = self.signs.partition_point(fits);
        self.signs.get(count.checked_sub(1)?)
    }

    /// Where the byte at `at` in the decoded text begins in the text.
    pub(super) fn start_in_text(&self, at: usize) -> usize {
        match self.last_sign(|sign| sign.at() <= at) {
            Some(sign) if at < sign.end_decoded() => sign.start(),
            Some(sign) => sign.end() + (at - sign.end_decoded()),
            None => at,
        }
    }

    /// Where the byte before `end` in the decoded text ends in the text.
    fn end_in_text(&self, end: usize) -> usize {
        match self.last_sign(|sign| sign.at() < end) {
            Some(sign) => sign.end() + (end - sign.end_decoded()),
            None => end,
        }
    }

    /// The place in the text of one in the decoded text.
    pub(super) fn in_text(&self, place: &Range<usize>) -> Range<usize> {
        let start = self.start_in_text(place.start);
        start..self.end_in_text(place.end).max(start)
    }

    /// Where what is at `position` in the text is in the decoded text.
    pub(super) fn position(&self, position: usize) -> usize {
        match self.last_sign(|sign| sign.start() <= position) {
            Some(sign) if position < sign.end() => sign.at(),
            Some(sign) => sign.end_decoded() + (position - sign.end()),
            None => position,
        }
    }

    /// The parts of the decoded text in which something may be noticed that was not in the text.
    pub(super) fn around_signs(&self) -> Vec<Range<usize>> {
        let starts = self.signs.iter().map(DecodedSign::at);
        joined(
            starts
                .chain([self.text.len()])
                .map(|at| at.saturating_sub(AROUND)..at + AROUND),
        )
    }

    /// Those of them where the text changed.
    pub(super) fn around_changes(&self, changed: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut around: Vec<Range<usize>> = changed
            .iter()
            .map(|region| {
                self.position(region.start).saturating_sub(AROUND_CHANGE)
                    ..self.position(region.end) + AROUND_CHANGE
            })
            .collect();
        around.sort_unstable_by_key(|region| region.start);
        let near = self.around_signs();
        let mut near = near.iter().peekable();
        let both = joined(around.into_iter()).into_iter().filter(|region| {
            while near.next_if(|near| near.end < region.start).is_some() {}
            near.peek().is_some_and(|near| near.start < region.end)
        });
        both.collect()
    }
}

/// These regions, which come in their order, those that overlap as one.
fn joined(regions: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for region in regions {
        match joined.last_mut() {
            Some(last) if region.start <= last.end => last.end = last.end.max(region.end),
            _ => joined.push(region),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::slice;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_character_of_a_decoded_text_is_found_where_it_stands(
            parts in proptest::collection::vec(
                proptest::sample::select(&["a", "é", " ", "\x1b[3m", "\x1b[0m", "%22", "%2541", "&quot;", "&#34;", "\\u0070", "\\"][..]),
                0..12,
            ),
        ) {
            let text = parts.concat();
            let Some(decoded) = Decoded::of(&text, 0) else { return Ok(()) };
            for (at, character) in decoded.text.char_indices() {
                let place = decoded.in_text(&(at..at + character.len_utf8()));
                let written = &text[place.clone()];
                let read = Decoded::of(written, 0).map_or_else(|| written.to_owned(), |decoded| decoded.text);
                prop_assert_eq!(read, character.to_string(), "{:?} at {}", written, at);
                prop_assert_eq!(decoded.position(place.start), at);
            }
        }
    }

    #[test]
    fn signs_are_read_however_they_are_written_and_found_again() {
        for (text, expected) in [
            ("\x1b[3ma\x1b[0m\x1b[2m=\x1b[0m1\x1b(B", "a=1"),
            ("\\u001b[33ma\\x1b[0m\\033[1;38:2m=\\e[mb", "a=b"),
            (
                "&quot;a&#34;&#x3D;&#X3d;&lt;b&amp;quot;&amp;&amp;amp;c",
                "\"a\"==<b\"&&c",
            ),
            ("%22a%3d%253A%2525b%25", "\"a=:%b%"),
            ("&lt;a&gt;&nbsp;&apos;&equals;&amp;", "<a> '=&"),
            ("\\u0022\\\\u0070\\x3d", "\"p="),
        ] {
            assert_eq!(Decoded::of(text, 0).unwrap().text, expected, "{text}");
        }
        for text in [
            "",
            "a & b % c \\ d",
            "&quo; %zz %c3%a9 \\u12 \\n \\u00e9",
            "100% of &str \\\\server",
        ] {
            assert!(Decoded::of(text, 0).is_none(), "{text}");
        }
        // What changed far behind is no reason to decode what is before.
        let far = format!("%22{}é%22", "-".repeat(2 * BEFORE_CHANGES));
        let changed = far.len() - 3..far.len();
        let decoded = Decoded::near(&far, slice::from_ref(&changed)).unwrap();
        assert!(decoded.text.starts_with("%22-") && decoded.text.ends_with("-é\""));
        let first = decoded.around_changes(slice::from_ref(&changed))[0].clone();
        assert!(first.contains(&(decoded.text.len() - 1)) && first.start > BEFORE_CHANGES);
        let text = "é\x1b[3mab\x1b[0m%3D&quot;x";
        let decoded = Decoded::of(text, 0).unwrap();
        assert_eq!(decoded.text, "éab=\"x");
        for (place, expected) in [
            (2..4, "ab"),
            (3..5, "b\x1b[0m%3D"),
            (4..5, "%3D"),
            (5..6, "&quot;"),
            (5..7, "&quot;x"),
        ] {
            let found = decoded.in_text(&place);
            assert_eq!(&text[found.clone()], expected);
            assert_eq!(decoded.position(found.start), place.start);
        }
    }
}
