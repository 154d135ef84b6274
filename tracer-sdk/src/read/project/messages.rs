//! The prompt and the response of a model call: from span events, else from OpenTelemetry's attributes.

use serde_json::{Map, Value, json};

use crate::format::SpanRecord;
use crate::format::names::{self, Name, event_keys, events};

use super::values::{parsed, shaped, value};

/// What the model was asked.
///
/// Without a span event: the messages of `gen_ai.input.messages`, together with `gen_ai.system_instructions`, where
/// there are some, as `{"system_instructions": …, "messages": …}`.
pub(super) fn prompt(span: &SpanRecord) -> Value {
    contents(span, events::PROMPT).unwrap_or_else(|| {
        let stored = |name| value(name, &span.attributes).map(parsed);
        match (stored(names::SYSTEM_INSTRUCTIONS), stored(names::INPUT_MESSAGES)) {
            (None, messages) => shaped(messages.unwrap_or_default()),
            (Some(system), None) => json!({ "system_instructions": system }),
            (Some(system), Some(messages)) => json!({ "system_instructions": system, "messages": messages }),
        }
    })
}

/// What the model answered.
pub(super) fn response(span: &SpanRecord) -> Value {
    contents(span, events::RESPONSE).unwrap_or_else(|| {
        let stored = value(names::OUTPUT_MESSAGES, &span.attributes);
        shaped(stored.map(parsed).unwrap_or_default())
    })
}

/// The content of the span events with a name. Several are several messages: the list of them, in their order.
fn contents(span: &SpanRecord, name: Name) -> Option<Value> {
    let mut contents: Vec<Value> = span
        .events
        .iter()
        .filter(|event| name.is(&event.name))
        .filter_map(|event| content(&event.attributes))
        .collect();
    match contents.len() {
        0 => None,
        1 => contents.pop().map(shaped),
        _ => Some(shaped(Value::Array(contents))),
    }
}

/// A text stays a text, also one that looks like JSON, unless the event says that it is JSON.
fn content(attributes: &Map<String, Value>) -> Option<Value> {
    let stored = attributes.get(event_keys::CONTENT)?;
    let is_json = attributes.get(event_keys::FORMAT).and_then(Value::as_str) == Some(event_keys::FORMAT_JSON);
    Some(if is_json { parsed(stored) } else { stored.clone() })
}
