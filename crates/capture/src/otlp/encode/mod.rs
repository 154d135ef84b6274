//! The way out: recorded spans as OTLP spans, under the names that viewers of the GenAI conventions look for (capture,
//! section 7).
//!
//! There is one mapping; the protocol's messages are then written as protobuf by `prost`, or as OTLP's JSON by serde.

mod attributes;
mod messages;
mod values;

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind as OtlpKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as OtlpCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use tracer_runs::remove_usage;
use tracer_sdk::format::{Record, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, StoredTime, names};

pub(crate) use values::attribute;
use values::key_values;

/// Name of the service when the run has none.
const UNNAMED_SERVICE: &str = "tracer";
/// The instrumentation scope of every span that leaves.
const SCOPE: &str = "tracer";
/// The library that recorded a span of our own.
const SDK: &str = "tracer";
const SERVICE_NAME: &str = "service.name";

/// The resource of a run's spans: its name is that of the service.
///
/// ```
/// let resource = tracer_capture::otlp::encode::resource(Some("support-agent"));
/// assert_eq!(resource.attributes[0].key, "service.name");
/// ```
#[must_use]
pub fn resource(run_name: Option<&str>) -> Resource {
    let service = run_name
        .filter(|name| !name.is_empty())
        .unwrap_or(UNNAMED_SERVICE);
    Resource {
        attributes: vec![attribute(SERVICE_NAME, service)],
        ..Resource::default()
    }
}

/// The resource of a span that is sent on. A span that came from elsewhere has its service's name, with what else is known
/// of its process, among its attributes; a span of our own has the run's name, and says what recorded it.
#[must_use]
pub fn resource_of(span: &SpanRecord, run_name: Option<&str>) -> Resource {
    if !span.attributes.contains_key(SERVICE_NAME) {
        let mut own = resource(run_name);
        own.attributes.push(attribute("telemetry.sdk.name", SDK));
        own.attributes
            .push(attribute("telemetry.sdk.version", env!("CARGO_PKG_VERSION")));
        return own;
    }
    let of_resource = |key: &str| {
        let namespaces = ["service.", "telemetry.", "process."];
        namespaces.iter().any(|namespace| key.starts_with(namespace))
    };
    let attributes = span.attributes.iter();
    let kept = attributes.filter(|(key, _)| of_resource(key));
    Resource {
        attributes: key_values(kept.map(|(key, value)| (key.clone(), value.clone())).collect()),
        ..Resource::default()
    }
}

/// The instrumentation scope: this project, in its version.
///
/// ```
/// assert_eq!(tracer_capture::otlp::encode::scope().name, "tracer");
/// ```
#[must_use]
pub fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// A recorded span as the protocol has it. What is not stored under the names of the conventions is added from the span's
/// record: model, tokens, messages, tool calls, errors.
///
/// Times are kept to the nanosecond that the microseconds give; those before 1970 become 0, and an end that is not known
/// becomes the start, as the protocol has neither.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let recorded = capture(|| tracer_sdk::tool_call("search").record()).spans.remove(0);
/// let start = recorded.start_time.instant();
/// let span = tracer_capture::otlp::encode::span(recorded);
/// assert_eq!(span.name, "search");
/// assert_eq!(i64::try_from(span.start_time_unix_nano / 1_000), Ok(start.unix_microseconds()));
/// ```
#[must_use]
pub fn span(span: SpanRecord) -> Span {
    let record = own_record(&span);
    encoded(span, record.as_ref())
}

/// The attribute of a span that repeats a call: the span that has the call's tokens.
pub const SAME_CALL: &str = names::SAME_CALL.written();

/// A recorded span that repeats a call as the protocol has it: as it is stored, without tokens and costs, which
/// `counted_in` has, and which a back end would count twice; [`SAME_CALL`] names that span.
///
/// ```
/// use tracer_capture::otlp::encode::{SAME_CALL, repeated_span};
/// use tracer_sdk::testing::capture;
/// use tracer_sdk::{Usage, llm_call};
///
/// let call = || llm_call("gpt-5").usage(Usage::new(7, 2)).record();
/// let recorded = capture(call).spans.remove(0);
/// let span = repeated_span(recorded, "4444444444444444".parse()?);
/// assert!(span.attributes.iter().any(|attribute| attribute.key == SAME_CALL));
/// assert!(!span.attributes.iter().any(|attribute| attribute.key.contains("tokens")));
/// # Ok::<(), tracer_sdk::format::InvalidId>(())
/// ```
#[must_use]
pub fn repeated_span(mut span: SpanRecord, counted_in: SpanId) -> Span {
    remove_usage(&mut span.attributes);
    for event in &mut span.events {
        remove_usage(&mut event.attributes);
    }
    span.attributes
        .insert(SAME_CALL.to_owned(), counted_in.to_string().into());
    encoded(span, None)
}

fn encoded(span: SpanRecord, record: Option<&Record>) -> Span {
    let start = unix_nanoseconds(&span.start_time);
    Span {
        trace_id: span.trace_id.to_bytes().to_vec(),
        span_id: span.span_id.to_bytes().to_vec(),
        parent_span_id: span
            .parent_span_id
            .map(|id| id.to_bytes().to_vec())
            .unwrap_or_default(),
        kind: kind(span.kind).into(),
        start_time_unix_nano: start,
        end_time_unix_nano: span.end_time.as_ref().map_or(start, unix_nanoseconds),
        attributes: key_values(attributes::of_span(&span.name, span.attributes, record)),
        events: span.events.into_iter().map(event).collect(),
        status: Some(Status {
            code: status_code(span.status_code).into(),
            message: span.status_description,
        }),
        name: span.name,
        ..Span::default()
    }
}

/// The record of the span itself, not one that is promoted from a root.
fn own_record(span: &SpanRecord) -> Option<Record> {
    let id = span.span_id.to_string();
    tracer_sdk::spans_to_events(std::slice::from_ref(span))
        .into_iter()
        .find(|record| record.event_id == id)
}

fn event(event: SpanEvent) -> Event {
    Event {
        time_unix_nano: unix_nanoseconds(&event.timestamp),
        attributes: key_values(attributes::of_event(&event.name, event.attributes)),
        name: event.name,
        ..Event::default()
    }
}

/// Nanoseconds after 1970.
fn unix_nanoseconds(time: &StoredTime) -> u64 {
    u64::try_from(time.instant().unix_microseconds())
        .unwrap_or(0)
        .saturating_mul(1_000)
}

const fn kind(kind: SpanKind) -> OtlpKind {
    match kind {
        SpanKind::Internal => OtlpKind::Internal,
        SpanKind::Server => OtlpKind::Server,
        SpanKind::Client => OtlpKind::Client,
        SpanKind::Producer => OtlpKind::Producer,
        SpanKind::Consumer => OtlpKind::Consumer,
    }
}

const fn status_code(code: StatusCode) -> OtlpCode {
    match code {
        StatusCode::Unset => OtlpCode::Unset,
        StatusCode::Ok => OtlpCode::Ok,
        StatusCode::Error => OtlpCode::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_received_span_keeps_its_service() {
        let recorded = tracer_sdk::testing::capture(|| tracer_sdk::tool_call("search").record());
        let mut received = recorded.spans.into_iter().next().unwrap();
        received
            .attributes
            .insert(SERVICE_NAME.to_owned(), "planner".into());
        let resource = resource_of(&received, Some("support-agent"));
        let resource = serde_json::to_value(&resource).unwrap();
        assert_eq!(resource["attributes"][0]["value"]["stringValue"], "planner");
    }
}
