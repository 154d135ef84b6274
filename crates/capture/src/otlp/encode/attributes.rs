//! Attributes as OTLP has them: what the emitter stored, and what viewers of the GenAI conventions look for where it is
//! not there under that name.

use serde_json::{Map, Value, json};
use tracer_insight::conversation::Conversation;
use tracer_sdk::format::names::{self, events};
use tracer_sdk::format::{ErrorPayload, Payload, Record};

use super::messages;

/// The provider's name in today's conventions; most viewers know one of the two.
const PROVIDER_NAME: &str = "gen_ai.provider.name";
const AGENT_NAME: &str = "gen_ai.agent.name";
const ERROR_TYPE: &str = "error.type";

/// The attributes of a span or event, by key.
struct Attributes(Map<String, Value>);

/// Everything that is stored on a span, and its record under the names of the conventions.
pub(super) fn of_span(name: &str, stored: Map<String, Value>, record: Option<&Record>) -> Map<String, Value> {
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
    attributes.0
}

/// Everything that is stored on a span event; an exception has its parts under OpenTelemetry's names too.
pub(super) fn of_event(name: &str, stored: Map<String, Value>) -> Map<String, Value> {
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
    attributes.0
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
            response_model,
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
        self.add(names::RESPONSE_MODEL.written(), json!(response_model));
        for (name, tokens) in usage.attributes() {
            self.add(name.written(), json!(tokens));
        }
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
        let input = messages::stored(&conversation.prompt, None);
        self.add(names::INPUT_MESSAGES.written(), input);
        let finish_reason = conversation.finish_reason.as_deref();
        let output = messages::stored(&conversation.answer, finish_reason);
        self.add(names::OUTPUT_MESSAGES.written(), output);
        self.add_error(error.as_ref());
    }
}
