//! The shape of a JSON value: its keys and types, never its scalars (decisions, section 7).

use serde_json::Value;

use super::entries::ObjectEntries;
use super::limits::{MAX_SHAPE_BYTES, REST, beginning};
use super::reader::{ShapeReader, WrittenText};

/// The shape of a JSON text; `None` when the text is not one JSON value.
///
/// Integers that do not fit 64 bits count as floats, because that is how they are parsed.
pub(crate) fn shape_of_json(text: &str) -> Option<String> {
    let mut out = Vec::new();
    ShapeWriter::default().append_json(WrittenText::Alone(text.as_bytes()), &mut out)?;
    // Its parts are words and whole characters of the text.
    String::from_utf8(out).ok()
}

/// The shape of a JSON value.
pub(crate) fn shape_of_value(value: &Value) -> String {
    // A `Value` prints itself as JSON, so this cannot fail.
    shape_of_json(&value.to_string()).unwrap_or_default()
}

/// Appends shapes to a text and keeps its working memory from one to the next.
#[derive(Debug, Default)]
pub(crate) struct ShapeWriter {
    entries: ObjectEntries,
}

impl ShapeWriter {
    /// Appends the shape of the JSON value in `text` and gives the number of the value; `None` when it is not one JSON
    /// value, and `out` stays as it was.
    pub(crate) fn append_json(&mut self, text: WrittenText<'_>, out: &mut Vec<u8>) -> Option<u64> {
        let start = out.len();
        self.entries.clear();
        let Some(number) = ShapeReader::new(text, &mut self.entries, out).read() else {
            out.truncate(start);
            return None;
        };
        if out.len() - start > MAX_SHAPE_BYTES {
            out.truncate(beginning(out, start + MAX_SHAPE_BYTES - REST.len()).len());
            out.extend_from_slice(REST.as_bytes());
        }
        Some(number)
    }

    /// The number of the JSON value in `text`.
    pub(crate) fn number(&mut self, text: WrittenText<'_>) -> Option<u64> {
        ShapeReader::new(text, &mut self.entries, &mut Vec::new()).number_of_all()
    }

    /// The numbers of the prompt in `text`, which is JSON, and of its last message.
    pub(crate) fn prompt(&mut self, text: WrittenText<'_>) -> Option<(u64, u64)> {
        ShapeReader::new(text, &mut self.entries, &mut Vec::new()).prompt()
    }
}

#[cfg(test)]
mod tests;
