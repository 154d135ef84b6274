//! What a child span stands for: the first rule that fits, in the order of decisions, section 2.

use crate::format::names::{self, span_names};
use crate::format::{EventType, SpanRecord};

use super::values::{named, text, value};

/// The operations of OpenTelemetry's `gen_ai.operation.name` that call a model.
const MODEL_OPERATIONS: [&str; 7] = [
    "chat",
    "chat_streaming",
    "completion",
    "text_completion",
    "generate_content",
    "interactions",
    "interactions_streaming",
];

/// The operation that runs a tool.
const TOOL_OPERATION: &str = "execute_tool";

/// The event type of a span that has a parent.
pub(super) fn child_type(span: &SpanRecord) -> EventType {
    let attributes = &span.attributes;
    let operation = named(names::OPERATION, attributes);
    if operation == Some(TOOL_OPERATION) {
        return EventType::ToolCall;
    }
    let calls_a_model = match operation {
        Some(operation) => MODEL_OPERATIONS.contains(&operation),
        None => value(names::PROVIDER, attributes).is_some(),
    };
    if calls_a_model {
        return EventType::LlmCall;
    }
    if named(names::TOOL_NAME, attributes).is_some() {
        return EventType::ToolCall;
    }
    if span.name == span_names::STATE {
        return EventType::StateUpdate;
    }
    if span.name == span_names::LOOP_WARNING
        || text(names::EVENT_TYPE, attributes) == Some(EventType::LoopWarning.as_str())
    {
        return EventType::LoopWarning;
    }
    if value(names::ERROR_TYPE, attributes).is_some() {
        return EventType::Error;
    }
    EventType::Unknown
}
