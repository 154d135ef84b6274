//! A span of another program as one line of the log: redacted, cut, and never longer than a line may be.

use tracer_format::{MAX_LINE_BYTES, SpanRecord, StoredTime, TraceId, names};
use tracer_sdk::disk::Redactor;
use tracer_sdk::disk::{Draft, ForeignLimits, ScalarValue, cut_to};
use tracer_sdk::disk::{SpanHead, write_line};

/// More attributes than this of one span, or of one of its events, are not kept.
const MAX_ATTRIBUTES: usize = 4096;
/// More span events than this of one span are not kept.
const MAX_EVENTS: usize = 4096;

/// Puts the line of `span` into `line`, with its newline. Says whether values were cut further than the limits say, or left
/// out, so that the line fits.
pub(super) fn encode(
    line: &mut Vec<u8>,
    draft: &mut Draft,
    trace_id: TraceId,
    span: &SpanRecord,
    is_late: bool,
    limits: ForeignLimits,
    redactor: &Redactor,
) -> bool {
    let mut kept = (MAX_ATTRIBUTES, MAX_EVENTS);
    let start = span.start_time.instant();
    let end = span.end_time.as_ref().map(StoredTime::instant);
    let name = redactor.text(&span.name);
    let description = if limits.omits_content {
        String::new().into()
    } else {
        redactor.text(&span.status_description)
    };
    let head = SpanHead {
        trace_id,
        span_id: span.span_id,
        parent_span_id: span.parent_span_id,
        name: &name,
        kind: span.kind,
        start,
        end: end.unwrap_or(start).max(start),
        duration_ms: span.duration_ms,
        status_code: span.status_code,
        status_description: &description,
    };
    loop {
        fill(draft, span, kept, limits, redactor);
        let (attributes, events) = draft.sizes();
        let left_out = attributes < span.attributes.len() && kept.0 < span.attributes.len()
            || events < span.events.len();
        if is_late {
            draft.flag(names::AFTER_END);
        }
        if end.is_none() {
            draft.flag(names::UNFINISHED);
        }
        if left_out {
            draft.scalar(
                names::LEFT_OUT,
                ScalarValue::Unsigned((span.attributes.len() - attributes.min(span.attributes.len())) as u64),
            );
        }
        let shortened = write_line(line, &head, draft, redactor);
        if line.len() <= MAX_LINE_BYTES || kept == (0, 0) {
            return shortened || left_out;
        }
        // Thousands of small values: the last ones go.
        kept = (attributes.min(kept.0) / 2, events.min(kept.1) / 2);
    }
}

fn fill(
    draft: &mut Draft,
    span: &SpanRecord,
    (max_attributes, max_events): (usize, usize),
    limits: ForeignLimits,
    redactor: &Redactor,
) {
    draft.clear();
    for (key, value) in span.attributes.iter().take(max_attributes) {
        draft.foreign(key, value, limits, redactor);
    }
    for event in span.events.iter().take(max_events) {
        let at = event.timestamp.instant();
        draft.foreign_event(
            &event.name,
            at,
            &event.attributes,
            max_attributes,
            limits,
            redactor,
        );
    }
}

/// A run's name, redacted and short.
pub(super) fn run_name(name: &str, redactor: &Redactor) -> String {
    cut_to(&redactor.text(name), 1024).to_owned()
}
