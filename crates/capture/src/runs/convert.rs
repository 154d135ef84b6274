//! OTLP's spans as the format's: IDs, microseconds, words; everything else as it was sent (capture, section 1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use serde_json::{Map, Number, Value, json};
use tracer_sdk::format::{SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, Timestamp, TraceId, names};

/// Values nested deeper than this are not taken.
const MAX_DEPTH: usize = 64;

/// The flags of a span or a link: whether they say it, and whether the parent, or what is linked, is of another process.
const HAS_IS_REMOTE: u32 = 1 << 8;
const IS_REMOTE: u32 = 1 << 9;

/// The attribute of a span whose parent is of another process; that it is not is said of nearly all, and left out.
pub(super) const PARENT_IS_REMOTE: &str = "otel.parent_is_remote";

/// A span with the IDs and times that it was sent with.
#[derive(Debug)]
pub(super) struct ConvertedSpan {
    pub(super) record: SpanRecord,
    /// It was sent without times: the moment of its arrival has to do.
    pub(super) lacks_times: bool,
}

/// The spans of a request, and how many of them have IDs that are none.
pub(super) fn convert_spans(request: Vec<ResourceSpans>) -> (Vec<ConvertedSpan>, u64) {
    let mut converted = Vec::new();
    let mut rejected = 0;
    for of_resource in request {
        let resource = kept_of_resource(of_resource.resource.as_ref());
        for of_scope in of_resource.scope_spans {
            let context = with_scope(&resource, of_scope.scope.as_ref());
            for span in of_scope.spans {
                match convert_span(span, &context) {
                    Some(span) => converted.push(span),
                    None => rejected += 1,
                }
            }
        }
    }
    (converted, rejected)
}

/// Attributes of every span of a resource: its sender, and nothing personal.
pub(super) fn kept_of_resource(resource: Option<&Resource>) -> Map<String, Value> {
    let is_kept = |key: &str| {
        key.starts_with("service.")
            || key.starts_with("telemetry.")
            || key == "process.pid"
            || key.starts_with("process.runtime.")
    };
    let attributes = resource
        .map(|resource| resource.attributes.as_slice())
        .unwrap_or_default();
    attributes
        .iter()
        .filter(|attribute| is_kept(&attribute.key))
        .filter_map(|attribute| Some((attribute.key.clone(), value(attribute.value.clone()?, 0)?)))
        .collect()
}

/// Adds the scope under the names that OpenTelemetry gives it outside of OTLP.
pub(super) fn with_scope(
    resource: &Map<String, Value>,
    scope: Option<&InstrumentationScope>,
) -> Map<String, Value> {
    let mut context = resource.clone();
    if let Some(scope) = scope {
        for (key, text) in [
            ("otel.scope.name", &scope.name),
            ("otel.scope.version", &scope.version),
        ] {
            if !text.is_empty() {
                context.insert(key.to_owned(), text.as_str().into());
            }
        }
    }
    context
}

fn convert_span(span: Span, context: &Map<String, Value>) -> Option<ConvertedSpan> {
    let trace_id = trace_id(&span.trace_id)?;
    let span_id = span_id(&span.span_id)?;
    let mut attributes = attributes(span.attributes);
    let mut parent_span_id = match span.parent_span_id.as_slice() {
        [] => None,
        bytes if bytes.iter().all(|byte| *byte == 0) => None,
        bytes => Some(self::span_id(bytes)?),
    };
    if parent_span_id.is_some() && is_remote(span.flags) == Some(true) {
        attributes.insert(PARENT_IS_REMOTE.to_owned(), true.into());
    }
    if parent_span_id == Some(span_id) {
        parent_span_id = None;
        attributes.insert(names::ORPHAN.written().to_owned(), true.into());
    }
    let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
    let lacks_times = start == 0 && end == 0;
    // A start that is missing is the end; an end that is missing is none.
    let start = if start == 0 { end } else { start };
    let mut duration_ms = None;
    if end != 0 {
        duration_ms = Some(end.saturating_sub(start) / 1_000_000);
        if end < start {
            let key = "tracer.negative_duration_ns".to_owned();
            attributes.insert(key, (start - end).into());
        }
    }
    links(&span.links, &mut attributes);
    for (key, count) in [
        ("otel.dropped_attributes_count", span.dropped_attributes_count),
        ("otel.dropped_events_count", span.dropped_events_count),
        ("otel.dropped_links_count", span.dropped_links_count),
    ] {
        // Some senders write -1.
        if count > 0 && i32::try_from(count).is_ok() {
            attributes.insert(key.to_owned(), count.into());
        }
    }
    if !span.trace_state.is_empty() {
        attributes.insert("w3c.tracestate".to_owned(), span.trace_state.into());
    }
    for (key, value) in context {
        if !attributes.contains_key(key) {
            attributes.insert(key.clone(), value.clone());
        }
    }
    let status = span.status.unwrap_or_default();
    let start = Timestamp::from_unix_nanoseconds(start);
    let end_time = (end != 0).then(|| Timestamp::from_unix_nanoseconds(end).max(start));
    Some(ConvertedSpan {
        record: SpanRecord {
            trace_id,
            span_id,
            parent_span_id,
            name: span.name,
            kind: match span.kind {
                2 => SpanKind::Server,
                3 => SpanKind::Client,
                4 => SpanKind::Producer,
                5 => SpanKind::Consumer,
                _ => SpanKind::Internal,
            },
            start_time: start.into(),
            end_time: end_time.map(Into::into),
            duration_ms,
            attributes,
            events: span
                .events
                .into_iter()
                .map(|event| convert_event(event, start))
                .collect(),
            status_code: match status.code {
                1 => StatusCode::Ok,
                2 => StatusCode::Error,
                _ => StatusCode::Unset,
            },
            status_description: status.message,
        },
        lacks_times,
    })
}

fn convert_event(event: Event, start: Timestamp) -> SpanEvent {
    let at = match event.time_unix_nano {
        0 => start,
        time => Timestamp::from_unix_nanoseconds(time),
    };
    SpanEvent {
        name: event.name,
        timestamp: at.into(),
        attributes: attributes(event.attributes),
    }
}

/// Meaning of the flags for the context that they belong to; `None` where they do not.
fn is_remote(flags: u32) -> Option<bool> {
    (flags & HAS_IS_REMOTE != 0).then_some(flags & IS_REMOTE != 0)
}

/// Links as JSON text: the format has none.
fn links(links: &[Link], attributes: &mut Map<String, Value>) {
    let links = links.iter().filter_map(|link| {
        let mut entry = json!({
            "trace_id": trace_id(&link.trace_id)?.to_string(),
            "span_id": span_id(&link.span_id)?.to_string(),
        });
        if let Some(is_remote) = is_remote(link.flags) {
            entry["is_remote"] = is_remote.into();
        }
        if !link.attributes.is_empty() {
            entry["attributes"] = self::attributes(link.attributes.clone()).into();
        }
        Some(entry)
    });
    let links: Vec<Value> = links.collect();
    if !links.is_empty() {
        attributes.insert("otel.links".to_owned(), links.into());
    }
}

/// 16 bytes that are not all zero.
pub(super) fn trace_id(bytes: &[u8]) -> Option<TraceId> {
    TraceId::from_u128(u128::from_be_bytes(bytes.try_into().ok()?))
}

/// 8 bytes that are not all zero.
pub(super) fn span_id(bytes: &[u8]) -> Option<SpanId> {
    SpanId::from_u64(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// Attributes as they were sent; of two with one key the first counts.
pub(super) fn attributes(attributes: Vec<KeyValue>) -> Map<String, Value> {
    let mut map = Map::new();
    for KeyValue { key, value, .. } in attributes {
        if let Some(value) = value.and_then(|sent| self::value(sent, 0)) {
            map.entry(key).or_insert(value);
        }
    }
    map
}

/// A value as JSON: bytes as their text or as base64, numbers that JSON lacks as text. `None` for a value that is not set.
pub(super) fn value(sent: AnyValue, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return Some(Value::String(names::markers::TRUNCATED.to_owned()));
    }
    Some(match sent.value? {
        Any::StringValue(text) => Value::String(text),
        Any::BoolValue(value) => Value::Bool(value),
        Any::IntValue(value) => Value::from(value),
        Any::DoubleValue(value) => match Number::from_f64(value) {
            Some(number) => Value::Number(number),
            None if value.is_nan() => "NaN".into(),
            None if value > 0.0 => "Infinity".into(),
            None => "-Infinity".into(),
        },
        Any::ArrayValue(array) => {
            let items = array.values.into_iter();
            Value::Array(
                items
                    .map(|item| value(item, depth + 1).unwrap_or(Value::Null))
                    .collect(),
            )
        }
        Any::KvlistValue(list) => {
            let mut map = Map::new();
            for member in list.values {
                let value = member.value.and_then(|sent| value(sent, depth + 1));
                map.entry(member.key).or_insert(value.unwrap_or(Value::Null));
            }
            Value::Object(map)
        }
        // As text, where they are one, so that it is redacted like any other.
        Any::BytesValue(bytes) => Value::String(
            String::from_utf8(bytes).unwrap_or_else(|binary| BASE64.encode(binary.into_bytes())),
        ),
        // The index of a table that traces and logs do not have.
        Any::StringValueStrindex(_) => return None,
    })
}
