//! The text of a policy as values, and the positions of its keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Location, Spanned};

use super::PolicyMistake;
use tracer_sdk::settings::Position;

/// A policy as values, and where they are.
pub(super) struct YamlText {
    pub(super) value: Value,
    positions: Spanned<Positions>,
}

/// The keys of a mapping with their positions, and the positions of their values; empty for any other value.
#[derive(Default)]
struct Positions(BTreeMap<String, (Location, Spanned<Positions>)>);

impl YamlText {
    /// Parses `text`. Duplicate keys are errors; `yes`, `no`, `on` and `off` are booleans, as in YAML 1.1.
    pub(super) fn parse(text: &str) -> Result<Self, PolicyMistake> {
        Ok(Self {
            value: from_text(text)?,
            positions: from_text(text)?,
        })
    }

    /// The position of the value or of the key at `path`; of the nearest mapping above where there is none.
    pub(super) fn position_of(&self, path: &[String], is_key: bool) -> Option<Position> {
        let mut above = &self.positions;
        let mut location = above.referenced;
        for (depth, key) in (1..).zip(path) {
            let Some((key, value)) = above.value.0.get(key) else {
                break;
            };
            let is_sought = is_key && depth == path.len();
            location = if is_sought { *key } else { value.referenced };
            above = value;
        }
        position(location)
    }
}

fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, PolicyMistake> {
    let options = serde_saphyr::options! {
        // A text in the place of a number is a mistake with a place.
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
        // The stack of a small thread.
        budget: serde_saphyr::budget! { max_depth: 32 },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| not_yaml(&error))
}

fn not_yaml(error: &Error) -> PolicyMistake {
    let at = error.location().and_then(position);
    match error.without_snippet() {
        Error::DuplicateMappingKey { key, .. } => {
            PolicyMistake::new(&[key.as_deref().unwrap_or_default()], "is written twice")
                .hint("keep one of the two")
        }
        Error::AliasError { error, .. } => not_yaml(error),
        Error::MultipleDocuments { .. } => PolicyMistake::new(&[], "is more than one YAML document")
            .hint("keep one: remove what follows `---`"),
        Error::Budget { .. } => PolicyMistake::new(&[], "is nested too deeply, or too long")
            .hint("let a command judge what needs so deep a schema"),
        Error::RecursiveReferencesRequireWeakTypes { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            PolicyMistake::new(&[], "has an alias of itself, or of too much")
                .hint("write the values instead of `*`")
        }
        other => {
            // The position carries the location, as for every other mistake.
            let message = other.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            PolicyMistake::new(&[], format!("is not YAML: {message}"))
        }
    }
    .at(at)
}

fn position(location: Location) -> Option<Position> {
    let line = usize::try_from(location.line()).ok().filter(|line| *line > 0)?;
    let column = usize::try_from(location.column()).ok()?;
    Some(Position { line, column })
}

impl<'de> Deserialize<'de> for Positions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PositionsVisitor)
    }
}

struct PositionsVisitor;

impl<'de> Visitor<'de> for PositionsVisitor {
    type Value = Positions;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Positions, A::Error> {
        let mut positions = Positions::default();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, _>()? {
            positions.0.insert(key.value, (key.referenced, value));
        }
        Ok(positions)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Positions, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Positions::default())
    }

    fn visit_unit<E>(self) -> Result<Positions, E> {
        Ok(Positions::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Positions, E> {
        Ok(Positions::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Positions, E> {
        Ok(Positions::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Positions, E> {
        Ok(Positions::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Positions, E> {
        Ok(Positions::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Positions, E> {
        Ok(Positions::default())
    }
}
