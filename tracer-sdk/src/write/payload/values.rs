//! The serializer of a value, under what its key says about it, and of the items and members of an open array or object.
//!
//! Both are here because each needs the other: an item is a value, and a value may be an array.

use std::fmt::Display;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::interrupted::{Interrupted, WriteResult};
use super::keys::{MAX_WRAPPERS, write_key};
use super::output::{Output, name_of_non_finite};
use super::raw::{Unwrapped, Wrapped};
use crate::redact::{KeyVerdict, SEEN_PAST_THE_CUT};
use crate::write::limited_text::LimitedText;

/// Writes one value.
struct ValueSerializer<'w, 'a> {
    output: &'w mut Output<'a>,
    verdict: KeyVerdict,
    /// Number of optional and newtype wrappers around the value.
    wrappers: u8,
}

/// Writes the value at the top. What went wrong is in the text and in `output`.
pub(super) fn write_root<T: Serialize + ?Sized>(output: &mut Output<'_>, value: &T) {
    // An interruption at the top has no caller left to tell.
    let _ = write_child(output, value, KeyVerdict::Keep);
}

/// Writes a value within whatever is open.
fn write_child<T: Serialize + ?Sized>(
    output: &mut Output<'_>,
    value: &T,
    verdict: KeyVerdict,
) -> WriteResult {
    let depth = output.depth();
    let outcome = value.serialize(ValueSerializer {
        output: &mut *output,
        verdict,
        wrappers: 0,
    });
    output.settle(depth, &outcome)
}

/// Writes what the one field of `serde_json`'s wrapper holds.
fn write_unwrapped<T: Serialize + ?Sized>(
    output: &mut Output<'_>,
    wrapped: Wrapped,
    field: &T,
    verdict: KeyVerdict,
) -> WriteResult {
    match wrapped.content(field)? {
        Unwrapped::Json(text) => write_child(output, &text, verdict),
        Unwrapped::Number(_) if verdict == KeyVerdict::Secret => output.secret(),
        Unwrapped::Number(text) => output.verbatim(&text),
        Unwrapped::Text(text) => write_child(output, &text, verdict),
    }
}

impl<'w, 'a> ValueSerializer<'w, 'a> {
    /// A number or a boolean.
    fn number(self, value: &impl Serialize) -> WriteResult {
        match self.verdict {
            KeyVerdict::Secret => self.output.secret(),
            KeyVerdict::Keep | KeyVerdict::SecretUnlessNumber => self.output.literal(value),
        }
    }

    /// A number that JSON cannot hold.
    fn number_as_string(self, text: &str) -> WriteResult {
        match self.verdict {
            KeyVerdict::Secret => self.output.secret(),
            KeyVerdict::Keep | KeyVerdict::SecretUnlessNumber => self.output.plain(text),
        }
    }

    /// Begins an array or object, unless it is a secret as a whole.
    fn begin(self, is_object: bool) -> WriteResult<&'w mut Output<'a>> {
        if self.verdict != KeyVerdict::Keep {
            return self.output.replace_secret();
        }
        self.output.begin(is_object)?;
        Ok(self.output)
    }

    /// Begins `{"Variant":`, and tells what the variant's name says about what follows.
    fn begin_variant(self, variant: &str) -> WriteResult<(&'w mut Output<'a>, KeyVerdict)> {
        let output = self.begin(true)?;
        let depth = output.depth();
        let verdict = output.key(depth, variant)?;
        Ok((output, verdict))
    }

    fn fields(self, is_object: bool) -> WriteResult<OpenContainer<'w, 'a>> {
        Ok(OpenContainer::new(self.begin(is_object)?, 1))
    }

    fn variant_fields(self, variant: &str, is_object: bool) -> WriteResult<OpenContainer<'w, 'a>> {
        let (output, verdict) = self.begin_variant(variant)?;
        let outer = output.depth();
        let begun = if verdict == KeyVerdict::Keep {
            output.begin(is_object)
        } else {
            output.replace_secret()
        };
        if let Err(interrupted) = begun {
            // The marker replaces what the variant holds; the variant itself is complete.
            output.end(outer)?;
            return Err(interrupted);
        }
        Ok(OpenContainer::new(output, 2))
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(self, value: $type) -> WriteResult {
            self.number(&value)
        })+
    };
}

impl<'w, 'a> Serializer for ValueSerializer<'w, 'a> {
    type Ok = ();
    type Error = Interrupted;
    type SerializeSeq = OpenContainer<'w, 'a>;
    type SerializeTuple = OpenContainer<'w, 'a>;
    type SerializeTupleStruct = OpenContainer<'w, 'a>;
    type SerializeTupleVariant = OpenContainer<'w, 'a>;
    type SerializeMap = OpenContainer<'w, 'a>;
    type SerializeStruct = OpenContainer<'w, 'a>;
    type SerializeStructVariant = OpenContainer<'w, 'a>;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_i128(self, value: i128) -> WriteResult {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => self.number(&value),
            (_, Ok(value)) => self.number(&value),
            _ => self.number_as_string(&value.to_string()),
        }
    }

    fn serialize_u128(self, value: u128) -> WriteResult {
        match u64::try_from(value) {
            Ok(value) => self.number(&value),
            Err(_) => self.number_as_string(&value.to_string()),
        }
    }

    fn serialize_f32(self, value: f32) -> WriteResult {
        if value.is_finite() {
            self.number(&value)
        } else {
            self.number_as_string(name_of_non_finite(value.into()))
        }
    }

    fn serialize_f64(self, value: f64) -> WriteResult {
        if value.is_finite() {
            self.number(&value)
        } else {
            self.number_as_string(name_of_non_finite(value))
        }
    }

    fn serialize_char(self, value: char) -> WriteResult {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> WriteResult {
        if self.verdict == KeyVerdict::Keep {
            self.output.string(value)
        } else {
            self.output.secret()
        }
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> WriteResult {
        if self.verdict != KeyVerdict::Keep {
            return self.output.secret();
        }
        let most = self.output.longest_string().saturating_add(SEEN_PAST_THE_CUT);
        let text = LimitedText::of(format_args!("{value}"), most).map_err(|_| Interrupted)?;
        self.output.string(&text)
    }

    fn serialize_bytes(self, value: &[u8]) -> WriteResult {
        let mut fields = self.fields(false)?;
        value.iter().try_for_each(|byte| fields.element(byte))?;
        fields.end()
    }

    fn serialize_none(self) -> WriteResult {
        self.serialize_unit()
    }

    fn serialize_unit(self) -> WriteResult {
        self.output.verbatim("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> WriteResult {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        self.serialize_str(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        if self.wrappers >= MAX_WRAPPERS {
            return self.output.replace_too_deep();
        }
        value.serialize(Self {
            wrappers: self.wrappers + 1,
            ..self
        })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> WriteResult {
        self.serialize_some(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        let (output, verdict) = self.begin_variant(variant)?;
        let depth = output.depth();
        write_child(output, value, verdict)?;
        output.end(depth)
    }

    fn serialize_seq(self, _: Option<usize>) -> WriteResult<OpenContainer<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple(self, _: usize) -> WriteResult<OpenContainer<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> WriteResult<OpenContainer<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> WriteResult<OpenContainer<'w, 'a>> {
        self.variant_fields(variant, false)
    }

    fn serialize_map(self, _: Option<usize>) -> WriteResult<OpenContainer<'w, 'a>> {
        self.fields(true)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> WriteResult<OpenContainer<'w, 'a>> {
        match Wrapped::named(name) {
            Some(wrapped) => Ok(OpenContainer::wrapping(self.output, wrapped, self.verdict)),
            None => self.fields(true),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> WriteResult<OpenContainer<'w, 'a>> {
        self.variant_fields(variant, true)
    }
}

/// An array or object that is open.
struct OpenContainer<'w, 'a> {
    output: &'w mut Output<'a>,
    depth: usize,
    /// Number of containers that end with this one: two for an enum variant with fields.
    levels: usize,
    /// Verdict of the last key on the value that follows it.
    verdict: KeyVerdict,
    /// Set when this is no object at all but `serde_json`'s wrapper around a text.
    wrapped: Option<Wrapped>,
}

impl<'w, 'a> OpenContainer<'w, 'a> {
    fn new(output: &'w mut Output<'a>, levels: usize) -> Self {
        let depth = output.depth();
        Self {
            output,
            depth,
            levels,
            verdict: KeyVerdict::Keep,
            wrapped: None,
        }
    }

    fn wrapping(output: &'w mut Output<'a>, wrapped: Wrapped, verdict: KeyVerdict) -> Self {
        let depth = output.depth();
        Self {
            output,
            depth,
            levels: 0,
            verdict,
            wrapped: Some(wrapped),
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.output.item(self.depth)?;
        write_child(self.output, value, KeyVerdict::Keep)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        self.verdict = write_key(self.output, self.depth, key)?;
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        if self.output.depth() != self.depth || !self.output.is_awaiting() {
            // A value without a key, or after a panic that the value's own code caught.
            self.output.unusable_key(self.depth)?;
        }
        write_child(self.output, value, self.verdict)
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> WriteResult {
        if let Some(wrapped) = self.wrapped {
            return write_unwrapped(self.output, wrapped, value, self.verdict);
        }
        self.verdict = self.output.key(self.depth, key)?;
        write_child(self.output, value, self.verdict)
    }

    fn end(self) -> WriteResult {
        for level in 0..self.levels {
            self.output.end(self.depth.saturating_sub(level))?;
        }
        Ok(())
    }
}

macro_rules! sequence {
    ($($trait:ident :: $method:ident),+) => {
        $(impl $trait for OpenContainer<'_, '_> {
            type Ok = ();
            type Error = Interrupted;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
                self.element(value)
            }

            fn end(self) -> WriteResult {
                OpenContainer::end(self)
            }
        })+
    };
}

macro_rules! structure {
    ($($trait:ident),+) => {
        $(impl $trait for OpenContainer<'_, '_> {
            type Ok = ();
            type Error = Interrupted;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> WriteResult {
                self.member(key, value)
            }

            fn end(self) -> WriteResult {
                OpenContainer::end(self)
            }
        })+
    };
}

sequence!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);
structure!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for OpenContainer<'_, '_> {
    type Ok = ();
    type Error = Interrupted;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.value(value)
    }

    fn end(self) -> WriteResult {
        OpenContainer::end(self)
    }
}
