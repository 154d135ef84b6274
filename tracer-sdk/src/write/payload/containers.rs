//! The items of an array and the members of an object while they are written.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::interrupted::{Interrupted, Outcome};
use super::keys::write_key;
use super::output::Output;
use super::raw::Wrapped;
use super::values::write_child;
use crate::redact::KeyVerdict;

/// An array or object that is open.
pub(super) struct Fields<'w, 'a> {
    output: &'w mut Output<'a>,
    depth: usize,
    /// How many containers end with this one: two for an enum variant with fields.
    levels: usize,
    /// What the last key says about the value that follows it.
    verdict: KeyVerdict,
    /// Set when this is no object at all but `serde_json`'s wrapper around a text.
    wrapped: Option<Wrapped>,
}

impl<'w, 'a> Fields<'w, 'a> {
    pub(super) fn new(output: &'w mut Output<'a>, levels: usize) -> Self {
        let depth = output.depth();
        Self {
            output,
            depth,
            levels,
            verdict: KeyVerdict::Keep,
            wrapped: None,
        }
    }

    pub(super) fn wrapping(output: &'w mut Output<'a>, wrapped: Wrapped, verdict: KeyVerdict) -> Self {
        let depth = output.depth();
        Self {
            output,
            depth,
            levels: 0,
            verdict,
            wrapped: Some(wrapped),
        }
    }

    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.output.item(self.depth)?;
        write_child(self.output, value, KeyVerdict::Keep)
    }

    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        self.verdict = write_key(self.output, self.depth, key)?;
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        if self.output.depth() != self.depth || !self.output.is_awaiting() {
            // A value without a key, or after a panic that the value's own code caught.
            self.output.unusable_key(self.depth)?;
        }
        write_child(self.output, value, self.verdict)
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        if let Some(wrapped) = self.wrapped {
            return wrapped.write(self.output, value, self.verdict);
        }
        self.verdict = self.output.key(self.depth, key)?;
        write_child(self.output, value, self.verdict)
    }

    pub(super) fn end(self) -> Outcome {
        for level in 0..self.levels {
            self.output.end(self.depth.saturating_sub(level))?;
        }
        Ok(())
    }
}

macro_rules! sequence {
    ($($trait:ident :: $method:ident),+) => {
        $(impl $trait for Fields<'_, '_> {
            type Ok = ();
            type Error = Interrupted;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
                self.element(value)
            }

            fn end(self) -> Outcome {
                Fields::end(self)
            }
        })+
    };
}

macro_rules! structure {
    ($($trait:ident),+) => {
        $(impl $trait for Fields<'_, '_> {
            type Ok = ();
            type Error = Interrupted;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
                self.member(key, value)
            }

            fn end(self) -> Outcome {
                Fields::end(self)
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

impl SerializeMap for Fields<'_, '_> {
    type Ok = ();
    type Error = Interrupted;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.value(value)
    }

    fn end(self) -> Outcome {
        Fields::end(self)
    }
}
