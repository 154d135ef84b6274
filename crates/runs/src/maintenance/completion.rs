//! [`Completion`] of an interrupted run: pure, from its log, its `meta.json` and its `.live`.
//!
//! A completed run has exactly one root and no missing parent (specification, *What the service does*, 2), so what was
//! open when the process died is written as spans that end there.

use std::collections::{HashMap, HashSet};

use crate::{StartedSpan, count_records, spans_to_events};
use tracer_format::names::{self, event_keys, events};
use tracer_format::{
    Counts, EventType, RecordedStatus, RunMeta, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode,
    StoredTime, Tags, Timestamp, TraceId,
};

/// The `error_type` of what the death of its process ended.
pub const INTERRUPTED: &str = "Interrupted";
const RUN_MESSAGE: &str = "the process ended before the run did";
const SPAN_MESSAGE: &str = "the process ended before this span did";
/// The name of a span that is known from its children alone.
const LOST_NAME: &str = "lost";

/// The missing spans and the outcome of an interrupted run.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Spans to append, the root last.
    pub spans: Vec<SpanRecord>,
    /// Outcome of the run.
    pub status: RecordedStatus,
    /// When the last sign of it was recorded.
    pub ended_at: StoredTime,
    /// From its start until then, in milliseconds.
    pub duration_ms: u64,
    /// Counts of its records, the appended ones included.
    pub counts: Counts,
}

/// The log of a run, summed up span by span.
#[derive(Debug, Default)]
pub(super) struct LogSummary {
    ids: HashSet<SpanId>,
    /// The spans that others name as their parent, and when the first of those started.
    parents: HashMap<SpanId, Timestamp>,
    /// The last sign of the run.
    last: Option<Timestamp>,
    root: Option<RecordedRoot>,
}

/// The root, when it was written before the process died.
#[derive(Debug)]
struct RecordedRoot {
    id: SpanId,
    status: RecordedStatus,
    end: Option<StoredTime>,
    duration_ms: Option<u64>,
}

impl LogSummary {
    pub(super) fn add(&mut self, span: &SpanRecord) {
        let start = span.start_time.instant();
        self.ids.insert(span.span_id);
        self.note(start);
        self.note(span.end_time.as_ref().map_or(start, StoredTime::instant));
        for event in &span.events {
            self.note(event.timestamp.instant());
        }
        match span.parent_span_id {
            Some(parent) => self.name_parent(parent, start),
            None => {
                self.root = Some(RecordedRoot {
                    id: span.span_id,
                    status: match span.status_code {
                        StatusCode::Error => RecordedStatus::Error,
                        StatusCode::Ok | StatusCode::Unset => RecordedStatus::Ok,
                    },
                    end: span.end_time.clone(),
                    duration_ms: span.duration_ms,
                });
            }
        }
    }

    fn name_parent(&mut self, parent: SpanId, start: Timestamp) {
        let first = self.parents.entry(parent).or_insert(start);
        *first = start.min(*first);
    }

    fn note(&mut self, instant: Timestamp) {
        self.last = self.last.max(Some(instant));
    }
}

/// Completes a run: `counts` is what the spans in its log give, `started` and `tags` what its `.live` says.
pub(super) fn complete(
    meta: &RunMeta,
    mut seen: LogSummary,
    mut counts: Counts,
    started: &[StartedSpan],
    tags: &Tags,
) -> Completion {
    for open in started {
        seen.ids.insert(open.span_id);
        seen.note(open.start_time.instant());
        if let Some(parent) = open.parent_span_id {
            seen.name_parent(parent, open.start_time.instant());
        }
    }
    let run_start = meta.started_at.instant();
    let end = seen.last.map_or(run_start, |last| last.max(run_start));
    let mut missing: Vec<(Timestamp, SpanId)> = seen
        .parents
        .iter()
        .filter(|(id, _)| !seen.ids.contains(*id))
        .map(|(id, first)| (*first, *id))
        .collect();
    missing.sort_unstable();
    let root_id = match &seen.root {
        Some(root) => root.id,
        // The first span to start in a run starts in its root.
        None if missing.is_empty() => new_id(meta.trace_id, &seen.ids),
        None => missing.remove(0).1,
    };

    let writer = Writer {
        trace_id: meta.trace_id,
        root_id,
        end: end.into(),
    };
    let mut spans: Vec<SpanRecord> = missing
        .into_iter()
        .map(|(first_child, id)| writer.lost(id, first_child))
        .collect();
    spans.extend(started.iter().map(|open| writer.interrupted(open)));
    counts.add(count_records(&spans_to_events(&spans)));
    if let Some(root) = seen.root {
        return Completion {
            counts,
            spans,
            status: root.status,
            duration_ms: root.duration_ms.unwrap_or_else(|| milliseconds(run_start, end)),
            ended_at: root.end.unwrap_or_else(|| end.into()),
        };
    }
    // The exception that the root promotes is the one error that it adds.
    counts.errors += 1;
    spans.push(writer.root(meta, tags, counts));
    Completion {
        spans,
        status: RecordedStatus::Error,
        ended_at: end.into(),
        duration_ms: milliseconds(run_start, end),
        counts,
    }
}

/// An ID for a root that no span names, the same at every attempt.
fn new_id(trace_id: TraceId, taken: &HashSet<SpanId>) -> SpanId {
    let hex = trace_id.to_hex();
    let low = hex.iter().rev().take(SpanId::LENGTH).rev();
    let seed = low.fold(0, |value: u64, digit| {
        value << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))
    });
    let mut value = seed;
    loop {
        // There are more IDs than spans: one is free.
        match SpanId::from_u64(value) {
            Some(id) if !taken.contains(&id) => return id,
            _ => value = value.wrapping_add(1),
        }
    }
}

fn milliseconds(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.microseconds_since(from) / 1_000).unwrap_or(0)
}

/// Makes the spans of one run.
struct Writer {
    trace_id: TraceId,
    root_id: SpanId,
    end: StoredTime,
}

impl Writer {
    fn span(&self, id: SpanId, parent: Option<SpanId>, name: &str, start: StoredTime) -> SpanRecord {
        let duration = milliseconds(start.instant(), self.end.instant());
        let mut span = SpanRecord::new(self.trace_id, id, parent, name, (start, self.end.clone()));
        span.duration_ms = Some(duration);
        span
    }

    /// A span that is known from its children alone.
    fn lost(&self, id: SpanId, first_child: Timestamp) -> SpanRecord {
        let mut span = self.span(id, Some(self.root_id), LOST_NAME, first_child.into());
        span.set(names::LOST, "true");
        span
    }

    /// A span that was open, written as the emitter writes one that the end of the run overtook.
    fn interrupted(&self, open: &StartedSpan) -> SpanRecord {
        let parent = open.parent_span_id.unwrap_or(self.root_id);
        let mut span = self.span(open.span_id, Some(parent), &open.name, open.start_time.clone());
        span.status_code = StatusCode::Error;
        SPAN_MESSAGE.clone_into(&mut span.status_description);
        match open.event_type {
            EventType::LlmCall => {
                span.kind = SpanKind::Client;
                span.set(names::OPERATION, "chat");
                span.set(names::REQUEST_MODEL, open.name.as_str());
            }
            EventType::ToolCall => {
                span.set(names::OPERATION, "execute_tool");
                span.set(names::TOOL_NAME, open.name.as_str());
                span.events.extend(open.arguments.as_ref().map(|arguments| {
                    SpanEvent::new(events::TOOL_ARGUMENTS, open.start_time.clone())
                        .with(event_keys::ARGUMENTS, arguments.to_string())
                }));
            }
            _ => {
                span.events.push(self.exception(SPAN_MESSAGE));
                return span;
            }
        }
        span.set(names::STATUS, RecordedStatus::Error.as_str());
        span.set(names::ERROR_TYPE, INTERRUPTED);
        span.set(names::ERROR_MESSAGE, SPAN_MESSAGE);
        span
    }

    fn root(&self, meta: &RunMeta, tags: &Tags, counts: Counts) -> SpanRecord {
        let name = meta.run_name.as_deref().unwrap_or_default();
        let mut root = self.span(self.root_id, None, name, meta.started_at.clone());
        root.status_code = StatusCode::Error;
        RUN_MESSAGE.clone_into(&mut root.status_description);
        if meta.run_name.is_some() {
            root.set(names::RUN_NAME, name);
        }
        for (key, value) in tags.iter() {
            root.set(format!("{}{key}", names::TAG_PREFIXES[0]), value);
        }
        for (name, count) in [
            (names::LLM_CALLS, counts.llm_calls),
            (names::TOOL_CALLS, counts.tool_calls),
            (names::ERRORS, counts.errors),
            (names::LOOP_WARNINGS, counts.loop_warnings),
        ] {
            root.set(name, count);
        }
        root.events.push(self.exception(RUN_MESSAGE));
        root
    }

    fn exception(&self, message: &str) -> SpanEvent {
        SpanEvent::new(events::EXCEPTION, self.end.clone())
            .with(names::ERROR_TYPE, INTERRUPTED)
            .with(names::ERROR_MESSAGE, message)
    }
}
