//! What the JSON text of a value looks like, and what hostile values do to it.

mod hostile;
mod like_serde_json;
mod ordinary;
mod raw;

use serde::Serialize;

use super::{WrittenValue, write_json};
use crate::redact::{RedactionSettings, Redactor};

pub(super) fn redactor() -> Redactor {
    Redactor::new(&RedactionSettings::default(), [])
}

/// The JSON text of `value`, checked to be valid.
pub(super) fn written<T: Serialize + ?Sized>(value: &T) -> (String, WrittenValue) {
    written_by(value, &redactor())
}

pub(super) fn written_by<T: Serialize + ?Sized>(value: &T, redactor: &Redactor) -> (String, WrittenValue) {
    let mut out = b"before ".to_vec();
    let written = write_json(value, redactor, &mut out);
    let text = String::from_utf8(out.split_off(7)).unwrap();
    assert_eq!(out, b"before ");
    serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (text, written)
}

pub(super) fn text_of<T: Serialize + ?Sized>(value: &T) -> String {
    written(value).0
}
