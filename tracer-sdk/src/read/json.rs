//! One JSON document: what it says, where it is broken, and which of its keys stand there twice.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::fields::Place;
use crate::format::{Problem, ProblemCode};

/// Why a text is not a JSON document. The position is told, the text never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
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

/// How deep a document may be nested: the limit of the parser, which protects the stack.
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

/// A JSON document.
#[derive(Debug, PartialEq)]
pub(super) struct Document {
    /// What it says. The last value of a key that stands twice counts, as everywhere.
    pub(super) value: Value,
    /// The keys that stand twice in one object, for each top-level field once.
    ///
    /// JSON leaves open which of the two values counts, so two readers may see two different runs in one file.
    pub(super) repeated: Vec<Repeated>,
}

/// Parses a whole document.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|error| Malformed::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Malformed::ByteOrderMark);
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok(Document {
            value,
            repeated: repeated_keys(text),
        }),
        // The parser tells this case apart in its message alone; a test keeps the two in step.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => Err(Malformed::TooDeep),
        Err(error) if error.is_eof() => Err(Malformed::CutShort),
        Err(error) => Err(Malformed::Syntax {
            line: error.line(),
            column: error.column(),
        }),
    }
}

/// A key that stands twice in one object: the top-level field that it is, or that it lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeated {
    /// The top-level field.
    pub(super) field: String,
    /// Whether the field itself stands twice, and not a key inside it.
    pub(super) is_field: bool,
}

impl Repeated {
    /// The problem of an object that stands at `place`; keys that are not `known` may hold anything and are not told.
    pub(super) fn problem(&self, place: Place, known: &[&str]) -> Problem {
        let message = if self.is_field {
            "stands more than once in its object; write it once"
        } else {
            "holds an object with a key that stands more than once; write each key once"
        };
        if known.contains(&self.field.as_str()) {
            place.field_problem(&self.field, ProblemCode::InvalidValue, message)
        } else {
            place.problem(
                ProblemCode::InvalidValue,
                "has a key that stands more than once in its object; write each key once",
            )
        }
    }
}

/// A second pass over a document that parses, for what a tree of values no longer tells.
fn repeated_keys(text: &str) -> Vec<Repeated> {
    let mut repeated = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The document has been parsed before: it gives no error.
    let _ = deserializer.deserialize_any(TopLevel {
        repeated: &mut repeated,
    });
    repeated
}

struct TopLevel<'a> {
    repeated: &'a mut Vec<Repeated>,
}

impl<'de> Visitor<'de> for TopLevel<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(field) = map.next_key::<String>()? {
            let mut is_repeated = false;
            map.next_value_seed(Inside {
                is_repeated: &mut is_repeated,
            })?;
            let is_field = !seen.insert(field.clone());
            let repeated = Repeated { field, is_field };
            if (is_field || is_repeated) && !self.repeated.contains(&repeated) {
                self.repeated.push(repeated);
            }
        }
        Ok(())
    }
}

/// Looks for keys that stand twice, at any depth, and builds nothing.
struct Inside<'a> {
    is_repeated: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Inside<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inside<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            *self.is_repeated |= !seen.insert(key);
            map.next_value_seed(Inside {
                is_repeated: &mut *self.is_repeated,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items
            .next_element_seed(Inside {
                is_repeated: &mut *self.is_repeated,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(text: &str) -> Vec<(String, bool)> {
        let document = parse(text.as_bytes()).unwrap();
        document
            .repeated
            .into_iter()
            .map(|repeated| (repeated.field, repeated.is_field))
            .collect()
    }

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
            assert_eq!(
                parse(&text).unwrap_err(),
                expected,
                "{}",
                String::from_utf8_lossy(&text[..text.len().min(40)])
            );
        }
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    }

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth() {
        let found = |field: &str, is_field| vec![(field.to_owned(), is_field)];
        assert_eq!(repeated(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#), []);
        assert_eq!(repeated(r#"{"a":1,"a":1,"a":2}"#), found("a", true));
        assert_eq!(repeated(r#"{"a":{"x":1,"x":1}}"#), found("a", false));
        assert_eq!(
            repeated(r#"{"a":[0,1.5,true,null,"s",{"x":[{"y":1,"\u0079":1}]}]}"#),
            found("a", false)
        );
        assert_eq!(repeated("[1]"), []);
    }
}
