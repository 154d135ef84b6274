//! JSON text from left to right: its strings, numbers, words and brackets.
//!
//! Written by hand, because the arguments of every tool call pass here. What is read is the SDK's own JSON text. Text that is
//! no JSON value is mostly noticed, and never a problem.

use serde_json::Number;

/// Integers with this many digits fit 64 bits, whatever the digits are.
const MAX_SURE_DIGITS: usize = 18;

/// What a scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarType {
    Null,
    Bool,
    Int,
    Float,
    Str,
}

impl ScalarType {
    /// The word for it in a shape.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Str => "str",
        }
    }
}

/// A JSON text that is being read.
pub(super) struct JsonTokens<'a> {
    text: &'a [u8],
    /// How far the text has been read.
    position: usize,
}

impl<'a> JsonTokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, position: 0 }
    }

    /// Whether nothing follows.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The next byte that is not blank.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.position)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.position += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Reads `byte` if it comes next.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// Reads a string, a number or a word that begins with `first`, which comes next: its type, and what it holds.
    #[inline]
    pub(super) fn scalar(&mut self, first: u8) -> Option<(ScalarType, &'a [u8])> {
        if first == b'"' {
            let (string, _) = self.string()?;
            return Some((ScalarType::Str, string));
        }
        let start = self.position;
        let scalar = match first {
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        Some((scalar, self.text.get(start..self.position)?))
    }

    fn word(&mut self) -> Option<ScalarType> {
        let words = [
            ("null", ScalarType::Null),
            ("true", ScalarType::Bool),
            ("false", ScalarType::Bool),
        ];
        let rest = self.text.get(self.position..)?;
        let (word, scalar) = words
            .into_iter()
            .find(|(word, _)| rest.starts_with(word.as_bytes()))?;
        self.position += word.len();
        Some(scalar)
    }

    fn number(&mut self) -> Option<ScalarType> {
        let rest = self.text.get(self.position..)?;
        let is_end = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits <= MAX_SURE_DIGITS && rest.get(digits).is_none_or(is_end) {
            self.position += digits;
            return Some(ScalarType::Int);
        }
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let number: Number = serde_json::from_slice(rest.get(..length)?).ok()?;
        self.position += length;
        Some(if number.is_f64() {
            ScalarType::Float
        } else {
            ScalarType::Int
        })
    }

    /// Reads a string; what stands between its quotes, and whether escapes are in it.
    pub(super) fn string(&mut self) -> Option<(&'a [u8], bool)> {
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

    /// Reads a value, however deep it is; its text.
    pub(super) fn skip(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0_usize;
        let start = self.position;
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
                return self.text.get(start..self.position);
            }
        }
    }
}

/// How many bytes are before the next quote, backslash or control character; all of them when there is none.
fn end_of_plain(text: &[u8]) -> usize {
    let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    text.iter().position(is_special).unwrap_or(text.len())
}
