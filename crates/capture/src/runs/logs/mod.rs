//! Log records that say something about an agent, as spans (capture, section 2).
//!
//! A coding agent's record of a call becomes that call's span; a message that was logged for a span waits as its child,
//! until [`join`](super::join) puts it into the span. The IDs are made of what identifies the record, so that sending it
//! twice changes nothing.

mod agents;
mod event;

use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use serde_json::Value;
use tracer_sdk::format::{SpanEvent, SpanId, SpanKind, SpanRecord, Timestamp, TraceId, names};

use super::attributes::text;
use super::conversation::CodingAgent;
use super::ids::{derived_span_id, derived_trace_id, synthetic_root};
use event::{LogEvent, read_events};

/// Marks a span that was made of a log record.
pub(super) const FROM_LOG: &str = names::FROM_LOG.written();
/// Marks a span that holds an event for its parent until it is put into it.
pub(super) const EVENT_FOR_PARENT: &str = "tracer.log_event";
/// Identifies a log record within the span that it was put into.
pub(super) const LOG_ID: &str = "tracer.log_id";

/// The event that holds what a model call sent and got.
pub(super) const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// Prefixes of the names of coding agents' events.
const AGENT_PREFIXES: [&str; 3] = ["claude_code.", "codex.", "gemini_cli."];

/// The response that an event is about.
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";

/// The request that a record of a coding agent belongs to.
pub(super) const REQUEST_ID: &str = "request_id";

/// Outcome of the log records of a request.
#[derive(Debug, Default)]
pub(super) struct ConvertedLogs {
    /// With the coding agents that logged them.
    pub(super) spans: Vec<(SpanRecord, Option<CodingAgent>)>,
    /// Records that say nothing about an agent.
    pub(super) ignored: u64,
    /// Records of coding agents that name neither a session nor a trace.
    pub(super) without_session: u64,
}

/// The spans that the records of a request become.
pub(super) fn convert_logs(request: Vec<ResourceLogs>, now: Timestamp) -> ConvertedLogs {
    let mut converted = ConvertedLogs::default();
    for event in read_events(request, now) {
        let agent = CodingAgent::of_event(&event.name, event.service(), event.scope());
        let span = if event.name.starts_with("gen_ai.") {
            let of_span = event_for_span(&event).map(|span| {
                let agent = CodingAgent::of_span(&span.name, &span.attributes);
                (span, agent)
            });
            of_span.or_else(|| Some((call_of_details(agent?, &event)?, agent)))
        } else {
            agent
                .filter(|agent| !agents::is_noise(*agent, &event))
                .and_then(|agent| Some((agents::convert(agent, &event)?, Some(agent))))
        };
        match (span, agent) {
            (Some(span), _) => converted.spans.push(span),
            (None, Some(agent)) if !agents::is_noise(agent, &event) && has_no_session(agent, &event) => {
                converted.without_session += 1;
            }
            _ => converted.ignored += 1,
        }
    }
    converted
}

fn has_no_session(agent: CodingAgent, event: &LogEvent) -> bool {
    event.trace_id.is_none() && agent.conversation(&event.attributes).is_none()
}

/// An event of a span that is known by its IDs, or in its trace by the response: a child without a length, until it is put into
/// its parent.
fn event_for_span(event: &LogEvent) -> Option<SpanRecord> {
    let trace_id = event.trace_id?;
    let by_response = || {
        let response = text(&event.attributes, RESPONSE_ID)?;
        Some(derived_span_id(&[
            b"tracer.response",
            &trace_id.to_hex(),
            response.as_bytes(),
        ]))
    };
    let parent = event.span_id.or_else(by_response)?;
    let span_id = derived_span_id(&[
        b"tracer.log_event",
        &trace_id.to_hex(),
        &parent.to_hex(),
        event.name.as_bytes(),
        event.time.to_string().as_bytes(),
        &event.content_hash(),
    ]);
    let mut span = span_of_event(event, trace_id, span_id, Some(parent), "log event");
    span.set(EVENT_FOR_PARENT, true);
    // It goes where the spans of its session go.
    for key in ["session.id", "conversation.id", "gen_ai.conversation.id"] {
        span.set(key, event.attributes.get(key).cloned());
    }
    span.events.push(span_event(event, span_id));
    Some(span)
}

/// The details of an answer that name their conversation alone, as the Gemini CLI's of one that was streamed: the call, unless
/// another record of it takes them.
fn call_of_details(agent: CodingAgent, event: &LogEvent) -> Option<SpanRecord> {
    const ANSWER: [&str; 3] = [
        "gen_ai.output.messages",
        "gen_ai.response.id",
        "gen_ai.usage.output_tokens",
    ];
    let conversation = agent.conversation(&event.attributes)?;
    let is_answer = ANSWER.iter().any(|key| event.attributes.contains_key(*key));
    if event.name != DETAILS || !is_answer {
        return None;
    }
    let run = conversation_run(agent, conversation);
    let span_id = derived_span_id(&[
        b"tracer.log",
        &run.to_hex(),
        event.name.as_bytes(),
        event.time.to_string().as_bytes(),
        &event.content_hash(),
    ]);
    let model = text(&event.attributes, "gen_ai.request.model").unwrap_or_default();
    let name = format!("chat {model}");
    let mut span = span_of_event(event, run, span_id, Some(synthetic_root(run)), name.trim_end());
    span.kind = SpanKind::Client;
    span.attributes.extend(event.named_attributes());
    Some(span)
}

/// A log record as the event of a span.
fn span_event(event: &LogEvent, id: SpanId) -> SpanEvent {
    let mut span_event = SpanEvent::new(event.name.as_str(), event.time);
    span_event.attributes = event.all_attributes();
    if let Some(other) = event
        .body
        .as_ref()
        .filter(|body| !body.is_object() && !body.is_null())
    {
        let content = span_event.attributes.entry("content");
        content.or_insert_with(|| other.clone());
    }
    span_event.with(LOG_ID, id.to_string())
}

/// A span without a length at the time of an event, which says where it comes from.
fn span_of_event(
    event: &LogEvent,
    trace_id: TraceId,
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    name: &str,
) -> SpanRecord {
    let mut span = SpanRecord::new(trace_id, span_id, parent_span_id, name, (event.time, event.time));
    span.attributes.clone_from(&event.context);
    span.set(FROM_LOG, event.name.as_str());
    span
}

/// A text as a message of OpenTelemetry's.
pub(super) fn message(role: &str, content: &str) -> Value {
    serde_json::json!([{"role": role, "parts": [{"type": "text", "content": content}]}])
}

/// An event's name without its agent.
fn short_name(name: &str) -> &str {
    AGENT_PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// The run of a conversation, whatever traces it is split over.
pub(crate) fn conversation_run(agent: CodingAgent, conversation: &str) -> TraceId {
    derived_trace_id(&[
        b"tracer.conversation",
        agent.as_str().as_bytes(),
        conversation.as_bytes(),
    ])
}
