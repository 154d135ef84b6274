//! From spans to projected records: pure, deterministic, the one place where names of all emitters become one shape
//! (specification, *Projection rules*; decisions, sections 2 and 3).

mod classify;
mod correlate;
mod first_chunk;
mod flat;
mod marks;
mod messages;
mod model_name;
mod outcome;
mod payload;
mod python;
mod remarks;
mod signature;
mod token_counts;
mod tokens;
mod usage_object;
mod values;
mod view;

#[cfg(test)]
mod tests;

pub use classify::{child_type, span_type};
pub use correlate::{
    Ancestor, CallReport, Correlation, IndexEntry, JoinedCall, LinePlace, RecordHeader, ReportedArguments,
    SpanRole, correlate, is_own_call, may_be_reported_twice, needs_own_calls,
};
pub use marks::{is_replayed, service_usage};
pub use model_name::normal_model_name;
pub use outcome::{error_class, outcome};
pub use payload::{UNKNOWN_PROVIDER, display_name, model, promoted_type, provider, response_model};
pub use remarks::is_closing_tool;
pub use signature::signature;
pub use tokens::{call_usage, remove_usage};
pub use usage_object::UsageObject;
pub use values::{Lookup, text};
pub use view::{SpanFacts, SpanView};

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::loops::{ATTEMPT_OF, CONVERSATION, is_attempt};
use crate::names;
use crate::record::{ANSWER, QUESTION};
use crate::{
    Counts, EventType, OtherMarks, Outcome, Payload, Record, SpanId, SpanRecord, StoredTime, Timestamp,
};

/// The key of a record's `meta` that names the call that its span repeats.
const SAME_CALL: &str = "same_call";
/// The key of a call's `meta` that lists the other spans that recorded it.
const JOINED_WITH: &str = "joined_with";
/// The key of a model call's `meta` that says how long the first chunk of its answer took, in milliseconds.
const FIRST_CHUNK_MS: &str = "time_to_first_chunk_ms";
/// The key of a call's `meta` that says which attempt it is, from 1, where its recorder says so.
const ATTEMPT: &str = "attempt";
/// Key in a model call's `meta`: its index among the calls that `tracer record` stored with the run, from 1.
const CALL_NUMBER: &str = "call_number";
/// The key of a record's `meta` that says that its outcome is unknown.
const OUTCOME: &str = "outcome";
/// The key of a tool call's `meta` that says that its times are those of messages: from the answer that asked for it to the
/// request that brought its result.
const DERIVED_TIMES: &str = "derived_times";
/// The key of a record's `meta` that says what it asks of the person that it waits for.
const WAITING: &str = "waiting";
/// The key of a record's `meta` that says what in its tokens cannot be.
const USAGE_CONTRADICTION: &str = "usage_contradiction";
/// The key of a model call's `meta` that names the numbers of its usage that have no count.
const USAGE_NOT_COUNTED: &str = "usage_not_counted";
/// The key of a model call's `meta` that has these numbers by their names.
const USAGE_FURTHER: &str = "usage_further";
/// The key of a model call's `meta` that says by which prices it was served.
const SERVICE_TIER: &str = "service_tier";

/// Projects the spans of a run to records.
///
/// Every span gives one record: the root `RUN_START`, the others by their attributes, `UNKNOWN` when these say
/// nothing. Span events `exception`, `state` and `tracer.loop.warning` of the root give records of their own, and the
/// end of the root gives `RUN_END`; a root that has not ended gives none. Records come in the order in which they
/// happened: by instant, then `RUN_START` first and `RUN_END` last, then as they stand in the file.
///
/// A call that several instrumentations recorded is one call: the span that says most, merged with what the others know
/// where one of them says that it is the same call, and with `meta.joined_with`; the others are `UNKNOWN`, and
/// `meta.same_call` names it.
///
/// A prompt or response that an emitter stored as several span events is the list of their contents. A failed call that
/// the next call tries again says in `meta.attempt_of` which call it is an attempt at: the last one of them.
#[must_use]
pub fn spans_to_events(spans: &[SpanRecord]) -> Vec<Record> {
    let mut placed: Vec<(Timestamp, Rank, Record)> = Vec::with_capacity(spans.len() + 1);
    // The number of each span's own record.
    let mut own: Vec<usize> = Vec::with_capacity(spans.len());
    for span in spans {
        own.push(placed.len());
        project_span(span, |instant, record| {
            placed.push((instant, Rank::from_event_type(record.event_type()), record));
        });
    }
    correlate_records(spans, &own, &mut placed);
    // Stable: among equals the order of the file stays.
    placed.sort_by_key(|(instant, rank, _)| (*instant, *rank));
    let mut records: Vec<Record> = placed.into_iter().map(|(_, _, record)| record).collect();
    mark_attempts(&mut records);
    records
}

/// Makes one record of the spans that recorded one call, and of the others records of no type (capture, section 1).
fn correlate_records(spans: &[SpanRecord], own: &[usize], placed: &mut [(Timestamp, Rank, Record)]) {
    let with_types = || {
        let numbered = spans.iter().zip(own).enumerate();
        numbered
            .filter_map(|(number, (span, record))| Some((placed.get(*record)?.2.event_type(), number, span)))
    };
    let may_repeat = |(event_type, _, span): &(_, _, &SpanRecord)| may_be_reported_twice(*span, *event_type);
    if with_types().all(|span| !may_repeat(&span)) {
        return;
    }
    let reports: Vec<CallReport> = with_types()
        .filter(|span| is_call(span.0) || may_repeat(span))
        .filter_map(|(event_type, number, span)| {
            let place = LinePlace {
                offset: number as u64,
                length: 0,
                line: number as u64,
            };
            CallReport::of(span, event_type, place)
        })
        .collect();
    if reports.iter().all(CallReport::is_own_report) {
        return;
    }
    let mut ancestors: HashMap<SpanId, Ancestor> = spans
        .iter()
        .map(|span| {
            (
                span.span_id,
                Ancestor {
                    call: None,
                    parent: span.parent_span_id,
                },
            )
        })
        .collect();
    for (event_type, _, span) in with_types() {
        if is_call(event_type)
            && let Some(ancestor) = ancestors.get_mut(&span.span_id)
        {
            ancestor.call = Some(event_type);
        }
    }
    let arguments = |place: LinePlace| {
        spans
            .get(usize::try_from(place.line).ok()?)
            .map(ReportedArguments::of_span)
    };
    let found = correlate(&reports, |span| ancestors.get(&span).copied(), arguments);
    if found.is_empty() {
        return;
    }
    for (line, (span, record)) in (0..).zip(spans.iter().zip(own)) {
        let Some((_, _, record)) = placed.get_mut(*record) else {
            continue;
        };
        for place in found.shape(record, span, line) {
            if let Some(other) = usize::try_from(place.line).ok().and_then(|line| spans.get(line)) {
                fill(record, span, other);
            }
        }
    }
}

/// Returns whether records of a type count as calls.
pub fn is_call(event_type: EventType) -> bool {
    matches!(event_type, EventType::LlmCall | EventType::ToolCall)
}

/// Returns whether a span is a model or tool call that anything else than a recorder of this library recorded. Only
/// where a run has such a span can a call be recorded twice.
#[must_use]
pub fn is_foreign_call(span: &SpanRecord) -> bool {
    is_call(span_type(span, &span.facts())) && !is_own_call(span)
}

/// Makes the record of a span that reports a call which it is not one of no type, which names the call where it repeats one.
fn make_no_call(record: &mut Record, span: &SpanRecord, call: Option<SpanId>) {
    record.payload = payload::unknown(span, &span.facts());
    record.marks = None;
    record.meta = values::metadata(&span.attributes);
    if let Some(call) = call {
        record
            .meta
            .insert(SAME_CALL.to_owned(), Value::from(call.to_string()));
    }
}

/// Adds to the record of the call of a span what another span that recorded it knows, and says that it did.
pub fn fill(record: &mut Record, span: &SpanRecord, other: &SpanRecord) {
    let facts = other.facts();
    let event_type = record.event_type();
    let is_fetch = event_type == EventType::LlmCall && classify::is_fetch(&facts);
    let other_outcome = outcome::outcome(other, &facts, event_type);
    if correlate::takes_outcome(event_type, record.outcome(), other_outcome, is_fetch) {
        if let Some(marks) = &mut record.marks {
            (marks.is_unknown, marks.is_waiting) = (false, false);
        }
        record.meta.remove(OUTCOME);
        record.meta.remove(WAITING);
        payload::take_outcome(&mut record.payload, other, &facts);
    }
    payload::fill(&mut record.payload, &record.name, is_own_call(span), other);
    if is_fetch {
        describe_usage(&facts, &mut record.meta);
        extend(record, other);
    }
    if record.event_type() == EventType::LlmCall && marks::is_replayed(&other.attributes) {
        record.marks.get_or_insert_default().is_replayed = true;
    }
    describe_call(&other.attributes, record.event_type(), &mut record.meta);
    let joined = record
        .meta
        .entry(JOINED_WITH)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(joined) = joined {
        joined.push(Value::from(other.span_id.to_string()));
    }
}

/// Makes a call last until a span ends that asked again for its answer.
fn extend(record: &mut Record, other: &SpanRecord) {
    let start = record.ts.parse::<StoredTime>().ok().map(|start| start.instant());
    let end = other.end_time.as_ref().map(StoredTime::instant);
    if let (Some(start), Some(end)) = (start, end)
        && record.end.is_none_or(|known| known < end)
        && let Ok(took) = u64::try_from(end.microseconds_since(start))
    {
        record.end = Some(end);
        record.duration_ms = Some(took / 1_000);
    }
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
pub fn mark_attempt(record: &mut Record, call: &str) {
    record.meta.entry(ATTEMPT_OF).or_insert_with(|| Value::from(call));
}

/// Returns whether records of a type can be attempts, or stand between two.
pub fn is_watched(event_type: EventType) -> bool {
    matches!(
        event_type,
        EventType::LlmCall | EventType::ToolCall | EventType::StateUpdate
    )
}

/// Counts what `meta.json.counts` holds (decisions, section 4).
#[must_use]
pub fn count_records(records: &[Record]) -> Counts {
    let mut counts = Counts::default();
    for record in records {
        counts.count(record.event_type());
    }
    counts
}

/// Sort rank among records of the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The start of the run.
    Start,
    /// Everything between them.
    Within,
    /// The end of the run.
    End,
}

impl Rank {
    /// The rank of records of a type.
    pub fn from_event_type(event_type: EventType) -> Self {
        match event_type {
            EventType::RunStart => Self::Start,
            EventType::RunEnd => Self::End,
            _ => Self::Within,
        }
    }
}

/// Says of a call what has no field of its own: how long its first chunk took, which attempt it is, and which of the kept calls.
fn describe_call(attributes: &Map<String, Value>, event_type: EventType, meta: &mut Map<String, Value>) {
    let first = (event_type == EventType::LlmCall).then(|| first_chunk::time_to_first_chunk(attributes));
    if let Some(first) = first.flatten() {
        let milliseconds = first.as_secs_f64() * 1_000.0;
        meta.entry(FIRST_CHUNK_MS).or_insert_with(|| milliseconds.into());
    }
    if event_type == EventType::LlmCall
        && let Some(kept) = attributes.get(names::CALL_NUMBER.written())
        && let Some(number) = values::whole_number(kept)
    {
        meta.entry(CALL_NUMBER).or_insert_with(|| number.into());
    }
    if let Some(thread) = attributes.get(names::THREAD.written())
        && let Some(number) = values::whole_number(thread)
    {
        meta.entry(CONVERSATION).or_insert_with(|| number.into());
    }
    if let Some(attempt) = values::value(names::ATTEMPT, attributes).and_then(values::whole_number) {
        meta.entry(ATTEMPT).or_insert_with(|| attempt.into());
    }
}

/// Says of a model call what of its usage has no count, and by which prices it was served.
fn describe_usage(facts: &view::WholeFacts<'_>, meta: &mut Map<String, Value>) {
    let (not_counted, further) = tokens::not_counted(facts);
    if !not_counted.is_empty() {
        meta.entry(USAGE_NOT_COUNTED)
            .or_insert_with(|| Value::from(not_counted.join(", ")));
    }
    if !further.is_empty() {
        let further = further.into_iter().map(|(path, number)| (path, number.into()));
        meta.entry(USAGE_FURTHER)
            .or_insert_with(|| Value::Object(further.collect()));
    }
    if let Some(tier) = values::text(names::SERVICE_TIER, facts) {
        meta.entry(SERVICE_TIER).or_insert_with(|| Value::from(tier));
    }
}

/// Says of a record whose outcome is unknown that it is.
fn describe_outcome(marks: &OtherMarks, span: &SpanRecord, meta: &mut Map<String, Value>) {
    if marks.is_unknown {
        meta.insert(OUTCOME.to_owned(), Value::from(Outcome::Unknown.as_str()));
    }
    if marks.is_waiting {
        let words = payload::waiting_words(span, &span.facts());
        meta.insert(WAITING.to_owned(), Value::from(words));
    }
}

/// Gives every record of one span, with the instant that orders it.
pub fn project_span(span: &SpanRecord, mut give: impl FnMut(Timestamp, Record)) {
    let facts = span.facts();
    let payload = payload::span_payload(span, &facts);
    let mut meta = values::metadata(&span.attributes);
    if let Payload::LlmCall { usage, .. } = &payload
        && let Some(contradiction) = tokens::contradiction(usage)
    {
        meta.entry(USAGE_CONTRADICTION)
            .or_insert_with(|| Value::from(contradiction));
    }
    if let Payload::LlmCall { .. } = &payload {
        describe_usage(&facts, &mut meta);
    }
    if let Payload::RunStart { .. } | Payload::Unknown { .. } = &payload {
        for (name, key) in [(names::QUESTION, QUESTION), (names::ANSWER, ANSWER)] {
            if let Some(said) = values::value(name, &span.attributes) {
                meta.entry(key).or_insert_with(|| values::parsed(said));
            }
        }
    }
    remarks::add(span, &mut meta);
    if is_call(payload.event_type()) {
        describe_call(&span.attributes, payload.event_type(), &mut meta);
        if payload.event_type() == EventType::ToolCall
            && span.attributes.contains_key(names::DERIVED.written())
        {
            meta.insert(DERIVED_TIMES.to_owned(), true.into());
        }
    }
    let marks = marks::other_marks(span, &facts, &payload);
    if let Some(marks) = &marks {
        describe_outcome(marks, span, &mut meta);
    }
    give(
        span.start_time.instant(),
        Record {
            event_id: span.span_id.to_text(),
            run_id: span.trace_id,
            parent_id: span.parent_span_id.map(SpanId::to_text),
            ts: span.start_time.text().to_owned(),
            duration_ms: span.duration_ms,
            end: span.end_time.as_ref().map(StoredTime::instant),
            name: span.name.clone(),
            marks,
            payload,
            meta,
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
                end: None,
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
                end: None,
                name: span.name.clone(),
                payload: payload::run_end(span),
                meta: values::metadata(&span.attributes),
                marks: None,
            },
        );
    }
}
