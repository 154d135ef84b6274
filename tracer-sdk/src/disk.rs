//! What a recorder must know of a run that is on disk already: whether it can be joined, which spans are in its log, and what
//! they add up to. A run that others have written into is counted by what is in its file, and a completed run has no missing
//! parent (decisions, sections 4 and 10).

use std::collections::{HashMap, HashSet};
use std::path::Path;

#[cfg(feature = "tracing")]
use serde_json::{Map, Value};

#[cfg(feature = "prices")]
use crate::read::CallToPrice;
use crate::read::{RunDirectory, RunReader, RunStore, Strictness};
use crate::write::losses::LostParent;
#[cfg(feature = "tracing")]
use tracer_format::EventType;
#[cfg(feature = "tracing")]
use tracer_format::project::child_type;
use tracer_format::{
    Counts, Dropped, Problem, ProblemCode, RecordedStatus, SPANS_FILE, SpanId, SpanRecord, StoredTime,
    Timestamp, TraceId, names,
};

/// The name of what stands in for a span whose process died before it ended.
const INTERRUPTED: &str = "interrupted child process";

/// Whether the run is going on in this data directory: nothing is ever written into a directory that nobody owns, or
/// behind the end of a run.
pub(crate) fn is_running(data_directory: &Path, trace_id: TraceId) -> bool {
    let path = RunStore::new(data_directory)
        .runs_dir()
        .join(trace_id.to_string());
    RunDirectory { trace_id, path }
        .read_summary()
        .meta
        .is_ok_and(|meta| meta.status == RecordedStatus::Running)
}

/// What readers make of a span with these attributes that has a parent: a run counts what its projection counts
/// (decisions, section 4).
#[cfg(feature = "tracing")]
pub(crate) fn event_type(name: &str, attributes: &Map<String, Value>) -> EventType {
    child_type(name, attributes)
}

/// A model call of the log by what decides its cost, so that a limit counts what readers will say that the run cost.
#[cfg(feature = "prices")]
pub(crate) type LoggedCall = CallToPrice;

/// What the spans in a file add up to.
#[derive(Debug)]
pub(crate) struct LogTotals {
    pub(crate) counts: Counts,
    /// When the last span ended, if others than this process may have written it.
    pub(crate) last_end: Option<Timestamp>,
}

/// A span log that other processes wrote into as well.
#[derive(Debug)]
pub(crate) struct LogSurvey {
    pub(crate) totals: LogTotals,
    /// Spans that others name as their parent and that are not in the file: their processes died.
    pub(crate) missing_parents: Vec<LostParent>,
    /// What the others say that they lost.
    pub(crate) dropped: Option<Dropped>,
    /// How many of the spans are this process's own.
    pub(crate) own: u64,
    /// Something in it cannot be read.
    pub(crate) is_damaged: bool,
}

/// Reads the log of the run in a directory; `is_own` knows the IDs of this process's spans. `None` when it cannot be read.
///
/// One span at a time is in memory, and of each its ID and those of parents.
pub(crate) fn survey_log(
    directory: &Path,
    root: SpanId,
    is_own: impl Fn(SpanId) -> bool,
) -> Option<LogSurvey> {
    let run = RunReader::open(directory, Strictness::Lenient).ok()?;
    let counts = run.counts();
    let is_damaged = run.cut_tail.is_some() || run.problems.iter().any(is_damage);
    let mut own = 0;
    let mut last_end = None;
    let mut present = HashSet::from([root]);
    let mut parents = HashMap::new();
    let mut dropped = None;
    for span in run.records.into_spans() {
        let span = span.ok()?;
        last_end = last_end.max(end_of(&span));
        present.insert(span.span_id);
        let stands_in = span.attributes.contains_key(names::LOST.written());
        own += u64::from(!stands_in && span.span_id != root && is_own(span.span_id));
        note_parent(&mut parents, &span, root);
        note_dropped(&mut dropped, &span);
    }
    parents.retain(|id, _| !present.contains(id));
    let mut missing_parents: Vec<LostParent> = parents.into_values().collect();
    // So that the same spans give the same file.
    missing_parents.sort_unstable_by_key(|parent| (parent.start, parent.id));
    Some(LogSurvey {
        totals: LogTotals { counts, last_end },
        missing_parents,
        dropped,
        own,
        is_damaged,
    })
}

/// Whether a problem is one of the log, and stays one when the run is completed.
fn is_damage(problem: &Problem) -> bool {
    let is_mended = matches!(
        problem.code,
        ProblemCode::MissingParent | ProblemCode::MissingRoot | ProblemCode::EmptySpans
    );
    !is_mended && problem.location.starts_with(SPANS_FILE)
}

/// Which spans are in the file of a run that another process has ended, and which of them is the root.
pub(crate) fn present_spans(directory: &Path) -> Option<(HashSet<SpanId>, SpanId)> {
    let run = RunReader::open(directory, Strictness::Lenient).ok()?;
    let mut present = HashSet::new();
    let mut root = None;
    for span in run.records.into_spans() {
        let span = span.ok()?;
        if span.parent_span_id.is_none() {
            root = Some(span.span_id);
        }
        present.insert(span.span_id);
    }
    Some((present, root?))
}

/// Keeps what a stand-in for the parent of `span` would need.
fn note_parent(parents: &mut HashMap<SpanId, LostParent>, span: &SpanRecord, root: SpanId) {
    let Some(id) = span.parent_span_id else { return };
    let start = span.start_time.instant();
    let end = end_of(span).unwrap_or(start);
    let parent = parents
        .entry(id)
        .or_insert_with(|| interrupted_parent(id, root, start));
    parent.start = parent.start.min(start);
    parent.end = parent.end.max(end);
}

/// A stand-in for a span of another process that is not in the file.
pub(crate) fn interrupted_parent(id: SpanId, root: SpanId, at: Timestamp) -> LostParent {
    LostParent {
        id,
        parent: root,
        name: INTERRUPTED.into(),
        start: at,
        end: at,
    }
}

/// Adds what the process that wrote `span` reports as lost; the first reason is kept.
fn note_dropped(dropped: &mut Option<Dropped>, span: &SpanRecord) {
    let attribute = |name: names::Name| span.attributes.get(name.written());
    let Some(spans) = attribute(names::DROPPED_SPANS).and_then(serde_json::Value::as_u64) else {
        return;
    };
    let reason = attribute(names::DROPPED_REASON).and_then(serde_json::Value::as_str);
    let dropped = dropped.get_or_insert_with(|| Dropped {
        spans: 0,
        reason: reason.unwrap_or_default().to_owned(),
    });
    dropped.spans = dropped.spans.saturating_add(spans);
}

fn end_of(span: &SpanRecord) -> Option<Timestamp> {
    span.end_time.as_ref().map(StoredTime::instant)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::sync::Arc;

    use crate::read::{LoadedRun, count_records};
    use crate::write::faulty::{Faulty, Hook};
    use crate::write::files::Disk;
    use crate::{Config, Run, tool_call};

    /// A process that joined the run appends right before, or right after, the run's own span is written: whoever ends the
    /// run did not get the lock.
    fn ends_beside_a_late_line(before: bool) {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let append = Hook(Arc::new(move |line: &[u8]| {
            let text = String::from_utf8_lossy(line);
            if !text.contains(r#""parent_span_id":null"#) {
                return;
            }
            let directory = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
            let trace_id = directory.file_name().unwrap().to_str().unwrap().to_owned();
            // Its parent was open in the other process, and never comes.
            let late = format!(
                r#"{{"trace_id":"{trace_id}","span_id":"00000000000000aa","parent_span_id":"00000000000000bb","name":"late","kind":"INTERNAL","start_time":"2026-01-01T00:00:00.000000Z","end_time":"2026-01-01T00:00:00.000000Z","duration_ms":0,"attributes":{{"tracer.tool_name":"late"}},"events":[],"status_code":"OK","status_description":""}}"#
            );
            let log = OpenOptions::new()
                .append(true)
                .open(directory.join("spans.jsonl"));
            writeln!(log.unwrap(), "{late}").unwrap();
        }));
        let mut disk = Faulty::new(Arc::new(Disk));
        if before {
            disk.before_write = append;
        } else {
            disk.after_write = append;
        }
        let config = Config::new().data_dir(folder.path());
        let run = Run::new("shared")
            .config(&config)
            .file_system(Arc::new(disk))
            .start();
        let directory = run.dir().unwrap();
        let _ = run.context().unwrap().to_traceparent();
        tool_call("own").record().unwrap();
        run.fail("nobody came");
        run.finish();
        let run = LoadedRun::read(&directory).unwrap();
        assert!(run.meta.status.is_completed());
        assert_eq!(run.meta.counts.tool_calls, 2);
        assert_eq!(run.meta.counts, count_records(&run.records()));
    }

    #[test]
    fn what_another_process_appends_while_the_run_ends_is_counted() {
        ends_beside_a_late_line(true);
        ends_beside_a_late_line(false);
    }
}
