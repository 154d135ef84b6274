//! Each rule of the projection, by example, and what must hold for every list of spans.

mod calls;
mod generated;
mod inner_steps;
mod libraries;
mod measured;
mod order;
mod payloads;
mod programs;
mod same_calls;
mod types;
mod vocabularies;

use serde_json::Value;

use super::spans_to_events;
use crate::{EventType, Record, SpanEvent, SpanKind, SpanRecord, StatusCode, StoredTime};

pub(super) const ROOT: &str = "1111111111111111";
pub(super) const CHILD: &str = "2222222222222222";

pub(super) fn time(text: &str) -> StoredTime {
    format!("2026-01-01T00:00:{text}").parse().unwrap()
}

pub(super) fn attributes(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

pub(super) fn event(name: &str, value: Value) -> SpanEvent {
    SpanEvent {
        name: name.to_owned(),
        timestamp: time("00.5Z"),
        attributes: attributes(value),
    }
}

pub(super) fn root(value: Value) -> SpanRecord {
    SpanRecord {
        trace_id: "10000000000000000000000000000001".parse().unwrap(),
        span_id: ROOT.parse().unwrap(),
        parent_span_id: None,
        name: "run".to_owned(),
        kind: SpanKind::Internal,
        start_time: time("00Z"),
        end_time: Some(time("01Z")),
        duration_ms: Some(1000),
        attributes: attributes(value),
        events: Vec::new(),
        status_code: StatusCode::Ok,
        status_description: String::new(),
    }
}

pub(super) fn child(name: &str, value: Value) -> SpanRecord {
    SpanRecord {
        span_id: CHILD.parse().unwrap(),
        parent_span_id: Some(ROOT.parse().unwrap()),
        name: name.to_owned(),
        end_time: Some(time("00.2Z")),
        duration_ms: Some(200),
        ..root(value)
    }
}

pub(super) fn child_with(name: &str, value: Value, events: Vec<SpanEvent>) -> SpanRecord {
    SpanRecord {
        events,
        ..child(name, value)
    }
}

pub(super) fn failed(span: SpanRecord, description: &str) -> SpanRecord {
    SpanRecord {
        status_code: StatusCode::Error,
        status_description: description.to_owned(),
        ..span
    }
}

pub(super) fn record(span: SpanRecord) -> Record {
    let mut records = spans_to_events(&[span]);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

pub(super) fn payload(span: SpanRecord) -> Value {
    serde_json::to_value(record(span).payload).unwrap()
}

pub(super) fn types(spans: &[SpanRecord]) -> Vec<EventType> {
    spans_to_events(spans).iter().map(Record::event_type).collect()
}
