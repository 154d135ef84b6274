//! What a model was asked and what it answered.

use serde::Serialize;
use serde_json::{Number, Value};
use tracer_insight::conversation::{self, Conversation};
use tracer_sdk::format::{EventType, Payload, SpanRecord};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::cut::{Part, Place};
use super::messages::{MessageAnswer, fold_earlier, messages};

/// A model call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LlmCall {
    model: String,
    provider: String,
    /// The line over the messages.
    heading: String,
    /// What the model was given, in order.
    messages: Vec<MessageAnswer>,
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
        temperature,
        ..
    } = payload
    else {
        return Ok(None);
    };
    let Some(conversation) = Conversation::from_payload(payload) else {
        return Ok(None);
    };
    let previous = run
        .steps
        .previous(number, |event_type, _| event_type == EventType::LlmCall);
    let before = previous
        .map(|row| run.steps.read_row(row))
        .transpose()
        .map_err(ApiError::unreadable)?
        .flatten();
    let earlier = before
        .as_ref()
        .and_then(|read| Conversation::from_payload(&read.record.payload))
        .map_or_else(Vec::new, |before| [before.prompt, before.answer].concat());
    let is_new = conversation::new_messages(&earlier, &conversation.prompt);
    let mut asked = messages(&conversation.prompt, Part::Prompt, place);
    fold_earlier(&mut asked, &is_new);
    let attributes = span.map(|span| &span.attributes);
    Ok(Some(LlmCall {
        model: model.clone(),
        provider: provider.clone(),
        heading: conversation::prompt_heading(&is_new, before.is_some()),
        messages: asked,
        previous: before.map(|read| read.record.event_id),
        response: messages(&conversation.answer, Part::Response, place),
        tools_offered: conversation::offered_tools(prompt, attributes)
            .into_iter()
            .map(OfferedTool::from)
            .collect(),
        usage: TokensUsed {
            input: conversation.usage.prompt_tokens,
            output: conversation.usage.completion_tokens,
            total: conversation.usage.total_tokens,
        },
        temperature: temperature.clone(),
        stop_reason: conversation.finish_reason,
    }))
}

impl From<conversation::OfferedTool> for OfferedTool {
    fn from(tool: conversation::OfferedTool) -> Self {
        let conversation::OfferedTool {
            name,
            description,
            parameters,
        } = tool;
        Self {
            name,
            description,
            parameters,
        }
    }
}
