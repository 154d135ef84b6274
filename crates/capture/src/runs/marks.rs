//! Marks of an agent's run and of a call, read off the projection.

use tracer_sdk::format::{EventType, Record, SpanRecord};
use tracer_sdk::spans_to_events;

use super::attributes::text;
use super::logs::FROM_LOG;

/// Recognises a model call or a tool call.
pub(super) fn is_call(span: &SpanRecord) -> bool {
    call_type(span).is_some()
}

/// Which of the two calls a span is, if it is one.
pub(super) fn call_type(span: &SpanRecord) -> Option<EventType> {
    let mut span = span.clone();
    // Of a root the projection makes the record of the run.
    if span.parent_span_id.is_none() {
        span.parent_span_id = Some(span.span_id);
    }
    let records = spans_to_events(std::slice::from_ref(&span));
    let types = records.iter().map(Record::event_type);
    types
        .into_iter()
        .find(|event_type| matches!(event_type, EventType::LlmCall | EventType::ToolCall))
}

/// Recognises a span that makes its trace an agent's: a model call, a tool call, or an agent.
pub(super) fn marks_run(span: &SpanRecord) -> bool {
    span.attributes.contains_key(FROM_LOG) || is_agent(span) || is_call(span)
}

/// Recognises a span that says of itself that it is an agent, a workflow, or another step of one. `AutoGen` makes each agent in a
/// trace of its own, in which nothing runs.
fn is_agent(span: &SpanRecord) -> bool {
    const KEYS: [&str; 13] = [
        "ai.operationId",
        "gen_ai.agent.id",
        "gen_ai.agent.name",
        "gen_ai.operation.name",
        "gen_ai.workflow.name",
        "langfuse.observation.type",
        "langsmith.span.kind",
        "mcp.method.name",
        "mlflow.spanType",
        "openinference.span.kind",
        "tracer.run_name",
        "traceloop.span.kind",
        "traceloop.workflow.name",
    ];
    if text(&span.attributes, "gen_ai.operation.name") == Some("create_agent") {
        return false;
    }
    KEYS.iter().any(|key| text(&span.attributes, key).is_some())
        || span.attributes.keys().any(|key| key.starts_with("tracer.agent"))
        || ["claude_code.", "codex."]
            .iter()
            .any(|prefix| span.name.starts_with(prefix))
}
