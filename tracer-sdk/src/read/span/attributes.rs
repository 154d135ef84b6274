//! What is kept of a span's attributes while its line is read.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::{Map, Value};

use super::super::any_value::{self, Key, Skip, is_any_repeated};
use super::super::scalar::{Scalar, ScalarSeed};
use crate::format::names::{self, Name};

/// Something to read attributes into.
pub(in super::super) trait ReadAttributes<'de>: Sized {
    /// Reads an object of attributes; tells whether a key stands twice in it or inside its values.
    fn read<M: MapAccess<'de>>(map: M, is_repeated: &mut bool) -> Result<Self, M::Error>;
}

/// All attributes, as a tree of values.
impl<'de> ReadAttributes<'de> for Map<String, Value> {
    fn read<M: MapAccess<'de>>(map: M, is_repeated: &mut bool) -> Result<Self, M::Error> {
        any_value::object(map, is_repeated)
    }
}

/// What the type of a span, its outcome and its tokens are told by.
const OUTLINED: [Name; 9] = [
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
pub(in super::super) struct Outline<'a>(Vec<Kept<'a>>);

/// A key and, where it is one of [`OUTLINED`], its value.
#[derive(Debug, PartialEq)]
struct Kept<'a>(Cow<'a, str>, Option<Scalar<'a>>);

impl AsRef<str> for Kept<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'a> Outline<'a> {
    /// The value under a key; the last one counts.
    pub(in super::super) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        let kept = self.0.iter().rfind(|kept| kept.0 == key)?;
        kept.1.as_ref()
    }
}

impl<'de> ReadAttributes<'de> for Outline<'de> {
    fn read<M: MapAccess<'de>>(mut map: M, is_repeated: &mut bool) -> Result<Self, M::Error> {
        let mut kept = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let value = if OUTLINED.iter().any(|name| name.is(&key)) {
                Some(map.next_value_seed(ScalarSeed(&mut *is_repeated))?)
            } else {
                map.next_value_seed(Skip(&mut *is_repeated))?;
                None
            };
            kept.push(Kept(key, value));
        }
        *is_repeated |= is_any_repeated(&kept);
        Ok(Self(kept))
    }
}
