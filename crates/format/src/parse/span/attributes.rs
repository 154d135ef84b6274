//! Attributes of a span that are kept while its line is parsed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::super::scalar::{FieldText, Keep, Scalar};
use crate::names::event_keys;
use crate::vocabulary::key_use;

/// The attributes that an outline of a run needs, those that give a span's type, outcome and tokens; the others are
/// checked and passed over. For an index, also the names and the arguments of calls.
#[derive(Debug, Default, PartialEq)]
pub struct KeyAttributes<'a, const INDEXED: bool = false> {
    /// Keys and, where they are wanted, their values.
    kept: Vec<(Cow<'a, str>, Option<Scalar<'a>>)>,
    /// The groups that the keys belong to, see [`key_use`].
    groups: u8,
}

/// The attributes that an index of a run needs.
pub type IndexedAttributes<'a> = KeyAttributes<'a, true>;

/// Further attributes that an index needs, on span events: the arguments of calls.
const INDEXED_IN_EVENTS: [&str; 4] = [
    event_keys::CONTENT,
    event_keys::ARGUMENTS,
    event_keys::STATE,
    event_keys::DIFF,
];

impl<'a, const INDEXED: bool> KeyAttributes<'a, INDEXED> {
    /// The value under a key; the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        let (_, value) = self.kept.iter().rfind(|(kept, _)| kept == key)?;
        value.as_ref()
    }

    /// The text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Every key, in the order of the line.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|(key, _)| &**key)
    }

    /// The groups of all keys combined, see [`key_use`].
    pub(crate) fn groups(&self) -> u8 {
        self.groups
    }

    /// The kept values whose keys begin so, in their order.
    pub fn beginning<'s>(&'s self, beginning: &'s str) -> impl Iterator<Item = (&'s str, &'s Scalar<'a>)> {
        let values = self
            .kept
            .iter()
            .filter(move |(key, _)| key.starts_with(beginning));
        values.filter_map(|(key, value)| Some((&**key, value.as_ref()?)))
    }
}

impl<'de, const INDEXED: bool> Deserialize<'de> for KeyAttributes<'de, INDEXED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributesVisitor::<INDEXED>)
    }
}

struct AttributesVisitor<const INDEXED: bool>;

impl<'de, const INDEXED: bool> Visitor<'de> for AttributesVisitor<INDEXED> {
    type Value = KeyAttributes<'de, INDEXED>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("attributes")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut attributes = KeyAttributes::default();
        while let Some(FieldText(key)) = map.next_key()? {
            let mut used = key_use(&key).unwrap_or_default();
            used.is_outlined |= INDEXED && (used.is_indexed || INDEXED_IN_EVENTS.contains(&&*key));
            attributes.groups |= used.groups;
            let keep = match (used.is_outlined, used.is_structured) {
                (true, true) => Keep::Tree,
                (true, false) => Keep::Scalar,
                (false, _) => Keep::Presence,
            };
            let value = map.next_value_seed(keep)?;
            let is_kept = used.is_outlined || used.is_noted;
            attributes.kept.push((key, is_kept.then_some(value)));
        }
        Ok(attributes)
    }
}
