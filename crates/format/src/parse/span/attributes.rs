//! Attributes of a span that are kept while its line is parsed.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::{Map, Value};

use super::super::any_value::{self, BorrowedKey, Skip, has_duplicates};
use super::super::scalar::{NoteSeed, Scalar, ScalarSeed, TreeSeed};
use crate::names::event_keys;
use crate::vocabulary::key_use;

/// Something to read attributes into.
pub trait ReadAttributes<'de>: Default {
    /// Reads an object of attributes, and whether there is a duplicate key in it or inside its values.
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error>;
}

/// All attributes, as a tree of values.
impl<'de> ReadAttributes<'de> for Map<String, Value> {
    fn read<M: MapAccess<'de>>(map: M, has_duplicate: &mut bool) -> Result<Self, M::Error> {
        any_value::object(map, has_duplicate)
    }
}

/// The attributes that an outline of a run needs, those that give a span's type, outcome and tokens; the others are
/// checked and passed over. For an index, also the names and the arguments of calls.
#[derive(Debug, Default, PartialEq)]
pub struct KeyAttributes<'a, const INDEXED: bool = false> {
    kept: Vec<KeptAttribute<'a>>,
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

/// A key and, where it is wanted, its value.
#[derive(Debug, PartialEq)]
struct KeptAttribute<'a>(Cow<'a, str>, Option<Scalar<'a>>);

impl AsRef<str> for KeptAttribute<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'a, const INDEXED: bool> KeyAttributes<'a, INDEXED> {
    /// The value under a key; the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        let kept = self.kept.iter().rfind(|kept| kept.0 == key)?;
        kept.1.as_ref()
    }

    /// The text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Every key, in the order of the line.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| &*kept.0)
    }

    /// The groups of all keys combined, see [`key_use`].
    pub(crate) fn groups(&self) -> u8 {
        self.groups
    }

    /// The kept values whose keys begin so, in their order.
    pub fn beginning<'s>(&'s self, beginning: &'s str) -> impl Iterator<Item = (&'s str, &'s Scalar<'a>)> {
        let values = self.kept.iter().filter(move |kept| kept.0.starts_with(beginning));
        values.filter_map(|kept| Some((&*kept.0, kept.1.as_ref()?)))
    }
}

impl<'de, const INDEXED: bool> ReadAttributes<'de> for KeyAttributes<'de, INDEXED> {
    fn read<M: MapAccess<'de>>(mut map: M, has_duplicate: &mut bool) -> Result<Self, M::Error> {
        let mut kept = Vec::new();
        let mut groups = 0;
        while let Some(key) = map.next_key_seed(BorrowedKey)? {
            let mut used = key_use(&key).unwrap_or_default();
            used.is_outlined |= INDEXED && (used.is_indexed || INDEXED_IN_EVENTS.contains(&&*key));
            groups |= used.groups;
            let value = if used.is_outlined && used.is_structured {
                Some(map.next_value_seed(TreeSeed(&mut *has_duplicate))?)
            } else if used.is_outlined {
                Some(map.next_value_seed(ScalarSeed(&mut *has_duplicate))?)
            } else if used.is_noted {
                Some(map.next_value_seed(NoteSeed(&mut *has_duplicate))?)
            } else {
                map.next_value_seed(Skip(&mut *has_duplicate))?;
                None
            };
            kept.push(KeptAttribute(key, value));
        }
        *has_duplicate |= has_duplicates(&kept);
        Ok(Self { kept, groups })
    }
}
