//! A span that is being put together: its attributes and events, redacted already, in buffers that are used again.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::payload::{name_of_non_finite, write_json, write_json_limited};
use crate::redact::{KeyVerdict, Redactor, character_boundary};
use tracer_format::names::{Name, event_keys, markers};
use tracer_format::{Tags, Timestamp, Usage, UsageGap, names};

/// Most attributes of the user's own that a span keeps, as OpenTelemetry does by default.
const MAX_USER_ATTRIBUTES: usize = 128;
/// Longest key of the user's own, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// Longest arguments that are kept of a call while it is open, in bytes.
const MAX_GIVEN_BYTES: usize = 16 * 1024;

/// Capacity of its buffers that a draft keeps, in bytes and in attributes of events.
const MAX_KEPT_BYTES: usize = 64 * 1024;
const MAX_KEPT_ENTRIES: usize = 256;

/// Attributes and events of one span. Everything in it went through redaction and truncation.
#[derive(Debug, Default)]
pub struct Draft {
    /// The bytes of every value.
    bytes: Vec<u8>,
    pub(super) attributes: Vec<DraftEntry>,
    user_attributes: usize,
    left_out: u64,
    pub(super) events: Vec<DraftEvent>,
    pub(super) event_attributes: Vec<DraftEntry>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(super) struct DraftEntry {
    pub(super) key: Cow<'static, str>,
    pub(super) value: StoredValue,
}

/// A span event; its attributes are a range of [`Draft::event_attributes`].
#[derive(Debug)]
pub(super) struct DraftEvent {
    pub(super) name: Cow<'static, str>,
    pub(super) time: EventTime,
    pub(super) attributes: Range<usize>,
}

/// When a span event happened.
#[derive(Debug, Clone, Copy)]
pub enum EventTime {
    /// When the span started.
    Start,
    /// When the span ended.
    End,
    /// At an instant of its own.
    At(Timestamp),
}

/// Place of a value in [`Draft::bytes`].
#[derive(Debug, Clone)]
pub(super) struct StoredValue {
    pub(super) form: ValueForm,
    pub(super) range: Range<usize>,
}

/// Form of a stored value.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueForm {
    /// Plain UTF-8, which becomes a JSON string.
    Text,
    /// JSON text of something structured, which becomes a JSON string.
    JsonText,
    /// A JSON string, number or boolean, which is copied.
    Encoded,
}

/// A number.
#[derive(Debug, Clone, Copy)]
pub enum ScalarValue {
    /// A count.
    Unsigned(u64),
    /// Any other; one that is not finite becomes its name.
    Float(f64),
}

impl Draft {
    /// Empties the draft and keeps its buffers, unless they grew large.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(MAX_KEPT_BYTES);
        self.attributes.clear();
        self.user_attributes = 0;
        self.left_out = 0;
        self.events.clear();
        self.event_attributes.clear();
    }

    /// Counts parts of the span that are past what is kept of one.
    pub fn leave_out(&mut self, parts: u64) {
        self.left_out = self.left_out.saturating_add(parts);
    }

    /// Number of parts of the span that were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// An attribute whose text is a word of the format itself, went through redaction already, or is known to be harmless
    /// and short.
    pub fn cleaned(&mut self, name: Name, text: &str) {
        let value = self.push(text);
        self.set(name.written().into(), value);
    }

    /// A text attribute, redacted and cut.
    pub fn text(&mut self, name: Name, text: &str, redactor: &Redactor) {
        self.cleaned(name, &redactor.text(text));
    }

    /// An attribute that is `true`.
    pub fn flag(&mut self, name: Name) {
        let value = self.encode(&true);
        self.set(name.written().into(), value);
    }

    /// A number attribute.
    pub fn scalar(&mut self, name: Name, value: ScalarValue) {
        let value = self.push_scalar(value);
        self.set(name.written().into(), value);
    }

    /// An attribute that holds JSON text of a structured value; a plain string stays one.
    pub fn json<T: Serialize + ?Sized>(&mut self, name: Name, value: &T, redactor: &Redactor) {
        if let Some(stored) = self.serialize_attribute(value, redactor) {
            self.set(name.written().into(), stored);
        }
    }

    /// An attribute of the user's own. Names of the format itself are kept apart under `user.`, so that a tool call
    /// does not become a model call by accident; `null` is no attribute.
    pub fn user<T: Serialize + ?Sized>(&mut self, key: &str, value: &T, redactor: &Redactor) {
        let stored_key = cut_to(&redactor.text(key), MAX_KEY_BYTES).to_owned();
        let stored_key = if names::is_reserved(&stored_key) {
            format!("user.{stored_key}")
        } else {
            stored_key
        };
        let known = self.attributes.iter().any(|entry| entry.key == stored_key);
        if self.user_attributes >= MAX_USER_ATTRIBUTES && !known {
            self.leave_out(1);
            return;
        }
        let member = redactor.member(key, usize::MAX);
        let stored = if member.verdict == KeyVerdict::Secret {
            None
        } else {
            let Some(stored) = self.serialize_attribute(value, redactor) else {
                return;
            };
            let is_encoded = matches!(stored.form, ValueForm::Encoded);
            let text = Some(self.str_of(&stored.range)).filter(|_| is_encoded);
            let string = text.and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
            let is_secret = member.hides(string, is_encoded && string.is_none());
            (!is_secret).then_some(stored)
        };
        let stored = stored.unwrap_or_else(|| self.push(markers::REDACTED));
        self.user_attributes += usize::from(!known);
        self.set(stored_key.into(), stored);
    }

    /// The tags of a run, which went through redaction.
    pub fn tags(&mut self, tags: &Tags) {
        for (key, value) in tags.iter() {
            let value = self.push(value);
            self.set(format!("{}{key}", names::TAG_PREFIXES[0]).into(), value);
        }
    }

    /// Takes another draft over: its events, and as many attributes as a span has room for.
    pub fn take(&mut self, other: Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        let moved = |mut entry: DraftEntry| {
            let range = &mut entry.value.range;
            *range = range.start + start..range.end + start;
            entry
        };
        let first = self.event_attributes.len();
        self.event_attributes
            .extend(other.event_attributes.into_iter().map(moved));
        for mut event in other.events {
            event.attributes = event.attributes.start + first..event.attributes.end + first;
            self.events.push(event);
        }
        for DraftEntry { key, value } in other.attributes.into_iter().map(moved) {
            let has_room = self.attributes.len() < 2 * MAX_USER_ATTRIBUTES;
            if !has_room && !self.attributes.iter().any(|entry| entry.key == key) {
                self.leave_out(1);
                continue;
            }
            self.set(key, value);
        }
        self.leave_out(other.left_out);
    }

    /// The tokens of a model call.
    pub fn usage(&mut self, usage: Usage) {
        for (name, tokens) in usage.attributes() {
            self.scalar(name, ScalarValue::Unsigned(tokens));
        }
        match usage.gap {
            Some(UsageGap::Parts) => self.cleaned(names::USAGE_NOT_COUNTED, "parts"),
            Some(UsageGap::ServiceTier) => self.cleaned(names::SERVICE_TIER, "other"),
            None => {}
        }
    }

    /// Begins a span event; the attributes that follow belong to it.
    pub fn event(&mut self, name: Name, time: EventTime) {
        // An event of the same name is replaced: the last prompt, the last result counts.
        if !self.events.is_empty() && !matches!(time, EventTime::At(_)) {
            let before = self.events.len();
            self.events.retain(|event| event.name != name.written());
            if self.events.len() < before {
                self.forget_replaced();
            }
        }
        let first = self.event_attributes.len();
        self.events.push(DraftEvent {
            name: name.written().into(),
            time,
            attributes: first..first,
        });
    }

    /// A user value as the content of a message: a plain string where it is one, else JSON text, which is said.
    pub fn event_content<T: Serialize + ?Sized>(&mut self, value: &T, redactor: &Redactor) {
        let range = self.serialize(value, redactor);
        let is_string = self.bytes_of(&range).starts_with(b"\"");
        let form = if is_string {
            ValueForm::Encoded
        } else {
            ValueForm::JsonText
        };
        self.set_event_attribute(event_keys::CONTENT, StoredValue { form, range });
        if !is_string {
            let format = self.push(event_keys::FORMAT_JSON);
            self.set_event_attribute(event_keys::FORMAT, format);
        }
    }

    /// A user value as JSON text, strings too.
    pub fn event_json<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T, redactor: &Redactor) {
        let range = self.serialize(value, redactor);
        let form = ValueForm::JsonText;
        self.set_event_attribute(key, StoredValue { form, range });
    }

    /// A text in a span event, redacted and cut.
    pub fn event_text(&mut self, key: &'static str, text: &str, redactor: &Redactor) {
        let text = self.push(&redactor.text(text));
        self.set_event_attribute(key, text);
    }

    /// A number in a span event.
    pub fn event_scalar(&mut self, key: &'static str, value: ScalarValue) {
        let value = self.push_scalar(value);
        self.set_event_attribute(key, value);
    }

    /// The text of an attribute of a span event, UTF-8.
    pub fn event_text_of(&self, name: Name, key: &str) -> Option<&[u8]> {
        let event = self.events.iter().find(|event| event.name == name.written())?;
        let entries = self.event_attributes.get(event.attributes.clone())?;
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(self.bytes_of(&entry.value.range))
    }

    /// Writes the arguments of a tool, where it has some, as JSON text of at most [`MAX_GIVEN_BYTES`] into an empty buffer.
    pub fn given_arguments(&self, redactor: &Redactor, mut buffer: String) -> String {
        let Some(text) = self.event_text_of(names::events::TOOL_ARGUMENTS, event_keys::ARGUMENTS) else {
            return buffer;
        };
        // A line of `.live` has no line breaks.
        if text.len() <= MAX_GIVEN_BYTES && !text.contains(&b'\n') {
            buffer.push_str(std::str::from_utf8(text).unwrap_or_default());
            return buffer;
        }
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(text) else {
            return buffer;
        };
        let mut smaller = Vec::new();
        write_json_limited(&value, redactor, MAX_GIVEN_BYTES, &mut smaller);
        String::from_utf8(smaller).unwrap_or_default()
    }

    /// The text of an attribute, UTF-8.
    #[cfg(feature = "tracing")]
    pub fn text_of(&self, key: &str) -> Option<&[u8]> {
        let entry = self.attributes.iter().find(|entry| entry.key == key)?;
        Some(self.bytes_of(&entry.value.range))
    }

    /// The bytes of a stored value.
    pub(super) fn bytes_of(&self, range: &Range<usize>) -> &[u8] {
        // Every range was handed out by `push` or `serialize` of this draft.
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// The same as text.
    pub(super) fn str_of(&self, range: &Range<usize>) -> &str {
        // All that is stored was text.
        std::str::from_utf8(self.bytes_of(range)).unwrap_or_default()
    }

    /// Cuts the largest values further, so that all of them together take at most `room` bytes, for a line that would
    /// be too long. The others stay as they are, and nothing is cut to less than a sentence. Says whether something was cut.
    pub(super) fn fit(&mut self, room: usize, redactor: &Redactor) -> bool {
        const MIN_CUT_BYTES: usize = 256;
        if self.bytes.len() <= room {
            return false;
        }
        let entries = || self.attributes.iter().chain(&self.event_attributes);
        let all_cut_to = |most: usize| {
            entries()
                .map(|entry| entry.value.range.len().min(most))
                .sum::<usize>()
        };
        let mut most = entries().map(|entry| entry.value.range.len()).max().unwrap_or(0);
        if all_cut_to(most) <= room {
            return false;
        }
        while most > MIN_CUT_BYTES && all_cut_to(most) > room {
            most = (most / 2).max(MIN_CUT_BYTES);
        }
        for entry in self.attributes.iter_mut().chain(&mut self.event_attributes) {
            if entry.value.range.len() > most {
                entry.value = shrunk(&entry.value, most, &mut self.bytes, redactor);
            }
        }
        true
    }

    /// Adds a text to the values.
    fn push(&mut self, text: &str) -> StoredValue {
        StoredValue {
            form: ValueForm::Text,
            range: append(&mut self.bytes, text.as_bytes()),
        }
    }

    /// Adds a number or a boolean to the values.
    fn encode(&mut self, value: &impl Serialize) -> StoredValue {
        let start = self.bytes.len();
        // Writing to a `Vec` does not fail.
        let _ = serde_json::to_writer(&mut self.bytes, value);
        StoredValue {
            form: ValueForm::Encoded,
            range: start..self.bytes.len(),
        }
    }

    fn push_scalar(&mut self, value: ScalarValue) -> StoredValue {
        match value {
            ScalarValue::Unsigned(value) => self.encode(&value),
            ScalarValue::Float(value) if value.is_finite() => self.encode(&value),
            ScalarValue::Float(value) => self.push(name_of_non_finite(value)),
        }
    }

    fn set(&mut self, key: Cow<'static, str>, value: StoredValue) {
        match self.attributes.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => {
                entry.value = value;
                self.forget_replaced();
            }
            None => self.attributes.push(DraftEntry { key, value }),
        }
    }

    /// Frees what replaced values took, when it is most of the memory: a span that is updated again and again stays
    /// about as large as what it holds.
    fn forget_replaced(&mut self) {
        let attributes_of = |event: &DraftEvent| event.attributes.len();
        let used = self.events.iter().map(attributes_of).sum::<usize>();
        let has_room = self.bytes.len() <= MAX_KEPT_BYTES && self.event_attributes.len() <= MAX_KEPT_ENTRIES;
        if has_room || !self.is_mostly_replaced(used) {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let mut event_attributes = Vec::with_capacity(used);
        for event in &mut self.events {
            let first = event_attributes.len();
            let entries = self.event_attributes.get(event.attributes.clone());
            event_attributes.extend_from_slice(entries.unwrap_or_default());
            event.attributes = first..event_attributes.len();
        }
        self.event_attributes = event_attributes;
        for entry in self.attributes.iter_mut().chain(&mut self.event_attributes) {
            let value = bytes.get(entry.value.range.clone()).unwrap_or_default();
            entry.value.range = append(&mut self.bytes, value);
        }
    }

    /// Returns whether more than half is of no use any more; `used` attributes belong to events.
    fn is_mostly_replaced(&self, used: usize) -> bool {
        let events = self.events.iter().map(|event| event.attributes.clone());
        let entries = events.filter_map(|attributes| self.event_attributes.get(attributes));
        let live = self.attributes.iter().chain(entries.flatten());
        let size = live.map(|entry| entry.value.range.len()).sum::<usize>();
        self.bytes.len() / 2 > size || self.event_attributes.len() / 2 > used
    }

    fn set_event_attribute(&mut self, key: &'static str, value: StoredValue) {
        self.event_attributes.push(DraftEntry {
            key: key.into(),
            value,
        });
        if let Some(event) = self.events.last_mut() {
            event.attributes.end = self.event_attributes.len();
        }
    }

    /// Adds a value to the others as JSON text, redacted and cut.
    fn serialize<T: Serialize + ?Sized>(&mut self, value: &T, redactor: &Redactor) -> Range<usize> {
        let start = self.bytes.len();
        write_json(value, redactor, &mut self.bytes);
        start..self.bytes.len()
    }

    /// Adds the value of an attribute: a scalar as it is, `null` not at all, the rest as JSON text.
    fn serialize_attribute<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        redactor: &Redactor,
    ) -> Option<StoredValue> {
        let range = self.serialize(value, redactor);
        let form = match self.bytes_of(&range) {
            b"null" => return None,
            [b'{' | b'[', ..] => ValueForm::JsonText,
            _ => ValueForm::Encoded,
        };
        Some(StoredValue { form, range })
    }
}

/// A value cut to about `most` bytes. Far off the usual path: the value itself is gone, so its text is read again.
fn shrunk(value: &StoredValue, most: usize, bytes: &mut Vec<u8>, redactor: &Redactor) -> StoredValue {
    let stored = bytes.get(value.range.clone()).unwrap_or_default();
    let text = std::str::from_utf8(stored).unwrap_or_default();
    let (form, smaller) = match value.form {
        ValueForm::JsonText => {
            let mut smaller = Vec::new();
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
                write_json_limited(&value, redactor, most, &mut smaller);
            }
            if smaller.is_empty() || smaller.len() >= text.len() {
                smaller = format!("\"{}\"", markers::TRUNCATED).into_bytes();
            }
            (ValueForm::JsonText, smaller)
        }
        ValueForm::Encoded => {
            let plain = serde_json::from_str::<String>(text).unwrap_or_default();
            (ValueForm::Text, with_marker(&plain, most).into_bytes())
        }
        ValueForm::Text => (ValueForm::Text, with_marker(text, most).into_bytes()),
    };
    let range = append(bytes, &smaller);
    StoredValue { form, range }
}

fn append(bytes: &mut Vec<u8>, more: &[u8]) -> Range<usize> {
    let start = bytes.len();
    bytes.extend_from_slice(more);
    start..bytes.len()
}

/// The longest start of `text` that is no longer than `limit` bytes and ends between characters.
pub fn cut_to(text: &str, limit: usize) -> &str {
    &text[..character_boundary(text, limit)]
}

fn with_marker(text: &str, limit: usize) -> String {
    let kept = cut_to(text, limit.saturating_sub(markers::TRUNCATED.len()));
    format!("{kept}{}", markers::TRUNCATED)
}

mod foreign;
#[cfg(test)]
mod tests;

pub use foreign::ForeignLimits;
