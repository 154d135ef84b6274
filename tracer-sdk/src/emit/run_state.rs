//! What one live run knows: its identity, its files, its limits, its open spans and its errors.
//!
//! Shared by guards, contexts and open spans through one `Arc`. Everything that comes in here is bytes or numbers
//! already: no user code runs under its locks.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::clock::RunClock;
use super::environment::{self, Program};
use super::error::ErrorInfo;
use super::ids::SpanIds;
use super::pool;
use super::progress::{Progress, Written};
use super::run::RunStats;
use super::{registry, root, warning};
use crate::format::{EventType, RunStatus, SpanId, SpanKind, StatusCode, Timestamp, TraceId};
use crate::guardrails::{EventKind, GuardrailExceeded, Reservation};
use crate::settings::Settings;
use crate::write::draft::Draft;
use crate::write::line::{SpanHead, write_line};
use crate::write::live_file::{LiveHeader, OpenEntry};
use crate::write::losses::LostParent;
use crate::write::redact::Redactor;
use crate::write::run_files::{Ending, RunFiles};

/// A span that has ended, ready to be written.
#[derive(Debug)]
pub(crate) struct EndedSpan<'a> {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) name: &'a str,
    pub(crate) event_type: EventType,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The message of the error that the span ended with.
    pub(crate) error: Option<&'a str>,
    pub(crate) may_have_children: bool,
}

impl EndedSpan<'_> {
    /// What a stand-in for this span would need, if others may name it as their parent.
    fn as_parent(&self) -> Option<LostParent> {
        self.may_have_children.then(|| LostParent {
            id: self.id,
            parent: self.parent,
            name: self.name.to_owned(),
            start: self.start,
            end: self.end,
        })
    }
}

/// A call that was refused before it was made.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) exceeded: GuardrailExceeded,
    /// When this call crossed the limit; `None` when the run had tripped before.
    pub(crate) crossed_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(crate) struct RunState {
    trace_id: TraceId,
    root_id: SpanId,
    name: String,
    program: Program,
    pub(crate) clock: RunClock,
    pub(crate) redactor: Redactor,
    ids: SpanIds,
    /// A forked child inherits this memory and must not write into its parent's run.
    process: u32,
    /// This process joined a run that another one started and will end.
    joined: bool,
    files: Mutex<Files>,
    progress: Mutex<Progress>,
    open: Mutex<HashMap<SpanId, OpenEntry>>,
}

#[derive(Debug)]
struct Files {
    run: RunFiles,
    ended: bool,
}

/// Where a run belongs and what it is called.
#[derive(Debug)]
pub(crate) struct RunPlace {
    pub(crate) trace_id: TraceId,
    pub(crate) root_id: SpanId,
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) joined: bool,
}

impl RunState {
    pub(crate) fn new(
        place: RunPlace,
        clock: RunClock,
        ids: SpanIds,
        redactor: Redactor,
        files: RunFiles,
        settings: &Settings,
    ) -> Arc<Self> {
        Arc::new(Self {
            trace_id: place.trace_id,
            root_id: place.root_id,
            name: place.name,
            program: place.program,
            clock,
            redactor,
            ids,
            process: std::process::id(),
            joined: place.joined,
            files: Mutex::new(Files {
                run: files,
                ended: false,
            }),
            progress: Mutex::new(Progress::new(settings)),
            open: Mutex::default(),
        })
    }

    pub(crate) fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    pub(crate) fn root_id(&self) -> SpanId {
        self.root_id
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn new_span_id(&self) -> SpanId {
        loop {
            let id = self.ids.next();
            if id != self.root_id {
                return id;
            }
        }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.files.lock().run.directory().to_owned()
    }

    /// How many spans are in the file and how many are lost.
    pub(crate) fn stats(&self) -> RunStats {
        let files = self.files.lock();
        let dropped = files.run.dropped().map_or(0, |dropped| dropped.spans);
        RunStats {
            written: files.run.written(),
            dropped,
        }
    }

    /// Writes whatever waits in a batch.
    pub(crate) fn flush(&self) {
        if self.is_own_process() {
            let outcome = self.files.lock().run.flush();
            self.warn(outcome.err());
        }
    }

    /// From now on another process may append to this run.
    pub(crate) fn share(&self) {
        let outcome = self.files.lock().run.share();
        self.warn(outcome.err());
    }

    /// Makes the run visible to readers before its first span has ended.
    pub(crate) fn begin(&self) {
        let process = environment::process_identity();
        let header = LiveHeader {
            run_name: &self.name,
            started_at: self.started_at(),
            pid: self.process,
            process_start: process.start.as_deref(),
            boot: process.boot.as_deref(),
            pid_namespace: process.namespace.as_deref(),
        };
        let outcome = self.files.lock().run.begin(&header);
        self.warn(outcome.err());
    }

    // ---- guardrails ------------------------------------------------------------------------------------------------

    pub(crate) fn check(&self) -> Result<(), GuardrailExceeded> {
        let (elapsed, now) = self.clock.read();
        self.progress.lock().check(elapsed, now)
    }

    pub(crate) fn tripped(&self) -> Option<GuardrailExceeded> {
        self.progress.lock().tripped()
    }

    /// Asks for a place for a call that is about to be made.
    pub(crate) fn reserve(&self, kind: EventKind) -> Result<Reservation, Refusal> {
        let (elapsed, now) = self.clock.read();
        let mut progress = self.progress.lock();
        let tripped_before = progress.tripped().is_some();
        progress.reserve(kind, elapsed, now).map_err(|exceeded| Refusal {
            exceeded,
            crossed_at: (!tripped_before).then_some(now),
        })
    }

    /// Gives a place back that was not used.
    pub(crate) fn release(&self, reservation: Reservation) {
        self.progress.lock().release(reservation);
    }

    /// Tells the run that a record was written: limits and loops are looked at, and what they find is written.
    pub(crate) fn observe(&self, written: Written<'_>) -> Result<(), GuardrailExceeded> {
        let (elapsed, now) = self.clock.read();
        let mut progress = self.progress.lock();
        let warning = progress.observe(written, elapsed, now);
        if let Some(warning) = warning {
            drop(progress);
            // Told at the instant of whatever it trips, because the file has the warning before the error.
            root::write_loop_warning(self, &warning, now);
            progress = self.progress.lock();
            progress.loop_written(elapsed, now);
        }
        progress.tripped().map_or(Ok(()), Err)
    }

    // ---- spans -----------------------------------------------------------------------------------------------------

    /// Remembers a span that has started.
    pub(crate) fn opened(&self, id: SpanId, entry: OpenEntry) {
        if !self.is_own_process() {
            return;
        }
        let mut open = self.open.lock();
        open.insert(id, entry);
        let outcome = self.files.lock().run.started(id, &open);
        drop(open);
        self.warn(outcome.err());
    }

    /// Forgets an open span; `false` when the run ended before it and wrote it already.
    pub(crate) fn closed(&self, id: SpanId) -> bool {
        self.open.lock().remove(&id).is_some()
    }

    /// Writes a span that has ended. What comes after the end of the run is counted, not written.
    pub(crate) fn write(&self, span: &EndedSpan<'_>, draft: &mut Draft) {
        if !self.is_own_process() {
            return;
        }
        pool::with_line_buffer(|line| {
            // Before the lock, which other threads wait for.
            self.put_into_line(line, span, draft);
            let mut files = self.files.lock();
            if files.ended {
                registry::count_unattached();
                return;
            }
            let outcome = files.run.append(line, span.event_type, span.as_parent());
            drop(files);
            self.warn(outcome.err());
        });
    }

    fn put_into_line(&self, line: &mut Vec<u8>, span: &EndedSpan<'_>, draft: &mut Draft) {
        let description = span
            .error
            .map(|message| self.redactor.text(message))
            .unwrap_or_default();
        let head = SpanHead {
            trace_id: self.trace_id,
            span_id: span.id,
            parent_span_id: Some(span.parent),
            name: span.name,
            kind: if span.event_type == EventType::LlmCall {
                SpanKind::Client
            } else {
                SpanKind::Internal
            },
            start: span.start,
            end: span.end,
            status_code: if span.error.is_some() {
                StatusCode::Error
            } else {
                StatusCode::Ok
            },
            status_description: &description,
        };
        write_line(line, &head, draft, &self.redactor);
    }

    /// Records an error of the run itself; it becomes an event of the root span.
    pub(crate) fn fail(&self, error: ErrorInfo) {
        let now = self.clock.now();
        self.progress.lock().fail(error, now);
    }

    // ---- end -------------------------------------------------------------------------------------------------------

    /// Ends the run: open spans are written as cancelled, then the root, then `meta.json`. Only the first call counts.
    pub(crate) fn end(&self, error: Option<ErrorInfo>, end: Timestamp) {
        if !self.is_own_process() {
            return;
        }
        if let Some(error) = error {
            self.progress.lock().fail(error, end);
        }
        registry::remove(self);
        // Both are taken, so that no span starts or ends in between: its children would be in the file without it.
        let mut open = self.open.lock();
        let mut files = self.files.lock();
        if std::mem::replace(&mut files.ended, true) {
            return;
        }
        let open = std::mem::take(&mut *open);
        let outcome = self.write_end(&mut files.run, open, end);
        drop(files);
        self.warn(outcome.err());
    }

    fn write_end(
        &self,
        files: &mut RunFiles,
        open: HashMap<SpanId, OpenEntry>,
        ended_at: Timestamp,
    ) -> std::io::Result<()> {
        let cancelled = self.write_cancelled_spans(files, open, ended_at);
        let flushed = files.flush_at_end();
        let parents = root::write_lost_parents(self, files);
        if self.joined {
            return cancelled.and(flushed).and(parents);
        }
        let exceptions = self.progress.lock().take_exceptions();
        let mut counts = files.counts();
        counts.errors += exceptions.len() as u64;
        let rooted = root::write_root(self, files, &exceptions, &counts, ended_at);
        let whole = parents.is_ok() && rooted.is_ok();
        let micros = ended_at.microseconds_since(self.clock.started_at());
        let ending = Ending {
            status: if exceptions.is_empty() {
                RunStatus::Ok
            } else {
                RunStatus::Error
            },
            ended_at,
            duration_ms: u64::try_from(micros / 1_000).unwrap_or(0),
            counts,
        };
        let finished = files.finish(ending, whole);
        cancelled.and(flushed).and(parents).and(rooted).and(finished)
    }

    /// Writes the spans that the end of the run overtook, in the order in which they started.
    fn write_cancelled_spans(
        &self,
        files: &mut RunFiles,
        open: HashMap<SpanId, OpenEntry>,
        end: Timestamp,
    ) -> std::io::Result<()> {
        let mut open: Vec<(SpanId, OpenEntry)> = open.into_iter().collect();
        open.sort_unstable_by_key(|(id, entry)| (entry.start, *id));
        let mut outcome = Ok(());
        for (id, entry) in open {
            let (span, mut draft) = root::cancelled(self, id, &entry, end);
            let written = pool::with_line_buffer(|line| {
                self.put_into_line(line, &span, &mut draft);
                files.append(line, span.event_type, span.as_parent())
            });
            pool::give_draft(draft);
            outcome = outcome.and(written);
        }
        outcome
    }

    fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        self.clock.started_at()
    }

    fn warn(&self, error: Option<std::io::Error>) {
        if let Some(error) = error {
            warning::warn_once(&format_args!(
                "cannot write the run {} to {}: {error}",
                self.trace_id,
                self.files.lock().run.directory().display()
            ));
        }
    }
}

impl Drop for RunState {
    fn drop(&mut self) {
        // Nobody holds the run any more and nobody ended it: its guard was leaked. What waits in a batch is written;
        // the run stays `running`, and readers tell it as interrupted.
        if !self.files.get_mut().ended {
            self.flush();
        }
    }
}
