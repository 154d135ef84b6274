//! What a model was asked and what it answered.

use serde::Serialize;
use serde_json::{Number, Value};
use tracer_sdk::format::{EventType, Payload, SpanRecord};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::cut::{Part, Place};
use super::messages::{MessageAnswer, messages};
use crate::render::conversation::{self, Message};
use crate::render::value_lines::unpacked;

/// Where OpenTelemetry keeps the tools that a model may call.
const TOOL_DEFINITIONS: [&str; 2] = ["gen_ai.tool.definitions", "gen_ai.request.tools"];

/// A model call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LlmCall {
    model: String,
    provider: String,
    /// What the model was given, in order.
    messages: Vec<MessageAnswer>,
    /// All messages from here on are new: neither its call before nor the answer to that had them.
    new_from: usize,
    /// The call before, that the messages are compared with.
    previous: Option<String>,
    /// What it answered.
    response: Vec<MessageAnswer>,
    tools_offered: Vec<OfferedTool>,
    usage: TokensUsed,
    temperature: Option<Number>,
    stop_reason: Option<String>,
}

/// A tool that the model may call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfferedTool {
    name: String,
    description: Option<String>,
    /// What it takes, as a JSON Schema.
    parameters: Option<Value>,
}

/// Tokens, as far as the model says.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TokensUsed {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
}

/// A model call; `None` for any other record.
pub(super) fn of(
    run: &OpenRun,
    number: usize,
    payload: &Payload,
    span: Option<&SpanRecord>,
    place: &Place,
) -> Result<Option<LlmCall>, ApiError> {
    let Payload::LlmCall {
        model,
        provider,
        prompt,
        response,
        usage,
        temperature,
        stop_reason,
        ..
    } = payload
    else {
        return Ok(None);
    };
    let asked = conversation::prompt(prompt);
    let answered = conversation::response(response);
    let previous = run.previous(number, |event_type, _| event_type == EventType::LlmCall);
    let before = previous
        .map(|row| run.read_row(row))
        .transpose()
        .map_err(ApiError::unreadable)?;
    let before = before.flatten();
    let heard: Vec<Message> = match before.as_ref().map(|read| &read.record.payload) {
        Some(Payload::LlmCall { prompt, response, .. }) => {
            let mut heard = conversation::prompt(prompt);
            heard.extend(conversation::response(response));
            heard
        }
        _ => Vec::new(),
    };
    let is_new: Vec<bool> = asked.iter().map(|message| !heard.contains(message)).collect();
    let new_from = is_new
        .iter()
        .rposition(|is_new| !is_new)
        .map_or(0, |last| last + 1);
    Ok(Some(LlmCall {
        model: model.clone(),
        provider: provider.clone(),
        messages: messages(
            &asked,
            |number| is_new.get(number).copied().unwrap_or(true),
            Part::Prompt,
            place,
        ),
        new_from,
        previous: before.map(|read| read.record.event_id),
        response: messages(&answered, |_| true, Part::Response, place),
        tools_offered: tools(prompt, span),
        usage: TokensUsed {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
            total: usage.total_tokens,
        },
        temperature: temperature.clone(),
        stop_reason: stop_reason.clone(),
    }))
}

/// The tools in a prompt, or in the attributes of its span.
fn tools(prompt: &Value, span: Option<&SpanRecord>) -> Vec<OfferedTool> {
    let stored = || {
        let attributes = &span?.attributes;
        let text = TOOL_DEFINITIONS
            .into_iter()
            .find_map(|key| attributes.get(key)?.as_str())?;
        unpacked(text)
    };
    let tools = prompt.get("tools").cloned().or_else(stored);
    let tools = tools.as_ref().and_then(Value::as_array);
    tools
        .into_iter()
        .flatten()
        .filter_map(|tool| {
            let inner = tool.get("function").unwrap_or(tool);
            let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
            let parameters = ["parameters", "input_schema"]
                .into_iter()
                .find_map(|key| inner.get(key));
            Some(OfferedTool {
                name: text("name")?,
                description: text("description"),
                parameters: parameters.cloned(),
            })
        })
        .collect()
}
