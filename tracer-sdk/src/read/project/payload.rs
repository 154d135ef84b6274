//! The payload of each event type, from a span's attributes and span events (decisions, sections 2 and 3).

use serde_json::{Map, Value};

use crate::format::names::{self, Name, event_keys, events};
use crate::format::{
    ErrorPayload, EventType, Payload, RecordedStatus, SpanEvent, SpanRecord, StatusCode, Usage,
};

use super::values::{
    Lookup, named, number, owned_text, parsed, shaped, text, text_list, value, whole, whole_number,
};
use super::{classify, messages};

/// The provider of a model call that names none.
const UNKNOWN_PROVIDER: &str = "unknown";
/// The class of an error that names none.
const UNNAMED_ERROR: &str = "Error";

/// The payload of the span's own record.
pub(super) fn span_payload(span: &SpanRecord) -> Payload {
    if span.is_root() {
        return run_start(span);
    }
    match classify::child_type(&span.name, &span.attributes) {
        EventType::LlmCall => llm_call(span),
        EventType::ToolCall => tool_call(span),
        EventType::StateUpdate => {
            state_update(find_event(span, events::STATE).map_or(&span.attributes, |event| &event.attributes))
        }
        EventType::LoopWarning => loop_warning(
            find_event(span, events::LOOP_WARNING).map_or(&span.attributes, |event| &event.attributes),
        ),
        EventType::Error => Payload::Error(span_error(span)),
        EventType::RunStart | EventType::RunEnd | EventType::Unknown => Payload::Unknown {
            attributes: span.attributes.clone(),
            status: status(span),
            error: failure(span),
        },
    }
}

/// The payload of a span event of the root, if it is promoted.
pub(super) fn root_event_payload(event: &SpanEvent) -> Option<Payload> {
    let attributes = &event.attributes;
    Some(match promoted_type(&event.name)? {
        PromotedEvent::Exception => Payload::Error(error(&[attributes], "")),
        PromotedEvent::State => state_update(attributes),
        PromotedEvent::LoopWarning => loop_warning(attributes),
    })
}

/// A span event of the root that is promoted as a record of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromotedEvent {
    Exception,
    State,
    LoopWarning,
}

/// What a span event of the root with this name is promoted as, if it is.
pub(crate) fn promoted_type(name: &str) -> Option<PromotedEvent> {
    [
        (events::EXCEPTION, PromotedEvent::Exception),
        (events::STATE, PromotedEvent::State),
        (events::LOOP_WARNING, PromotedEvent::LoopWarning),
    ]
    .into_iter()
    .find_map(|(known, promoted)| known.is(name).then_some(promoted))
}

impl PromotedEvent {
    /// The type of the record.
    pub(crate) fn event_type(self) -> EventType {
        match self {
            Self::Exception => EventType::Error,
            Self::State => EventType::StateUpdate,
            Self::LoopWarning => EventType::LoopWarning,
        }
    }
}

/// How the run ended, by its root.
pub(super) fn run_end(root: &SpanRecord) -> Payload {
    Payload::RunEnd {
        status: match root.status_code {
            StatusCode::Error => RecordedStatus::Error,
            StatusCode::Ok | StatusCode::Unset => RecordedStatus::Ok,
        },
    }
}

fn run_start(root: &SpanRecord) -> Payload {
    let attributes = &root.attributes;
    Payload::RunStart {
        run_name: owned_text(names::RUN_NAME, attributes),
        python_version: owned_text(names::PYTHON_VERSION, attributes),
        platform: owned_text(names::PLATFORM, attributes),
        cwd: owned_text(names::WORKING_DIRECTORY, attributes),
        argv: text_list(value(names::ARGUMENTS, attributes)),
    }
}

fn llm_call(span: &SpanRecord) -> Payload {
    let attributes = &span.attributes;
    Payload::LlmCall {
        model: named(names::REQUEST_MODEL, attributes)
            .or_else(|| named(names::RESPONSE_MODEL, attributes))
            .unwrap_or(&span.name)
            .to_owned(),
        prompt: messages::prompt(span),
        response: messages::response(span),
        usage: usage(attributes),
        provider: text(names::PROVIDER, attributes)
            .unwrap_or(UNKNOWN_PROVIDER)
            .to_owned(),
        temperature: number(names::TEMPERATURE, attributes),
        stop_reason: stop_reason(attributes),
        status: status(span),
        error: failure(span),
    }
}

/// A total that is not stored is the sum of the parts that are known.
pub(crate) fn usage(attributes: &impl Lookup) -> Usage {
    let tokens = |name| whole(name, attributes);
    let (prompt_tokens, completion_tokens) = (tokens(names::INPUT_TOKENS), tokens(names::OUTPUT_TOKENS));
    let total_tokens = tokens(names::TOTAL_TOKENS).or_else(|| match (prompt_tokens, completion_tokens) {
        (None, None) => None,
        (prompt, completion) => Some(prompt.unwrap_or(0).saturating_add(completion.unwrap_or(0))),
    });
    Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
    }
}

/// OpenTelemetry stores a list, one reason per choice; several are joined by commas.
fn stop_reason(attributes: &Map<String, Value>) -> Option<String> {
    let reasons = text_list(value(names::FINISH_REASONS, attributes));
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

fn tool_call(span: &SpanRecord) -> Payload {
    Payload::ToolCall {
        tool_name: named(names::TOOL_NAME, &span.attributes)
            .unwrap_or(&span.name)
            .to_owned(),
        args: tool_value(
            span,
            events::TOOL_ARGUMENTS,
            event_keys::ARGUMENTS,
            names::TOOL_CALL_ARGUMENTS,
        ),
        result: tool_value(
            span,
            events::TOOL_RESULT,
            event_keys::RESULT,
            names::TOOL_CALL_RESULT,
        ),
        status: status(span),
        error: failure(span),
    }
}

fn tool_value(span: &SpanRecord, event: Name, key: &str, otherwise: Name) -> Value {
    let stored = find_event(span, event)
        .and_then(|event| event.attributes.get(key))
        .or_else(|| value(otherwise, &span.attributes));
    shaped(stored.map(parsed).unwrap_or_default())
}

fn state_update(attributes: &Map<String, Value>) -> Payload {
    let stored = |key| attributes.get(key).map(|value| shaped(parsed(value)));
    Payload::StateUpdate {
        state: stored(event_keys::STATE).unwrap_or_default(),
        diff: stored(event_keys::DIFF),
    }
}

fn loop_warning(attributes: &Map<String, Value>) -> Payload {
    let text = |key| attributes.get(key).and_then(Value::as_str).map(str::to_owned);
    let whole = |key| attributes.get(key).and_then(whole_number);
    Payload::LoopWarning {
        pattern: text(event_keys::PATTERN).unwrap_or_default(),
        pattern_type: text(event_keys::PATTERN_TYPE),
        pattern_length: whole(event_keys::PATTERN_LENGTH),
        repetitions: whole(event_keys::REPETITIONS).unwrap_or(0),
        window_size: whole(event_keys::WINDOW_SIZE).unwrap_or(0),
        evidence_event_ids: text_list(attributes.get(event_keys::EVIDENCE_EVENT_IDS)),
    }
}

fn status(span: &SpanRecord) -> RecordedStatus {
    if is_failed(span.status_code, &span.attributes) {
        RecordedStatus::Error
    } else {
        RecordedStatus::Ok
    }
}

/// A span failed when it says so in either place: its own status or OpenTelemetry's.
pub(crate) fn is_failed(status_code: StatusCode, attributes: &impl Lookup) -> bool {
    status_code == StatusCode::Error
        || text(names::STATUS, attributes) == Some(RecordedStatus::Error.as_str())
}

fn failure(span: &SpanRecord) -> Option<ErrorPayload> {
    (status(span) == RecordedStatus::Error).then(|| span_error(span))
}

/// The error of a span: from its attributes, else from an `exception` span event, else from the status description.
fn span_error(span: &SpanRecord) -> ErrorPayload {
    let mut places = vec![&span.attributes];
    places.extend(find_event(span, events::EXCEPTION).map(|event| &event.attributes));
    error(&places, &span.status_description)
}

/// Each part from the first place that has it.
fn error(places: &[&Map<String, Value>], description: &str) -> ErrorPayload {
    let part = |name: Name| places.iter().find_map(|attributes| owned_text(name, attributes));
    ErrorPayload {
        error_type: part(names::ERROR_TYPE).unwrap_or_else(|| UNNAMED_ERROR.to_owned()),
        message: part(names::ERROR_MESSAGE).unwrap_or_else(|| description.to_owned()),
        stack: part(names::ERROR_STACK),
    }
}

/// The last span event with a name: when an emitter writes two, the last one counts.
fn find_event(span: &SpanRecord, name: Name) -> Option<&SpanEvent> {
    span.events.iter().rfind(|event| name.is(&event.name))
}
