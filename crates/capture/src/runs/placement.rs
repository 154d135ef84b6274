//! The run of each span: its trace, its coding agent's session, or none until that is named.
//!
//! A coding agent's session is one run, though each prompt is a trace of its own. Where only some spans of a trace name the
//! session, the others wait for the name in the staging folder, so that the order of arrival changes nothing.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::Value;
use tracer_runs::import::{ImportError, ImportedSpan, RunPhase, RunWriter};
use tracer_sdk::format::{SpanId, SpanRecord, TraceId, names};

use super::conversation::{CodingAgent, remove_personal};
use super::ids::{derived_trace_id, synthetic_root};
use super::logs::{EVENT_FOR_PARENT, FROM_LOG, conversation_run};

/// Most traces of coding agents that are remembered; then the list starts again.
const MAX_TRACES: usize = 100_000;
const FILE: &str = "staging/sessions";
const SOURCE_TRACE: &str = names::SOURCE_TRACE.written();

/// A span as it was received.
#[derive(Debug)]
pub(super) struct ReceivedSpan {
    pub(super) span: ImportedSpan,
    /// The coding agent that sent it, whose sessions are runs.
    agent: Option<CodingAgent>,
}

impl ReceivedSpan {
    pub(super) fn new(mut span: ImportedSpan, agent: Option<CodingAgent>) -> Self {
        if agent.is_some() {
            remove_personal(&mut span.record.attributes);
        }
        Self { span, agent }
    }

    /// The run of the session that it names.
    fn named_run(&self) -> Option<TraceId> {
        let agent = self.agent?;
        let session = agent.conversation(&self.span.record.attributes)?;
        Some(conversation_run(agent, session))
    }
}

/// Spans that go to one run.
#[derive(Debug)]
pub(super) struct SpanGroup {
    pub(super) run: TraceId,
    /// The trace that they were sent in, while they wait for the name of their session.
    pub(super) waiting_for: Option<TraceId>,
    pub(super) spans: Vec<ImportedSpan>,
}

/// The groups of a request, in the order of their first spans.
#[derive(Debug, Default)]
pub(super) struct SpanGroups {
    pub(super) all: Vec<SpanGroup>,
    places: HashMap<TraceId, usize>,
}

impl SpanGroups {
    pub(super) fn add(&mut self, run: TraceId, waiting_for: Option<TraceId>, span: ImportedSpan) {
        let place = *self.places.entry(run).or_insert_with(|| {
            self.all.push(SpanGroup {
                run,
                waiting_for,
                spans: Vec::new(),
            });
            self.all.len() - 1
        });
        if let Some(group) = self.all.get_mut(place) {
            group.spans.push(span);
        }
    }
}

/// The runs of the traces of coding agents, on disk so that they outlive the process.
#[derive(Debug)]
pub(super) struct AgentTraces {
    path: PathBuf,
    runs: Mutex<HashMap<TraceId, TraceId>>,
}

impl AgentTraces {
    /// Reads what earlier processes learned; a file that cannot be read counts as empty.
    pub(super) fn open(data_directory: &Path) -> Self {
        let path = data_directory.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        // A process that died while it wrote leaves part of a line.
        let pairs = text.lines().filter_map(|line| {
            let (trace, run) = line.split_once(' ')?;
            Some((trace.parse().ok()?, run.parse().ok()?))
        });
        Self {
            runs: Mutex::new(pairs.collect()),
            path,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_known(&self, trace: TraceId) -> bool {
        self.runs.lock().contains_key(&trace)
    }

    /// Remembers which sessions the spans name; gives the traces whose session was not known before.
    pub(super) fn learn(&self, received: &[ReceivedSpan]) -> io::Result<Vec<TraceId>> {
        let mut runs = self.runs.lock();
        let mut new = Vec::new();
        for sent in received {
            let Some(run) = sent.named_run() else { continue };
            let trace = sent_in(&sent.span.record);
            if trace != run && !runs.contains_key(&trace) && !new.contains(&(trace, run)) {
                new.push((trace, run));
            }
        }
        self.remember(&mut runs, &new)?;
        Ok(new.into_iter().map(|(trace, _)| trace).collect())
    }

    fn remember(&self, runs: &mut HashMap<TraceId, TraceId>, new: &[(TraceId, TraceId)]) -> io::Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let starts_again = runs.len() + new.len() > MAX_TRACES;
        let mut options = OpenOptions::new();
        options.create(true).append(!starts_again);
        options.write(true).truncate(starts_again);
        // Each line begins with its newline: part of a line that another process left is a line of its own.
        let lines = new.iter().map(|(trace, run)| format!("\n{trace} {run}"));
        let lines: String = lines.collect();
        options.open(&self.path)?.write_all(lines.as_bytes())?;
        if starts_again {
            runs.clear();
        }
        for (trace, run) in new {
            runs.entry(*trace).or_insert(*run);
        }
        Ok(())
    }

    /// Puts a span into the group of its run, as it is stored there.
    pub(super) fn place(&self, mut sent: ReceivedSpan, groups: &mut SpanGroups) {
        let trace = sent_in(&sent.span.record);
        if sent.agent.is_none() {
            return groups.add(sent.span.record.trace_id, None, sent.span);
        }
        let known = || self.runs.lock().get(&trace).copied();
        if let Some(run) = sent.named_run().or_else(known) {
            join_session(&mut sent.span, trace, run);
            groups.add(run, None, sent.span);
        } else {
            let attributes = &mut sent.span.record.attributes;
            attributes.insert(SOURCE_TRACE.to_owned(), trace.to_string().into());
            groups.add(waiting_run(trace), Some(trace), sent.span);
        }
    }

    /// The group of spans that waited. Where no session was named by now, the trace is a run of its own from now on.
    pub(super) fn settle(&self, trace: TraceId, mut spans: Vec<ImportedSpan>) -> io::Result<SpanGroup> {
        let mut runs = self.runs.lock();
        let known = runs.get(&trace).copied();
        let run = known.unwrap_or(trace);
        if known.is_none() {
            self.remember(&mut runs, &[(trace, trace)])?;
        }
        for span in &mut spans {
            let record = &mut span.record;
            record.trace_id = trace;
            if !is_log_record(record) {
                record.attributes.remove(SOURCE_TRACE);
            }
            join_session(span, trace, run);
        }
        Ok(SpanGroup {
            run,
            waiting_for: None,
            spans,
        })
    }
}

/// The folder of the spans of a trace that wait for the name of their session. Spans of others may be in the same trace,
/// so that it is not the trace's own.
pub(super) fn waiting_run(trace: TraceId) -> TraceId {
    derived_trace_id(&[b"tracer.waiting", &trace.to_hex()])
}

/// The trace whose session the spans wait for that an earlier process staged; `None` where they do not wait.
pub(super) fn waits_for(run: &RunWriter) -> Result<Option<TraceId>, ImportError> {
    let mut found = None;
    if run.phase() == RunPhase::Staged {
        run.for_each_span(|span| {
            let trace = sent_in(&span);
            if waiting_run(trace) == run.trace_id() {
                found = Some(trace);
            }
        })?;
    }
    Ok(found)
}

/// The trace that a span or a log record was sent in.
fn sent_in(record: &SpanRecord) -> TraceId {
    let source = record.attributes.get(SOURCE_TRACE).and_then(Value::as_str);
    let source = source.and_then(|trace| trace.parse().ok());
    source.unwrap_or(record.trace_id)
}

/// Recognises a span that was made of a log record and is a step by itself.
fn is_log_record(record: &SpanRecord) -> bool {
    record.attributes.contains_key(FROM_LOG) && !record.attributes.contains_key(EVENT_FOR_PARENT)
}

fn join_session(span: &mut ImportedSpan, trace: TraceId, run: TraceId) {
    if run != trace {
        join_run(span, run, synthetic_root(run));
    }
}

/// Puts a span of another trace into a run: below its root, with the trace that it was sent in.
pub(super) fn join_run(span: &mut ImportedSpan, run: TraceId, root: SpanId) {
    let record = &mut span.record;
    let is_log_record = is_log_record(record);
    if record.trace_id != run && !is_log_record {
        let source = record.trace_id.to_string();
        record.attributes.insert(SOURCE_TRACE.to_owned(), source.into());
    }
    if record.parent_span_id.is_none() || is_log_record {
        record.parent_span_id = Some(root);
    }
}

/// Recognises a span of a session that is a run of its own, which is not the trace that it was sent in.
pub(super) fn continues_conversation(span: &ImportedSpan, run: TraceId) -> bool {
    let record = &span.record;
    is_log_record(record) || !record.attributes.contains_key(EVENT_FOR_PARENT) && record.trace_id != run
}
