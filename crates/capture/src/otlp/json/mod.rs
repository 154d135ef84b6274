//! OTLP's JSON as it is really sent: by the protobuf mapping or near it (anchor: capture D.1 of the specification).
//!
//! Read with serde, in one pass, into the types of `opentelemetry-proto`. A text of an error names the place and the
//! types, never a value: traces hold secrets.

mod messages;
mod repair;
mod values;

use std::borrow::Cow;
use std::fmt;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use serde::Deserializer as _;
use serde::de::{DeserializeSeed as _, IgnoredAny, MapAccess, Visitor};

use self::values::{FieldName, FieldValue, FromJson};

/// What is wrong with a document, and where. Never a value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads a request of spans. No bytes are an empty one.
pub(super) fn read_spans(body: &[u8]) -> Result<ExportTraceServiceRequest, JsonError> {
    read(body)
}

/// Reads a request of logs. No bytes are an empty one.
pub(super) fn read_logs(body: &[u8]) -> Result<ExportLogsServiceRequest, JsonError> {
    read(body)
}

fn read<T: FromJson>(body: &[u8]) -> Result<T, JsonError> {
    let body = without_mark(body);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    read_strictly(body).or_else(|error| match repair::unicode(body) {
        // Half a character, as JavaScript cuts texts, must not cost the batch.
        Cow::Owned(repaired) => read_strictly(&repaired),
        Cow::Borrowed(_) => Err(error),
    })
}

fn read_strictly<T: FromJson>(body: &[u8]) -> Result<T, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let read = FieldValue::<T>::new("the request").deserialize(&mut deserializer);
    let message = read.and_then(|message| deserializer.end().map(|()| message));
    message.map_err(|error| JsonError(error.to_string()))
}

/// Whether the document is an object with one of these keys that holds a list with something in it.
pub(super) fn has_key(body: &[u8], keys: &'static [&'static str]) -> bool {
    let mut deserializer = serde_json::Deserializer::from_slice(without_mark(body));
    deserializer.deserialize_map(KeyVisitor(keys)).unwrap_or(false)
}

struct KeyVisitor(&'static [&'static str]);

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut is_found = false;
        while let Some(key) = object.next_key_seed(FieldName)? {
            is_found |= self.0.contains(&key.as_ref());
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
