//! One JSON document: what it says, or where it is broken.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// The reason why a text is not a JSON document. It has the position, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes are not UTF-8 from this offset on.
    NotUtf8 { offset: usize },
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// The nesting is deeper than a reader follows.
    TooDeep,
    /// The text ends in the middle of a value.
    CutShort,
    /// Anything else: the position where the parser stopped.
    Syntax { line: usize, column: usize },
}

/// Maximum nesting depth of a document: the limit of the parser, which protects the stack.
const MAX_DEPTH: usize = 127;

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 { offset } => write!(formatter, "is not UTF-8 (byte {offset})"),
            Self::ByteOrderMark => {
                formatter.write_str("starts with a byte order mark; write UTF-8 without one")
            }
            Self::TooDeep => write!(formatter, "is nested deeper than {MAX_DEPTH} levels"),
            Self::CutShort => formatter.write_str("is not valid JSON: it ends in the middle of a value"),
            Self::Syntax { line: 1, column } => write!(formatter, "is not valid JSON (column {column})"),
            Self::Syntax { line, column } => {
                write!(formatter, "is not valid JSON (line {line}, column {column})")
            }
        }
    }
}

/// Parses a whole document; `None` where it is JSON, perhaps, and no `T`.
pub(super) fn parse<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<Option<T>, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|error| Malformed::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Malformed::ByteOrderMark);
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_data() => Ok(None),
        // Only the parser's message distinguishes this case; a test keeps the two in step.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => Err(Malformed::TooDeep),
        Err(error) if error.is_eof() => Err(Malformed::CutShort),
        Err(error) => Err(Malformed::Syntax {
            line: error.line(),
            column: error.column(),
        }),
    }
}

/// A value that an object holds. Of itself, a derive takes a list too, whose items are the fields in order.
pub(super) struct OfObject<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OfObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = OfObject<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OfObject)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::span::KeyAttributes;
    use super::*;

    #[test]
    fn a_document_is_broken_at_a_place() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (text, expected) in [
            (
                b"{\"a\": nope}".to_vec(),
                Malformed::Syntax { line: 1, column: 8 },
            ),
            (
                b"{\n\"a\": NaN}".to_vec(),
                Malformed::Syntax { line: 2, column: 6 },
            ),
            (
                b"{\"a\": 1e999}".to_vec(),
                Malformed::Syntax { line: 1, column: 11 },
            ),
            (b"".to_vec(), Malformed::CutShort),
            (b"{\"a\": [1,".to_vec(), Malformed::CutShort),
            (b"{} {}".to_vec(), Malformed::Syntax { line: 1, column: 4 }),
            (b"{\"a\": \"\xff\"}".to_vec(), Malformed::NotUtf8 { offset: 7 }),
            (b"\xef\xbb\xbf{}".to_vec(), Malformed::ByteOrderMark),
            (nested(10_000).into_bytes(), Malformed::TooDeep),
            (nested(MAX_DEPTH + 1).into_bytes(), Malformed::TooDeep),
        ] {
            let passed_over = text
                .strip_prefix(b"{")
                .map(|_| parse::<KeyAttributes<'_>>(&text).map(drop));
            for found in [Some(parse::<Value>(&text).map(drop)), passed_over]
                .into_iter()
                .flatten()
            {
                assert_eq!(
                    found.unwrap_err(),
                    expected,
                    "{}",
                    String::from_utf8_lossy(&text[..text.len().min(40)])
                );
            }
        }
        assert!(parse::<Value>(nested(MAX_DEPTH).as_bytes()).is_ok());
    }
}
