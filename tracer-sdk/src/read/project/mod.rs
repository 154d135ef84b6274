//! From spans to projected records: pure, deterministic, the one place where names of all emitters become one shape
//! (specification, *Projection rules*; decisions, sections 2 and 3).

mod classify;
mod marks;
mod messages;
mod payload;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use classify::child_type;
pub(crate) use payload::{is_failed, promoted_type, usage};
pub(crate) use values::{Lookup, named, text};

use serde_json::Value;

use crate::format::{Counts, EventType, Record, SpanRecord, Timestamp};
use crate::loops::{ATTEMPT_OF, is_attempt};

/// Projects the spans of a run to records.
///
/// Every span gives one record: the root `RUN_START`, the others by their attributes, `UNKNOWN` when these say
/// nothing. Span events `exception`, `state` and `tracer.loop.warning` of the root give records of their own, and the
/// end of the root gives `RUN_END`; a root that has not ended gives none. Records come in the order in which they
/// happened: by instant, then `RUN_START` first and `RUN_END` last, then as they stand in the file.
///
/// A prompt or response that an emitter stored as several span events is the list of their contents. A failed call that
/// the next call tries again says in `meta.attempt_of` which call it is an attempt at: the last one of them.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::format::{EventType, SpanKind, SpanRecord, StatusCode};
///
/// let root = SpanRecord {
///     trace_id: "10000000000000000000000000000001".parse()?,
///     span_id: "1111111111111111".parse()?,
///     parent_span_id: None,
///     name: "support-agent".to_owned(),
///     kind: SpanKind::Internal,
///     start_time: "2026-01-01T00:00:00.000000Z".parse()?,
///     end_time: Some("2026-01-01T00:00:00.150000Z".parse()?),
///     duration_ms: Some(150),
///     attributes: serde_json::Map::new(),
///     events: Vec::new(),
///     status_code: StatusCode::Ok,
///     status_description: String::new(),
/// };
/// let mut tool = root.clone();
/// tool.span_id = "3333333333333333".parse()?;
/// tool.parent_span_id = Some(root.span_id);
/// tool.name = "search".to_owned();
/// tool.attributes.insert("tracer.tool_name".to_owned(), json!("search"));
///
/// // The order of the spans does not matter: a root is written last.
/// let records = tracer_sdk::spans_to_events(&[tool, root]);
/// let types: Vec<EventType> = records.iter().map(|record| record.event_type()).collect();
/// assert_eq!(types, [EventType::RunStart, EventType::ToolCall, EventType::RunEnd]);
/// assert_eq!(records[2].event_id, "1111111111111111.end");
/// assert_eq!(serde_json::to_value(&records[2].payload)?, json!({"status": "ok"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn spans_to_events(spans: &[SpanRecord]) -> Vec<Record> {
    let mut placed: Vec<(Timestamp, Rank, Record)> = Vec::with_capacity(spans.len() + 1);
    for span in spans {
        project_span(span, |instant, record| {
            placed.push((instant, Rank::from_event_type(record.event_type()), record));
        });
    }
    // Stable: among equals the order of the file stays.
    placed.sort_by_key(|(instant, rank, _)| (*instant, *rank));
    let mut records: Vec<Record> = placed.into_iter().map(|(_, _, record)| record).collect();
    mark_attempts(&mut records);
    records
}

/// Says of each attempt at a call which call that is (decisions, section 7).
fn mark_attempts(records: &mut [Record]) {
    let mut rest = records;
    // The call or state behind what is left, and the call that its attempts are at.
    let mut next: Option<(&Record, String)> = None;
    while let Some((record, before)) = rest.split_last_mut() {
        if is_watched(record.event_type()) {
            let call = next
                .filter(|(next, _)| is_attempt(record, next))
                .map(|(_, call)| call);
            if let Some(call) = &call {
                mark_attempt(record, call);
            }
            let call = call.unwrap_or_else(|| record.event_id.clone());
            next = Some((record, call));
        }
        rest = before;
    }
}

/// Says that a record is an attempt at a call. What the emitter says of it stays.
pub(crate) fn mark_attempt(record: &mut Record, call: &str) {
    record.meta.entry(ATTEMPT_OF).or_insert_with(|| Value::from(call));
}

/// Whether records of a type can be attempts, or stand between two.
pub(crate) fn is_watched(event_type: EventType) -> bool {
    matches!(
        event_type,
        EventType::LlmCall | EventType::ToolCall | EventType::StateUpdate
    )
}

/// Counts what `meta.json.counts` holds (decisions, section 4).
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::read::count_records;
///
/// let run = recorded(|| tracer_sdk::llm_call("gpt-5").record());
/// assert_eq!(count_records(&run.records()).llm_calls, 1);
/// ```
#[must_use]
pub fn count_records(records: &[Record]) -> Counts {
    count_types(records.iter().map(Record::event_type))
}

/// [`count_records`] of records whose types are known.
pub(crate) fn count_types(types: impl Iterator<Item = EventType>) -> Counts {
    let mut counts = Counts::default();
    for event_type in types {
        match event_type {
            EventType::LlmCall => counts.llm_calls += 1,
            EventType::ToolCall => counts.tool_calls += 1,
            EventType::Error => counts.errors += 1,
            EventType::LoopWarning => counts.loop_warnings += 1,
            EventType::RunStart | EventType::RunEnd | EventType::StateUpdate | EventType::Unknown => {}
        }
    }
    counts
}

/// What comes first among records of the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Start,
    Within,
    End,
}

impl Rank {
    pub(crate) fn from_event_type(event_type: EventType) -> Self {
        match event_type {
            EventType::RunStart => Self::Start,
            EventType::RunEnd => Self::End,
            _ => Self::Within,
        }
    }
}

/// Gives every record of one span, with the instant that orders it.
pub(crate) fn project_span(span: &SpanRecord, mut give: impl FnMut(Timestamp, Record)) {
    let payload = payload::span_payload(span);
    give(
        span.start_time.instant(),
        Record {
            event_id: span.span_id.to_string(),
            run_id: span.trace_id,
            parent_id: span.parent_span_id.map(|parent| parent.to_string()),
            ts: span.start_time.text().to_owned(),
            duration_ms: span.duration_ms,
            name: span.name.clone(),
            marks: marks::other_marks(span, &payload),
            payload,
            meta: values::metadata(&span.attributes),
        },
    );
    if !span.is_root() {
        return;
    }
    let promoted = span
        .events
        .iter()
        .filter_map(|event| Some((event, payload::root_event_payload(event)?)));
    for (number, (event, payload)) in promoted.enumerate() {
        give(
            event.timestamp.instant(),
            Record {
                event_id: format!("{}.{number}", span.span_id),
                run_id: span.trace_id,
                parent_id: Some(span.span_id.to_string()),
                ts: event.timestamp.text().to_owned(),
                duration_ms: None,
                name: span.name.clone(),
                payload,
                meta: values::metadata(&event.attributes),
                marks: None,
            },
        );
    }
    if let Some(end_time) = &span.end_time {
        give(
            end_time.instant(),
            Record {
                event_id: format!("{}.end", span.span_id),
                run_id: span.trace_id,
                parent_id: None,
                ts: end_time.text().to_owned(),
                duration_ms: span.duration_ms,
                name: span.name.clone(),
                payload: payload::run_end(span),
                meta: values::metadata(&span.attributes),
                marks: None,
            },
        );
    }
}
