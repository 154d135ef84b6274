//! State of one live run: identity, files, limits, open spans and errors.
//!
//! Shared by guards, contexts and open spans through one `Arc`. Everything that comes in here is bytes or numbers
//! already: no user code runs under its locks.

pub(crate) mod registry;
mod root;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::clock::RunClock;
use super::environment::ProgramFacts;
use super::error::ErrorInfo;
use super::ids::SpanIds;
#[cfg(feature = "tracing")]
use super::layer::LibraryState;
use super::pool;
use super::progress::{RunProgress, WrittenRecord};
#[cfg(feature = "prices")]
use super::run_costs::RunCosts;
use super::{recording, unattached, warning};
use crate::guardrails::GuardrailExceeded;
use crate::process::{OwnLock, OwnProcess, process_identity};
use crate::redact::Redactor;
use crate::settings::{Flush, Settings};
use crate::write::draft::Draft;
use crate::write::line::{SpanHead, write_line};
use crate::write::live_file::LiveHeader;
use crate::write::open_entries::{OpenEntries, OpenEntry};
use crate::write::run_files::{EndedSpan, Ending, RunFiles};
use std::sync::MutexGuard;
use tracer_format::{
    EventType, RecordedStatus, SpanId, SpanKind, StatusCode, Tags, Timestamp, TraceId, names,
};

/// Destination of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordOutcome {
    /// Into its run.
    InRun,
    /// Behind the end of its run.
    AfterEnd,
    /// Nowhere: the process is not the run's own, the run was removed, or it cannot be written any more.
    Nowhere,
}

/// A call that was refused before it was made.
#[derive(Debug)]
pub(crate) struct CallRefusal {
    pub(crate) exceeded: GuardrailExceeded,
    /// When this call crossed the limit; `None` when the run had tripped before.
    pub(crate) crossed_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(crate) struct RunState {
    place: RunPlace,
    pub(crate) clock: RunClock,
    pub(crate) redactor: Arc<Redactor>,
    ids: SpanIds,
    /// A forked child inherits this memory and must not write into its parent's run.
    process: OwnProcess,
    /// Finished spans wait to be written together.
    batched: bool,
    directory: PathBuf,
    files: OwnLock<RunFiles>,
    /// Number of records that had found no run when this one started.
    unattached_before: u64,
    progress: OwnLock<RunProgress>,
    /// Number of panics in threads that worked for the run.
    panics: AtomicU64,
    /// `meta.json` does not say everything of the spans that ended after the run.
    has_unsettled: AtomicBool,
    /// Attributes and tokens that others add to open spans, the root among them, until these end.
    added: OwnLock<HashMap<SpanId, Draft>>,
    #[cfg(feature = "tracing")]
    pub(crate) library: LibraryState,
}

/// An open call that a further span may report again.
#[cfg(feature = "tracing")]
#[derive(Debug, Clone)]
pub(crate) struct EnclosingCall {
    pub(crate) id: SpanId,
    pub(crate) event_type: EventType,
    /// The recorder's model or tool; the name of a library's span until its tool is known.
    pub(crate) name: Arc<str>,
    pub(crate) is_library: bool,
}

/// Identity of a run: its IDs, name, program and tags.
#[derive(Debug)]
pub(crate) struct RunPlace {
    pub(crate) trace_id: TraceId,
    pub(crate) root_id: SpanId,
    pub(crate) name: String,
    pub(crate) program: ProgramFacts,
    /// Redacted.
    pub(crate) tags: Tags,
    /// This process joined a run that another one started and will end.
    pub(crate) joined: bool,
    /// Costs of calls, where a limit counts them.
    #[cfg(feature = "prices")]
    pub(crate) costs: Option<RunCosts>,
}

impl RunState {
    pub(crate) fn new(
        place: RunPlace,
        clock: RunClock,
        ids: SpanIds,
        redactor: Arc<Redactor>,
        files: RunFiles,
        settings: &Settings,
    ) -> Arc<Self> {
        let process = OwnProcess::current();
        let added = OwnLock::new(process.clone(), HashMap::new());
        Arc::new(Self {
            place,
            clock,
            redactor,
            ids,
            batched: settings.flush == Flush::Batched,
            directory: files.directory.clone(),
            files: OwnLock::new(process.clone(), files),
            unattached_before: unattached::ambiguous_records(),
            progress: OwnLock::new(process.clone(), RunProgress::new(settings)),
            #[cfg(feature = "tracing")]
            library: LibraryState::new(process.clone(), settings.max_message_bytes),
            process,
            panics: AtomicU64::new(0),
            has_unsettled: AtomicBool::new(false),
            added,
        })
    }

    /// Counts a panic in a thread that works for the run.
    pub(crate) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of panics in threads that worked for the run.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    pub(crate) fn trace_id(&self) -> TraceId {
        self.place.trace_id
    }

    pub(crate) fn root_id(&self) -> SpanId {
        self.place.root_id
    }

    pub(crate) fn new_span_id(&self) -> SpanId {
        loop {
            let id = self.ids.next();
            if id != self.place.root_id {
                return id;
            }
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The process that records this run.
    pub(crate) fn process(&self) -> &OwnProcess {
        &self.process
    }

    /// Number of spans in the file and of lost ones; a forked child has written none.
    pub(crate) fn stats(&self) -> RunStats {
        let Some(files) = self.files.lock() else {
            return RunStats::default();
        };
        let dropped = files.losses.dropped().map_or(0, |dropped| dropped.spans);
        RunStats {
            written: files.written,
            dropped,
        }
    }

    /// Does something with the run's files, unless this is a forked child.
    fn with_files(&self, work: impl FnOnce(&mut RunFiles) -> std::io::Result<()>) {
        let outcome = self.files.lock().map_or(Ok(()), |mut files| work(&mut files));
        self.warn(outcome.err());
    }

    /// Writes whatever waits in a batch.
    pub(crate) fn flush(&self) {
        self.with_files(RunFiles::flush);
    }

    /// Returns whether finished spans wait to be written together.
    pub(crate) fn is_batched(&self) -> bool {
        self.batched
    }

    /// Writes what waits in the batch, if it has waited so long.
    pub(crate) fn flush_what_waited(&self, delay: Duration) {
        self.with_files(|files| files.flush_what_waited(delay));
    }

    /// From now on another process may append to this run, below the span `parent`.
    pub(crate) fn share(&self, parent: SpanId) {
        self.with_files(|files| files.share(parent));
    }

    /// Makes the run visible to readers before its first span has ended.
    pub(crate) fn begin(&self) {
        let header = LiveHeader {
            run_name: &self.place.name,
            tags: self.place.tags.as_map(),
            started_at: self.started_at(),
            pid: self.process.id(),
            process: process_identity(),
        };
        self.with_files(|files| files.begin(&header));
    }

    // ---- guardrails ------------------------------------------------------------------------------------------------

    pub(crate) fn check(&self) -> Result<(), GuardrailExceeded> {
        let (elapsed, now) = self.clock.read();
        let progress = self.progress.lock();
        progress.map_or(Ok(()), |mut progress| progress.check(elapsed, now))
    }

    pub(crate) fn tripped(&self) -> Option<GuardrailExceeded> {
        self.progress.lock()?.tripped()
    }

    /// The limit that this process's part of another one's run has crossed. Its own runs have it as their error.
    pub(crate) fn tripped_in_joined(&self) -> Option<ErrorInfo> {
        let exceeded = self.tripped().filter(|_| self.place.joined)?;
        Some(ErrorInfo::new(exceeded.error_type(), exceeded.to_string()))
    }

    /// Asks for a place for a call that is about to be made; a forked child needs none. Returns the type that has a place.
    pub(crate) fn reserve(&self, event_type: EventType) -> Result<Option<EventType>, CallRefusal> {
        let (elapsed, now) = self.clock.read();
        let Some(mut progress) = self.progress.lock() else {
            return Ok(None);
        };
        let tripped_before = progress.tripped().is_some();
        let reserved = progress.reserve(event_type, elapsed, now);
        reserved
            .map(|()| Some(event_type))
            .map_err(|exceeded| CallRefusal {
                exceeded,
                crossed_at: (!tripped_before).then_some(now),
            })
    }

    /// Gives a place back that was not used.
    pub(crate) fn release(&self, event_type: EventType) {
        if let Some(mut progress) = self.progress.lock() {
            progress.release(event_type);
        }
    }

    /// Tells the run that a record was written: checks limits and loops, and writes what they find.
    pub(crate) fn observe(
        &self,
        written: WrittenRecord<'_>,
        now: Timestamp,
    ) -> Result<(), GuardrailExceeded> {
        // The record's own end is near enough: to read the clock again would cost as much as all the rest here.
        let elapsed = self.clock.since_start(now);
        let Some(mut progress) = self.progress.lock() else {
            return Ok(());
        };
        let branch = written.branch;
        let warning = progress.observe(written, elapsed, now);
        if let Some(warning) = warning {
            drop(progress);
            // Recorded at the instant of whatever it trips, because the file has the warning before the error.
            root::write_loop_warning(self, &warning, now);
            progress = match self.progress.lock() {
                Some(progress) => progress,
                None => return Ok(()),
            };
            progress.loop_written(branch, elapsed, now);
        }
        progress.tripped().map_or(Ok(()), Err)
    }

    // ---- spans -----------------------------------------------------------------------------------------------------

    /// Adds a timed span that has started. Returns whether another holder was open below the same parent.
    pub(crate) fn add_open(
        &self,
        id: SpanId,
        name: &str,
        entry: impl FnOnce(Arc<str>, String) -> OpenEntry,
    ) -> bool {
        let Some(mut files) = self.files.lock() else {
            return false;
        };
        let entry = entry(files.shared_name(name), files.arguments_buffer());
        let is_beside = entry.is_holder && files.has_open_holder(entry.parent);
        let outcome = files.add_open(id, entry);
        drop(files);
        self.warn(outcome.err());
        is_beside
    }

    /// A span with which a branch of the run began has ended.
    pub(crate) fn end_branch(&self, id: SpanId) {
        if let Some(mut progress) = self.progress.lock() {
            progress.end_branch(id);
        }
    }

    /// The open call that a span within `id` may report again.
    #[cfg(feature = "tracing")]
    pub(crate) fn enclosing_call(&self, id: SpanId) -> Option<EnclosingCall> {
        let files = self.files.lock()?;
        let entry = files.open.get(&id)?;
        let is_call = matches!(entry.event_type, EventType::LlmCall | EventType::ToolCall);
        is_call.then(|| EnclosingCall {
            id,
            event_type: entry.event_type,
            name: entry.name.clone(),
            is_library: entry.is_library,
        })
    }

    /// Updates the type and the name of a library's open span, once they are known.
    #[cfg(feature = "tracing")]
    pub(crate) fn describe_open(&self, id: SpanId, event_type: EventType, name: &str) {
        if let Some(mut files) = self.files.lock() {
            let name = files.shared_name(name);
            if let Some(entry) = files.open.get_mut(&id) {
                entry.event_type = event_type;
                entry.name = name;
            }
        }
    }

    /// The library's call that a recorder reports again with a call of this type and name, if it does.
    #[cfg(feature = "tracing")]
    pub(crate) fn same_library_call(
        &self,
        within: SpanId,
        event_type: EventType,
        name: &str,
    ) -> Option<SpanId> {
        if !self.library.has_open_call() {
            return None;
        }
        let enclosing = self.enclosing_call(within).filter(|call| call.is_library)?;
        let is_same = enclosing.event_type == event_type
            && (event_type == EventType::LlmCall || *enclosing.name == *name);
        is_same.then_some(enclosing.id)
    }

    /// Adds attributes to an open span, or to the root: its end takes them. What has ended stays as it is.
    pub(crate) fn add_to(&self, id: SpanId, draft: Draft) {
        if self.open_type(id).is_some()
            && let Some(mut added) = self.added.lock()
        {
            match added.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(draft);
                }
                Entry::Occupied(mut place) => place.get_mut().take(draft),
            }
        }
    }

    /// The type of an open span, or of the root of a run that has not ended.
    pub(crate) fn open_type(&self, id: SpanId) -> Option<EventType> {
        let files = self.files.lock()?;
        if id == self.root_id() {
            return (!files.has_ended).then_some(EventType::RunStart);
        }
        Some(files.open.get(&id)?.event_type)
    }

    /// Takes what was added to a span that ends.
    pub(crate) fn take_added(&self, id: SpanId) -> Option<Draft> {
        self.added.lock()?.remove(&id)
    }

    /// Prices and pending calls for the run's limit on costs, if it has one.
    #[cfg(feature = "prices")]
    pub(crate) fn costs(&self) -> Option<&RunCosts> {
        self.place.costs.as_ref()
    }

    /// Writes a span that has ended, behind the root if its run has.
    pub(crate) fn write(&self, span: &EndedSpan<'_>, draft: &mut Draft) -> RecordOutcome {
        self.write_and_read(span, draft, |_| {})
    }

    /// The same; `read` sees the line before any lock is taken.
    pub(crate) fn write_and_read(
        &self,
        span: &EndedSpan<'_>,
        draft: &mut Draft,
        read: impl FnOnce(&[u8]),
    ) -> RecordOutcome {
        if !self.is_own_process() {
            return RecordOutcome::Nowhere;
        }
        pool::with_line_buffer(|line| {
            self.write_span_line(line, span, draft);
            read(line);
            let Some(mut files) = self.files.lock() else {
                return RecordOutcome::Nowhere;
            };
            files.losses.leave_out(draft.left_out());
            if self.has_reached_end(&mut files) {
                return self.write_after_end(files, line, span, draft);
            }
            files.drop_nested(recording::take_dropped());
            let mut outcome = files.append(line, span);
            if files.has_ended {
                // Nothing else will write the batch.
                outcome = outcome.and(files.flush());
            }
            drop(files);
            self.warn(outcome.err());
            RecordOutcome::InRun
        })
    }

    /// Returns whether the run has ended. One that this process joined continues after its own part.
    fn has_reached_end(&self, files: &mut RunFiles) -> bool {
        if !self.place.joined {
            return files.has_ended;
        }
        if !files.owner_has_ended && files.log.has_run_ended() {
            files.owner_has_ended = true;
            // Losses are counted with the spans that come now.
            let _ = files.continue_after_end();
            self.has_unsettled.store(true, Ordering::Relaxed);
        }
        files.owner_has_ended
    }

    /// Appends a span that ended after its run. What the run said of its end never changes.
    fn write_after_end(
        &self,
        mut files: MutexGuard<'_, RunFiles>,
        line: &mut Vec<u8>,
        span: &EndedSpan<'_>,
        draft: &mut Draft,
    ) -> RecordOutcome {
        // A run that was removed meanwhile is not made again.
        if span.event_type == EventType::LoopWarning || !files.log.is_still_in_place() {
            files.remove_open(span.id);
            return RecordOutcome::Nowhere;
        }
        let mut span = *span;
        let open = files.remove_open(span.id);
        if open.as_ref().is_some_and(|entry| entry.outlives_run) {
            files.late.finish();
        }
        let mut counted_as = span.event_type;
        if open.is_some_and(|entry| entry.has_stand_in) {
            // Its ID is taken by the stand-in, whose place readers give it, and which was counted.
            span.parent = std::mem::replace(&mut span.id, self.new_span_id());
            counted_as = EventType::Unknown;
        }
        draft.flag(names::AFTER_END);
        self.write_span_line(line, &span, draft);
        files.drop_nested(recording::take_dropped());
        let parents = root::write_lost_parents(self, &mut files)
            .and_then(|()| self.write_stand_ins(&mut files, span.parent, span.end));
        let appended = parents.and_then(|()| files.append_late(line, counted_as));
        let recorded = match &appended {
            Ok(()) => RecordOutcome::AfterEnd,
            Err(_) => RecordOutcome::Nowhere,
        };
        let settled = files.settle_late_if_due();
        // When it could not be written, the thread tries again when it leaves the run.
        let waits = *settled.as_ref().unwrap_or(&true);
        self.has_unsettled.store(waits, Ordering::Relaxed);
        drop(files);
        self.warn(appended.and(settled.map(drop)).err());
        recorded
    }

    /// Writes stand-ins for a span that has not ended and for those around it, unless they have one.
    fn write_stand_ins(&self, files: &mut RunFiles, id: SpanId, now: Timestamp) -> std::io::Result<()> {
        let mut id = id;
        while let Some(entry) = files.open.get_mut(&id).filter(|entry| !entry.has_stand_in) {
            entry.has_stand_in = true;
            let entry = entry.clone();
            root::write_unfinished(self, files, id, &entry, now)?;
            id = entry.parent;
        }
        Ok(())
    }

    /// The thread leaves this run's context. What `meta.json` does not say yet of spans that ended after the run, it
    /// says now: there may be no further span.
    pub(crate) fn settle_late(&self) {
        if self.has_unsettled.load(Ordering::Relaxed)
            && let Some(mut files) = self.files.lock()
        {
            let outcome = files.settle_late();
            drop(files);
            self.has_unsettled.store(false, Ordering::Relaxed);
            self.warn(outcome.err());
        }
    }

    fn write_span_line(&self, line: &mut Vec<u8>, span: &EndedSpan<'_>, draft: &mut Draft) {
        let description = span
            .error
            .map(|message| self.redactor.text(message))
            .unwrap_or_default();
        let head = SpanHead {
            trace_id: self.place.trace_id,
            span_id: span.id,
            parent_span_id: Some(span.parent),
            name: span.name,
            kind: span.kind.unwrap_or(match span.event_type {
                EventType::LlmCall => SpanKind::Client,
                _ => SpanKind::Internal,
            }),
            start: span.start,
            end: span.end,
            duration_ms: None,
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
        self.fail_at(error, now);
    }

    fn fail_at(&self, error: ErrorInfo, at: Timestamp) {
        if let Some(mut progress) = self.progress.lock() {
            progress.fail(error, at);
        }
    }

    // ---- end -------------------------------------------------------------------------------------------------------

    /// Ends the run: the root is written, then `meta.json`. What is open ends later and is appended then. Only the first
    /// call counts.
    pub(crate) fn end(&self, error: Option<ErrorInfo>, end: Timestamp) {
        if !self.process.is_surely_current() {
            return;
        }
        #[cfg(feature = "tracing")]
        self.library.record_passed_on(error.as_ref());
        if let Some(error) = error {
            self.fail_at(error, end);
        }
        registry::remove(self);
        let Some(mut files) = self.files.lock() else {
            return;
        };
        if std::mem::replace(&mut files.has_ended, true) {
            return;
        }
        self.has_reached_end(&mut files);
        files.drop_nested(recording::take_dropped());
        let end = end.max(files.last_end);
        let flushed = files.flush_at_end();
        let ended = if self.place.joined {
            let parents = root::write_lost_parents(self, &mut files);
            // The other process may have ended the run since, which is also why something was lost.
            let dropped = if self.has_reached_end(&mut files) {
                files.settle_losses()
            } else {
                root::write_dropped(self, &mut files, end)
            };
            parents.and(dropped)
        } else {
            self.write_end(&mut files, end)
        };
        drop(files);
        self.warn(flushed.and(ended).err());
    }

    fn write_end(&self, files: &mut RunFiles, end: Timestamp) -> std::io::Result<()> {
        let (exceptions, loops, left_out) = self
            .progress
            .lock()
            .map(|mut progress| (progress.take_exceptions(), progress.loops(), progress.left_out()))
            .unwrap_or_default();
        files.losses.leave_out(left_out);
        let parents = root::write_lost_parents(self, files);
        let unfinished = self.write_named_open_spans(files, end);
        // The run ends last, whatever another thread or process recorded meanwhile.
        let ended_at = exceptions
            .iter()
            .map(|exception| exception.at)
            .fold(end, Timestamp::max);
        let mut counts = files.counts;
        counts.errors += exceptions.len() as u64;
        files
            .open
            .values_mut()
            .for_each(|entry| entry.outlives_run = true);
        let open = in_order(&files.open);
        let rooted = root::write_root(self, files, &exceptions, &counts, &open, ended_at);
        let whole = parents.is_ok() && unfinished.is_ok() && rooted.is_ok();
        let status = if exceptions.is_empty() {
            RecordedStatus::Ok
        } else {
            RecordedStatus::Error
        };
        let micros = ended_at.microseconds_since(self.clock.started_at());
        let duration_ms = u64::try_from(micros / 1_000).unwrap_or(0);
        // A call that a library reported may be one that another span reports too: a reader tells.
        #[cfg(feature = "tracing")]
        let counts_exact = !self.library.has_calls();
        #[cfg(not(feature = "tracing"))]
        let counts_exact = true;
        let ending = Ending {
            status,
            ended_at,
            duration_ms,
            counts,
            loops: (counts.loop_warnings > 0 || !counts_exact).then_some(loops),
            counts_exact,
            unfinished_spans: open.len() as u64,
            unattached: unattached::ambiguous_records().saturating_sub(self.unattached_before),
        };
        let finished = files.finish(ending, whole);
        parents.and(unfinished).and(rooted).and(finished)
    }

    /// Writes stand-ins for the open spans that spans in the file name as their parent.
    fn write_named_open_spans(&self, files: &mut RunFiles, end: Timestamp) -> std::io::Result<()> {
        in_order(&files.open)
            .into_iter()
            .filter(|(_, entry)| entry.is_named)
            .try_for_each(|(id, _)| self.write_stand_ins(files, id, end))
    }

    /// Returns whether the run has ended; one of another process has, for a forked child.
    pub(crate) fn has_ended(&self) -> bool {
        self.files.lock().is_none_or(|files| files.has_ended)
    }

    pub(crate) fn is_own_process(&self) -> bool {
        self.process.is_current()
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        self.clock.started_at()
    }

    fn warn(&self, error: Option<std::io::Error>) {
        if let Some(error) = error {
            warning::warn_once(&format_args!(
                "cannot write the run {} to {}: {error}",
                self.place.trace_id,
                self.directory.display()
            ));
        }
    }
}

/// Numbers of written and dropped spans of a run so far.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("look up").config(&config).start();
/// tracer_sdk::tool_call("search").record()?;
/// let stats = run.stats();
/// assert_eq!((stats.written, stats.dropped), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStats {
    /// Spans in the file.
    pub written: u64,
    /// Spans that storage could not take; `meta.json` tells them too, with the first reason.
    pub dropped: u64,
}

#[cfg(test)]
impl RunState {
    /// Holds the lock of the files, for tests.
    pub(crate) fn hold_files(&self) -> Option<impl Drop> {
        self.files.lock()
    }

    /// Holds the lock of the progress, for tests.
    pub(crate) fn hold_progress(&self) -> Option<impl Drop> {
        self.progress.lock()
    }
}

/// Open spans in the order in which they started, so that the same program writes the same file.
fn in_order(open: &OpenEntries) -> Vec<(SpanId, OpenEntry)> {
    let mut open: Vec<_> = open.iter().map(|(id, entry)| (*id, entry.clone())).collect();
    open.sort_unstable_by_key(|(id, entry)| (entry.start, *id));
    open
}

impl Drop for RunState {
    fn drop(&mut self) {
        // The run has no holder any more and was not ended: its guard was leaked. What waits in a batch is written; the
        // run stays `running`, and readers tell it as interrupted.
        if !self.files.get_mut().has_ended {
            self.flush();
        }
        self.settle_late();
    }
}
