//! Reads one JSON value from left to right, writes its shape and gives its number (see [`super::value`]); of what a shape
//! leaves out there is only the number.
//!
//! Written by hand, because every tool call passes here: a shape needs neither the numbers nor the strings of a value.
//! What is read is the SDK's own JSON text. Text that is no JSON value is mostly noticed, and never a problem.

use serde_json::Number;

use super::asked::is_list_of_messages;
use super::entries::ObjectEntries;
use super::limits::{MAX_DEPTH, MAX_ITEMS, MAX_SHAPE_BYTES, REST, beginning};
use super::value::{self, Items};
use crate::format::plain_bytes::{TOGETHER, bytes_before_backslash, plain_bytes};

/// What is nested deeper is one text: redaction leaves nothing so deep.
const MAX_NUMBERED_DEPTH: usize = 32;
/// Integers with this many digits fit 64 bits, whatever the digits are.
const MAX_SURE_DIGITS: usize = 18;

/// A text as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenText<'a> {
    /// As it is.
    Alone(&'a [u8]),
    /// JSON text as it is within a JSON string: with a backslash before each quote and each backslash.
    InString(&'a [u8]),
}

impl<'a> WrittenText<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Alone(bytes) | Self::InString(bytes) => bytes,
        }
    }
}

/// Writes the shape of the value in a text to the end of another one.
pub(super) struct ShapeReader<'a> {
    text: &'a [u8],
    in_string: bool,
    /// How far the text has been read.
    position: usize,
    entries: &'a mut ObjectEntries,
    out: &'a mut Vec<u8>,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(text: WrittenText<'a>, entries: &'a mut ObjectEntries, out: &'a mut Vec<u8>) -> Self {
        Self {
            text: text.bytes(),
            in_string: matches!(text, WrittenText::InString(_)),
            position: 0,
            entries,
            out,
        }
    }

    /// Reads the text and gives the number of its value; `None` when it is not one JSON value.
    pub(super) fn read(mut self) -> Option<u64> {
        let number = self.value(0)?;
        self.peek().is_none().then_some(number)
    }

    /// The number of the value, of which nothing is written; `None` when the text is not one JSON value.
    pub(super) fn number_of_all(mut self) -> Option<u64> {
        let number = self.number_of(0)?;
        self.peek().is_none().then_some(number)
    }

    /// The number of a prompt, and that of its last message; of one that is no list of messages, both are its own.
    pub(super) fn prompt(mut self) -> Option<(u64, u64)> {
        let (whole, last) = match self.peek()? {
            b'[' => self.items(0)?,
            b'{' => {
                let mut last = None;
                let whole = self.entries_of(|reader, key| {
                    let is_list = is_list_of_messages(key) && reader.peek() == Some(b'[');
                    if !is_list {
                        return reader.number_of(1);
                    }
                    let (number, last_item) = reader.items(1)?;
                    last = last_item.or(last);
                    Some(number)
                })?;
                (whole, last)
            }
            _ => (self.number_of(0)?, None),
        };
        self.peek().is_none().then_some((whole, last.unwrap_or(whole)))
    }

    /// Reads a value within `depth` containers.
    fn value(&mut self, depth: usize) -> Option<u64> {
        if depth >= MAX_DEPTH {
            let number = self.number_of(depth)?;
            self.out.extend_from_slice(REST.as_bytes());
            return Some(number);
        }
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            first => {
                let (word, number) = self.numbered_scalar(first)?;
                self.out.extend_from_slice(word.as_bytes());
                Some(number)
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<u64> {
        self.expect(b'{')?;
        self.out.push(b'{');
        let object = self.entries.begin(self.out);
        let mut numbers = value::EntriesHash::NONE;
        let mut goes_on = !self.take(b'}');
        while goes_on {
            let start = self.out.len();
            let key = self.key()?;
            let key_end = self.out.len();
            self.out.push(b':');
            self.expect(b':')?;
            let number = self.value(depth + 1)?;
            numbers.add(key, number);
            self.entries.add(&object, start, key_end, self.out);
            goes_on = self.take(b',');
            if !goes_on {
                self.expect(b'}')?;
            }
        }
        self.entries.end(&object, self.out);
        self.out.push(b'}');
        Some(numbers.number())
    }

    fn array(&mut self, depth: usize) -> Option<u64> {
        self.expect(b'[')?;
        self.out.push(b'[');
        let first = self.out.len();
        let mut shapes = [first..first, first..first, first..first];
        let mut items = 0;
        let mut numbers = Items::NONE;
        let mut goes_on = !self.take(b']');
        while goes_on {
            if items < MAX_ITEMS {
                let before = self.out.len();
                if before > first {
                    self.out.push(b'|');
                }
                let start = self.out.len();
                numbers.add(self.value(depth + 1)?);
                let shape = self.out.get(start..);
                let mut seen = shapes.iter().take(items);
                if seen.any(|range| self.out.get(range.clone()) == shape) {
                    self.out.truncate(before);
                } else if let Some(range) = shapes.get_mut(items) {
                    *range = start..self.out.len();
                }
            } else {
                numbers.add(self.number_of(depth + 1)?);
            }
            items += 1;
            goes_on = self.take(b',');
            if !goes_on {
                self.expect(b']')?;
            }
        }
        if items > MAX_ITEMS {
            self.out.push(b',');
            self.out.extend_from_slice(REST.as_bytes());
        }
        self.out.push(b']');
        Some(numbers.number())
    }

    /// The number of a value within `depth` containers, of which nothing is written.
    fn number_of(&mut self, depth: usize) -> Option<u64> {
        match self.peek()? {
            b'{' | b'[' if depth >= MAX_NUMBERED_DEPTH => {
                let start = self.position;
                self.skip()?;
                Some(value::of_text(self.text.get(start..self.position)?))
            }
            b'{' => self.entries_of(|reader, _| reader.number_of(depth + 1)),
            b'[' => self.items(depth).map(|(number, _)| number),
            first => self.numbered_scalar(first).map(|(_, number)| number),
        }
    }

    /// The number of an object whose values `read` reads, each given its key.
    fn entries_of(&mut self, mut read: impl FnMut(&mut Self, &[u8]) -> Option<u64>) -> Option<u64> {
        let mut numbers = value::EntriesHash::NONE;
        self.expect(b'{')?;
        let mut goes_on = !self.take(b'}');
        while goes_on {
            let (key, _) = self.string()?;
            self.expect(b':')?;
            let number = read(self, key)?;
            numbers.add(value::of_text(key), number);
            goes_on = self.take(b',');
            if !goes_on {
                self.expect(b'}')?;
            }
        }
        Some(numbers.number())
    }

    /// The number of an array, and that of its last item.
    fn items(&mut self, depth: usize) -> Option<(u64, Option<u64>)> {
        let mut numbers = Items::NONE;
        let mut last = None;
        self.expect(b'[')?;
        let mut goes_on = !self.take(b']');
        while goes_on {
            let item = self.number_of(depth + 1)?;
            numbers.add(item);
            last = Some(item);
            goes_on = self.take(b',');
            if !goes_on {
                self.expect(b']')?;
            }
        }
        Some((numbers.number(), last))
    }

    /// Reads a string, a number or a word that begins with `first`, which comes next; its type and its number.
    fn numbered_scalar(&mut self, first: u8) -> Option<(&'static str, u64)> {
        if matches!(first, b'"' | b'\\') {
            let (string, _) = self.string()?;
            return Some(("str", value::of_string(string)));
        }
        let start = self.position;
        let word = self.scalar(first)?;
        Some((word, value::of_text(self.text.get(start..self.position)?)))
    }

    /// As [`numbered_scalar`](Self::numbered_scalar); its type.
    fn scalar(&mut self, first: u8) -> Option<&'static str> {
        match first {
            b'"' | b'\\' => self.string().map(|_| "str"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let words = [("null", "null"), ("true", "bool"), ("false", "bool")];
                let rest = self.text.get(self.position..)?;
                let (word, shape) = words
                    .into_iter()
                    .find(|(word, _)| rest.starts_with(word.as_bytes()))?;
                self.position += word.len();
                Some(shape)
            }
        }
    }

    fn number(&mut self) -> Option<&'static str> {
        let rest = self.text.get(self.position..)?;
        let is_end = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits <= MAX_SURE_DIGITS && rest.get(digits).is_none_or(is_end) {
            self.position += digits;
            return Some("int");
        }
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let number: Number = serde_json::from_slice(rest.get(..length)?).ok()?;
        self.position += length;
        Some(if number.is_f64() { "float" } else { "int" })
    }

    /// Reads a string; what stands between its quotes, and whether escapes are in it.
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        if self.in_string {
            self.string_in_string()
        } else {
            self.string_alone()
        }
    }

    fn string_alone(&mut self) -> Option<(&'a [u8], bool)> {
        self.expect(b'"')?;
        let start = self.position;
        let mut has_escapes = false;
        loop {
            self.position += end_of_plain(self.text.get(self.position..)?);
            match self.text.get(self.position)? {
                b'"' => {
                    let string = self.text.get(start..self.position)?;
                    self.position += 1;
                    return Some((string, has_escapes));
                }
                b'\\' => {
                    has_escapes = true;
                    self.position += 2;
                }
                // A control character, which is in no text of ours.
                _ => self.position += 1,
            }
        }
    }

    /// As [`string_alone`](Self::string_alone), where each quote and each backslash has a backslash before it.
    fn string_in_string(&mut self) -> Option<(&'a [u8], bool)> {
        self.expect(b'\\')?;
        self.expect(b'"')?;
        let start = self.position;
        let mut has_escapes = false;
        loop {
            let rest = self.text.get(self.position..)?;
            // One escape often follows the other.
            let end = match rest.first()? {
                b'\\' => 0,
                _ => before_backslash(rest),
            };
            let escaped = *rest.get(end + 1)?;
            if escaped == b'"' {
                let end = self.position + end;
                self.position = end + 2;
                return Some((self.text.get(start..end)?, has_escapes));
            }
            has_escapes = true;
            let is_twice = rest.get(end + 2) == Some(&b'\\');
            self.position += end + if is_twice { 4 } else { 3 };
        }
    }

    /// Writes the key of one entry, as far as a shape can hold it, and gives its number.
    fn key(&mut self) -> Option<u64> {
        let (key, has_escapes) = self.string()?;
        let number = value::of_text(key);
        if has_escapes {
            let key = self.plain_key(key)?;
            self.push_key(key.as_bytes());
        } else {
            self.push_key(key);
        }
        Some(number)
    }

    /// A key without its escapes.
    fn plain_key(&self, key: &[u8]) -> Option<String> {
        let quoted = |text: &str| format!("\"{text}\"");
        let key = quoted(std::str::from_utf8(key).ok()?);
        let key = if self.in_string {
            quoted(&serde_json::from_str::<String>(&key).ok()?)
        } else {
            key
        };
        serde_json::from_str(&key).ok()
    }

    fn push_key(&mut self, key: &[u8]) {
        self.out.extend_from_slice(beginning(key, MAX_SHAPE_BYTES));
    }

    /// Reads a value and writes nothing, however deep the value is.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'{' | b'[' => {
                    depth += 1;
                    self.position += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.position += 1;
                }
                b',' | b':' if depth > 0 => self.position += 1,
                first => {
                    self.scalar(first)?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.position)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.position += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Reads `byte` if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }
}

/// How many bytes are before the next quote, backslash or control character; all of them when there is none. Most are near,
/// where a search of its own would take longer.
fn end_of_plain(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<TOGETHER>();
    let (near, far) = words.split_at(words.len().min(NEAR_WORDS));
    for (number, word) in near.iter().enumerate() {
        let plain = plain_bytes(*word);
        if plain < TOGETHER {
            return number * TOGETHER + plain;
        }
    }
    let passed = near.len() * TOGETHER;
    if far.is_empty() {
        let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
        return passed + rest.iter().position(is_special).unwrap_or(rest.len());
    }
    let far = text.get(passed..).unwrap_or_default();
    passed + memchr::memchr2(b'"', b'\\', far).unwrap_or(far.len())
}

/// As [`end_of_plain`], before the next backslash.
fn before_backslash(text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<TOGETHER>();
    let near = words.len().min(NEAR_WORDS);
    for (number, word) in words.iter().take(near).enumerate() {
        let plain = bytes_before_backslash(*word);
        if plain < TOGETHER {
            return number * TOGETHER + plain;
        }
    }
    let passed = near * TOGETHER;
    let far = text.get(passed..).unwrap_or_default();
    passed + memchr::memchr(b'\\', far).unwrap_or(far.len())
}

/// How many words are looked at before a search begins that looks at more together.
const NEAR_WORDS: usize = 3;
