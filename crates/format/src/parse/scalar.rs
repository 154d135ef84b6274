//! JSON values in single fields: borrowed texts, objects and arrays by name.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A text of a document, borrowed where it has no escapes.
#[derive(Debug, Deserialize)]
pub(super) struct FieldText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

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

/// Reads a value of any type, and keeps as much of it as is wanted; the rest is checked and passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing but its type, and of a text whether it is empty.
    Presence,
    /// A text; of objects and arrays that they are there.
    Scalar,
    /// All of it.
    Tree,
}

impl<'de> DeserializeSeed<'de> for Keep {
    type Value = Scalar<'de>;

    // Not `IgnoredAny` for what is passed over: that lets numbers out of range and broken escapes pass.
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Keep {
    fn passes_over(self, text: &str) -> bool {
        self == Self::Presence && !text.is_empty()
    }
}

impl<'de> Visitor<'de> for Keep {
    type Value = Scalar<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any JSON value")
    }

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

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(if self.passes_over(text) {
            Scalar::Nested
        } else {
            Scalar::Text(Cow::Borrowed(text))
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if self.passes_over(text) {
            Scalar::Nested
        } else {
            Scalar::Text(Cow::Owned(text.to_owned()))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if self == Self::Tree {
            let value = Value::deserialize(MapAccessDeserializer::new(map))?;
            return Ok(Scalar::Tree(Box::new(value)));
        }
        while map.next_key_seed(Self::Presence)?.is_some() {
            map.next_value_seed(Self::Presence)?;
        }
        Ok(Scalar::Nested)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        if self == Self::Tree {
            let value = Value::deserialize(SeqAccessDeserializer::new(items))?;
            return Ok(Scalar::Tree(Box::new(value)));
        }
        while items.next_element_seed(Self::Presence)?.is_some() {}
        Ok(Scalar::Nested)
    }
}
