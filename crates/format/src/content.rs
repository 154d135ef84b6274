//! Which attributes may quote what was said, for those who keep or send spans without it.

use super::names::{self, Name};

/// Attribute keys whose text is a name or a kind, in addition to the format's own keys. Any key that is not listed
/// counts as content, so that an unknown vocabulary leaks nothing.
const NAMING_KEYS: [&str; 129] = [
    "agent.name",
    "agent_name",
    "ai.finishReason",
    "ai.model.id",
    "ai.model.provider",
    "ai.operationId",
    "ai.response.finishReason",
    "ai.response.id",
    "ai.response.model",
    "ai.telemetry.functionId",
    "ai.toolCall.id",
    "ai.toolCall.name",
    "call_id",
    "db.system",
    "db.system.name",
    "error.type",
    "error_type",
    "event.kind",
    "event.name",
    "exception.type",
    "finish_reasons",
    "function_call.id",
    "function_name",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.agent.version",
    "gen_ai.conversation.id",
    "gen_ai.data_source.id",
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.label",
    "gen_ai.finishReason",
    "gen_ai.guardrail.action",
    "gen_ai.guardrail.name",
    "gen_ai.guardrail.status",
    "gen_ai.handoff.from_agent",
    "gen_ai.handoff.to_agent",
    "gen_ai.operation.name",
    "gen_ai.output.type",
    "gen_ai.provider.name",
    "gen_ai.request.encoding_formats",
    "gen_ai.request.model",
    "gen_ai.response.finish_reason",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.response.stop_reason",
    "gen_ai.security.action.type",
    "gen_ai.security.decision.type",
    "gen_ai.security.guardrail.name",
    "gen_ai.security.target.type",
    "gen_ai.security.verdict.type",
    "gen_ai.system",
    "gen_ai.token.type",
    "gen_ai.tool.call.decision.outcome",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.outcome",
    "gen_ai.tool.call_id",
    "gen_ai.tool.error.type",
    "gen_ai.tool.name",
    "gen_ai.tool.status",
    "gen_ai.tool.type",
    "gen_ai.workflow.name",
    "genkit:metadata:subtype",
    "genkit:name",
    "genkit:type",
    "haystack.component.type",
    "haystack.tool.name",
    "http.request.method",
    "langfuse.observation.level",
    "langfuse.observation.model.name",
    "langfuse.observation.type",
    "langfuse.trace.name",
    "langsmith.metadata.ls_provider",
    "langsmith.span.kind",
    "langsmith.trace.name",
    "lk.function_tool.id",
    "lk.function_tool.name",
    "llm.finish_reason",
    "llm.model",
    "llm.model_name",
    "llm.provider",
    "llm.request.model",
    "llm.request.model_name",
    "llm.request.type",
    "llm.response.finish_reason",
    "llm.response.id",
    "llm.response.model",
    "llm.response.model_name",
    "llm.response.stop_reason",
    "llm.system",
    "logfire.span_type",
    "mcp.method.name",
    "mcp.protocol.version",
    "mcp.session.id",
    "messaging.system",
    "mlflow.spanType",
    "model",
    "network.protocol.name",
    "network.protocol.version",
    "network.transport",
    "openinference.span.kind",
    "operation.name",
    "process.executable.name",
    "request_id",
    "rpc.method",
    "rpc.response.status_code",
    "rpc.service",
    "rpc.system",
    "server.address",
    "session.id",
    "span.type",
    "status_code",
    "stop_reason",
    "success",
    "thread.name",
    "tool.call.id",
    "tool.id",
    "tool.name",
    "tool_call.id",
    "tool_decision.decision",
    "tool_decision.source",
    "tool_name",
    "tool_use_id",
    "traceloop.association.properties.ls_model_name",
    "traceloop.association.properties.ls_provider",
    "traceloop.entity.name",
    "traceloop.entity.path",
    "traceloop.span.kind",
    "traceloop.workflow.name",
];

/// Beginnings of keys whose texts describe the program.
const PROGRAM_NAMESPACES: [&str; 5] = ["code.", "otel.", "process.runtime.", "service.", "telemetry."];

/// Key prefixes of messages that have one attribute per part; an index follows the prefix.
const MESSAGE_NAMESPACES: [&str; 5] = [
    "gen_ai.completion.",
    "gen_ai.prompt.",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.request.functions.",
];

/// Members of messages whose texts name something.
const NAMING_MEMBERS: [&str; 16] = [
    "call_id",
    "finish_reason",
    "finish_reasons",
    "id",
    "kind",
    "mime_type",
    "modality",
    "model",
    "name",
    "object",
    "role",
    "status",
    "stop_reason",
    "tool_call_id",
    "tool_use_id",
    "type",
];

/// Keys of the format itself whose texts quote the program, its user or its errors.
const OWN_CONTENT: [Name; 7] = [
    names::ANSWER,
    names::ARGUMENTS,
    names::ERROR_MESSAGE,
    names::ERROR_STACK,
    names::META,
    names::QUESTION,
    names::WORKING_DIRECTORY,
];

/// Returns whether a text under an attribute key may quote content: a prompt, an answer, tool arguments, an error
/// message. Numbers never do; an unknown key may.
#[must_use]
pub fn may_hold_content(key: &str) -> bool {
    if names::is_own(key) {
        return OWN_CONTENT.iter().any(|name| name.is(key));
    }
    let is_of_message = || {
        let rest = MESSAGE_NAMESPACES
            .iter()
            .find_map(|namespace| key.strip_prefix(namespace))?;
        let (place, member) = rest.split_once('.')?;
        let is_place = place.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_arguments = member.contains("arguments.") || member.contains("metadata.");
        let last = member.rsplit('.').next()?;
        Some(is_place && !is_of_arguments && names_in_message(last))
    };
    let is_name = NAMING_KEYS.binary_search(&key).is_ok()
        || PROGRAM_NAMESPACES
            .iter()
            .any(|namespace| key.starts_with(namespace))
        || is_of_message() == Some(true);
    !is_name || key == OTEL_DESCRIPTION
}

/// The description of a span's status, which is an error's message.
const OTEL_DESCRIPTION: &str = "otel.status_description";

/// Returns whether a text under a member of a message is a name: a role, a tool, a finish reason.
pub fn names_in_message(member: &str) -> bool {
    NAMING_MEMBERS.binary_search(&member).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        assert!(NAMING_KEYS.is_sorted());
        assert!(NAMING_MEMBERS.is_sorted());
    }

    #[test]
    fn what_is_no_known_name_may_be_content() {
        let names = [
            "gen_ai.request.model",
            "tracer.tag.commit",
            "maida.tool_name",
            "otel.scope.name",
            "llm.input_messages.0.message.role",
            "gen_ai.completion.0.tool_calls.1.name",
        ];
        for key in names {
            assert!(!may_hold_content(key), "{key}");
        }
        let contents = [
            "tracer.error_message",
            "agentdbg.meta",
            "exception.message",
            "otel.status_description",
            "llm.input_messages.0.message.content",
            "gen_ai.completion.0.tool_calls.1.arguments.name",
            "process.command_line",
            "user.name",
            "customer.last_name",
            "",
        ];
        for key in contents {
            assert!(may_hold_content(key), "{key}");
        }
    }
}
