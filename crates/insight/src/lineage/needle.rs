//! [`Needle`]: a value to find in texts and JSON, verbatim or in another notation.

use memchr::memmem;
use serde_json::Value;
use tracer_sdk::format::names::markers;

use super::ValueMatch;
use super::dates::{self, Date};
use super::numbers::{self, continues};
use crate::conversation::embedded_json;

/// JSON within JSON deeper than this is searched as text.
const MAX_NESTING: usize = 32;
/// Values that are the same in most places without coming from there.
const COMMON: [&str; 12] = [
    "true", "false", "null", "none", "yes", "no", "ok", "error", "success", "user", "default", "n/a",
];

/// Markers that recording puts in the place of values.
const MARKERS: [&str; 4] = [
    markers::REDACTED,
    markers::TRUNCATED,
    markers::OMITTED,
    markers::UNSERIALIZABLE,
];

/// A value to look for.
#[derive(Debug)]
pub(super) struct Needle {
    text: String,
    folded: String,
    number: Option<String>,
    /// The days that it may be: none, one, or two of which either may be meant.
    dates: [Option<Date>; 2],
}

impl Needle {
    pub(super) fn new(value: &str) -> Self {
        let text = value.trim();
        Self {
            text: text.to_owned(),
            folded: fold(text),
            number: numbers::parse(text),
            dates: dates::parse(text),
        }
    }

    /// Returns whether nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether the value says too little for a place that has it to be where it came from.
    pub(super) fn is_common(&self) -> bool {
        let digits = self
            .number
            .as_ref()
            .map(|number| number.bytes().filter(u8::is_ascii_digit).count());
        let is_short = digits.map_or(self.folded.chars().count() <= 2, |digits| digits <= 2);
        is_short
            || COMMON.contains(&self.folded.as_str())
            || MARKERS.iter().any(|marker| self.text.contains(marker))
    }

    /// The best match in a value: in its texts, numbers and keys, and in the JSON that texts hold.
    pub(super) fn find(&self, value: &Value) -> Option<ValueMatch> {
        self.find_nested(value, 0)
    }

    fn find_nested(&self, value: &Value, nesting: usize) -> Option<ValueMatch> {
        match value {
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) => self.find_in_text(&value.to_string()),
            Value::String(text) => self.find_in_string(text, nesting),
            Value::Array(items) => items
                .iter()
                .filter_map(|item| self.find_nested(item, nesting + 1))
                .max(),
            Value::Object(map) => {
                let found = map
                    .iter()
                    .map(|(key, value)| self.find_in_text(key).max(self.find_nested(value, nesting + 1)));
                found.flatten().max()
            }
        }
    }

    /// The best match in a text that may be JSON.
    pub(super) fn find_in_string(&self, text: &str, nesting: usize) -> Option<ValueMatch> {
        let inner = embedded_json(text).filter(|_| nesting < MAX_NESTING);
        let found = inner.and_then(|inner| self.find_nested(&inner, nesting + 1));
        found.max(self.find_in_text(text))
    }

    /// The best match in a text.
    pub(super) fn find_in_text(&self, text: &str) -> Option<ValueMatch> {
        let is_unsigned = self
            .number
            .as_ref()
            .is_some_and(|number| !number.starts_with('-'));
        let verbatim = find_bounded(text, &self.text, is_unsigned);
        if verbatim == Some(true) {
            return Some(ValueMatch::Verbatim);
        }
        let number = self
            .number
            .as_ref()
            .and_then(|number| numbers::find(text, number));
        let date = dates::find(text, self.dates);
        let is_folded = || find_bounded(&fold(text), &self.folded, is_unsigned);
        let folded = is_folded().map(|is_whole| {
            if is_whole {
                ValueMatch::Normalised
            } else {
                ValueMatch::Part
            }
        });
        let part = verbatim.map(|_| ValueMatch::Part);
        [number, date, folded, part].into_iter().flatten().max()
    }
}

/// Small letters, with one space for each run of white space.
fn fold(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Finds a text: `Some(true)` where it is a word of its own, `Some(false)` where it is only ever a part of a longer word,
/// number or identifier. A number without a sign is a part of one with a minus.
fn find_bounded(text: &str, wanted: &str, is_unsigned: bool) -> Option<bool> {
    if wanted.is_empty() {
        return None;
    }
    let mut found = None;
    for start in memmem::find_iter(text.as_bytes(), wanted) {
        let (before, after) = (
            text.get(..start).unwrap_or_default(),
            text.get(start + wanted.len()..).unwrap_or_default(),
        );
        let is_part = is_unsigned && before.ends_with('-')
            || continues(before.chars().rev(), wanted.chars().next(), wanted)
            || continues(after.chars(), wanted.chars().next_back(), wanted);
        found = found.max(Some(!is_part));
        if !is_part {
            break;
        }
    }
    found
}
