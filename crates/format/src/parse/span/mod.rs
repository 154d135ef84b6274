//! From one line of `spans.jsonl` to the span that it holds and what is wrong with it (specification, *Span record*;
//! decisions, section 10).
//!
//! One parser for all readers, which borrows the texts of the line. The reader chooses the form of the attributes: a tree
//! of values, or only those that give the span's type. A line that fails is read again, field by field, to list every problem.

mod attributes;

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Map, Value};

pub use attributes::{IndexedAttributes, KeyAttributes};

use super::fields::{self, Fields, Location};
use super::json::{self, Malformed, OfObject};
use super::scalar::FieldText;
use crate::{
    Problem, ProblemCode, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, StoredTime, Timestamp, TraceId,
};

#[cfg(test)]
mod tests;

/// The IDs of a span: all that the checks across spans need, also of a span that has problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The run that it says it belongs to, when that can be read.
    pub trace_id: Option<TraceId>,
    /// The span's ID.
    pub span_id: SpanId,
    /// The parent's; `None` for a root.
    pub parent_span_id: Option<SpanId>,
}

/// A date-time of a line: its text and the instant that it means.
pub(crate) type LineTime<'a> = (Cow<'a, str>, Timestamp);

/// A span that has no problem, still pointing into its line.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(bound(deserialize = "A: Deserialize<'de>"))]
pub struct ParsedSpan<'a, A> {
    /// The run.
    #[serde(deserialize_with = "parsed")]
    pub trace_id: TraceId,
    #[serde(deserialize_with = "parsed")]
    pub(crate) span_id: SpanId,
    /// The span that it is in; none of a root.
    #[serde(deserialize_with = "parsed_or_null")]
    pub parent_span_id: Option<SpanId>,
    /// The span's name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(deserialize_with = "kind")]
    pub(crate) kind: SpanKind,
    /// When it began.
    #[serde(borrow, deserialize_with = "time")]
    pub start_time: LineTime<'a>,
    /// When it ended.
    #[serde(borrow, deserialize_with = "time_or_null")]
    pub end_time: Option<LineTime<'a>>,
    /// Duration as reported by its emitter, in milliseconds.
    #[serde(deserialize_with = "required")]
    pub duration_ms: Option<u64>,
    /// Its attributes, or those that are needed of them.
    pub attributes: A,
    /// Its events, in their order.
    #[serde(borrow, deserialize_with = "events")]
    pub events: Vec<ParsedEvent<'a, A>>,
    /// The status that its emitter set.
    #[serde(deserialize_with = "status_code")]
    pub status_code: StatusCode,
    #[serde(borrow)]
    pub(crate) status_description: Cow<'a, str>,
}

/// A span event, still pointing into its line.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(bound(deserialize = "A: Deserialize<'de>"))]
pub struct ParsedEvent<'a, A> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "time")]
    pub timestamp: LineTime<'a>,
    pub(crate) attributes: A,
}

fn events<'de, D: Deserializer<'de>, A: Deserialize<'de>>(
    field: D,
) -> Result<Vec<ParsedEvent<'de, A>>, D::Error> {
    let events: Vec<OfObject<ParsedEvent<'de, A>>> = required(field)?;
    Ok(events.into_iter().map(|OfObject(event)| event).collect())
}

/// Reads a field that has to be there, though it may be null.
fn required<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<T, D::Error> {
    T::deserialize(field)
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(field: D) -> Result<T, D::Error> {
    FieldText::deserialize(field)?.0.parse().map_err(D::Error::custom)
}

fn parsed_or_null<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    let text: Option<FieldText<'_>> = required(field)?;
    let parsed = text.map(|FieldText(text)| text.parse()).transpose();
    parsed.map_err(D::Error::custom)
}

fn time<'de, D: Deserializer<'de>>(field: D) -> Result<LineTime<'de>, D::Error> {
    let FieldText(text) = required(field)?;
    let instant = text.parse().map_err(D::Error::custom)?;
    Ok((text, instant))
}

fn time_or_null<'de, D: Deserializer<'de>>(field: D) -> Result<Option<LineTime<'de>>, D::Error> {
    let text: Option<FieldText<'de>> = required(field)?;
    let time = text.map(|FieldText(text)| Ok((text.parse().map_err(D::Error::custom)?, text)));
    let time = time.transpose()?;
    Ok(time.map(|(instant, text)| (text, instant)))
}

fn kind<'de, D: Deserializer<'de>>(field: D) -> Result<SpanKind, D::Error> {
    let FieldText(word) = required(field)?;
    SpanKind::from_word(&word).ok_or_else(|| D::Error::custom("no kind"))
}

fn status_code<'de, D: Deserializer<'de>>(field: D) -> Result<StatusCode, D::Error> {
    let FieldText(word) = required(field)?;
    StatusCode::from_word(&word).ok_or_else(|| D::Error::custom("no status"))
}

/// Result of parsing a line.
#[derive(Debug, PartialEq)]
pub struct SpanReading<'a, A> {
    /// The span, when every field can be read.
    pub span: Option<ParsedSpan<'a, A>>,
    /// Its IDs, when both can be read.
    pub identity: Option<Identity>,
}

/// Reads a line that holds something, and adds its problems to the others.
///
/// A line that is no JSON document is the caller's to judge: it may be the cut end of a run that is still written.
pub fn read_span<'a, A: Deserialize<'a>>(
    bytes: &'a [u8],
    line: u64,
    problems: &mut Vec<Problem>,
) -> Result<SpanReading<'a, A>, Malformed> {
    let span: Option<OfObject<ParsedSpan<'a, A>>> = json::parse(bytes)?;
    let span = span.map(|OfObject(span)| span);
    let identity = match &span {
        Some(span) => Some(Identity {
            trace_id: Some(span.trace_id),
            span_id: span.span_id,
            parent_span_id: span.parent_span_id,
        }),
        None => list_problems(bytes, line, problems)?,
    };
    Ok(SpanReading { span, identity })
}

/// Adds the problems of a line that holds no span, one at least; gives its IDs, when both can be read.
fn list_problems(
    bytes: &[u8],
    line: u64,
    problems: &mut Vec<Problem>,
) -> Result<Option<Identity>, Malformed> {
    let place = Location::Line(line);
    let Some(Value::Object(object)) = json::parse(bytes)? else {
        problems.push(place.not_an_object());
        return Ok(None);
    };
    let known = problems.len();
    let mut fields = Fields::new(object, place, problems);
    let trace_id = fields.read("trace_id", fields::id(TraceId::LENGTH));
    let span_id = fields.read("span_id", fields::id(SpanId::LENGTH));
    let parent_span_id = fields.read("parent_span_id", |id| {
        fields::or_null(id, fields::id(SpanId::LENGTH))
    });
    fields.read("name", fields::owned_text);
    let kinds = "INTERNAL, CLIENT, SERVER, PRODUCER, CONSUMER";
    fields.read("kind", fields::word(SpanKind::from_word, kinds));
    fields.read("start_time", fields::stored_time);
    fields.read("end_time", |time| fields::or_null(time, fields::stored_time));
    fields.read("duration_ms", |number| fields::or_null(number, fields::duration));
    fields.read_object("attributes");
    fields.read_objects(
        "events",
        |number| Location::Event(line, number),
        |event| {
            event.read("name", fields::owned_text);
            event.read("timestamp", fields::stored_time);
            event.read_object("attributes");
        },
    );
    fields.read(
        "status_code",
        fields::word(StatusCode::from_word, "OK, ERROR, UNSET"),
    );
    fields.read("status_description", fields::owned_text);
    if problems.len() == known {
        problems.push(place.problem(
            ProblemCode::InvalidValue,
            "has a duplicate key; write each key once",
        ));
    }
    let ids = span_id.zip(parent_span_id);
    Ok(ids.map(|(span_id, parent_span_id)| Identity {
        trace_id,
        span_id,
        parent_span_id,
    }))
}

/// Parses a line that holds a span without problems.
pub fn parse_span(bytes: &[u8]) -> Option<SpanRecord> {
    let reading = read_span::<Map<String, Value>>(bytes, 0, &mut Vec::new()).ok()?;
    reading.span.map(ParsedSpan::into_record)
}

impl ParsedSpan<'_, Map<String, Value>> {
    /// The span, owned.
    fn into_record(self) -> SpanRecord {
        let stored = |(text, instant): LineTime<'_>| StoredTime::with_text(instant, &text);
        SpanRecord {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent_span_id: self.parent_span_id,
            name: self.name.into_owned(),
            kind: self.kind,
            start_time: stored(self.start_time),
            end_time: self.end_time.map(stored),
            duration_ms: self.duration_ms,
            attributes: self.attributes,
            events: self
                .events
                .into_iter()
                .map(|event| SpanEvent {
                    name: event.name.into_owned(),
                    timestamp: stored(event.timestamp),
                    attributes: event.attributes,
                })
                .collect(),
            status_code: self.status_code,
            status_description: self.status_description.into_owned(),
        }
    }
}
