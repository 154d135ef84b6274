//! The spans that a run writes of itself: its root, its loop warnings, and stand-ins for spans that never came.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::RunState;
use crate::emit::conventions::{exception_event, operation, structural_name};
use crate::emit::pool;
use crate::emit::progress::Exception;
use crate::guardrails::Amount;
use crate::redact::Redactor;
use crate::write::draft::{Draft, EventTime, ScalarValue, cut_to};
use crate::write::line::{SpanHead, write_line};
use crate::write::open_entries::OpenEntry;
use crate::write::run_files::{EndedSpan, RunFiles};
use tracer_format::loops::LoopWarning;
use tracer_format::names::{self, Name, event_keys, events, span_names};
use tracer_format::{Counts, EventType, SpanId, SpanKind, StatusCode, Timestamp};

fn amount(amount: Amount) -> ScalarValue {
    match amount {
        Amount::Count(count) => ScalarValue::Unsigned(count),
        Amount::Duration(duration) => ScalarValue::Float(duration.as_secs_f64()),
        Amount::Cost(cost) => ScalarValue::Float(cost.dollars()),
    }
}

/// Writes the root span (decisions, section 1).
pub(super) fn write_root(
    run: &RunState,
    files: &mut RunFiles,
    exceptions: &[Exception],
    counts: &Counts,
    unfinished: &[(SpanId, OpenEntry)],
    end: Timestamp,
) -> io::Result<()> {
    let redactor = &run.redactor;
    let mut draft = run.take_added(run.root_id()).unwrap_or_default();
    files.losses.leave_out(draft.left_out());
    draft.text(names::RUN_NAME, &run.place.name, redactor);
    // The program may have read secrets since the run began.
    draft.tags(&redactor.tags(&run.place.tags));
    let program = &run.place.program;
    draft.cleaned(names::PYTHON_VERSION, program.compiler);
    draft.cleaned(names::PLATFORM, program.platform);
    draft.text(names::WORKING_DIRECTORY, &program.working_directory, redactor);
    draft.json(
        names::ARGUMENTS,
        &redactor.arguments(program.arguments.iter().cloned()),
        redactor,
    );
    let numbers: [(Name, u64); 4] = [
        (names::LLM_CALLS, counts.llm_calls),
        (names::TOOL_CALLS, counts.tool_calls),
        (names::ERRORS, counts.errors),
        (names::LOOP_WARNINGS, counts.loop_warnings),
    ];
    for (name, count) in numbers {
        draft.scalar(name, ScalarValue::Unsigned(count));
    }
    if !unfinished.is_empty() {
        draft.scalar(
            names::UNFINISHED_SPANS,
            ScalarValue::Unsigned(unfinished.len() as u64),
        );
        let shown = unfinished.iter().take(MAX_UNFINISHED);
        let list: Vec<UnfinishedSpan<'_>> =
            shown.map(|(id, entry)| UnfinishedSpan::new(*id, entry)).collect();
        draft.json(names::UNFINISHED_LIST, &list, redactor);
    }
    for exception in exceptions {
        exception_event(
            &mut draft,
            &exception.error,
            EventTime::At(exception.at),
            redactor,
        );
        if let Some(exceeded) = &exception.guardrail {
            draft.event_text(names::GUARDRAIL.written(), exceeded.guardrail.as_str(), redactor);
            draft.event_scalar(names::THRESHOLD.written(), amount(exceeded.threshold));
            draft.event_scalar(names::ACTUAL.written(), amount(exceeded.actual));
            if exceeded.unpriced_calls > 0 {
                let unpriced = ScalarValue::Unsigned(exceeded.unpriced_calls);
                draft.event_scalar(names::UNPRICED_CALLS.written(), unpriced);
            }
        }
    }
    let description = exceptions
        .first()
        .map(|first| redactor.text(&first.error.message))
        .unwrap_or_default();
    let head = SpanHead {
        trace_id: run.trace_id(),
        span_id: run.root_id(),
        parent_span_id: None,
        name: &run.place.name,
        kind: SpanKind::Internal,
        start: run.started_at(),
        end,
        duration_ms: None,
        status_code: if exceptions.is_empty() {
            StatusCode::Ok
        } else {
            StatusCode::Error
        },
        status_description: &description,
    };
    pool::with_line_buffer(|line| {
        write_line(line, &head, &mut draft, redactor);
        files.append_root(line)
    })
}

/// Maximum number of described spans that a run left unfinished.
const MAX_UNFINISHED: usize = 32;

/// A span that had not ended when its run did, as the root describes it: should it never end, that is all that is known.
#[derive(Debug, Serialize)]
struct UnfinishedSpan<'a> {
    span_id: SpanId,
    parent_span_id: SpanId,
    name: &'a str,
    r#type: &'static str,
    start_time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
}

impl<'a> UnfinishedSpan<'a> {
    fn new(span_id: SpanId, entry: &'a OpenEntry) -> Self {
        Self {
            span_id,
            parent_span_id: entry.parent,
            name: cut_to(&entry.name, 256),
            r#type: entry.event_type.as_str(),
            start_time: entry.start,
            arguments: entry.given_arguments(),
        }
    }
}

/// Writes a stand-in for a span that was not recorded, with the data that is known.
fn write_stand_in(
    run: &RunState,
    files: &mut RunFiles,
    (id, parent, name): (SpanId, SpanId, &str),
    (start, end): (Timestamp, Timestamp),
    mut draft: Draft,
) -> io::Result<()> {
    let head = SpanHead {
        trace_id: run.trace_id(),
        span_id: id,
        parent_span_id: Some(parent),
        name,
        kind: SpanKind::Internal,
        start,
        end,
        duration_ms: None,
        status_code: StatusCode::Unset,
        status_description: "",
    };
    pool::with_line_buffer(|line| {
        write_line(line, &head, &mut draft, &run.redactor);
        files.append_stand_in(line)
    })
}

/// Writes a stand-in for a span that has not ended though its run has, and that others name as their parent.
pub(super) fn write_unfinished(
    run: &RunState,
    files: &mut RunFiles,
    id: SpanId,
    entry: &OpenEntry,
    now: Timestamp,
) -> io::Result<()> {
    let mut draft = Draft::default();
    draft.flag(names::UNFINISHED);
    describe(&mut draft, entry, &run.redactor);
    if let Some(arguments) = entry.given_arguments() {
        draft.event(events::TOOL_ARGUMENTS, EventTime::Start);
        draft.event_json(event_keys::ARGUMENTS, &arguments, &run.redactor);
    }
    let name = match entry.event_type {
        EventType::LlmCall | EventType::ToolCall => &entry.name,
        _ => structural_name(&entry.name),
    };
    let times = (entry.start, now.max(entry.start));
    write_stand_in(run, files, (id, entry.parent, name), times, draft)?;
    files.count_stand_in(entry.event_type);
    Ok(())
}

/// Writes stand-ins for lost spans that others name as their parent: a completed run has no missing parent.
pub(super) fn write_lost_parents(run: &RunState, files: &mut RunFiles) -> io::Result<()> {
    for lost in files.losses.take_parents() {
        let mut draft = Draft::default();
        draft.cleaned(names::LOST, "true");
        let name = structural_name(&lost.name);
        let span = (lost.id, lost.parent, name);
        write_stand_in(run, files, span, (lost.start, lost.end), draft)?;
    }
    Ok(())
}

/// Reports to the process that started this run how many spans this one lost, which only joined it: the other one writes
/// `meta.json`.
pub(super) fn write_dropped(run: &RunState, files: &mut RunFiles, now: Timestamp) -> io::Result<()> {
    let Some(dropped) = files.losses.dropped().cloned() else {
        return Ok(());
    };
    let mut draft = Draft::default();
    draft.scalar(names::DROPPED_SPANS, ScalarValue::Unsigned(dropped.spans));
    draft.text(names::DROPPED_REASON, &dropped.reason, &run.redactor);
    let span = (run.new_span_id(), run.root_id(), span_names::DROPPED);
    write_stand_in(run, files, span, (now, now), draft)
}

/// Describes an open span: a call, and its model or tool.
fn describe(draft: &mut Draft, entry: &OpenEntry, redactor: &Redactor) {
    match entry.event_type {
        EventType::LlmCall => draft.text(names::REQUEST_MODEL, &entry.name, redactor),
        EventType::ToolCall => draft.text(names::TOOL_NAME, &entry.name, redactor),
        _ => return,
    }
    operation(draft, entry.event_type, &entry.name);
}

/// Writes a loop warning (decisions, sections 1 and 7).
pub(super) fn write_loop_warning(run: &RunState, warning: &LoopWarning<SpanId>, now: Timestamp) {
    let redactor = &run.redactor;
    let mut draft = Draft::default();
    draft.cleaned(names::EVENT_TYPE, EventType::LoopWarning.as_str());
    draft.event(events::LOOP_WARNING, EventTime::Start);
    draft.event_text(event_keys::PATTERN, &warning.pattern, redactor);
    draft.event_text(event_keys::PATTERN_TYPE, warning.pattern_type.as_str(), redactor);
    let numbers = [
        (event_keys::PATTERN_LENGTH, warning.pattern_length),
        (event_keys::REPETITIONS, warning.repetitions),
        (event_keys::WINDOW_SIZE, warning.window_size),
    ];
    for (key, number) in numbers {
        draft.event_scalar(key, ScalarValue::Unsigned(number as u64));
    }
    draft.event_json(
        event_keys::EVIDENCE_EVENT_IDS,
        &warning.evidence_event_ids,
        redactor,
    );
    let span = EndedSpan {
        id: run.new_span_id(),
        parent: run.root_id(),
        name: span_names::LOOP_WARNING,
        event_type: EventType::LoopWarning,
        kind: None,
        start: now,
        end: now,
        error: None,
        may_have_children: false,
    };
    run.write(&span, &mut draft);
}
