//! Values of attributes, from JSON to the protocol's `AnyValue`.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
use serde_json::{Map, Number, Value};

/// Attributes in the order of the map. A null at the top says nothing and is left out.
pub(super) fn key_values(attributes: Map<String, Value>) -> Vec<KeyValue> {
    let present = attributes.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(key, value)| key_value(key, value)).collect()
}

/// An attribute.
pub(crate) fn attribute(key: &str, value: impl Into<Value>) -> KeyValue {
    key_value(key.to_owned(), value.into())
}

pub(super) fn key_value(key: String, value: Value) -> KeyValue {
    KeyValue {
        key,
        value: Some(any_value(value)),
        ..KeyValue::default()
    }
}

fn any_value(value: Value) -> AnyValue {
    AnyValue {
        value: match value {
            // A value without a type is the protocol's null.
            Value::Null => None,
            Value::Bool(value) => Some(Any::BoolValue(value)),
            Value::String(value) => Some(Any::StringValue(value)),
            Value::Number(number) => Some(any_number(&number)),
            Value::Array(values) => Some(Any::ArrayValue(ArrayValue {
                values: values.into_iter().map(any_value).collect(),
            })),
            Value::Object(map) => Some(Any::KvlistValue(KeyValueList {
                values: map
                    .into_iter()
                    .map(|(key, value)| key_value(key, value))
                    .collect(),
            })),
        },
    }
}

fn any_number(number: &Number) -> Any {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => Any::IntValue(whole),
        (None, Some(float)) => Any::DoubleValue(float),
        (None, None) => Any::StringValue(number.to_string()),
    }
}
