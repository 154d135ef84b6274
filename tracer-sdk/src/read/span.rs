//! From one line of `spans.jsonl` to the span that it holds and what is wrong with it (specification, *Span record*;
//! decisions, section 10).

use serde_json::{Map, Value};

use super::fields::{self, Fields, Place};
use super::json::{self, Malformed};
use super::repeated::Repeated;
use crate::format::{Problem, ProblemCode, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, TraceId};

#[cfg(test)]
mod tests;

/// The fields of a span record, in the order of the specification.
const SPAN_FIELDS: [&str; 12] = [
    "trace_id",
    "span_id",
    "parent_span_id",
    "name",
    "kind",
    "start_time",
    "end_time",
    "duration_ms",
    "attributes",
    "events",
    "status_code",
    "status_description",
];

/// Where a span stands among the others: all that the checks across spans need, also of a span that has problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// The line that holds the span.
    pub(super) line: u64,
    /// The run that it says it belongs to, when that can be read.
    pub(super) trace_id: Option<TraceId>,
    /// The span's ID.
    pub(super) span_id: SpanId,
    /// The parent's; `None` for a root.
    pub(super) parent_span_id: Option<SpanId>,
}

/// What could be read of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SpanReading {
    /// The span, when every field can be read.
    pub(super) span: Option<SpanRecord>,
    /// Where it stands, when both IDs can be read.
    pub(super) identity: Option<Identity>,
}

/// Reads a line that holds something, and adds its problems to the others.
///
/// A line that is no JSON document is the caller's to judge: it may be the cut end of a run that is still written.
pub(super) fn read_span(
    bytes: &[u8],
    line: u64,
    problems: &mut Vec<Problem>,
) -> Result<SpanReading, Malformed> {
    let place = Place::Line(line);
    let document = json::parse(bytes)?;
    let Value::Object(object) = document.value else {
        problems.push(place.problem(ProblemCode::InvalidType, "must be an object"));
        return Ok(SpanReading::default());
    };
    let told = |repeated: &&Repeated| SPAN_FIELDS.contains(&repeated.field.as_str());
    problems.extend(
        document
            .repeated
            .iter()
            .filter(told)
            .map(|repeated| repeated.problem(place, &SPAN_FIELDS)),
    );
    let mut reading = SpanReading::default();
    reading.span = read_fields(object, line, &mut reading.identity, problems);
    Ok(reading)
}

/// Reads every field, so that every problem is told.
fn read_fields(
    object: Map<String, Value>,
    line: u64,
    identity: &mut Option<Identity>,
    problems: &mut Vec<Problem>,
) -> Option<SpanRecord> {
    let mut fields = Fields::new(object, Place::Line(line), problems);
    let trace_id = fields.read("trace_id", fields::id(TraceId::LENGTH));
    let span_id = fields.read("span_id", fields::id(SpanId::LENGTH));
    let parent_span_id = fields.read_or_null("parent_span_id", fields::id(SpanId::LENGTH));
    let name = fields.read("name", fields::text);
    let kind = fields.read(
        "kind",
        fields::word(
            SpanKind::from_word,
            "INTERNAL, CLIENT, SERVER, PRODUCER, CONSUMER",
        ),
    );
    let start_time = fields.read("start_time", fields::time);
    let end_time = fields.read_or_null("end_time", fields::time);
    let duration_ms = fields.read_or_null("duration_ms", fields::whole_number);
    let attributes = fields.read("attributes", fields::object);
    let events = fields.read("events", fields::array);
    let events = events.and_then(|events| read_events(events, line, fields.problems()));
    let status_code = fields.read(
        "status_code",
        fields::word(StatusCode::from_word, "OK, ERROR, UNSET"),
    );
    let status_description = fields.read("status_description", fields::text);

    if let (Some(span_id), Some(parent_span_id)) = (span_id, parent_span_id) {
        *identity = Some(Identity {
            line,
            trace_id,
            span_id,
            parent_span_id,
        });
    }
    Some(SpanRecord {
        trace_id: trace_id?,
        span_id: span_id?,
        parent_span_id: parent_span_id?,
        name: name?,
        kind: kind?,
        start_time: start_time?,
        end_time: end_time?,
        duration_ms: duration_ms?,
        attributes: attributes?,
        events: events?,
        status_code: status_code?,
        status_description: status_description?,
    })
}

/// The span events, when each can be read.
fn read_events(events: Vec<Value>, line: u64, problems: &mut Vec<Problem>) -> Option<Vec<SpanEvent>> {
    // All are read before any is given up, so that every problem is told.
    let read: Vec<Option<SpanEvent>> = events
        .into_iter()
        .enumerate()
        .map(|(number, event)| read_event(event, Place::Event(line, number), problems))
        .collect();
    read.into_iter().collect()
}

fn read_event(event: Value, place: Place, problems: &mut Vec<Problem>) -> Option<SpanEvent> {
    let Value::Object(object) = event else {
        problems.push(place.problem(ProblemCode::InvalidType, "must be an object"));
        return None;
    };
    let mut fields = Fields::new(object, place, problems);
    let name = fields.read("name", fields::text);
    let timestamp = fields.read("timestamp", fields::time);
    let attributes = fields.read("attributes", fields::object);
    Some(SpanEvent {
        name: name?,
        timestamp: timestamp?,
        attributes: attributes?,
    })
}
