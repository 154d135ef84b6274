//! The serializer of one value, under what its key says about it.

use std::fmt::Display;

use serde::ser::{Serialize, Serializer};

use super::containers::Fields;
use super::interrupted::{Interrupted, Outcome};
use super::keys::MOST_WRAPPERS;
use super::output::Output;
use super::raw;
use crate::redact::{KeyVerdict, SEEN_PAST_THE_CUT};
use crate::write::limited_text::LimitedText;

/// Writes one value.
pub(super) struct ValueSerializer<'w, 'a> {
    pub(super) output: &'w mut Output<'a>,
    pub(super) verdict: KeyVerdict,
    /// How many optional and newtype wrappers are around the value.
    wrappers: u8,
}

/// Writes the value at the top. What went wrong is in the text and in `output`.
pub(super) fn write_root<T: Serialize + ?Sized>(output: &mut Output<'_>, value: &T) {
    // An interruption at the top has nobody left to tell.
    let _ = write_child(output, value, KeyVerdict::Keep);
}

/// Writes a value within whatever is open.
pub(super) fn write_child<T: Serialize + ?Sized>(
    output: &mut Output<'_>,
    value: &T,
    verdict: KeyVerdict,
) -> Outcome {
    let depth = output.depth();
    let outcome = value.serialize(ValueSerializer {
        output: &mut *output,
        verdict,
        wrappers: 0,
    });
    output.settle(depth, &outcome)
}

/// How a number that JSON cannot hold is written.
pub(super) fn name_of_non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

impl<'w, 'a> ValueSerializer<'w, 'a> {
    /// A number or a boolean.
    fn number(self, value: &impl Serialize) -> Outcome {
        match self.verdict {
            KeyVerdict::Secret => self.output.secret(),
            KeyVerdict::Keep | KeyVerdict::SecretUnlessNumber => self.output.literal(value),
        }
    }

    /// A number that JSON cannot hold.
    fn number_as_string(self, text: &str) -> Outcome {
        match self.verdict {
            KeyVerdict::Secret => self.output.secret(),
            KeyVerdict::Keep | KeyVerdict::SecretUnlessNumber => self.output.plain(text),
        }
    }

    /// Begins an array or object, unless it is a secret as a whole.
    fn begin(self, is_object: bool) -> Outcome<&'w mut Output<'a>> {
        if self.verdict != KeyVerdict::Keep {
            return self.output.replace_secret();
        }
        self.output.begin(is_object)?;
        Ok(self.output)
    }

    /// Begins `{"Variant":`, and tells what the variant's name says about what follows.
    fn begin_variant(self, variant: &str) -> Outcome<(&'w mut Output<'a>, KeyVerdict)> {
        let output = self.begin(true)?;
        let depth = output.depth();
        let verdict = output.key(depth, variant)?;
        Ok((output, verdict))
    }

    fn fields(self, is_object: bool) -> Outcome<Fields<'w, 'a>> {
        Ok(Fields::new(self.begin(is_object)?, 1))
    }

    fn variant_fields(self, variant: &str, is_object: bool) -> Outcome<Fields<'w, 'a>> {
        let (output, verdict) = self.begin_variant(variant)?;
        let outer = output.depth();
        let begun = if verdict == KeyVerdict::Keep {
            output.begin(is_object)
        } else {
            output.replace_secret()
        };
        if let Err(interrupted) = begun {
            // The marker stands for what the variant holds; the variant itself is complete.
            output.end(outer)?;
            return Err(interrupted);
        }
        Ok(Fields::new(output, 2))
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(self, value: $type) -> Outcome {
            self.number(&value)
        })+
    };
}

impl<'w, 'a> Serializer for ValueSerializer<'w, 'a> {
    type Ok = ();
    type Error = Interrupted;
    type SerializeSeq = Fields<'w, 'a>;
    type SerializeTuple = Fields<'w, 'a>;
    type SerializeTupleStruct = Fields<'w, 'a>;
    type SerializeTupleVariant = Fields<'w, 'a>;
    type SerializeMap = Fields<'w, 'a>;
    type SerializeStruct = Fields<'w, 'a>;
    type SerializeStructVariant = Fields<'w, 'a>;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_i128(self, value: i128) -> Outcome {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => self.number(&value),
            (_, Ok(value)) => self.number(&value),
            _ => self.number_as_string(&value.to_string()),
        }
    }

    fn serialize_u128(self, value: u128) -> Outcome {
        match u64::try_from(value) {
            Ok(value) => self.number(&value),
            Err(_) => self.number_as_string(&value.to_string()),
        }
    }

    fn serialize_f32(self, value: f32) -> Outcome {
        if value.is_finite() {
            self.number(&value)
        } else {
            self.number_as_string(name_of_non_finite(value.into()))
        }
    }

    fn serialize_f64(self, value: f64) -> Outcome {
        if value.is_finite() {
            self.number(&value)
        } else {
            self.number_as_string(name_of_non_finite(value))
        }
    }

    fn serialize_char(self, value: char) -> Outcome {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Outcome {
        if self.verdict == KeyVerdict::Keep {
            self.output.string(value)
        } else {
            self.output.secret()
        }
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Outcome {
        if self.verdict != KeyVerdict::Keep {
            return self.output.secret();
        }
        let most = self.output.longest_string().saturating_add(SEEN_PAST_THE_CUT);
        let text = LimitedText::of(format_args!("{value}"), most).map_err(|_| Interrupted)?;
        self.output.string(&text)
    }

    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        let mut fields = self.fields(false)?;
        value.iter().try_for_each(|byte| fields.element(byte))?;
        fields.end()
    }

    fn serialize_none(self) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit(self) -> Outcome {
        self.output.verbatim("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Outcome {
        self.serialize_str(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        if self.wrappers >= MOST_WRAPPERS {
            return self.output.replace_too_deep();
        }
        value.serialize(Self {
            wrappers: self.wrappers + 1,
            ..self
        })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Outcome {
        self.serialize_some(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Outcome {
        let (output, verdict) = self.begin_variant(variant)?;
        let depth = output.depth();
        write_child(output, value, verdict)?;
        output.end(depth)
    }

    fn serialize_seq(self, _: Option<usize>) -> Outcome<Fields<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple(self, _: usize) -> Outcome<Fields<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Outcome<Fields<'w, 'a>> {
        self.fields(false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Outcome<Fields<'w, 'a>> {
        self.variant_fields(variant, false)
    }

    fn serialize_map(self, _: Option<usize>) -> Outcome<Fields<'w, 'a>> {
        self.fields(true)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Outcome<Fields<'w, 'a>> {
        match raw::Wrapped::named(name) {
            Some(wrapped) => Ok(Fields::wrapping(self.output, wrapped, self.verdict)),
            None => self.fields(true),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Outcome<Fields<'w, 'a>> {
        self.variant_fields(variant, true)
    }
}
