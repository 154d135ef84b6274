//! Prompt and answer of a model call.

use serde::Serialize;
use tracer_insight::conversation::{self, Conversation, Message, OfferedTool};
use tracer_insight::run_steps::TimelineRow;
use tracer_insight::step_summary;
use tracer_sdk::format::{EventType, Payload, Record, SpanRecord, Usage};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::cut::{StepAddress, StepPart};
use super::messages::{MessageAnswer, fold_earlier, messages};

/// A model call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LlmCallJson {
    /// The line over the messages.
    heading: String,
    /// The messages of the prompt, in order.
    messages: Vec<MessageAnswer>,
    /// The call that the messages are compared with: the one before, or the one that was asked for.
    compared: Option<ComparedCall>,
    /// Messages of that call's prompt that are gone.
    removed: Vec<MessageAnswer>,
    /// The messages of the answer.
    response: Vec<MessageAnswer>,
    tools_offered: Vec<OfferedTool>,
}

/// A model call that another is compared with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ComparedCall {
    event_id: String,
    number: usize,
}

/// Tokens of the model calls of a run, where they are recorded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TokensUsed {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
    /// Their known shares, in words: `300 cached, 12 for reasoning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<String>,
}

/// A model call; `None` for any other record.
pub(super) fn of(
    run: &OpenRun,
    number: usize,
    record: &Record,
    span: Option<&SpanRecord>,
    place: &StepAddress,
    against: Option<&TimelineRow>,
) -> Result<Option<LlmCallJson>, ApiError> {
    let Payload::LlmCall { prompt, .. } = &record.payload else {
        return Ok(None);
    };
    let Some(conversation) = Conversation::from_payload(&record.payload) else {
        return Ok(None);
    };
    let before = match against {
        Some(row) => run
            .steps
            .read_row(row)
            .map(|read| Some((row.number as usize, read?))),
        None => run
            .steps
            .read_previous(number, |event_type, _| event_type == EventType::LlmCall),
    };
    let before = before.map_err(ApiError::unreadable)?;
    let earlier = before
        .as_ref()
        .and_then(|(_, read)| Conversation::from_payload(&read.record.payload));
    let asked = earlier.as_ref().map_or(0, |earlier| earlier.prompt.len());
    let earlier = earlier.map_or_else(Vec::new, |earlier| [earlier.prompt, earlier.answer].concat());
    let is_new = conversation::new_messages(&earlier, &conversation.prompt);
    let is_gone = conversation::new_messages(&conversation.prompt, earlier.get(..asked).unwrap_or_default());
    let gone = earlier.iter().zip(is_gone).filter(|(_, is_gone)| *is_gone);
    let gone: Vec<Message> = gone.map(|(message, _)| message.clone()).collect();
    let compared = before.map(|(number, read)| ComparedCall {
        event_id: read.record.event_id,
        number,
    });
    let mut shown = messages(&conversation.prompt, StepPart::Prompt, place);
    fold_earlier(&mut shown, &is_new);
    let attributes = span.map(|span| &span.attributes);
    Ok(Some(LlmCallJson {
        heading: conversation::prompt_heading(&is_new, compared.as_ref().map(|call| (call.number, asked))),
        messages: shown,
        removed: messages(&gone, StepPart::Prompt, place),
        compared,
        response: messages(&conversation.answer, StepPart::Response, place),
        tools_offered: conversation::offered_tools(prompt, attributes),
    }))
}

impl From<&Usage> for TokensUsed {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
            total: usage.total_tokens,
            shares: step_summary::token_shares(usage),
        }
    }
}
