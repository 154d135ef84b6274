//! One finished span as one line of `spans.jsonl` (specification, *Span record*).

use serde::Serialize;

use super::draft::{Draft, DraftEntry, EventTime, ValueForm, cut_to};
use super::escape::push_string;

use crate::redact::Redactor;
use tracer_format::{MAX_LINE_BYTES, SpanId, SpanKind, StatusCode, Timestamp, TraceId};

/// The longest name and the longest description of a line, in bytes, whatever the settings say: what is left of a
/// line belongs to the values, which can be cut further.
const MAX_FIXED_TEXT_BYTES: usize = 16 * 1024;

/// The part of a span that is not attributes and events. Name and description went through redaction already.
#[derive(Debug, Clone, Copy)]
pub struct SpanHead<'a> {
    /// The run.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// The span that it is in.
    pub parent_span_id: Option<SpanId>,
    /// Its name.
    pub name: &'a str,
    /// Its kind.
    pub kind: SpanKind,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// Duration, where it is known more exactly than the two times say.
    pub duration_ms: Option<u64>,
    /// Status at its end.
    pub status_code: StatusCode,
    /// Why it failed.
    pub status_description: &'a str,
}

impl SpanHead<'_> {
    /// Whole milliseconds from start to end, rounded down.
    pub fn duration_ms(&self) -> u64 {
        self.duration_ms
            .unwrap_or_else(|| u64::try_from(self.end.microseconds_since(self.start) / 1_000).unwrap_or(0))
    }
}

/// Replaces the content of `out` by the line, newline included, never longer than [`MAX_LINE_BYTES`]: past that the
/// largest values of the span are cut further, which the answer says.
pub fn write_line(out: &mut Vec<u8>, head: &SpanHead<'_>, draft: &mut Draft, redactor: &Redactor) -> bool {
    // Room for the values: less with each turn, because they may grow when they are escaped.
    let mut room = MAX_LINE_BYTES;
    let mut shortened = false;
    loop {
        shortened |= draft.fit(room, redactor);
        out.clear();
        write_fields(out, head, draft);
        if out.len() <= MAX_LINE_BYTES || room == 0 {
            return shortened;
        }
        room /= 2;
    }
}

// Within the loop of `write_line` all that does not change there would be computed beforehand, both times and each byte of
// the IDs, and kept until it is needed: 2 % more instructions of a tool call.
#[inline(never)]
fn write_fields(out: &mut Vec<u8>, head: &SpanHead<'_>, draft: &Draft) {
    out.extend_from_slice(br#"{"trace_id":""#);
    out.extend_from_slice(&head.trace_id.to_hex());
    out.extend_from_slice(br#"","span_id":""#);
    out.extend_from_slice(&head.span_id.to_hex());
    out.extend_from_slice(br#"","parent_span_id":"#);
    match head.parent_span_id {
        Some(parent) => {
            out.push(b'"');
            out.extend_from_slice(&parent.to_hex());
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","name":"#);
    push_string(out, cut_to(head.name, MAX_FIXED_TEXT_BYTES));
    out.extend_from_slice(br#","kind":""#);
    out.extend_from_slice(head.kind.as_str().as_bytes());

    let start = head.start.to_bytes();
    let end = head.end.to_bytes();
    out.extend_from_slice(br#"","start_time":""#);
    out.extend_from_slice(&start);
    out.extend_from_slice(br#"","end_time":""#);
    out.extend_from_slice(&end);
    out.extend_from_slice(br#"","duration_ms":"#);
    push_number(out, &head.duration_ms());

    out.extend_from_slice(br#","attributes":{"#);
    write_entries(out, &draft.attributes, draft);
    out.extend_from_slice(br#"},"events":["#);
    for (position, event) in draft.events.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        out.extend_from_slice(br#"{"name":"#);
        push_string(out, &event.name);
        out.extend_from_slice(br#","timestamp":""#);
        out.extend_from_slice(&match event.time {
            EventTime::Start => start,
            EventTime::End => end,
            EventTime::At(time) => time.to_bytes(),
        });
        out.extend_from_slice(br#"","attributes":{"#);
        let entries = draft
            .event_attributes
            .get(event.attributes.clone())
            .unwrap_or_default();
        write_entries(out, entries, draft);
        out.extend_from_slice(b"}}");
    }
    out.extend_from_slice(br#"],"status_code":""#);
    out.extend_from_slice(head.status_code.as_str().as_bytes());
    if head.status_description.is_empty() {
        out.extend_from_slice(b"\",\"status_description\":\"\"}\n");
    } else {
        out.extend_from_slice(br#"","status_description":"#);
        push_string(out, cut_to(head.status_description, MAX_FIXED_TEXT_BYTES));
        out.extend_from_slice(b"}\n");
    }
}

fn write_entries(out: &mut Vec<u8>, entries: &[DraftEntry], draft: &Draft) {
    for (position, entry) in entries.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        push_string(out, &entry.key);
        out.push(b':');
        match entry.value.form {
            ValueForm::Text | ValueForm::JsonText => push_string(out, draft.str_of(&entry.value.range)),
            ValueForm::Encoded => out.extend_from_slice(draft.bytes_of(&entry.value.range)),
        }
    }
}

fn push_number(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to a `Vec` does not fail.
    let _ = serde_json::to_writer(out, value);
}
