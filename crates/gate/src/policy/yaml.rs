//! A policy file as a tree whose nodes carry their positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Location, Spanned};

use super::{PolicyError, PolicyErrorCode};
use tracer_sdk::settings::Position;

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) position: Option<Position>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// A key of a mapping, its value, and the position of the key.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) position: Option<Position>,
    pub(super) value: Node,
}

/// The tree of a text. Duplicate keys are errors; `yes`, `no`, `on` and `off` are booleans, as YAML 1.1 has them.
pub(super) fn parse(text: &str) -> Result<Node, PolicyError> {
    let options = serde_saphyr::options! {
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    let tree: Spanned<Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| not_yaml(&error))?;
    Ok(tree.into())
}

fn not_yaml(error: &Error) -> PolicyError {
    let at = error.location().and_then(position);
    match error.without_snippet() {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or_default();
            PolicyError::new(PolicyErrorCode::DuplicateKey, key, "is written twice")
                .hint("keep one of the two")
        }
        other => {
            // The position carries the location, as for every other mistake.
            let message = other.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            PolicyError::new(
                PolicyErrorCode::MalformedYaml,
                "",
                format!("is not YAML: {message}"),
            )
        }
    }
    .at(at)
}

fn position(location: Location) -> Option<Position> {
    let line = usize::try_from(location.line()).ok().filter(|line| *line > 0)?;
    let column = usize::try_from(location.column()).ok()?;
    Some(Position { line, column })
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self {
            value: spanned.value,
            position: position(spanned.referenced),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        // Past the range of `i64` nothing in a policy means an exact integer.
        #[expect(
            clippy::cast_precision_loss,
            reason = "a bound of that size is no less right when rounded"
        )]
        Ok(i64::try_from(value).map_or(Value::Number(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(item.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut mapping = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Value>>()? {
            mapping.push(Entry {
                position: position(key.referenced),
                key: key.value,
                value: value.into(),
            });
        }
        Ok(Value::Mapping(mapping))
    }
}
