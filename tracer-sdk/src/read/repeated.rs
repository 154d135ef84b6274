//! Keys that stand twice in one object of a JSON document.
//!
//! JSON leaves open which of the two values counts, so two readers may see two different runs in one file: strict
//! reading refuses it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::fields::Place;
use crate::format::{Problem, ProblemCode};

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
pub(super) fn repeated_keys(text: &str) -> Vec<Repeated> {
    let mut repeated = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The document has been parsed before: it gives no error.
    let _ = deserializer.deserialize_any(TopLevel {
        repeated: &mut repeated,
    });
    repeated.dedup();
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
        let mut fields = Vec::new();
        while let Some(field) = map.next_key_seed(Key)? {
            let mut is_repeated = false;
            map.next_value_seed(Inside {
                is_repeated: &mut is_repeated,
            })?;
            if is_repeated {
                self.repeated.push(Repeated {
                    field: field.clone().into_owned(),
                    is_field: false,
                });
            }
            fields.push(field);
        }
        self.repeated
            .extend(standing_twice(&mut fields).map(|field| Repeated {
                field: field.clone().into_owned(),
                is_field: true,
            }));
        Ok(())
    }
}

/// The keys that stand more than once, each as often as it stands too often.
fn standing_twice<'a, 'de>(keys: &'a mut [Cow<'de, str>]) -> impl Iterator<Item = &'a Cow<'de, str>> {
    keys.sort_unstable();
    keys.windows(2).filter_map(|pair| match pair {
        [one, other] if one == other => Some(other),
        _ => None,
    })
}

/// A key, borrowed from the text unless it has escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
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
        let mut keys = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            keys.push(key);
            map.next_value_seed(Inside {
                is_repeated: &mut *self.is_repeated,
            })?;
        }
        *self.is_repeated |= standing_twice(&mut keys).next().is_some();
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
        repeated_keys(text)
            .into_iter()
            .map(|repeated| (repeated.field, repeated.is_field))
            .collect()
    }

    #[test]
    fn a_key_that_stands_twice_is_found_at_any_depth() {
        let found = |field: &str, is_field| vec![(field.to_owned(), is_field)];
        assert_eq!(repeated(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#), []);
        assert_eq!(repeated(r#"{"a":1,"a":1,"a":2}"#), found("a", true));
        assert_eq!(repeated(r#"{"a":{"x":1,"x":1}}"#), found("a", false));
        assert_eq!(
            repeated(r#"{"a":1,"b":{"x":1,"x":1},"\u0061":2}"#),
            [found("b", false), found("a", true)].concat()
        );
        assert_eq!(
            repeated(r#"{"a":[0,1.5,true,null,"s",{"x":[{"y":1,"\u0079":1}]}]}"#),
            found("a", false)
        );
        assert_eq!(repeated("[1]"), []);
    }
}
