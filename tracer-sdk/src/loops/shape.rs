//! The shape of a JSON value: its keys and types, never its scalars (decisions, section 7).
//!
//! One implementation for every source: it reads any self-describing [`Deserializer`], so the shape of a text and of
//! the value parsed from it are the same. What the shape does not show is skipped, never built.

use serde::de::{DeserializeSeed, Deserializer};
#[cfg(test)]
use serde_json::Value;

use super::entries::Entries;
use super::visitor::Shape;

/// What stands for the part that is left out.
pub(super) const REST: &str = "...";

/// A shape is at most this long, in bytes; a longer one is cut at a character and ended with `...`.
///
/// Keys come in sorted order, so the cut does not depend on the order in which an object gives them.
pub(crate) const MAX_SHAPE_BYTES: usize = 2048;

/// The shape of a JSON text; `None` when the text is not one JSON value.
///
/// Integers that do not fit 64 bits count as floats, because that is how they are parsed.
#[cfg(test)]
pub(crate) fn shape_of_json(text: &str) -> Option<String> {
    let mut out = String::new();
    ShapeWriter::default()
        .append_json(text, &mut out)
        .ok()
        .map(|()| out)
}

/// The shape of a JSON value.
#[cfg(test)]
pub(crate) fn shape_of_value(value: &Value) -> String {
    let mut out = String::new();
    // A `Value` is made of exactly the types that the visitor takes, so this cannot fail.
    let _ = ShapeWriter::default().append(value, &mut out);
    out
}

/// Appends shapes to a text and keeps its working memory from one to the next.
#[derive(Debug, Default)]
pub(crate) struct ShapeWriter {
    entries: Entries,
}

impl ShapeWriter {
    /// Appends the shape of the JSON value in `text`; when it is not one JSON value, `out` stays as it was.
    pub(crate) fn append_json(&mut self, text: &str, out: &mut String) -> Result<(), serde_json::Error> {
        let start = out.len();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let result = self
            .append(&mut deserializer, out)
            .and_then(|()| deserializer.end());
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends the shape of the value that `deserializer` gives; on an error `out` stays as it was.
    pub(crate) fn append<'de, D: Deserializer<'de>>(
        &mut self,
        deserializer: D,
        out: &mut String,
    ) -> Result<(), D::Error> {
        let start = out.len();
        self.entries.clear();
        let entries = &mut self.entries;
        let result = Shape {
            entries,
            out,
            depth: 0,
        }
        .deserialize(deserializer);
        if result.is_err() {
            out.truncate(start);
        } else if out.len() - start > MAX_SHAPE_BYTES {
            out.truncate(beginning(out, start + MAX_SHAPE_BYTES - REST.len()).len());
            out.push_str(REST);
        }
        result
    }
}

/// The longest beginning of `text` that has at most `length` bytes and ends at a character.
pub(super) fn beginning(text: &str, length: usize) -> &str {
    let boundary = (0..=length).rev().find(|end| text.is_char_boundary(*end));
    text.get(..boundary.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
