//! Last answer of a model in a run: its text, and its problems although its call did not fail.

use serde_json::Value;
use tracer_sdk::format::{EventType, Payload, Record};

use crate::cause_kind::CauseKind;
use crate::conversation::{Conversation, MessagePart, answer_messages};
use crate::steps::Step;

/// Finish reasons in lower case, without `_`.
const CUT: [&str; 6] = [
    "length",
    "maxtokens",
    "maxoutputtokens",
    "modellength",
    "incomplete",
    "modelcontextwindowexceeded",
];
const FILTERED: [&str; 15] = [
    "contentfilter",
    "contentfiltered",
    "safety",
    "recitation",
    "blocklist",
    "blocked",
    "prohibitedcontent",
    "spii",
    "jailbreak",
    "modelarmor",
    "imagesafety",
    "imageprohibitedcontent",
    "imagerecitation",
    "guardrailintervened",
    "errortoxic",
];
const REFUSED: [&str; 2] = ["refusal", "refused"];
const MALFORMED: [&str; 6] = [
    "malformedfunctioncall",
    "malformedtooluse",
    "malformedmodeloutput",
    "malformedresponse",
    "unexpectedtoolcall",
    "toomanytoolcalls",
];
const ASKS_FOR_TOOLS: [&str; 4] = ["toolcalls", "tooluse", "functioncall", "toolcall"];

/// Something wrong with the last answer.
#[derive(Debug)]
pub(crate) struct AnswerProblem<'a> {
    pub(crate) kind: CauseKind,
    /// The model call.
    pub(crate) step: &'a Step<'a>,
    /// The tool that was asked for, where nothing followed; the words of a refusal; why a prompt was blocked.
    pub(crate) detail: Option<String>,
}

/// The text of the last answer of a model that has one; `None` where none was recorded.
///
/// ```
/// use tracer_insight::last_answer::text;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::llm_call("gpt-5").response("37.50 EUR").record());
/// assert_eq!(text(&run.records).as_deref(), Some("37.50 EUR"));
/// assert_eq!(text(&[]), None);
/// ```
#[must_use]
pub fn text(records: &[Record]) -> Option<String> {
    let is_call = |record: &&Record| record.event_type() == EventType::LlmCall && !record.is_leftover();
    let last = records.iter().rfind(is_call)?;
    let answer = Conversation::from_payload(&last.payload)?.answer;
    let texts = answer
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
    let mut text: String = texts.collect();
    if text.is_empty()
        && let Payload::LlmCall { response, .. } = &last.payload
    {
        // A text that reads as JSON is one all the same.
        response.as_str().unwrap_or_default().clone_into(&mut text);
    }
    (!text.is_empty()).then_some(text)
}

/// Problem of the last answer; `None` when there is none, when it cannot be known, or when its call failed.
pub(crate) fn problem<'a>(steps: &'a [Step<'a>]) -> Option<AnswerProblem<'a>> {
    let is_model = |step: &&Step<'_>| step.record.event_type() == EventType::LlmCall;
    let step = steps.iter().filter(is_model).max_by_key(|step| step.number)?;
    if step.failed() || step.in_flight {
        return None;
    }
    let found = |kind, detail| Some(AnswerProblem { kind, step, detail });
    let Payload::LlmCall { response, .. } = &step.record.payload else {
        return None;
    };
    let Conversation {
        answer,
        finish_reason,
        ..
    } = Conversation::from_payload(&step.record.payload)?;
    let parts = || answer.iter().flat_map(|message| &message.parts);
    let is_one_of = |words: &[&str]| {
        let reasons = finish_reason.as_deref().unwrap_or_default().split(',');
        let mut reasons = reasons.map(|reason| reason.trim().to_lowercase().replace(['_', '-'], ""));
        reasons.any(|reason| words.contains(&reason.as_str()))
    };
    let refusal = parts().find_map(|part| match part {
        MessagePart::Refusal(words) => Some(words.clone()),
        _ => None,
    });
    if refusal.is_some() || is_one_of(&REFUSED) {
        return found(CauseKind::Refused, refusal.or_else(|| reason_text(response)));
    }
    let blocked = response
        .pointer("/promptFeedback/blockReason")
        .and_then(Value::as_str);
    if blocked.is_some() || is_one_of(&FILTERED) {
        let reason = blocked.or(finish_reason.as_deref()).map(str::to_owned);
        return found(CauseKind::ContentFilter, reason_text(response).or(reason));
    }
    if is_one_of(&MALFORMED) {
        return found(CauseKind::MalformedCall, reason_text(response).or(finish_reason));
    }
    if is_one_of(&CUT) {
        return found(CauseKind::CutAnswer, None);
    }
    let follows = |other: &Step<'_>| other.number > step.number && other.is_call();
    if steps.iter().any(follows) {
        return None;
    }
    let asked = parts().find_map(|part| match part {
        MessagePart::ToolCall { name, .. } => Some(name.clone()),
        _ => None,
    });
    if let Some(tool) = asked {
        // A tool that was never run may be the form of the answer itself.
        return is_run(&tool, step, steps).then(|| found(CauseKind::NoAnswer, Some(tool)))?;
    }
    let is_empty = |part: &MessagePart| match part {
        MessagePart::Text(text) => text.trim().is_empty(),
        MessagePart::Reasoning(_) => true,
        MessagePart::Unknown(value) => value.is_null(),
        _ => false,
    };
    // An answer that was not recorded is not known to be empty.
    let is_recorded = !matches!(response, Value::Null);
    if is_recorded && parts().all(is_empty) && !is_one_of(&ASKS_FOR_TOOLS) {
        return found(CauseKind::EmptyAnswer, None);
    }
    None
}

/// Text of the provider about the reason.
fn reason_text(response: &Value) -> Option<String> {
    const PLACES: [&str; 4] = [
        "/promptFeedback/blockReasonMessage",
        "/candidates/0/finishMessage",
        "/stop_details/explanation",
        "/incomplete_details/message",
    ];
    let text = PLACES.iter().find_map(|place| response.pointer(place)?.as_str());
    text.filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Returns whether a tool was run before, or asked for in an earlier answer that the run continued after.
fn is_run(tool: &str, last: &Step<'_>, steps: &[Step<'_>]) -> bool {
    let earlier = steps.iter().filter(|step| step.number < last.number);
    earlier.into_iter().any(|step| match &step.record.payload {
        Payload::ToolCall { tool_name, .. } => tool_name == tool,
        Payload::LlmCall { response, .. } => answer_messages(response)
            .iter()
            .flat_map(|message| &message.parts)
            .any(|part| matches!(part, MessagePart::ToolCall { name, .. } if name == tool)),
        _ => false,
    })
}
