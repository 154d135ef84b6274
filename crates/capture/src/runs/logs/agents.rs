//! Log records of coding agents as spans, by kind of event.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use tracer_sdk::format::{SpanKind, SpanRecord, StatusCode, Timestamp, names};

use super::event::LogEvent;
use super::{FROM_LOG, REQUEST_ID, conversation_run, message, short_name, span_of_event};
use crate::runs::attributes::{number, text};
use crate::runs::conversation::CodingAgent;
use crate::runs::ids::{derived_span_id, synthetic_root};

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentEventKind {
    ModelCall,
    FailedModelCall,
    ToolCall,
    /// A tool call that somebody may have refused.
    ToolDecision,
    /// A request of a call that another record describes.
    Request,
    /// Something that belongs to the record of a call, or a step of the agent.
    Other,
    /// One of very many, which say nothing that the others do not, or of how the agent itself was started.
    Noise,
}

/// An event that says nothing that others do not, or of how the agent itself was started.
pub(super) fn is_noise(agent: CodingAgent, event: &LogEvent) -> bool {
    kind(agent, short_name(&event.name), &event.attributes) == AgentEventKind::Noise
}

/// The span that an event becomes: in the run of its session, else in its trace. `None` where it names neither.
pub(super) fn convert(agent: CodingAgent, event: &LogEvent) -> Option<SpanRecord> {
    let name = short_name(&event.name);
    let kind = kind(agent, name, &event.attributes);
    let session = agent.conversation(&event.attributes);
    let session = session.map(|session| conversation_run(agent, session));
    let run = session.or(event.trace_id)?;
    let parent = session.map(synthetic_root).or(event.span_id);
    let span_id = derived_span_id(&[b"tracer.log", &run.to_hex(), name.as_bytes(), &identity(event)]);
    let mut span = span_of_event(event, run, span_id, parent, name);
    span.attributes.extend(event.all_attributes());
    span.set(FROM_LOG, name);
    span.set(names::SOURCE_TRACE, event.trace_id.map(|trace| trace.to_string()));
    match kind {
        AgentEventKind::ModelCall => model_call(agent, &mut span),
        AgentEventKind::FailedModelCall => {
            model_call(agent, &mut span);
            fail(&mut span);
        }
        AgentEventKind::ToolCall => tool_call(&mut span),
        AgentEventKind::ToolDecision => {
            tool_call(&mut span);
            fail(&mut span);
            "the call was refused".clone_into(&mut span.status_description);
        }
        AgentEventKind::Request => lengthen(&mut span),
        AgentEventKind::Other | AgentEventKind::Noise => {}
    }
    Some(span)
}

/// Identity of a record within its session: its number, or its time and content.
fn identity(event: &LogEvent) -> Vec<u8> {
    if let Some(sequence) = number(&event.attributes, "event.sequence") {
        // The numbers start again when a process resumes a session.
        return format!("{sequence} {}", event.time).into_bytes();
    }
    let mut identity = event.time.to_string().into_bytes();
    identity.extend(event.content_hash());
    identity
}

fn kind(agent: CodingAgent, name: &str, attributes: &Map<String, Value>) -> AgentEventKind {
    match (agent, name) {
        (CodingAgent::ClaudeCode, "api_request") | (CodingAgent::GeminiCli, "api_response") => {
            AgentEventKind::ModelCall
        }
        (CodingAgent::ClaudeCode | CodingAgent::GeminiCli, "api_error") => AgentEventKind::FailedModelCall,
        (CodingAgent::ClaudeCode | CodingAgent::Codex, "tool_result")
        | (CodingAgent::GeminiCli, "tool_call") => AgentEventKind::ToolCall,
        (_, "tool_decision") => match text(attributes, "decision") {
            Some("reject" | "rejected" | "denied" | "deny" | "abort" | "cancel") => {
                AgentEventKind::ToolDecision
            }
            _ => AgentEventKind::Other,
        },
        (CodingAgent::Codex, "api_request") if is_failed_request(attributes) => {
            AgentEventKind::FailedModelCall
        }
        (CodingAgent::Codex, "api_request") => AgentEventKind::Request,
        (CodingAgent::Codex, "sse_event") => {
            match text(attributes, "event.kind").or(text(attributes, "kind")) {
                // The end of a response is logged twice, once with the counts.
                Some("response.completed") if number(attributes, "input_token_count").is_some() => {
                    AgentEventKind::ModelCall
                }
                Some("response.failed" | "error") => AgentEventKind::FailedModelCall,
                _ => AgentEventKind::Noise,
            }
        }
        (
            CodingAgent::Codex,
            "websocket_event" | "websocket_connect" | "websocket_request" | "startup_phase" | "turn_ttft",
        )
        | (CodingAgent::GeminiCli, "config" | "startup_stats" | "ripgrep_fallback")
        | (CodingAgent::ClaudeCode, "plugin_loaded" | "hook_registered") => AgentEventKind::Noise,
        _ => AgentEventKind::Other,
    }
}

fn is_failed_request(attributes: &Map<String, Value>) -> bool {
    const FAILURES: RangeInclusive<u64> = 400..=599;
    number(attributes, "http.response.status_code").is_some_and(|status| FAILURES.contains(&status))
        || text(attributes, "error.message").is_some()
}

/// The names that OpenTelemetry has for the counts that the agents call otherwise, the first that is there: input, output,
/// what of the input was read from a cache and written to it, what of the output is reasoning.
const MODEL_NUMBERS: [(&str, &[&str]); 5] = [
    (
        "gen_ai.usage.input_tokens",
        &["input_tokens", "input_token_count"],
    ),
    (
        "gen_ai.usage.output_tokens",
        &["output_tokens", "output_token_count"],
    ),
    (
        "gen_ai.usage.cache_read.input_tokens",
        &[
            "cache_read_tokens",
            "cached_token_count",
            "cached_content_token_count",
        ],
    ),
    (
        "gen_ai.usage.cache_creation.input_tokens",
        &["cache_creation_tokens"],
    ),
    (
        "gen_ai.usage.reasoning.output_tokens",
        &["reasoning_token_count", "thoughts_token_count"],
    ),
];

/// A count with those that its agent counts apart from it.
fn with_apart(count: Option<u64>, apart: &[Option<u64>]) -> Option<u64> {
    let apart = apart.iter().flatten();
    Some(apart.fold(count?, |sum, more| sum.saturating_add(*more)))
}

fn model_call(agent: CodingAgent, span: &mut SpanRecord) {
    lengthen(span);
    span.kind = SpanKind::Client;
    let first = |keys: &[&str]| keys.iter().find_map(|key| number(&span.attributes, key));
    let counts = MODEL_NUMBERS.map(|(_, keys)| first(keys));
    let [input, output, read, created, reasoning] = counts;
    let counts = match agent {
        // Anthropic counts what is cached apart from the input, Gemini thoughts apart from the answer.
        CodingAgent::ClaudeCode => {
            let input = with_apart(input, &[read, created]);
            [input, output, read, created, reasoning]
        }
        CodingAgent::Codex => counts,
        CodingAgent::GeminiCli => {
            let output = with_apart(output, &[reasoning]);
            [input, output, read, created, reasoning]
        }
    };
    // Under their own names the same numbers would be read once more.
    for key in MODEL_NUMBERS.iter().flat_map(|(_, keys)| *keys) {
        span.attributes.remove(*key);
    }
    for ((name, _), count) in MODEL_NUMBERS.iter().zip(counts) {
        span.set(*name, count);
    }
    span.set("gen_ai.operation.name", "chat");
    span.set("gen_ai.provider.name", agent.provider());
    let owned = |key: &str| text(&span.attributes, key).map(str::to_owned);
    let (model, id) = (owned("model"), owned(REQUEST_ID));
    let answer = owned("response_text").map(|text| message("assistant", &text));
    span.name = match &model {
        Some(model) => format!("chat {model}"),
        None => "chat".to_owned(),
    };
    // The Gemini CLI names the model that answered.
    if agent == CodingAgent::GeminiCli && span.attributes.contains_key("gen_ai.usage.output_tokens") {
        span.set("gen_ai.response.model", model.as_deref());
    }
    span.set("gen_ai.request.model", model);
    span.set("gen_ai.response.id", id);
    if answer.is_some() {
        span.attributes.remove("response_text");
        span.set("gen_ai.output.messages", answer);
    }
    let reasons = span.attributes.get("finish_reasons").cloned();
    span.set("gen_ai.response.finish_reasons", reasons);
}

fn tool_call(span: &mut SpanRecord) {
    lengthen(span);
    span.set("gen_ai.operation.name", "execute_tool");
    for (name, keys) in [
        ("gen_ai.tool.name", ["tool_name", "function_name"].as_slice()),
        ("gen_ai.tool.call.id", &["tool_use_id", "call_id"]),
        (
            "gen_ai.tool.call.arguments",
            &["tool_input", "tool_parameters", "arguments", "function_args"],
        ),
        ("gen_ai.tool.call.result", &["output"]),
    ] {
        let mut sent = keys.iter().filter_map(|key| span.attributes.remove(*key));
        let found = sent.find(|value| value != "");
        span.set(name, found);
    }
    if let Some(tool) = text(&span.attributes, "gen_ai.tool.name") {
        span.name = format!("execute_tool {tool}");
    }
    let is_failed = match span.attributes.get("success") {
        Some(Value::Bool(success)) => !success,
        Some(Value::String(success)) => success == "false",
        _ => false,
    };
    if is_failed {
        fail(span);
    }
}

/// The event reports the end; the start is its duration earlier.
fn lengthen(span: &mut SpanRecord) {
    let Some(duration_ms) = number(&span.attributes, "duration_ms") else {
        return;
    };
    let end = span.start_time.instant().unix_microseconds();
    let micros = i64::try_from(duration_ms.saturating_mul(1000)).unwrap_or(i64::MAX);
    span.start_time = Timestamp::from_unix_microseconds(end.saturating_sub(micros).max(0)).into();
    span.duration_ms = Some(duration_ms);
}

fn fail(span: &mut SpanRecord) {
    span.status_code = StatusCode::Error;
    let find = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| text(&span.attributes, key))
            .map(str::to_owned)
    };
    let message = find(&["error", "error.message", "error_message"]);
    let status =
        number(&span.attributes, "status_code").or(number(&span.attributes, "http.response.status_code"));
    let error_type = find(&["error_type", "error.type"]).or(status.map(|status| status.to_string()));
    span.status_description = message.unwrap_or_default();
    span.set("error.type", error_type);
}
