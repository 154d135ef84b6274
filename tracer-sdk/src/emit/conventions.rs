//! Conventions of this emitter's spans: status words, errors, operations and reserved names.

use super::error::ErrorInfo;
use crate::redact::Redactor;
use crate::write::draft::{Draft, EventTime};
use tracer_format::EventType;
use tracer_format::names::{self, events, span_names};

/// `tracer.status` of a call that went well and of one that did not.
pub(crate) const STATUS_OK: &str = "ok";
pub(crate) const STATUS_ERROR: &str = "error";

/// The error type of what was given up before it was done (decisions, section 5).
pub(crate) const CANCELLED: &str = "Cancelled";

/// Puts an error's type, message and stack on a span.
pub(crate) fn error_attributes(draft: &mut Draft, error: &ErrorInfo, redactor: &Redactor) {
    draft.text(names::ERROR_TYPE, &error.error_type, redactor);
    draft.text(names::ERROR_MESSAGE, &error.message, redactor);
    if let Some(stack) = &error.stack {
        draft.text(names::ERROR_STACK, stack, redactor);
    }
}

/// Puts an error into a span as an event.
pub(crate) fn exception_event(draft: &mut Draft, error: &ErrorInfo, at: EventTime, redactor: &Redactor) {
    draft.event(events::EXCEPTION, at);
    draft.event_text(names::ERROR_TYPE.written(), &error.error_type, redactor);
    draft.event_text(names::ERROR_MESSAGE.written(), &error.message, redactor);
    if let Some(stack) = &error.stack {
        draft.event_text(names::ERROR_STACK.written(), stack, redactor);
    }
}

/// A structural span must not be taken for a state or a loop warning, which readers know by their names.
pub(crate) fn structural_name(name: &str) -> &str {
    match name {
        span_names::STATE => "state()",
        span_names::LOOP_WARNING => "loop_warning()",
        _ => name,
    }
}

/// Says what kind of call a span is, where the other attributes would not.
pub(crate) fn operation(draft: &mut Draft, event_type: EventType, name: &str) {
    match event_type {
        EventType::LlmCall => draft.cleaned(names::OPERATION, "chat"),
        // Readers know a tool call by its tool's name; one without a name must say what it is.
        EventType::ToolCall if name.is_empty() => draft.cleaned(names::OPERATION, "execute_tool"),
        _ => {}
    }
}
