//! The payload of each event type, from a span's attributes and span events (decisions, sections 2 and 3).

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::names::{self, Name, event_keys, events};
use crate::vocabulary::{
    self, ERROR_MESSAGE, ERROR_TYPE, EXIT_CODE, FINISH_REASON, FieldSource, IMPLIED_PROVIDERS, MODEL,
    PROVIDER, RESPONSE_MODEL, RUN_NAME, SourceForm, TEMPERATURE,
};
use crate::{ErrorPayload, EventType, Payload, RecordedStatus, SpanEvent, SpanRecord, StatusCode};

use super::classify::{self, is_fetch, source_text, tool_name};
use super::messages;
use super::outcome;
use super::remarks::agent_in_name;
use super::tokens::{call_usage, fill_usage, take_larger};
use super::values::{
    Lookup, at_path, number, owned_text, parsed, shaped, text, text_list, value, whole_number,
};
use super::view::{SpanView, WholeFacts, all_attributes};

/// The provider of a model call that names none.
pub const UNKNOWN_PROVIDER: &str = "unknown";
/// The class of an error that names none.
const UNNAMED_ERROR: &str = "Error";
/// The class of the error of a tool whose program exited with a code other than 0.
const EXIT_STATUS: &str = "exit_status";
/// The message of the error of a call that was not allowed to run.
const REFUSED_CALL: &str = "the call was refused";

/// The payload of the span's own record.
pub(super) fn span_payload(span: &SpanRecord, facts: &WholeFacts<'_>) -> Payload {
    if span.is_root() {
        return run_start(span);
    }
    match classify::span_type(span, facts) {
        EventType::LlmCall => llm_call(span, facts),
        EventType::ToolCall => tool_call(span, facts),
        EventType::StateUpdate => {
            state_update(find_event(span, events::STATE).map_or(&span.attributes, |event| &event.attributes))
        }
        EventType::LoopWarning => loop_warning(
            find_event(span, events::LOOP_WARNING).map_or(&span.attributes, |event| &event.attributes),
        ),
        EventType::Error => Payload::Error(span_error(span)),
        EventType::RunStart | EventType::RunEnd | EventType::Unknown => unknown(span, facts),
    }
}

/// The payload of a span that is none of the other types.
pub(super) fn unknown(span: &SpanRecord, facts: &WholeFacts<'_>) -> Payload {
    let (status, error) = status_and_error(span, facts, EventType::Unknown);
    Payload::Unknown {
        attributes: span.attributes.clone(),
        status,
        error,
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
pub enum PromotedEvent {
    Exception,
    State,
    LoopWarning,
}

/// The type that a span event of the root with this name is promoted to, if it is.
pub fn promoted_type(name: &str) -> Option<PromotedEvent> {
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
    pub fn event_type(self) -> EventType {
        match self {
            Self::Exception => EventType::Error,
            Self::State => EventType::StateUpdate,
            Self::LoopWarning => EventType::LoopWarning,
        }
    }
}

/// The end of the run, from its root span.
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
        // The format's own name counts as it is stored, an empty one too.
        run_name: owned_text(names::RUN_NAME, attributes)
            .or_else(|| source_text(RUN_NAME, attributes).map(Cow::into_owned)),
        python_version: owned_text(names::PYTHON_VERSION, attributes),
        platform: owned_text(names::PLATFORM, attributes),
        cwd: owned_text(names::WORKING_DIRECTORY, attributes),
        argv: text_list(value(names::ARGUMENTS, attributes)),
    }
}

fn llm_call(span: &SpanRecord, facts: &WholeFacts<'_>) -> Payload {
    let attributes = &*all_attributes(facts);
    let (status, error) = status_and_error(span, facts, EventType::LlmCall);
    Payload::LlmCall {
        model: model(&span.name, attributes).into_owned(),
        prompt: messages::prompt(span, attributes),
        response: messages::response(span, attributes),
        usage: call_usage(span, facts),
        provider: provider(&span.name, attributes).into_owned(),
        response_model: response_model(attributes).map(Cow::into_owned),
        temperature: source_value(TEMPERATURE, attributes, number),
        stop_reason: stop_reason(span, attributes),
        status,
        error,
    }
}

/// The model that was asked, else the one that answered, else the span's name. Libraries that serve many providers write
/// `openai::gpt-5`: the provider in front is none of the model's name.
pub fn model<'a>(name: &'a str, attributes: &'a impl Lookup) -> Cow<'a, str> {
    let stored = source_text(MODEL, attributes).or_else(|| source_text(RESPONSE_MODEL, attributes));
    match stored {
        None => Cow::Borrowed(name),
        Some(model) if classify::is_own(attributes.groups(), attributes) => model,
        Some(model) => match (namespaced(&model), &model) {
            (Some((_, rest)), Cow::Borrowed(whole)) => {
                Cow::Borrowed(whole.get(whole.len() - rest.len()..).unwrap_or(whole))
            }
            (Some((_, rest)), Cow::Owned(_)) => Cow::Owned(rest.to_owned()),
            (None, _) => model,
        },
    }
}

/// The parts of `openai::gpt-5`.
fn namespaced(model: &str) -> Option<(&str, &str)> {
    let (namespace, rest) = model.split_once("::")?;
    let is_word = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    (!namespace.is_empty() && is_word(namespace) && !rest.is_empty()).then_some((namespace, rest))
}

/// The model that answered, where that is recorded.
pub fn response_model(attributes: &impl Lookup) -> Option<Cow<'_, str>> {
    source_text(RESPONSE_MODEL, attributes)
}

/// Provider of the model: as recorded, else as implied by the other attributes or by the name of the model.
pub fn provider<'a>(name: &str, attributes: &'a impl Lookup) -> Cow<'a, str> {
    let implied = || {
        let fits =
            |tests: &[vocabulary::Test]| tests.iter().all(|test| classify::passes(test, name, attributes));
        let provider = IMPLIED_PROVIDERS.iter().find(|(_, tests, _)| fits(tests));
        provider.map(|(_, _, provider)| Cow::Borrowed(*provider))
    };
    let in_model = || {
        let model = source_text(MODEL, attributes)?;
        namespaced(&model).map(|(namespace, _)| Cow::Owned(namespace.to_owned()))
    };
    let stored = source_text(PROVIDER, attributes)
        .or_else(implied)
        .or_else(in_model);
    stored.unwrap_or(Cow::Borrowed(UNKNOWN_PROVIDER))
}

/// The first value that one of the sources holds and that can be read.
fn source_value<T>(
    sources: &[FieldSource],
    attributes: &Map<String, Value>,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    sources.iter().find_map(|source| match source.form {
        SourceForm::Plain | SourceForm::UpToDot | SourceForm::AfterSlash => read(attributes.get(source.key)?),
        SourceForm::Within(path) => read(at_path(&*attributes.structure_at(source.key)?, path)?),
    })
}

/// OpenTelemetry stores a list, one reason per choice; several are joined by commas.
fn stop_reason(span: &SpanRecord, attributes: &Map<String, Value>) -> Option<String> {
    let reasons = |value: &Value| {
        let reasons = text_list(Some(value));
        let says = reasons.iter().any(|reason| !reason.is_empty());
        says.then(|| reasons.join(", "))
    };
    source_value(FINISH_REASON, attributes, reasons).or_else(|| messages::finish_reason(span))
}

fn tool_call(span: &SpanRecord, facts: &WholeFacts<'_>) -> Payload {
    let attributes = &*all_attributes(facts);
    let (status, error) = status_and_error(span, facts, EventType::ToolCall);
    Payload::ToolCall {
        tool_name: tool_name(&span.name, attributes).into_owned(),
        args: arguments(span, attributes),
        result: result_of(span, attributes),
        status,
        error,
    }
}

/// The arguments of a tool: those of the format's own event, else as another vocabulary stores them.
pub(super) fn arguments(span: &SpanRecord, attributes: &Map<String, Value>) -> Value {
    let event = find_event(span, events::TOOL_ARGUMENTS);
    let own = event.and_then(|event| event.attributes.get(event_keys::ARGUMENTS).map(parsed));
    shaped(
        own.or_else(|| messages::arguments(span, attributes))
            .unwrap_or_default(),
    )
}

fn result_of(span: &SpanRecord, attributes: &Map<String, Value>) -> Value {
    let event = find_event(span, events::TOOL_RESULT);
    let own = event.and_then(|event| event.attributes.get(event_keys::RESULT).map(parsed));
    shaped(
        own.or_else(|| messages::result(span, attributes))
            .unwrap_or_default(),
    )
}

/// The name in the projection: the model, the tool, or the span itself.
pub fn display_name<'a>(name: &'a str, attributes: &'a impl Lookup, event_type: EventType) -> Cow<'a, str> {
    match event_type {
        EventType::LlmCall => model(name, attributes),
        EventType::ToolCall => tool_name(name, attributes),
        _ => Cow::Borrowed(name),
    }
}

/// Gives a call whose outcome is unknown that of another span that recorded it.
pub(super) fn take_outcome(payload: &mut Payload, other: &SpanRecord, facts: &WholeFacts<'_>) {
    let event_type = payload.event_type();
    if let Payload::LlmCall { status, error, .. } | Payload::ToolCall { status, error, .. } = payload {
        (*status, *error) = status_and_error(other, facts, event_type);
    }
}

/// Says of a failed call that it was cancelled.
pub(super) fn cancel(payload: &mut Payload) {
    if let Payload::LlmCall {
        error: Some(error), ..
    } = payload
    {
        crate::error_type::CANCELLED.clone_into(&mut error.error_type);
    }
}

/// Adds what another span that recorded the same call knows. One that asked again for its answer knows best what that is.
pub(super) fn fill(payload: &mut Payload, own_name: &str, is_own: bool, other: &SpanRecord) {
    let facts = other.facts();
    let attributes = &*all_attributes(&facts);
    match payload {
        Payload::LlmCall {
            model,
            prompt,
            response,
            usage,
            provider,
            response_model,
            temperature,
            stop_reason,
            ..
        } => {
            let other_model = self::model(&other.name, attributes);
            if model == own_name && *other_model != *other.name {
                *model = other_model.into_owned();
            }
            if provider == UNKNOWN_PROVIDER {
                *provider = self::provider(&other.name, attributes).into_owned();
            }
            if prompt.is_null() {
                *prompt = messages::prompt(other, attributes);
            }
            let is_fetch = is_fetch(&facts);
            if is_fetch || response.is_null() {
                let answer = messages::response(other, attributes);
                *response = Some(answer)
                    .filter(|answer| !answer.is_null())
                    .unwrap_or(response.take());
            }
            let (other_usage, other_reason) =
                (call_usage(other, &facts), self::stop_reason(other, attributes));
            if is_fetch {
                take_larger(usage, &other_usage);
                *stop_reason = other_reason.or(stop_reason.take());
            } else {
                fill_usage(usage, &other_usage);
                *stop_reason = stop_reason.take().or(other_reason);
            }
            let answered = || self::response_model(attributes).map(Cow::into_owned);
            *response_model = response_model.take().or_else(answered);
            *temperature = temperature
                .take()
                .or_else(|| source_value(TEMPERATURE, attributes, number));
        }
        Payload::ToolCall {
            tool_name,
            args,
            result,
            ..
        } => {
            // The messages say what was asked for, which libraries wrap, or report as the bare value alone; and what the model
            // was answered, which a recorder knows as the program returned it.
            let is_of_messages = other.attributes.contains_key(names::DERIVED.written());
            if is_of_messages && agent_in_name(tool_name).is_some() {
                *tool_name = self::tool_name(&other.name, attributes).into_owned();
            }
            let (asked, came) = (arguments(other, attributes), result_of(other, attributes));
            if args.is_null() || is_of_messages && !asked.is_null() {
                *args = asked;
            }
            if result.is_null() || is_of_messages && !came.is_null() && !is_own {
                *result = came;
            }
        }
        _ => {}
    }
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

/// Status of a span, and its error if it failed.
fn status_and_error(
    span: &SpanRecord,
    facts: &WholeFacts<'_>,
    event_type: EventType,
) -> (RecordedStatus, Option<ErrorPayload>) {
    if outcome::outcome(span, facts, event_type).is_failure() {
        (RecordedStatus::Error, Some(call_error(span, facts, event_type)))
    } else {
        (RecordedStatus::Ok, None)
    }
}

/// The error of a span: from its attributes, else from an `exception` span event, else from the status description.
fn span_error(span: &SpanRecord) -> ErrorPayload {
    let mut places = vec![&span.attributes];
    places.extend(find_event(span, events::EXCEPTION).map(|event| &event.attributes));
    error(&places, &span.status_description)
}

/// The error of a call: as [`span_error`], with what other vocabularies store.
fn call_error(span: &SpanRecord, facts: &WholeFacts<'_>, event_type: EventType) -> ErrorPayload {
    let mut error = span_error(span);
    let attributes = &*all_attributes(facts);
    let has = |name: Name| value(name, attributes).is_some();
    if !has(names::ERROR_TYPE)
        && let Some(class) = source_value(ERROR_TYPE, attributes, plain_text)
    {
        error.error_type = class;
    }
    if error.message.is_empty() || (!has(names::ERROR_MESSAGE) && error.message == span.status_description) {
        let stored = source_value(ERROR_MESSAGE, attributes, plain_text);
        error.message = stored.unwrap_or(error.message);
    }
    if error.message.is_empty()
        && event_type == EventType::ToolCall
        && let Some(Value::String(result)) = messages::result(span, attributes)
    {
        error.message = result;
    }
    if error.message.is_empty() && text(names::DECISION, attributes) == Some("deny") {
        REFUSED_CALL.clone_into(&mut error.message);
    }
    if event_type == EventType::ToolCall
        && outcome::has_failed_exit(attributes)
        && let Some(code) = attributes.get(EXIT_CODE).map(ToString::to_string)
    {
        let code = code.trim_matches('"').trim();
        if error.error_type == UNNAMED_ERROR {
            EXIT_STATUS.clone_into(&mut error.error_type);
        }
        let words = format!("exit code {code}");
        if error.message.is_empty() {
            error.message = words;
        } else if !error.message.contains(code) {
            error.message = format!("{words}: {}", error.message);
        }
    }
    error
}

/// Message of a span that waits for a person.
pub(super) fn waiting_words(span: &SpanRecord, facts: &WholeFacts<'_>) -> String {
    call_error(span, facts, EventType::Unknown).message
}

/// A text that says something, or a number as text.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
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
