//! YAML tree with positions, and its `serde` deserializer.

use std::fmt;
use std::slice;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Location, Spanned};

use super::PolicyMistake;
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

/// Parses `text`. Duplicate keys are errors; `yes`, `no`, `on` and `off` are booleans, as in YAML 1.1.
pub(super) fn parse(text: &str) -> Result<YamlNode, PolicyMistake> {
    let options = serde_saphyr::options! {
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
        // The stack of a small thread.
        budget: serde_saphyr::budget! { max_depth: 16 },
    };
    let tree: Spanned<YamlValue> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| not_yaml(&error))?;
    Ok(tree.into())
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
            .hint("a policy needs four levels at most"),
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

impl YamlNode {
    /// The entries of a mapping; empty for anything else.
    pub(super) fn entries(&self) -> &[YamlEntry] {
        match &self.value {
            YamlValue::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The entry at `path`.
    pub(super) fn entry(&self, path: &[String]) -> Option<&YamlEntry> {
        let (first, rest) = path.split_first()?;
        let entry = self.entries().iter().find(|entry| entry.key == *first)?;
        if rest.is_empty() {
            return Some(entry);
        }
        entry.value.entry(rest)
    }

    /// The position of the value or of the key at `path`; of the nearest mapping above where there is none.
    pub(super) fn position_of(&self, path: &[String], is_key: bool) -> Option<Position> {
        let Some((_, above)) = path.split_last() else {
            return self.position;
        };
        match self.entry(path) {
            Some(entry) if is_key => entry.position,
            Some(entry) => entry.value.position,
            None => self.position_of(above, false),
        }
    }

    /// Removes the entry at `path`; `false` where there is none.
    pub(super) fn remove(&mut self, path: &[String]) -> bool {
        let (Some((first, rest)), YamlValue::Mapping(entries)) = (path.split_first(), &mut self.value) else {
            return false;
        };
        let Some(index) = entries.iter().position(|entry| entry.key == *first) else {
            return false;
        };
        if !rest.is_empty() {
            return entries
                .get_mut(index)
                .is_some_and(|entry| entry.value.remove(rest));
        }
        entries.remove(index);
        true
    }
}

impl<'de> Deserializer<'de> for &'de YamlNode {
    type Error = PolicyMistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PolicyMistake> {
        match &self.value {
            YamlValue::Null => visitor.visit_unit(),
            YamlValue::Bool(value) => visitor.visit_bool(*value),
            YamlValue::Integer(value) => visitor.visit_i64(*value),
            YamlValue::Number(value) => visitor.visit_f64(*value),
            YamlValue::Text(text) => visitor.visit_borrowed_str(text),
            YamlValue::List(items) => visitor.visit_seq(YamlItems(items.iter())),
            YamlValue::Mapping(entries) => visitor.visit_map(YamlEntries {
                rest: entries.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PolicyMistake> {
        match self.value {
            YamlValue::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, PolicyMistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PolicyMistake> {
        match &self.value {
            YamlValue::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => Err(serde::de::Error::unknown_variant("", variants)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, PolicyMistake> for &'de YamlNode {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Says of an item of the wrong type what the list must be.
struct YamlItems<'de>(slice::Iter<'de, YamlNode>);

impl<'de> SeqAccess<'de> for YamlItems<'de> {
    type Error = PolicyMistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, PolicyMistake> {
        let item = self.0.next();
        let read = item.map(|item| seed.deserialize(item).map_err(PolicyMistake::of_item));
        read.transpose()
    }
}

/// Adds the key to the path of each mistake below it.
struct YamlEntries<'de> {
    rest: slice::Iter<'de, YamlEntry>,
    value: Option<&'de YamlEntry>,
}

impl<'de> MapAccess<'de> for YamlEntries<'de> {
    type Error = PolicyMistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, PolicyMistake> {
        self.value = self.rest.next();
        let key = |entry: &'de YamlEntry| {
            let key = entry.key.as_str();
            let read = seed.deserialize(key.into_deserializer());
            read.map_err(|mistake: PolicyMistake| mistake.below(key).of_key())
        };
        self.value.map(key).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, PolicyMistake> {
        let entry = self
            .value
            .take()
            .ok_or_else(|| serde::de::Error::custom("has a value without a key"))?;
        seed.deserialize(&entry.value)
            .map_err(|mistake| mistake.below(&entry.key))
    }
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
