//! JSON values in single fields: borrowed texts, objects and arrays by name.

use std::borrow::Cow;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::any_value::{Skip, ValueSeed, expecting, seed};

/// Gives the methods of a visitor for null, booleans and numbers: each is kept.
macro_rules! scalars_as_they_are {
    () => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Scalar::Null)
        }

        fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
            Ok(Scalar::Bool(value))
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Scalar::Whole(number))
        }

        fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
            Ok(u64::try_from(number).map_or(Scalar::Negative, Scalar::Whole))
        }

        fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
            Ok(Scalar::Float(number))
        }
    };
}

/// Gives the methods of a visitor for texts: each is kept, borrowed where it can be.
macro_rules! texts_as_they_are {
    () => {
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Scalar::Text(Cow::Borrowed(text)))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Scalar::Text(Cow::Owned(text.to_owned())))
        }
    };
}

/// A value without what lies inside it.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    /// A whole number, zero or more.
    Whole(u64),
    /// A whole number below zero.
    Negative,
    /// Any other number.
    Float(f64),
    Text(Cow<'a, str>),
    /// An object or an array.
    Nested,
    /// An object or an array with what lies inside it.
    Tree(Box<Value>),
}

impl<'a> Scalar<'a> {
    /// The scalar of a value.
    pub(super) fn from_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => Self::Whole(whole),
                (None, _) if number.is_i64() => Self::Negative,
                (None, float) => Self::Float(float.unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(_) | Value::Object(_) => Self::Nested,
        }
    }

    /// The text, when it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a value as a [`Scalar`], and whether there is a duplicate key inside it.
#[derive(Debug)]
pub(super) struct ScalarSeed<'a>(pub(super) &'a mut bool);

seed!(ScalarSeed<'_>, deserialize_any);

impl<'de> Visitor<'de> for ScalarSeed<'_> {
    type Value = Scalar<'de>;

    expecting!("any JSON value");

    scalars_as_they_are!();
    texts_as_they_are!();

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Skip(self.0).visit_map(map)?;
        Ok(Scalar::Nested)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Skip(self.0).visit_seq(items)?;
        Ok(Scalar::Nested)
    }
}

/// Reads a value as a [`Scalar`]; an object or an array with what lies inside it.
#[derive(Debug)]
pub(super) struct TreeSeed<'a>(pub(super) &'a mut bool);

seed!(TreeSeed<'_>, deserialize_any);

impl<'de> Visitor<'de> for TreeSeed<'_> {
    type Value = Scalar<'de>;

    expecting!("any JSON value");

    scalars_as_they_are!();
    texts_as_they_are!();

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(Scalar::Tree(Box::new(ValueSeed(self.0).visit_map(map)?)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Ok(Scalar::Tree(Box::new(ValueSeed(self.0).visit_seq(items)?)))
    }
}

/// Reads whether there is a value: null, an empty text, or anything else, whose inside is passed over.
#[derive(Debug)]
pub(super) struct NoteSeed<'a>(pub(super) &'a mut bool);

seed!(NoteSeed<'_>, deserialize_any);

impl<'de> Visitor<'de> for NoteSeed<'_> {
    type Value = Scalar<'de>;

    expecting!("any JSON value");

    scalars_as_they_are!();

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if text.is_empty() {
            Scalar::Text(Cow::Borrowed(""))
        } else {
            Scalar::Nested
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ScalarSeed(self.0).visit_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        ScalarSeed(self.0).visit_seq(items)
    }
}
