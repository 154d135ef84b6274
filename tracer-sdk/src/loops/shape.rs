//! The shape of a JSON value: its keys and types, never its scalars (decisions, section 7).

use serde_json::Value;

use super::entries::Entries;
use super::reader::Reader;

/// What stands for the part that is left out.
pub(super) const REST: &str = "...";

/// A shape is at most this long, in bytes; a longer one is cut at a character and ended with `...`.
///
/// Keys come in sorted order, so the cut does not depend on the order in which an object gives them.
pub(crate) const MAX_SHAPE_BYTES: usize = 2048;

/// The shape of a JSON text; `None` when the text is not one JSON value.
///
/// Integers that do not fit 64 bits count as floats, because that is how they are parsed.
pub(crate) fn shape_of_json(text: &str) -> Option<String> {
    let mut out = String::new();
    let number = ShapeWriter::default().append_json(text.as_bytes(), &mut out);
    number.map(|_| out)
}

/// The shape of a JSON value.
pub(crate) fn shape_of_value(value: &Value) -> String {
    // A `Value` prints itself as JSON, so this cannot fail.
    shape_of_json(&value.to_string()).unwrap_or_default()
}

/// Appends shapes to a text and keeps its working memory from one to the next.
#[derive(Debug, Default)]
pub(crate) struct ShapeWriter {
    entries: Entries,
}

impl ShapeWriter {
    /// Appends the shape of the JSON value in `text` and gives the number of the value; `None` when it is not one JSON
    /// value, and `out` stays as it was.
    pub(crate) fn append_json(&mut self, text: &[u8], out: &mut String) -> Option<u64> {
        let start = out.len();
        self.entries.clear();
        let Some(number) = Reader::new(text, &mut self.entries, out).read() else {
            out.truncate(start);
            return None;
        };
        if out.len() - start > MAX_SHAPE_BYTES {
            out.truncate(beginning(out, start + MAX_SHAPE_BYTES - REST.len()).len());
            out.push_str(REST);
        }
        Some(number)
    }

    /// The number of the JSON value in `text`.
    pub(crate) fn number(&mut self, text: &[u8]) -> Option<u64> {
        Reader::new(text, &mut self.entries, &mut String::new()).number_of_all()
    }

    /// The numbers of the prompt in `text`, which is JSON, and of its last message.
    pub(crate) fn prompt(&mut self, text: &[u8]) -> Option<(u64, u64)> {
        Reader::new(text, &mut self.entries, &mut String::new()).prompt()
    }
}

/// The longest beginning of `text` that has at most `length` bytes and ends at a character.
pub(super) fn beginning(text: &str, length: usize) -> &str {
    let boundary = (0..=length).rev().find(|end| text.is_char_boundary(*end));
    text.get(..boundary.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
