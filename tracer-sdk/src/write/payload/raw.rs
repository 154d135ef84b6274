//! `serde_json`'s own wrappers: `RawValue`, a JSON text as it is, and numbers of any precision.
//!
//! Both come as a struct with a private name and one field that holds text. Raw text is read and passed through the
//! same redaction as everything else; a number's text is written as it is.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::Value;

use super::interrupted::{Interrupted, WriteResult};

const RAW_VALUE: &str = "$serde_json::private::RawValue";
const NUMBER: &str = "$serde_json::private::Number";

/// Which wrapper a struct is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapped {
    /// A JSON text.
    RawValue,
    /// The digits of a number.
    Number,
}

impl Wrapped {
    /// The wrapper that a struct with this name is.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            RAW_VALUE => Some(Self::RawValue),
            NUMBER => Some(Self::Number),
            _ => None,
        }
    }

    /// Content of the wrapper's one field.
    pub(super) fn content<T: Serialize + ?Sized>(self, field: &T) -> WriteResult<Unwrapped> {
        let Ok(Value::String(text)) = serde_json::to_value(field) else {
            return Err(Interrupted);
        };
        Ok(match self {
            Self::RawValue => Unwrapped::Json(JsonText(text)),
            Self::Number if is_number(&text) => Unwrapped::Number(text),
            Self::Number => Unwrapped::Text(text),
        })
    }
}

/// Content of a wrapper.
pub(super) enum Unwrapped {
    /// A JSON text.
    Json(JsonText),
    /// A number as JSON spells it.
    Number(String),
    /// A text that only claims to be a number.
    Text(String),
}

/// Returns whether `text` is a number as JSON spells it.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit())
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// A JSON text that serialises as what it says.
pub(super) struct JsonText(String);

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = serde_json::Deserializer::from_str(&self.0);
        text.deserialize_any(Transfer(serializer))
            .map_err(S::Error::custom)
    }
}

/// Something being read that serialises as what it says, once.
struct Transferred<D>(Cell<Option<D>>);

impl<'de, D: Deserializer<'de>> Serialize for Transferred<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = self.0.take().ok_or_else(|| S::Error::custom("read twice"))?;
        source
            .deserialize_any(Transfer(serializer))
            .map_err(S::Error::custom)
    }
}

/// Hands what is read to a serializer.
struct Transfer<S>(S);

macro_rules! transferred {
    ($($visit:ident => $serialize:ident: $type:ty),+) => {
        $(fn $visit<E: serde::de::Error>(self, value: $type) -> Result<S::Ok, E> {
            self.0.$serialize(value).map_err(E::custom)
        })+
    };
}

impl<'de, S: Serializer> Visitor<'de> for Transfer<S> {
    type Value = S::Ok;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    transferred!(
        visit_bool => serialize_bool: bool, visit_i64 => serialize_i64: i64, visit_u64 => serialize_u64: u64,
        visit_f64 => serialize_f64: f64, visit_str => serialize_str: &str
    );

    fn visit_unit<E: serde::de::Error>(self) -> Result<S::Ok, E> {
        self.0.serialize_unit().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<S::Ok, A::Error> {
        let mut elements = match self.0.serialize_seq(None) {
            Ok(elements) => elements,
            Err(replaced) => {
                // The reader must come to the end of what was replaced, for what follows it.
                while access.next_element::<IgnoredAny>()?.is_some() {}
                return Err(A::Error::custom(replaced));
            }
        };
        while access.next_element_seed(Element(&mut elements))?.is_some() {}
        elements.end().map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<S::Ok, A::Error> {
        let mut key = access.next_key::<String>()?;
        if key.as_deref() == Some(NUMBER) {
            let mut number = self.0.serialize_struct(NUMBER, 1).map_err(A::Error::custom)?;
            number
                .serialize_field(NUMBER, &access.next_value::<String>()?)
                .map_err(A::Error::custom)?;
            return number.end().map_err(A::Error::custom);
        }
        let mut members = match self.0.serialize_map(None) {
            Ok(members) => members,
            Err(replaced) => {
                if key.is_some() {
                    access.next_value::<IgnoredAny>()?;
                    while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                }
                return Err(A::Error::custom(replaced));
            }
        };
        while let Some(name) = key {
            members.serialize_key(&name).map_err(A::Error::custom)?;
            access.next_value_seed(MemberSlot(&mut members))?;
            key = access.next_key()?;
        }
        members.end().map_err(A::Error::custom)
    }
}

/// Slot for the next element of an array.
struct Element<'s, S>(&'s mut S);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0
            .serialize_element(&Transferred(Cell::new(Some(source))))
            .map_err(D::Error::custom)
    }
}

/// Slot for the next member's value of an object.
struct MemberSlot<'s, S>(&'s mut S);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for MemberSlot<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0
            .serialize_value(&Transferred(Cell::new(Some(source))))
            .map_err(D::Error::custom)
    }
}
