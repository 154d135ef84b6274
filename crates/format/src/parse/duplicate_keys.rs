//! Duplicate keys of a JSON document: [`ParsedDocument`] is a top-level object with a list of them.

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::any_value::{BorrowedKey, Skip, ValueSeed, expecting, plain_values_give, seed};
use super::fields::Location;
use crate::{Problem, ProblemCode};

/// A duplicate key of an object: the top-level field that it is, or that it lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DuplicateKey<T> {
    /// The top-level field.
    pub(super) field: T,
    /// `true` when the field itself is the duplicate, and not a key inside it.
    pub(super) is_field: bool,
}

impl<T: AsRef<str>> DuplicateKey<T> {
    /// The problem of the object at `place`; keys that are not `known` may hold anything and are not named.
    pub(super) fn problem(&self, place: Location, known: &[&str]) -> Problem {
        let message = if self.is_field {
            "is a duplicate key of its object; write it once"
        } else {
            "contains an object with a duplicate key; write each key once"
        };
        let field = self.field.as_ref();
        if known.contains(&field) {
            place.field_problem(field, ProblemCode::InvalidValue, message)
        } else {
            place.problem(
                ProblemCode::InvalidValue,
                "has a duplicate key; write each key once",
            )
        }
    }
}

/// A document: its object, if it is one, and the keys that stand twice.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedDocument {
    /// The object; the last value of a duplicate key counts, as everywhere.
    pub(super) object: Option<Map<String, Value>>,
    /// Keys inside a field first, in the order of the document, then the fields themselves.
    pub(super) repeated: Vec<DuplicateKey<String>>,
}

/// Reads a [`ParsedDocument`].
#[derive(Debug)]
pub(super) struct DocumentSeed;

seed!(DocumentSeed, deserialize_any);

impl<'de> Visitor<'de> for DocumentSeed {
    type Value = ParsedDocument;

    expecting!("an object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedDocument, A::Error> {
        let mut object = Map::new();
        let (mut inside, mut fields) = (Vec::new(), Vec::new());
        while let Some(key) = map.next_key_seed(BorrowedKey)? {
            let mut has_duplicate = false;
            let value = map.next_value_seed(ValueSeed(&mut has_duplicate))?;
            if has_duplicate {
                let field = key.clone().into_owned();
                inside.push(DuplicateKey {
                    field,
                    is_field: false,
                });
            }
            if object.insert(key.clone().into_owned(), value).is_some() {
                let field = key.into_owned();
                fields.push(DuplicateKey {
                    field,
                    is_field: true,
                });
            }
        }
        inside.extend(fields);
        inside.dedup();
        Ok(ParsedDocument {
            object: Some(object),
            repeated: inside,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<ParsedDocument, A::Error> {
        Skip(&mut false).visit_seq(items)?;
        Ok(ParsedDocument::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<ParsedDocument, E> {
        Ok(ParsedDocument::default())
    }

    plain_values_give!(ParsedDocument, ParsedDocument::default());
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    fn repeated(text: &str) -> Vec<(String, bool)> {
        let document = json::parse(text.as_bytes(), DocumentSeed).unwrap();
        document
            .repeated
            .into_iter()
            .map(|repeated| (repeated.field, repeated.is_field))
            .collect()
    }

    #[test]
    fn a_duplicate_key_is_reported_by_its_field() {
        let found = |field: &str, is_field| vec![(field.to_owned(), is_field)];
        assert_eq!(repeated(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#), []);
        assert_eq!(repeated(r#"{"a":1,"a":1,"a":2}"#), found("a", true));
        assert_eq!(repeated(r#"{"a":{"x":1,"x":1}}"#), found("a", false));
        assert_eq!(
            repeated(r#"{"a":1,"b":{"x":1,"x":1},"\u0061":2}"#),
            [found("b", false), found("a", true)].concat()
        );
        assert_eq!(repeated("[1]"), []);
    }

    #[test]
    fn what_is_no_object_is_reported() {
        for text in ["[]", "null", "true", "1", "-1", "1.5", "\"text\""] {
            assert_eq!(
                json::parse(text.as_bytes(), DocumentSeed),
                Ok(ParsedDocument::default()),
                "{text}"
            );
        }
    }
}
