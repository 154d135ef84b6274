//! The event types of child spans.

use serde_json::json;

use super::{child, record};
use crate::EventType;

#[test]
fn the_type_of_a_child_is_the_first_rule_that_fits() {
    use EventType::{Error, LlmCall, LoopWarning, StateUpdate, ToolCall, Unknown};
    let table = [
        // 1: the operation runs a tool, whatever else the span says.
        (
            ToolCall,
            "state",
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.system": "openai"}),
        ),
        // 2: the operation calls a model, or there is none, and a provider.
        (
            LlmCall,
            "state",
            json!({"gen_ai.operation.name": "chat", "tracer.tool_name": "search"}),
        ),
        (LlmCall, "m", json!({"gen_ai.operation.name": "chat_streaming"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "completion"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "text_completion"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "generate_content"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "interactions"})),
        (
            LlmCall,
            "m",
            json!({"gen_ai.operation.name": "interactions_streaming"}),
        ),
        (
            LlmCall,
            "state",
            json!({"gen_ai.system": "openai", "tracer.tool_name": "search"}),
        ),
        (
            LlmCall,
            "m",
            json!({"gen_ai.provider.name": "openai", "gen_ai.operation.name": null}),
        ),
        // Other operations are no model calls, though they name a provider.
        (
            Unknown,
            "agent",
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "openai"}),
        ),
        (
            Unknown,
            "embed",
            json!({"gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai"}),
        ),
        // 3: a tool name that says something.
        (
            ToolCall,
            "state",
            json!({"tracer.tool_name": "search", "tracer.error_type": "E"}),
        ),
        (ToolCall, "t", json!({"maida.tool_name": "search"})),
        (ToolCall, "t", json!({"agentdbg.tool_name": "search"})),
        (ToolCall, "t", json!({"gen_ai.tool.name": "search"})),
        (
            ToolCall,
            "t",
            json!({"tracer.tool_name": "", "gen_ai.tool.name": "search"}),
        ),
        (Unknown, "t", json!({"tracer.tool_name": ""})),
        // 4 and 5: by the span's name or by the declared type.
        (
            StateUpdate,
            "state",
            json!({"tracer.error_type": "E", "tracer.event_type": "LOOP_WARNING"}),
        ),
        (LoopWarning, "loop_warning", json!({"tracer.error_type": "E"})),
        (LoopWarning, "x", json!({"tracer.event_type": "LOOP_WARNING"})),
        (LoopWarning, "x", json!({"maida.event_type": "LOOP_WARNING"})),
        (
            LoopWarning,
            "x",
            json!({"agentdbg.event_type": "LOOP_WARNING", "agentdbg.error_type": "E"}),
        ),
        // 6: an error class.
        (Error, "error", json!({"tracer.error_type": "E"})),
        (Error, "x", json!({"maida.error_type": "E"})),
        (Error, "x", json!({"agentdbg.error_type": "E"})),
        (Error, "x", json!({"exception.type": "E"})),
        (Unknown, "error", json!({"maida.error_type": null})),
        // 7: the rest.
        (Unknown, "plan", json!({"tracer.event_type": "TOOL_CALL"})),
    ];
    for (expected, name, value) in table {
        assert_eq!(
            record(child(name, value.clone())).event_type(),
            expected,
            "{name} {value}"
        );
    }
}
