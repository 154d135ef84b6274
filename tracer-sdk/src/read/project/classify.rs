//! The event type of a child span: the first rule that fits, in the order of decisions, section 2.

use crate::format::EventType;
use crate::format::names::{self, span_names};

use super::values::{Lookup, is_present, named, text};

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

/// The operation that runs a tool, and the first word of its span's name.
pub(super) const TOOL_OPERATION: &str = "execute_tool";

/// The tool in a name of the form `execute_tool NAME`.
pub(super) fn tool_in_name(name: &str) -> Option<&str> {
    let (operation, rest) = name.split_at_checked(TOOL_OPERATION.len())?;
    let tool = rest.strip_prefix(|char: char| char.is_whitespace() || matches!(char, ':' | '/'))?;
    let tool = tool.trim();
    (operation.eq_ignore_ascii_case(TOOL_OPERATION) && !tool.is_empty()).then_some(tool)
}

/// The event type of a span that has a parent.
pub(crate) fn child_type(name: &str, attributes: &impl Lookup) -> EventType {
    let operation = named(names::OPERATION, attributes);
    if operation == Some(TOOL_OPERATION) {
        return EventType::ToolCall;
    }
    let calls_a_model = match operation {
        Some(operation) => MODEL_OPERATIONS.contains(&operation),
        None => is_present(names::PROVIDER, attributes),
    };
    if calls_a_model {
        return EventType::LlmCall;
    }
    if named(names::TOOL_NAME, attributes).is_some() {
        return EventType::ToolCall;
    }
    if name == span_names::STATE {
        return EventType::StateUpdate;
    }
    if name == span_names::LOOP_WARNING
        || text(names::EVENT_TYPE, attributes) == Some(EventType::LoopWarning.as_str())
    {
        return EventType::LoopWarning;
    }
    if is_present(names::ERROR_TYPE, attributes) {
        return EventType::Error;
    }
    EventType::Unknown
}
