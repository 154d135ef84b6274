//! Spans without what was said in them: shapes, sizes, tokens, names and times stay.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;

/// Texts that name something and quote nobody. Whatever is not listed is taken for content: a vocabulary that is not
/// known yet gives nothing away.
const NAMES: [&str; 63] = [
    "agent.name",
    "ai.model.id",
    "ai.model.provider",
    "ai.operationId",
    "ai.response.finishReason",
    "ai.response.id",
    "ai.response.model",
    "ai.toolCall.id",
    "ai.toolCall.name",
    "agentdbg.error_type",
    "agentdbg.event_type",
    "agentdbg.run_name",
    "agentdbg.status",
    "agentdbg.tool_name",
    "error.type",
    "exception.type",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.agent.version",
    "gen_ai.conversation.id",
    "gen_ai.data_source.id",
    "gen_ai.operation.name",
    "gen_ai.output.type",
    "gen_ai.provider.name",
    "gen_ai.request.encoding_formats",
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.system",
    "gen_ai.token.type",
    "gen_ai.tool.call.id",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "gen_ai.workflow.name",
    "llm.model_name",
    "llm.provider",
    "llm.request.type",
    "llm.system",
    "logfire.span_type",
    "maida.error_type",
    "maida.event_type",
    "maida.run_name",
    "maida.status",
    "maida.tool_name",
    "mcp.method.name",
    "mcp.protocol.version",
    "mcp.session.id",
    "network.transport",
    "openinference.span.kind",
    "session.id",
    "span.type",
    "tool.name",
    "tracer.error_type",
    "tracer.event_type",
    "tracer.guardrail",
    "tracer.run_name",
    "tracer.same_call",
    "tracer.source_trace_id",
    "tracer.status",
    "tracer.tool_name",
    "traceloop.entity.name",
    "traceloop.span.kind",
];

/// Beginnings of keys whose texts describe the program.
const NAMESPACES: [&str; 5] = ["otel.", "process.runtime.", "server.", "service.", "telemetry."];

/// Removes what was said: every text that is not known to be a name, lists and maps, and descriptions of errors.
pub(super) fn strip(span: &mut Span) {
    span.attributes.retain(is_kept);
    for event in &mut span.events {
        event.attributes.retain(is_kept);
    }
    for link in &mut span.links {
        link.attributes.retain(is_kept);
    }
    if let Some(status) = &mut span.status {
        status.message.clear();
    }
}

fn is_kept(attribute: &KeyValue) -> bool {
    let is_name = || {
        let key = attribute.key.as_str();
        NAMES.contains(&key) || NAMESPACES.iter().any(|namespace| key.starts_with(namespace))
    };
    attribute
        .value
        .as_ref()
        .is_none_or(|value| is_number(value) || is_name())
}

fn is_number(value: &AnyValue) -> bool {
    matches!(
        value.value,
        None | Some(Any::BoolValue(_) | Any::IntValue(_) | Any::DoubleValue(_))
    )
}
