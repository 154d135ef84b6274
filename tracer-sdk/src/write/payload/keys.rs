//! Map keys: what `serde_json` makes a string of, and a marker for the rest.

use std::fmt::Display;

use serde::ser::{Impossible, Serialize, Serializer};

use super::interrupted::{Interrupted, WriteResult};
use super::output::{Output, name_of_non_finite};
use crate::redact::{KeyVerdict, SEEN_PAST_THE_CUT};
use crate::write::limited_text::LimitedText;

/// Writes one key of the object at `depth`.
pub(super) struct KeySerializer<'w, 'a> {
    pub(super) output: &'w mut Output<'a>,
    pub(super) depth: usize,
    /// Number of optional and newtype wrappers around the key.
    pub(super) wrappers: u8,
}

/// Past this many wrappers around one value it is taken for endless.
pub(super) const MAX_WRAPPERS: u8 = 64;

/// Writes the key of an object with text from any `Serialize` value.
pub(super) fn write_key<K: Serialize + ?Sized>(
    output: &mut Output<'_>,
    depth: usize,
    key: &K,
) -> WriteResult<KeyVerdict> {
    match key.serialize(KeySerializer {
        output: &mut *output,
        depth,
        wrappers: 0,
    }) {
        Ok(verdict) => Ok(verdict),
        Err(interrupted) if output.is_stopped() => Err(interrupted),
        Err(_) => output.unusable_key(depth),
    }
}

macro_rules! printed {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(self, value: $type) -> WriteResult<KeyVerdict> {
            self.collect_str(&value)
        })+
    };
}

macro_rules! unusable {
    ($($method:ident($($argument:ty),*) -> $result:ty;)+) => {
        $(fn $method(self, $(_: $argument),*) -> WriteResult<$result> {
            Err(Interrupted)
        })+
    };
}

impl Serializer for KeySerializer<'_, '_> {
    type Ok = KeyVerdict;
    type Error = Interrupted;
    type SerializeSeq = Impossible<KeyVerdict, Interrupted>;
    type SerializeTuple = Impossible<KeyVerdict, Interrupted>;
    type SerializeTupleStruct = Impossible<KeyVerdict, Interrupted>;
    type SerializeTupleVariant = Impossible<KeyVerdict, Interrupted>;
    type SerializeMap = Impossible<KeyVerdict, Interrupted>;
    type SerializeStruct = Impossible<KeyVerdict, Interrupted>;
    type SerializeStructVariant = Impossible<KeyVerdict, Interrupted>;

    printed!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_char: char
    );

    fn serialize_f32(self, value: f32) -> WriteResult<KeyVerdict> {
        match serde_json::to_string(&value) {
            Ok(text) if value.is_finite() => self.serialize_str(&text),
            _ => self.serialize_f64(value.into()),
        }
    }

    fn serialize_f64(self, value: f64) -> WriteResult<KeyVerdict> {
        match serde_json::to_string(&value) {
            Ok(text) if value.is_finite() => self.serialize_str(&text),
            _ => self.serialize_str(name_of_non_finite(value)),
        }
    }

    fn serialize_str(self, value: &str) -> WriteResult<KeyVerdict> {
        self.output.key(self.depth, value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> WriteResult<KeyVerdict> {
        let most = self.output.longest_string().saturating_add(SEEN_PAST_THE_CUT);
        let text = LimitedText::of(format_args!("{value}"), most).map_err(|_| Interrupted)?;
        self.serialize_str(&text)
    }

    fn serialize_none(self) -> WriteResult<KeyVerdict> {
        self.serialize_str("null")
    }

    fn serialize_unit(self) -> WriteResult<KeyVerdict> {
        self.serialize_str("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> WriteResult<KeyVerdict> {
        self.serialize_str("null")
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> WriteResult<KeyVerdict> {
        self.serialize_str(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult<KeyVerdict> {
        if self.wrappers >= MAX_WRAPPERS {
            return Err(Interrupted);
        }
        value.serialize(Self {
            wrappers: self.wrappers + 1,
            ..self
        })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> WriteResult<KeyVerdict> {
        self.serialize_some(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> WriteResult<KeyVerdict> {
        Err(Interrupted)
    }

    unusable! {
        serialize_bytes(&[u8]) -> KeyVerdict;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
