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
    span.attributes.extend(event.attributes.clone());
    span.attributes.insert(FROM_LOG.to_owned(), name.into());
    // The name stays in the mark; under its own key readers would take it for the event itself.
    span.attributes.remove("event.name");
    if let Some(Value::Object(body)) = &event.body {
        for (key, value) in body {
            span.attributes
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
    }
    if let Some(trace_id) = event.trace_id {
        let key = names::SOURCE_TRACE.written().to_owned();
        span.attributes.insert(key, trace_id.to_string().into());
    }
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

/// The names that OpenTelemetry has for what the agents call otherwise, the first that is there.
const MODEL_NUMBERS: [(&str, &[&str]); 3] = [
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
        "gen_ai.usage.reasoning.output_tokens",
        &["reasoning_token_count", "thoughts_token_count"],
    ),
];
const CREATED: &str = "cache_creation_tokens";

fn model_call(agent: CodingAgent, span: &mut SpanRecord) {
    lengthen(span);
    span.kind = SpanKind::Client;
    let attributes = &mut span.attributes;
    let sent_input = ["input_tokens", "input_token_count"]
        .iter()
        .find_map(|key| number(attributes, key));
    let input = match agent {
        // Anthropic counts what is cached apart from the input.
        CodingAgent::ClaudeCode => sent_input.map(|input| {
            let cached = [CREATED, "cache_read_tokens"]
                .iter()
                .filter_map(|key| number(attributes, key));
            cached.fold(input, u64::saturating_add)
        }),
        CodingAgent::Codex | CodingAgent::GeminiCli => sent_input,
    };
    let mut set = Vec::new();
    set.extend(input.map(|input| ("gen_ai.usage.input_tokens", Value::from(input))));
    for (name, keys) in MODEL_NUMBERS {
        let found = keys.iter().find_map(|key| number(attributes, key));
        set.extend(found.map(|count| (name, Value::from(count))));
    }
    if let Some(created) = number(attributes, CREATED) {
        set.push(("gen_ai.usage.cache_creation.input_tokens", created.into()));
    }
    if agent == CodingAgent::GeminiCli
        && let (Some(output), Some(thoughts)) = (
            number(attributes, "output_token_count"),
            number(attributes, "thoughts_token_count"),
        )
    {
        // Gemini counts thoughts apart from the answer.
        set.push((
            "gen_ai.usage.output_tokens",
            output.saturating_add(thoughts).into(),
        ));
    }
    // Under their own names the same numbers would be read once more.
    let replaced = MODEL_NUMBERS.iter().flat_map(|(_, keys)| *keys);
    for key in replaced.chain(&["input_tokens", "input_token_count", CREATED]) {
        attributes.remove(*key);
    }
    for (name, value) in set {
        attributes.insert(name.to_owned(), value);
    }
    attributes.insert("gen_ai.operation.name".to_owned(), "chat".into());
    attributes.insert("gen_ai.provider.name".to_owned(), agent.provider().into());
    if let Some(model) = text(attributes, "model").map(str::to_owned) {
        span.name = format!("chat {model}");
        // The Gemini CLI names the model that answered.
        if agent == CodingAgent::GeminiCli && attributes.contains_key("gen_ai.usage.output_tokens") {
            attributes.insert("gen_ai.response.model".to_owned(), model.as_str().into());
        }
        attributes.insert("gen_ai.request.model".to_owned(), model.into());
    } else {
        "chat".clone_into(&mut span.name);
    }
    if let Some(id) = text(attributes, REQUEST_ID).map(str::to_owned) {
        attributes.insert("gen_ai.response.id".to_owned(), id.into());
    }
    if let Some(response) = text(attributes, "response_text").map(str::to_owned) {
        attributes.remove("response_text");
        attributes.insert(
            "gen_ai.output.messages".to_owned(),
            message("assistant", &response),
        );
    }
    if let Some(reasons) = attributes.get("finish_reasons").cloned() {
        attributes.insert("gen_ai.response.finish_reasons".to_owned(), reasons);
    }
}

fn tool_call(span: &mut SpanRecord) {
    lengthen(span);
    let attributes = &mut span.attributes;
    attributes.insert("gen_ai.operation.name".to_owned(), "execute_tool".into());
    for (name, keys) in [
        ("gen_ai.tool.name", ["tool_name", "function_name"].as_slice()),
        ("gen_ai.tool.call.id", &["tool_use_id", "call_id"]),
        (
            "gen_ai.tool.call.arguments",
            &["tool_input", "tool_parameters", "arguments", "function_args"],
        ),
        ("gen_ai.tool.call.result", &["output"]),
    ] {
        let found = keys.iter().find_map(|key| {
            attributes
                .remove(*key)
                .filter(|value| *value != Value::String(String::new()))
        });
        if let Some(value) = found {
            attributes.insert(name.to_owned(), value);
        }
    }
    if let Some(tool) = text(attributes, "gen_ai.tool.name") {
        span.name = format!("execute_tool {tool}");
    }
    let is_failed = match attributes.get("success") {
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
    if let Some(error_type) = error_type {
        span.attributes.insert("error.type".to_owned(), error_type.into());
    }
}
