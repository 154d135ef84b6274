//! OTLP's JSON as it is really sent: by the protobuf mapping or near it (anchor: capture D.1 of the specification).
//!
//! Read with serde, in one pass, into the types of `opentelemetry-proto`. A text of an error names the place and the
//! types, never a value: traces hold secrets.

mod messages;
mod repair;
mod values;

use std::cell::RefCell;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed as _, IgnoredAny, MapAccess, Visitor};

use self::values::{FieldName, FieldValue, FromJson};
use super::repairs::{JsonField, Repairs};

/// What is wrong with a document, and where. Never a value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads a request of spans or logs, and what of it was repaired. No bytes are an empty one.
pub(super) fn read<T: FromJson>(body: &[u8]) -> Result<(T, Repairs), JsonError> {
    let body = without_mark(body);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok((T::default(), Repairs::default()));
    }
    read_strictly(body).or_else(|error| match repair::document(body) {
        // Half a character, as JavaScript cuts texts, or a number that JSON lacks must not cost the batch.
        Some((repaired, before)) => {
            let (request, repairs) = read_strictly(&repaired)?;
            Ok((request, before.and(repairs)))
        }
        None => Err(error),
    })
}

fn read_strictly<T: FromJson>(body: &[u8]) -> Result<(T, Repairs), JsonError> {
    let repairs = RefCell::default();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let read = FieldValue::<T>::new(JsonField::new("the request", &repairs)).deserialize(&mut deserializer);
    let message = read.and_then(|message| deserializer.end().map(|()| message));
    let message = message.map_err(|error| JsonError(error.to_string()))?;
    Ok((message, repairs.into_inner()))
}

impl JsonError {
    /// A document that is JSON, and nothing of which could be read.
    pub(super) fn of_repairs(repairs: Repairs) -> Self {
        Self(repairs.first.unwrap_or_default())
    }
}

/// Whether the document is an object that holds something.
pub(super) fn has_any_key(body: &[u8]) -> bool {
    has_key_like(body, &|_| true)
}

/// Whether the document is an object with one of these keys.
pub(super) fn has_key(body: &[u8], keys: &[&str]) -> bool {
    has_key_like(body, &|key| keys.contains(&key))
}

fn has_key_like(body: &[u8], is_searched: &dyn Fn(&str) -> bool) -> bool {
    let mut deserializer = serde_json::Deserializer::from_slice(without_mark(body));
    deserializer
        .deserialize_map(KeyVisitor(is_searched))
        .unwrap_or(false)
}

struct KeyVisitor<'a>(&'a dyn Fn(&str) -> bool);

impl<'de> Visitor<'de> for KeyVisitor<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut is_found = false;
        while let Some(key) = object.next_key_seed(FieldName)? {
            is_found |= (self.0)(&key);
            object.next_value::<IgnoredAny>()?;
        }
        Ok(is_found)
    }
}

/// Without the mark that some editors and tools put before UTF-8.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

#[cfg(test)]
mod tests;
