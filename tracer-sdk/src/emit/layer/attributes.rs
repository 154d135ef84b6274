//! Fields of spans and events as attributes. A field's own `Debug` runs here, and nothing is locked meanwhile.

use std::error::Error;
use std::fmt;

use serde_json::{Map, Number, Value};
use tracing::field::{Field, Visit};

use crate::emit::error::debug_text_up_to;

/// Attributes of one span or event.
const MAX_ATTRIBUTES: usize = 256;

/// The longest text that is taken of a field, in bytes. The request of a long conversation is cut at the leaves of its JSON
/// later, and would be no JSON if it were cut here.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// The attributes of a span that has not ended: a value that is sent again replaces the one before.
#[derive(Debug, Clone, Default)]
pub(super) struct SentAttributes {
    kept: Map<String, Value>,
    /// Number of values under keys past those that are kept.
    pub(super) left_out: u64,
}

impl SentAttributes {
    pub(super) fn set(&mut self, key: &str, value: Value) {
        if let Some(place) = self.kept.get_mut(key) {
            *place = value;
        } else if self.kept.len() < MAX_ATTRIBUTES {
            self.kept.insert(key.to_owned(), value);
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn as_map(&self) -> &Map<String, Value> {
        &self.kept
    }

    pub(super) fn into_map(self) -> Map<String, Value> {
        self.kept
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.kept.get(key)
    }

    /// The text under a key, if it says something.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// The first text under one of some keys.
    pub(super) fn first_text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// Returns whether there is a non-empty value under a key.
    pub(super) fn says(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| *value != "")
    }

    /// The keys under which there is something.
    pub(super) fn telling_keys(&self) -> impl Iterator<Item = &str> {
        self.kept
            .iter()
            .filter(|(_, value)| **value != "")
            .map(|(key, _)| key.as_str())
    }
}

/// Returns whether a field gives the source location of a span, which the span's own data does.
fn is_dropped(name: &str) -> bool {
    name.starts_with("code.") || name.starts_with("thread.")
}

/// Takes the fields of one callback.
#[derive(Debug, Default)]
pub(super) struct FieldVisitor(pub(super) SentAttributes);

impl FieldVisitor {
    fn set(&mut self, field: &Field, value: Value) {
        if !is_dropped(field.name()) {
            self.0.set(field.name(), value);
        }
    }
}

impl Visit for FieldVisitor {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(
            field,
            if value.is_finite() {
                value.into()
            } else {
                value.to_string().into()
            },
        );
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        let number = Number::from_i128(value).map(Value::Number);
        self.set(field, number.unwrap_or_else(|| value.to_string().into()));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        let number = Number::from_u128(value).map(Value::Number);
        self.set(field, number.unwrap_or_else(|| value.to_string().into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if let Some(text) = debug_text_up_to(&value, MAX_TEXT_BYTES) {
            self.set(field, text.into());
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_counts() {
        let mut sent = SentAttributes::default();
        sent.set("gen_ai.usage.input_tokens", 0.into());
        sent.set("gen_ai.usage.input_tokens", 11.into());
        assert_eq!(sent.as_map().len(), 1);
        assert_eq!(sent.get("gen_ai.usage.input_tokens"), Some(&Value::from(11)));
    }

    #[test]
    fn attributes_of_a_span_are_bounded() {
        let mut sent = SentAttributes::default();
        for number in 0..2 * MAX_ATTRIBUTES {
            sent.set(&format!("key.{number}"), true.into());
        }
        assert_eq!(sent.as_map().len(), MAX_ATTRIBUTES);
        assert_eq!(sent.left_out, MAX_ATTRIBUTES as u64);
    }

    #[test]
    fn an_empty_text_says_nothing() {
        let mut sent = SentAttributes::default();
        sent.set("gen_ai.completion", "".into());
        assert!(!sent.says("gen_ai.completion") && sent.text("gen_ai.completion").is_none());
        assert_eq!(sent.telling_keys().count(), 0);
    }
}
