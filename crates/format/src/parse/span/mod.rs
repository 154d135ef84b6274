//! From one line of `spans.jsonl` to the span that it holds and what is wrong with it (specification, *Span record*;
//! decisions, section 10).
//!
//! One parser for all readers: it validates every field while it goes through the line, and borrows its texts. The
//! reader chooses the form of the attributes: a tree of values, or only those that give the span's type.

mod attributes;
mod visitor;

use std::borrow::Cow;
use std::marker::PhantomData;

use serde_json::{Map, Value};

pub use attributes::{IndexedAttributes, KeyAttributes, ReadAttributes};
use visitor::LineSeed;

use super::json::{self, Malformed};
use crate::{Problem, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, StoredTime, Timestamp, TraceId};

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
#[derive(Debug, PartialEq)]
pub struct ParsedSpan<'a, A> {
    /// The run.
    pub trace_id: TraceId,
    pub(crate) span_id: SpanId,
    /// The span that it is in; none of a root.
    pub parent_span_id: Option<SpanId>,
    /// The span's name.
    pub name: Cow<'a, str>,
    pub(crate) kind: SpanKind,
    /// When it began.
    pub start_time: LineTime<'a>,
    /// When it ended.
    pub end_time: Option<LineTime<'a>>,
    /// Duration as reported by its emitter, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Its attributes, or those that are needed of them.
    pub attributes: A,
    /// Its events, in their order.
    pub events: Vec<ParsedEvent<'a, A>>,
    /// The status that its emitter set.
    pub status_code: StatusCode,
    pub(crate) status_description: Cow<'a, str>,
}

/// A span event, still pointing into its line.
#[derive(Debug, PartialEq)]
pub struct ParsedEvent<'a, A> {
    pub name: Cow<'a, str>,
    pub timestamp: LineTime<'a>,
    pub(crate) attributes: A,
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
pub fn read_span<'a, A: ReadAttributes<'a>>(
    bytes: &'a [u8],
    line: u64,
    problems: &mut Vec<Problem>,
) -> Result<SpanReading<'a, A>, Malformed> {
    Ok(json::parse(bytes, LineSeed(PhantomData))?.finish(line, problems))
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
