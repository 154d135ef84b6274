//! Attributes as OTLP has them: what the emitter stored, and what viewers of the GenAI conventions look for where it is
//! not there under that name.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use tracer_insight::conversation::Conversation;
use tracer_sdk::format::names::{self, events};
use tracer_sdk::format::{ErrorPayload, Payload, Record};

use super::otlp_messages;

/// The provider's name in today's conventions; most viewers know one of the two.
const PROVIDER_NAME: &str = "gen_ai.provider.name";
const AGENT_NAME: &str = "gen_ai.agent.name";
const ERROR_TYPE: &str = "error.type";

/// The attributes of a span, event or resource, by key.
pub(super) struct Attributes(Map<String, Value>);

/// The name of the run.
pub(super) fn of_resource(service: &str) -> Attributes {
    let mut attributes = Attributes(Map::new());
    attributes.set("service.name", json!(service));
    attributes
}

/// Everything that is stored on a span, and its record under the names of the conventions.
pub(super) fn of_span(name: &str, stored: Map<String, Value>, record: Option<&Record>) -> Attributes {
    let mut attributes = Attributes(stored);
    match record.map(|record| &record.payload) {
        Some(Payload::RunStart { run_name, .. }) => {
            attributes.add(names::OPERATION.written(), json!("invoke_agent"));
            attributes.add(AGENT_NAME, json!(run_name.as_deref().unwrap_or(name)));
        }
        Some(payload @ Payload::LlmCall { .. }) => attributes.add_model_call(payload),
        Some(Payload::ToolCall {
            tool_name,
            args,
            result,
            error,
            ..
        }) => {
            attributes.add(names::OPERATION.written(), json!("execute_tool"));
            attributes.add("gen_ai.tool.name", json!(tool_name));
            attributes.add_text(names::TOOL_CALL_ARGUMENTS.written(), args);
            attributes.add_text(names::TOOL_CALL_RESULT.written(), result);
            attributes.add_error(error.as_ref());
        }
        Some(Payload::Error(error)) => attributes.add_error(Some(error)),
        Some(Payload::Unknown { error, .. }) => attributes.add_error(error.as_ref()),
        _ => {}
    }
    attributes
}

/// Everything that is stored on a span event; an exception has its parts under OpenTelemetry's names too.
pub(super) fn of_event(name: &str, stored: Map<String, Value>) -> Attributes {
    let mut attributes = Attributes(stored);
    if events::EXCEPTION.is(name) {
        for (name, key) in [
            (names::ERROR_TYPE, "exception.type"),
            (names::ERROR_MESSAGE, "exception.message"),
            (names::ERROR_STACK, "exception.stacktrace"),
        ] {
            if let Some(value) = name.find(&attributes.0).cloned() {
                attributes.add(key, value);
            }
        }
    }
    attributes
}

impl Attributes {
    fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    /// Adds what is not stored already.
    fn add(&mut self, key: &str, value: Value) {
        if !self.0.contains_key(key) && !value.is_null() {
            self.set(key, value);
        }
    }

    /// Adds a value as text: JSON unless it is a text itself.
    fn add_text(&mut self, key: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(_) => self.add(key, value.clone()),
            _ => self.add(key, json!(value.to_string())),
        }
    }

    fn add_error(&mut self, error: Option<&ErrorPayload>) {
        if let Some(error) = error {
            self.add(ERROR_TYPE, json!(error.error_type));
        }
    }

    fn add_model_call(&mut self, payload: &Payload) {
        let Payload::LlmCall {
            model,
            usage,
            provider,
            error,
            ..
        } = payload
        else {
            return;
        };
        self.add(names::OPERATION.written(), json!("chat"));
        self.add(names::PROVIDER.written(), json!(provider));
        self.add(PROVIDER_NAME, json!(provider));
        self.add(names::REQUEST_MODEL.written(), json!(model));
        self.add(names::INPUT_TOKENS.written(), json!(usage.prompt_tokens));
        self.add(names::OUTPUT_TOKENS.written(), json!(usage.completion_tokens));
        self.add(names::TOTAL_TOKENS.written(), json!(usage.total_tokens));
        let Some(conversation) = Conversation::from_payload(payload) else {
            return;
        };
        let key = names::FINISH_REASONS.written();
        if let Some(reason) = &conversation.finish_reason
            && !self.0.get(key).is_some_and(Value::is_array)
        {
            // A list in the conventions, a text in our files.
            self.set(key, json!([reason]));
        }
        let input = otlp_messages::stored(&conversation.prompt, None);
        self.add(names::INPUT_MESSAGES.written(), input);
        let finish_reason = conversation.finish_reason.as_deref();
        let output = otlp_messages::stored(&conversation.answer, finish_reason);
        self.add(names::OUTPUT_MESSAGES.written(), output);
        self.add_error(error.as_ref());
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A null says nothing, and the protocol has none.
        let present = self.0.iter().filter(|(_, value)| !value.is_null());
        serializer.collect_seq(present.map(|(key, value)| KeyValue { key, value }))
    }
}

struct KeyValue<'a> {
    key: &'a str,
    value: &'a Value,
}

impl Serialize for KeyValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_struct("KeyValue", 2)?;
        pair.serialize_field("key", self.key)?;
        pair.serialize_field("value", &AnyValue(self.value))?;
        pair.end()
    }
}

/// A value under the name of its type.
struct AnyValue<'a>(&'a Value);

impl Serialize for AnyValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut any = serializer.serialize_map(None)?;
        match self.0 {
            // A value without a type is the protocol's null.
            Value::Null => {}
            Value::Bool(value) => any.serialize_entry("boolValue", value)?,
            Value::String(value) => any.serialize_entry("stringValue", value)?,
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                // 64 bits do not fit the numbers of every JSON reader, so the protocol has them as text.
                (Some(whole), _) => any.serialize_entry("intValue", &whole.to_string())?,
                (None, Some(float)) => any.serialize_entry("doubleValue", &float)?,
                (None, None) => any.serialize_entry("stringValue", &number.to_string())?,
            },
            Value::Array(values) => any.serialize_entry("arrayValue", &Values(values))?,
            Value::Object(map) => any.serialize_entry("kvlistValue", &Pairs(map))?,
        }
        any.end()
    }
}

struct Values<'a>(&'a [Value]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values: Vec<AnyValue<'_>> = self.0.iter().map(AnyValue).collect();
        let mut list = serializer.serialize_struct("ArrayValue", 1)?;
        list.serialize_field("values", &values)?;
        list.end()
    }
}

struct Pairs<'a>(&'a Map<String, Value>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<KeyValue<'_>> = self
            .0
            .iter()
            .map(|(key, value)| KeyValue { key, value })
            .collect();
        let mut list = serializer.serialize_struct("KeyValueList", 1)?;
        list.serialize_field("values", &pairs)?;
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(value: &Value) -> Value {
        serde_json::to_value(AnyValue(value)).unwrap()
    }

    #[test]
    fn a_value_stands_under_the_name_of_its_type() {
        for (value, expected) in [
            (json!("a"), json!({"stringValue": "a"})),
            (json!(true), json!({"boolValue": true})),
            (json!(-7), json!({"intValue": "-7"})),
            (json!(0.5), json!({"doubleValue": 0.5})),
            (
                json!(u64::MAX),
                json!({"doubleValue": 18_446_744_073_709_551_615.0}),
            ),
            (json!(null), json!({})),
            (
                json!(["a", 1]),
                json!({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
            ),
            (
                json!({"k": [null]}),
                json!({"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": [{}]}}}]}}),
            ),
        ] {
            assert_eq!(any(&value), expected, "{value}");
        }
    }
}
