//! Marks of a span in addition to its type.
//!
//! The marks are: a tool on the span of a model call, a tool only in the name of a span, a model's tokens on the span
//! of a tool call, an answer from a recording, an unknown outcome, the tokens of a request to a model that is no model
//! call.

use std::borrow::Cow;

use super::classify::{TOOL_OPERATION, is_refused, repeats_a_call, tool_in_name};
use super::correlate::PROXY;
use super::outcome::{SpanOutcome, span_outcome};
use super::payload::{model, provider, response_model};
use super::tokens::usage;
use super::values::{Lookup, named, texts};
use super::view::WholeFacts;
use crate::names;
use crate::vocabulary::SERVICES;
use crate::{EventType, OtherMarks, Outcome, Payload, ServiceCall, SpanRecord, Usage};

/// The other marks of a span; `None` of nearly every span.
pub(super) fn other_marks(
    span: &SpanRecord,
    facts: &WholeFacts<'_>,
    payload: &Payload,
) -> Option<Box<OtherMarks>> {
    let attributes = &facts.without_details();
    let SpanOutcome { outcome, is_waiting } = span_outcome(span, facts, payload.event_type());
    let of_outcome = OtherMarks {
        is_unknown: outcome == Outcome::Unknown && !matches!(payload, Payload::RunStart { .. }),
        is_waiting,
        ..OtherMarks::default()
    };
    if repeats_a_call(&span.name, attributes) || is_refused(span, facts) {
        return boxed(of_outcome);
    }
    let own = match payload {
        Payload::ToolCall { tool_name, .. } => Some(tool_name.as_str()),
        _ => None,
    };
    let is_tool_operation =
        named(names::OPERATION, attributes).is_some_and(|name| name.eq_ignore_ascii_case(TOOL_OPERATION));
    let in_attributes = texts(names::TOOL_NAME, attributes).filter(|name| !name.is_empty());
    let in_name = tool_in_name(&span.name).or((is_tool_operation && own.is_none()).then_some(&*span.name));
    let mut tools: Vec<String> = Vec::new();
    for name in in_attributes.chain(in_name) {
        if own != Some(name) && !tools.iter().any(|known| known == name) {
            tools.push(name.to_owned());
        }
    }
    let usage = own.and_then(|_| model_usage(attributes));
    let service = service(span, facts, payload);
    let is_replayed =
        (matches!(payload, Payload::LlmCall { .. }) || service.is_some()) && is_replayed(attributes);
    let marks = OtherMarks {
        tools,
        usage,
        is_replayed,
        service,
        ..of_outcome
    };
    boxed(marks)
}

/// The request to a model on a span that is no model call.
fn service(span: &SpanRecord, facts: &WholeFacts<'_>, payload: &Payload) -> Option<ServiceCall> {
    let usage = service_usage(payload.event_type(), facts)?;
    Some(ServiceCall {
        model: model(&span.name, facts).into_owned(),
        provider: provider(&span.name, facts).into_owned(),
        response_model: response_model(facts).map(Cow::into_owned),
        usage,
    })
}

/// The tokens of a request to a model that is no model call, such as embeddings. Only requests that the proxy saw
/// count: a library may report the same one on several levels, in addition to the proxy.
pub fn service_usage(event_type: EventType, attributes: &impl Lookup) -> Option<Usage> {
    if event_type != EventType::Unknown || attributes.text_at(names::SOURCE.written()) != Some(PROXY) {
        return None;
    }
    let operation = named(names::OPERATION, attributes).filter(|operation| SERVICES.contains(operation))?;
    let mut usage = usage(attributes);
    // Jina and Voyage give the sum alone; numbers and ranks are no tokens.
    if matches!(operation, "embeddings" | "rerank") && usage.completion_tokens.is_none() {
        usage.prompt_tokens = usage.prompt_tokens.or(usage.total_tokens);
        usage.completion_tokens = usage.prompt_tokens.map(|_| 0);
    }
    // A request that is charged by any unit but tokens has no price here, and is not free.
    let is_charged = usage != Usage::default() || attributes.says(names::USAGE_NOT_COUNTED.written());
    is_charged.then_some(usage)
}

fn boxed(marks: OtherMarks) -> Option<Box<OtherMarks>> {
    (marks != OtherMarks::default()).then(|| Box::new(marks))
}

/// Returns whether the span of a call says that it was answered from a recording.
pub fn is_replayed(attributes: &impl Lookup) -> bool {
    attributes.truth_at(names::REPLAYED.written()) == Some(true)
}

/// The tokens of the model that the span of a tool call names, or reports tokens of. A provider alone is no model:
/// frameworks put their own name there.
fn model_usage(attributes: &WholeFacts<'_>) -> Option<Usage> {
    let usage = usage(attributes);
    let model = [names::REQUEST_MODEL, names::RESPONSE_MODEL]
        .into_iter()
        .find_map(|name| named(name, attributes));
    (model.is_some() || usage != Usage::default()).then_some(usage)
}
