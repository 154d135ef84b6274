//! The shape of a JSON value: its keys and types, never its scalars (decisions, section 7).

use serde_json::Value;

use super::limits::{MAX_SHAPE_BYTES, REST, beginning};
use super::reader::ShapeReader;

/// The shape of a JSON value.
pub(crate) fn shape_of_value(value: &Value) -> String {
    let text = value.to_string();
    let mut out = Vec::new();
    // A `Value` prints itself as JSON, so there is a shape.
    let _ = append_shape(text.as_bytes(), &mut out);
    // Its parts are words and whole characters of the text.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the shape of the JSON value in `text`, and says whether it was cut; `None` when the text is not one JSON value, and
/// `out` stays as it was.
///
/// Integers that do not fit 64 bits count as floats, because that is how they are parsed.
pub(super) fn append_shape(text: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let start = out.len();
    if ShapeReader::new(text, out).read().is_none() {
        out.truncate(start);
        return None;
    }
    let is_long = out.len() - start > MAX_SHAPE_BYTES;
    if is_long {
        out.truncate(beginning(out, start + MAX_SHAPE_BYTES - REST.len()).len());
        out.extend_from_slice(REST.as_bytes());
    }
    Some(is_long)
}

#[cfg(test)]
mod tests;
