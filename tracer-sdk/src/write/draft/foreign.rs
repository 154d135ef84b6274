//! Values of a span that another program recorded: stored as they were sent, save secrets and what is too long (capture,
//! section 1).

use std::ops::BitOr;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Draft, DraftEntry, DraftEvent, EventTime, MAX_KEY_BYTES, StoredValue, ValueForm, cut_to};
use crate::redact::Redactor;
use crate::write::payload::{WrittenValue, write_json_cut, write_json_limited};
use tracer_format::Timestamp;
use tracer_format::may_hold_content;
use tracer_format::names::{is_own, markers};
use tracer_format::names_in_message;

/// Amount of JSON text that is redacted before it is cut to its limit, as a multiple of the limit.
const READ_AHEAD: usize = 16;

/// A text of base64 that is shorter is kept, as IDs and keys are.
const MIN_BINARY_BYTES: usize = 1024;

/// Limits on the values that are kept of another program.
#[derive(Debug, Clone, Copy)]
pub struct ForeignLimits {
    /// Longest JSON text, in bytes.
    pub max_message_bytes: usize,
    /// Texts are replaced by their length, unless they name something: a model, a tool, a role.
    pub omits_content: bool,
}

impl Draft {
    /// An attribute as it was sent. Each key comes once.
    pub fn foreign(&mut self, key: &str, value: &Value, limits: ForeignLimits, redactor: &Redactor) {
        if let Some(entry) = self.foreign_entry(key, value, limits, redactor) {
            // Two keys may be the same once they are cut.
            if entry.key.len() < key.len() && self.attributes.iter().any(|other| other.key == entry.key) {
                return;
            }
            self.attributes.push(entry);
        }
    }

    /// A span event as it was sent.
    pub fn foreign_event(
        &mut self,
        name: &str,
        at: Timestamp,
        attributes: &Map<String, Value>,
        max_attributes: usize,
        limits: ForeignLimits,
        redactor: &Redactor,
    ) {
        let first = self.event_attributes.len();
        self.leave_out(attributes.len().saturating_sub(max_attributes) as u64);
        for (key, value) in attributes.iter().take(max_attributes) {
            if let Some(entry) = self.foreign_entry(key, value, limits, redactor) {
                let is_cut = entry.key.len() < key.len();
                let before = self.event_attributes.get(first..).unwrap_or_default();
                if !is_cut || before.iter().all(|other| other.key != entry.key) {
                    self.event_attributes.push(entry);
                }
            }
        }
        self.events.push(DraftEvent {
            name: cut_to(&redactor.text(name), MAX_KEY_BYTES).to_owned().into(),
            time: EventTime::At(at),
            attributes: first..self.event_attributes.len(),
        });
    }

    /// Number of attributes, and of events.
    pub fn sizes(&self) -> (usize, usize) {
        (self.attributes.len(), self.events.len())
    }

    fn foreign_entry(
        &mut self,
        key: &str,
        value: &Value,
        limits: ForeignLimits,
        redactor: &Redactor,
    ) -> Option<DraftEntry> {
        let member = redactor.member(key, usize::MAX);
        let is_scalar = value.is_number() || value.is_boolean();
        let is_secret = member.hides(value.as_str(), is_scalar);
        let stored_key = cut_to(&member.key.text, MAX_KEY_BYTES).to_owned();
        let stored = match value {
            Value::Null => return None,
            _ if is_secret => self.push(markers::REDACTED),
            Value::Bool(_) | Value::Number(_) => self.encode(value),
            Value::String(text) => self.foreign_text(key, text, limits, redactor),
            Value::Array(_) | Value::Object(_) if limits.omits_content => {
                self.json_text(&without_content(key, value), None, limits, redactor)
            }
            Value::Array(_) | Value::Object(_) => self.json_text(value, None, limits, redactor),
        };
        Some(DraftEntry {
            key: stored_key.into(),
            value: stored,
        })
    }

    fn foreign_text(
        &mut self,
        key: &str,
        text: &str,
        limits: ForeignLimits,
        redactor: &Redactor,
    ) -> StoredValue {
        if let Some(json) = as_structure(text) {
            if limits.omits_content {
                let value = serde_json::from_str::<Value>(text).unwrap_or_default();
                return self.json_text(&without_content(key, &value), None, limits, redactor);
            }
            return self.json_text(json, Some(text), limits, redactor);
        }
        if limits.omits_content && may_hold_content(key) {
            return self.push(&omitted(text));
        }
        self.push(&redactor.text(text))
    }

    /// JSON text without secrets, cut within its strings until it fits. What needs neither stays as it was sent.
    fn json_text<T: serde::Serialize + ?Sized>(
        &mut self,
        value: &T,
        sent: Option<&str>,
        limits: ForeignLimits,
        redactor: &Redactor,
    ) -> StoredValue {
        let max_bytes = limits.max_message_bytes;
        let start = self.bytes.len();
        let read_ahead = max_bytes.saturating_mul(READ_AHEAD);
        let written = write_json_limited(value, redactor, read_ahead, &mut self.bytes);
        if written.failed
            && let Some(sent) = sent
        {
            // Deeper than is read: a text like any other.
            self.bytes.truncate(start);
            return self.push(&redactor.text(sent));
        }
        let is_as_sent = written == WrittenValue::default();
        if let Some(sent) = sent.filter(|sent| is_as_sent && sent.len() <= max_bytes) {
            self.bytes.truncate(start);
            return StoredValue {
                form: ValueForm::JsonText,
                ..self.push(sent)
            };
        }
        if (written.truncated || self.bytes.len() - start > max_bytes)
            && let Some(shorter) = serde_json::to_value(value).ok().as_mut().and_then(without_binary)
        {
            // Of data, as of an image, a beginning is of no use: its size is.
            self.bytes.truncate(start);
            return self.json_text(&shorter, None, limits, redactor);
        }
        let mut max_string = redactor.max_field_bytes() / 2;
        while self.bytes.len() - start > max_bytes {
            self.bytes.truncate(start);
            if max_string < 64 {
                // Too many values to keep them all.
                write_json_limited(value, redactor, max_bytes, &mut self.bytes);
                break;
            }
            write_json_cut(value, redactor, read_ahead, max_string, &mut self.bytes);
            max_string /= 2;
        }
        StoredValue {
            form: ValueForm::JsonText,
            range: start..self.bytes.len(),
        }
    }
}

/// The text as it stands, if it is JSON text of an array or an object.
fn as_structure(text: &str) -> Option<&RawValue> {
    let first = text.trim_ascii_start().as_bytes().first()?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn omitted(text: &str) -> String {
    if text.is_empty() || text.starts_with(markers::OMITTED) {
        return text.to_owned();
    }
    format!("{} ({} bytes)", markers::OMITTED, text.len())
}

/// The value with the sizes of data in the place of data; `None` where it holds none.
fn without_binary(value: &mut Value) -> Option<Value> {
    fn leave_out(value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let head = text
                    .find(";base64,")
                    .filter(|at| text.starts_with("data:") && *at < 256)
                    .map_or(0, |at| at + ";base64,".len());
                let (head, data) = text.split_at(head);
                if data.len() < MIN_BINARY_BYTES || !data.bytes().all(is_base64) {
                    return false;
                }
                *text = format!("{head}{}", omitted(data));
                true
            }
            // All of them, also behind the first that holds data.
            Value::Array(items) => items.iter_mut().map(leave_out).fold(false, BitOr::bitor),
            Value::Object(members) => members.values_mut().map(leave_out).fold(false, BitOr::bitor),
            _ => false,
        }
    }
    leave_out(value).then(|| value.take())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// The same shape, with the lengths of its texts.
fn without_content(key: &str, value: &Value) -> Value {
    let is_name = !may_hold_content(key);
    match value {
        // The format's own lists name spans.
        value if is_name && is_own(key) => value.clone(),
        Value::Array(items) if is_name && items.iter().all(Value::is_string) => value.clone(),
        value => without_texts(value, !holds_values_of_a_tool(key)),
    }
}

/// The same for what is inside: of messages, roles and names stay.
fn without_texts(value: &Value, are_messages: bool) -> Value {
    match value {
        Value::String(text) => Value::String(omitted(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| without_texts(item, are_messages))
            .collect(),
        Value::Object(members) => {
            let without_text = |(key, value): (&String, &Value)| {
                let value = match value {
                    Value::String(_) if are_messages && names_in_message(key) => value.clone(),
                    // The input and output of a tool have keys of their own, which say nothing about their values.
                    value => without_texts(value, are_messages && !holds_values_of_a_tool(key)),
                };
                (key.clone(), value)
            };
            members.iter().map(without_text).collect()
        }
        other => other.clone(),
    }
}

fn holds_values_of_a_tool(key: &str) -> bool {
    const WORDS: [&str; 10] = [
        "args",
        "arguments",
        "input",
        "kwargs",
        "metadata",
        "output",
        "parameters",
        "response",
        "result",
        "value",
    ];
    let last = key.rsplit(['.', '_']).next().unwrap_or(key);
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::redact::RedactionSettings;

    fn redactor() -> Redactor {
        Redactor::new(&RedactionSettings::default(), [])
    }

    fn stored(key: &str, value: &Value, limits: ForeignLimits) -> String {
        let mut draft = Draft::default();
        draft.foreign(key, value, limits, &redactor());
        let entry = draft.attributes.first().expect("an attribute");
        String::from_utf8(draft.bytes_of(&entry.value.range).to_vec()).expect("UTF-8")
    }

    fn limits(max_message_bytes: usize) -> ForeignLimits {
        ForeignLimits {
            max_message_bytes,
            omits_content: false,
        }
    }

    #[test]
    fn json_text_stays_as_it_was_sent() {
        let sent = r#"[ {"role":"user", "content":"é\u00e9", "n": 1.50} ]"#;
        assert_eq!(stored("gen_ai.input.messages", &sent.into(), limits(1000)), sent);
    }

    #[test]
    fn long_json_text_is_cut_at_its_leaves() {
        let long = "word ".repeat(2_000);
        let messages: Vec<Value> = (0..9)
            .map(|n| json!({"role": "user", "n": n, "content": long}))
            .collect();
        for value in [json!(messages), Value::String(json!(messages).to_string())] {
            let text = stored("gen_ai.input.messages", &value, limits(5_000));
            assert!(text.len() <= 5_000, "{}", text.len());
            let read: Value = serde_json::from_str(&text).expect("JSON");
            let read = read.as_array().expect("an array");
            assert_eq!(read.len(), 9, "every message is there");
            assert!(read.iter().all(|message| {
                message["content"]
                    .as_str()
                    .is_some_and(|content| content.ends_with(markers::TRUNCATED))
            }));
        }
    }

    #[test]
    fn too_many_values_still_fit() {
        let many: Vec<u64> = (0..9_000).collect();
        let text = stored("numbers", &json!(many), limits(1_000));
        assert!(text.len() <= 1_000);
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }

    #[test]
    fn secrets_go_by_key_and_by_shape() {
        let all = limits(1_000_000);
        assert_eq!(stored("llm.api_key", &"k-1".into(), all), markers::REDACTED);
        assert_eq!(stored("gen_ai.usage.input_tokens", &12.into(), all), "12");
        let text = stored(
            "input.value",
            &r#"{"headers":{"authorization":"Bearer abc"},"q":"x"}"#.into(),
            all,
        );
        assert_eq!(
            text,
            format!(
                r#"{{"headers":{{"authorization":"{}"}},"q":"x"}}"#,
                markers::REDACTED
            )
        );
        let text = stored("note", &"Bearer abcdefgh12345678".into(), all);
        assert!(text.contains(markers::REDACTED), "{text}");
    }

    #[test]
    fn without_content_shapes_and_names_stay() {
        let omits = ForeignLimits {
            omits_content: true,
            ..limits(1_000_000)
        };
        assert_eq!(stored("gen_ai.request.model", &"gpt-5".into(), omits), "gpt-5");
        assert_eq!(
            stored("gen_ai.response.finish_reasons", &r#"["stop"]"#.into(), omits),
            r#"["stop"]"#
        );
        assert_eq!(
            stored("input.value", &"hello".into(), omits),
            "__OMITTED__ (5 bytes)"
        );
        for key in ["user.name", "customer.last_name", "ticket.type"] {
            assert_eq!(
                stored(key, &"Ada".into(), omits),
                "__OMITTED__ (3 bytes)",
                "{key}"
            );
        }
        let arguments = stored(
            "gen_ai.tool.call.arguments",
            &r#"{"name":"Ada","n":5}"#.into(),
            omits,
        );
        assert_eq!(arguments, r#"{"n":5,"name":"__OMITTED__ (3 bytes)"}"#);
        let messages = r#"[{"role":"user","parts":[{"type":"text","content":"hello"}]}]"#;
        let text = stored("gen_ai.input.messages", &messages.into(), omits);
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            read,
            json!([{"role": "user", "parts": [{"type": "text", "content": "__OMITTED__ (5 bytes)"}]}])
        );
    }

    #[test]
    fn deep_or_broken_json_is_a_text() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        let text = stored("x", &deep.as_str().into(), limits(1_000_000));
        assert!(text.starts_with('['), "{text}");
        assert_eq!(stored("x", &"{not json".into(), limits(1_000)), "{not json");
    }
}
