//! Outcome of a library's span: its reported error, or an inferred one.

use tracing::field::FieldSet;

use super::attributes::SentAttributes;
use super::vocabulary::shows_an_answer;
use crate::emit::conventions::CANCELLED;
use crate::emit::error::ErrorInfo;
use tracer_format::{EventType, names};

/// The error type of a model call, or an agent, that ended without a word of an answer.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Value of [`names::INFERRED`] for an error that the library did not report.
pub(super) const INFERRED_ERROR: &str = "error";

/// An error of a span, and whether the library reported it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: ErrorInfo,
    pub(super) is_inferred: bool,
}

/// The error that a span ended with. `last_error` is the last error that was logged within it, `is_given_up` whether its work
/// seems to have been dropped before it was finished.
pub(super) fn failure(
    attributes: &SentAttributes,
    event_type: EventType,
    declared: &FieldSet,
    has_reply: bool,
    last_error: Option<&str>,
    is_given_up: bool,
) -> Option<Failure> {
    if let Some(error) = reported(attributes, event_type, last_error) {
        return Some(Failure {
            error,
            is_inferred: false,
        });
    }
    let inferred = |error| {
        Some(Failure {
            error,
            is_inferred: true,
        })
    };
    // A status that was set is never overruled by what is absent.
    let status = attributes.text("otel.status_code");
    if status.is_some_and(|status| status.eq_ignore_ascii_case("ok")) {
        return None;
    }
    let is_answered = has_reply || attributes.telling_keys().any(shows_an_answer);
    let has_result = attributes.says(names::TOOL_CALL_RESULT.written());
    if is_given_up && !is_answered && !has_result {
        return inferred(ErrorInfo::new(CANCELLED, "dropped before it was finished"));
    }
    // rig reports nothing of a failed call: the span just closes. Only of a library that reports answers can that be
    // known.
    let reports_answers = declared.iter().any(|field| shows_an_answer(field.name()));
    if event_type != EventType::LlmCall || !reports_answers || is_answered {
        return None;
    }
    inferred(ErrorInfo::new(
        INCOMPLETE,
        last_error.unwrap_or("no answer was reported: the call failed or was dropped"),
    ))
}

fn reported(
    attributes: &SentAttributes,
    event_type: EventType,
    last_error: Option<&str>,
) -> Option<ErrorInfo> {
    let error_type = attributes.first_text(&["error.type", "exception.type"]);
    let message = attributes.first_text(&[
        "otel.status_description",
        "otel.status_message",
        "exception.message",
        "error.message",
        "langfuse.status_message",
    ]);
    let status = attributes.text("otel.status_code");
    if error_type.is_some() || status.is_some_and(|status| status.eq_ignore_ascii_case("error")) {
        let error_type = error_type.unwrap_or("Error");
        let message = message.or(last_error).unwrap_or(error_type);
        return Some(ErrorInfo::new(error_type, message));
    }
    let outcome = attributes.text("gen_ai.tool.call.outcome")?;
    if event_type != EventType::ToolCall || outcome.eq_ignore_ascii_case("success") {
        return None;
    }
    let error_type = attributes.text("gen_ai.tool.error.type").unwrap_or(outcome);
    // The result that the model was given is the nearest to a message that there is.
    let message = message
        .or(last_error)
        .or_else(|| attributes.text("gen_ai.tool.call.result"))
        .unwrap_or(outcome);
    Some(ErrorInfo::new(error_type, message))
}
