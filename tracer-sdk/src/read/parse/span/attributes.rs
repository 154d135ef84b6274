//! What is kept of a span's attributes while its line is read.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::{Map, Value};

use super::super::any_value::{self, Key, Skip, has_duplicates};
use super::super::scalar::{Scalar, ScalarSeed};
use crate::format::names::{self, Name, event_keys};

/// Something to read attributes into.
pub(crate) trait ReadAttributes<'de>: Sized {
    /// Reads an object of attributes, and whether there is a duplicate key in it or inside its values.
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error>;
}

/// All attributes, as a tree of values.
impl<'de> ReadAttributes<'de> for Map<String, Value> {
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error> {
        any_value::object(map, has_duplicate)
    }
}

/// The attributes that give a span's type, outcome and tokens.
const KEY_ATTRIBUTES: [Name; 9] = [
    names::OPERATION,
    names::PROVIDER,
    names::TOOL_NAME,
    names::EVENT_TYPE,
    names::ERROR_TYPE,
    names::STATUS,
    names::INPUT_TOKENS,
    names::OUTPUT_TOKENS,
    names::TOTAL_TOKENS,
];

/// The attributes that an outline of a run needs; the others are checked and passed over.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct KeyAttributes<'a>(Vec<KeptAttribute<'a>>);

/// A key and, where it is wanted, its value.
#[derive(Debug, PartialEq)]
struct KeptAttribute<'a>(Cow<'a, str>, Option<Scalar<'a>>);

impl AsRef<str> for KeptAttribute<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'a> KeyAttributes<'a> {
    /// The value under a key; the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        let kept = self.0.iter().rfind(|kept| kept.0 == key)?;
        kept.1.as_ref()
    }

    /// The text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }
}

impl<'de> ReadAttributes<'de> for KeyAttributes<'de> {
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error> {
        Self::read_some(map, has_duplicate, is_key_attribute)
    }
}

fn is_key_attribute(key: &str) -> bool {
    KEY_ATTRIBUTES.iter().any(|name| name.is(key))
}

impl<'de> KeyAttributes<'de> {
    /// Keeps the values under the keys that are wanted.
    pub(crate) fn read_some<M: MapAccess<'de>>(
        mut map: M,
        has_duplicate: &mut bool,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, M::Error> {
        let mut kept = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let value = if is_wanted(&key) {
                Some(map.next_value_seed(ScalarSeed(&mut *has_duplicate))?)
            } else {
                map.next_value_seed(Skip(&mut *has_duplicate))?;
                None
            };
            kept.push(KeptAttribute(key, value));
        }
        *has_duplicate |= has_duplicates(&kept);
        Ok(Self(kept))
    }
}

/// Further attributes for an index of a run: the names and the arguments of calls.
const INDEXED: [Name; 6] = [
    names::REQUEST_MODEL,
    names::RESPONSE_MODEL,
    names::TOOL_CALL_ARGUMENTS,
    names::SYSTEM_INSTRUCTIONS,
    names::INPUT_MESSAGES,
    names::ERROR_MESSAGE,
];

/// The same inside span events.
const INDEXED_IN_EVENTS: [&str; 4] = [
    event_keys::CONTENT,
    event_keys::ARGUMENTS,
    event_keys::STATE,
    event_keys::DIFF,
];

/// The attributes that an index of a run needs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct IndexedAttributes<'a>(pub(crate) KeyAttributes<'a>);

impl<'de> ReadAttributes<'de> for IndexedAttributes<'de> {
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error> {
        let is_wanted = |key: &str| {
            is_key_attribute(key)
                || INDEXED.iter().any(|name| name.is(key))
                || INDEXED_IN_EVENTS.contains(&key)
        };
        KeyAttributes::read_some(map, has_duplicate, is_wanted).map(Self)
    }
}
