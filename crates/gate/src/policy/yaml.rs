//! A policy file as a tree whose nodes carry their positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Location, Spanned};

use super::{PolicyError, PolicyErrorCode};
use tracer_sdk::settings::Position;

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct YamlNode {
    pub(super) value: YamlValue,
    pub(super) position: Option<Position>,
}

#[derive(Debug, Clone)]
pub(super) enum YamlValue {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<YamlNode>),
    Mapping(Vec<YamlEntry>),
}

/// A key of a mapping, its value, and the position of the key.
#[derive(Debug, Clone)]
pub(super) struct YamlEntry {
    pub(super) key: String,
    pub(super) position: Option<Position>,
    pub(super) value: YamlNode,
}

/// The tree of a text. Duplicate keys are errors; `yes`, `no`, `on` and `off` are booleans, as YAML 1.1 has them.
pub(super) fn parse(text: &str) -> Result<YamlNode, PolicyError> {
    let options = serde_saphyr::options! {
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    let tree: Spanned<YamlValue> =
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

impl From<Spanned<YamlValue>> for YamlNode {
    fn from(spanned: Spanned<YamlValue>) -> Self {
        Self {
            value: spanned.value,
            position: position(spanned.referenced),
        }
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyYaml)
    }
}

struct AnyYaml;

impl<'de> Visitor<'de> for AnyYaml {
    type Value = YamlValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
        // Past the range of `i64` nothing in a policy means an exact integer.
        #[expect(
            clippy::cast_precision_loss,
            reason = "a bound of that size is no less right when rounded"
        )]
        Ok(i64::try_from(value).map_or(YamlValue::Number(value as f64), YamlValue::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<YamlValue>>()? {
            list.push(item.into());
        }
        Ok(YamlValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
        let mut mapping = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<YamlValue>>()? {
            mapping.push(YamlEntry {
                position: position(key.referenced),
                key: key.value,
                value: value.into(),
            });
        }
        Ok(YamlValue::Mapping(mapping))
    }
}
