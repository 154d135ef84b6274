//! Any value that a program may record, and what it comes back as (decisions, sections 3 and 6).

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A value of any shape, numbers that JSON cannot hold included.
#[derive(Debug, Clone)]
pub enum AnyValue {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number, larger than JSON readers keep exactly perhaps.
    Whole(i128),
    /// Any float: NaN and infinities too.
    Float(f64),
    /// Any text.
    Text(String),
    /// Values in a row.
    List(Vec<AnyValue>),
    /// Values under keys.
    Object(BTreeMap<String, AnyValue>),
}

impl Serialize for AnyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Whole(value) => serializer.serialize_i128(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(entries) => serializer.collect_map(entries),
        }
    }
}

impl AnyValue {
    /// The value as JSON. What JSON cannot hold is text: `NaN`, `Infinity`, digits past 64 bits.
    #[must_use]
    pub fn as_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Whole(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => value.to_string().into(),
            },
            Self::Float(value) => float_as_json(*value),
            Self::Text(value) => value.as_str().into(),
            Self::List(items) => items.iter().map(Self::as_json).collect(),
            Self::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.clone(), value.as_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The value in a place typed "object, string or null": any other is `{"value": …}`.
    #[must_use]
    pub fn as_payload(&self) -> Value {
        match self.as_json() {
            value @ (Value::Object(_) | Value::String(_) | Value::Null) => value,
            // Whether a value is text is seen once it is.
            value => serde_json::json!({ "value": value }),
        }
    }

    /// The value as an attribute: scalars as they are, structure as JSON text, nothing for null.
    #[must_use]
    pub fn as_attribute(&self) -> Option<Value> {
        match self.as_json() {
            Value::Null => None,
            value @ (Value::Array(_) | Value::Object(_)) => Some(value.to_string().into()),
            value => Some(value),
        }
    }
}

/// A float as JSON, or the name of one that JSON cannot hold.
#[must_use]
pub fn float_as_json(value: f64) -> Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// Any text: every plane of Unicode, control characters, nothing at all.
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        2 => proptest::collection::vec(0_u8..0x20, 0..20)
            .prop_map(|bytes| bytes.into_iter().map(char::from).collect()),
        1 => Just(String::new()),
        1 => "[\\\\\"/{}\\[\\]:, \u{7f}\u{80}\u{2028}\u{2029}\u{feff}\u{fffd}\u{10ffff}]{0,20}",
    ]
}

/// Any float, the strange ones often.
pub fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => any::<f64>(),
        1 => prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(f64::MAX), Just(5e-324),
        ],
    ]
}

/// Any value that is not deeper than what is kept: eight levels.
pub fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(AnyValue::Null),
        any::<bool>().prop_map(AnyValue::Bool),
        any::<i64>().prop_map(|value| AnyValue::Whole(value.into())),
        any::<u64>().prop_map(|value| AnyValue::Whole(value.into())),
        any::<i128>().prop_map(AnyValue::Whole),
        any_float().prop_map(AnyValue::Float),
        any_text().prop_map(AnyValue::Text),
    ];
    leaf.prop_recursive(8, 48, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(AnyValue::List),
            proptest::collection::btree_map(any_text(), inner, 0..6).prop_map(AnyValue::Object),
        ]
    })
}
