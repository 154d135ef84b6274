//! What one live run knows: its identity, its files, its limits, its open spans and its errors.
//!
//! Shared by guards, contexts and open spans through one `Arc`. Everything that comes in here is bytes or numbers
//! already: no user code runs under its locks.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::clock::RunClock;
use super::environment::{self, Program};
use super::error::ErrorInfo;
use super::ids::SpanIds;
use super::pool;
use super::progress::{Progress, Written};
use super::run::RunStats;
use super::shared_run::{self, Found, Survey};
use super::{registry, root, warning};
use crate::format::{EventType, RunStatus, SpanId, SpanKind, StatusCode, Timestamp, TraceId};
use crate::guardrails::{EventKind, GuardrailExceeded, Reservation};
use crate::process::{OwnLock, OwnProcess};
use crate::settings::{Flush, Settings};
use crate::write::draft::Draft;
use crate::write::line::{SpanHead, write_line};
use crate::write::live_file::LiveHeader;
use crate::write::losses::LostParent;
use crate::write::open_entries::{OpenEntries, OpenEntry};
use crate::write::redact::Redactor;
use crate::write::run_files::{Ending, RunFiles, log_was_changed};

/// A span that has ended, ready to be written.
#[derive(Debug)]
pub(crate) struct EndedSpan<'a> {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) name: &'a Cow<'static, str>,
    pub(crate) event_type: EventType,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The message of the error that the span ended with.
    pub(crate) error: Option<&'a str>,
    pub(crate) may_have_children: bool,
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
    pub(crate) redactor: Arc<Redactor>,
    ids: SpanIds,
    /// A forked child inherits this memory and must not write into its parent's run.
    process: OwnProcess,
    /// This process joined a run that another one started and will end.
    joined: bool,
    /// Finished spans wait to be written together.
    batched: bool,
    directory: PathBuf,
    files: OwnLock<Files>,
    progress: OwnLock<Progress>,
}

#[derive(Debug)]
struct Files {
    run: RunFiles,
    /// The timed spans that have started and are not in the file: whoever ends the run writes them, so that no span
    /// there lacks its parent.
    open: OpenEntries,
    /// The end of the last span that was written.
    last_end: Timestamp,
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
        redactor: Arc<Redactor>,
        files: RunFiles,
        settings: &Settings,
    ) -> Arc<Self> {
        let last_end = clock.started_at();
        let process = OwnProcess::current();
        Arc::new(Self {
            trace_id: place.trace_id,
            root_id: place.root_id,
            name: place.name,
            program: place.program,
            clock,
            redactor,
            ids,
            joined: place.joined,
            batched: settings.flush == Flush::Batched,
            directory: files.directory().to_owned(),
            files: OwnLock::new(
                process.clone(),
                Files {
                    run: files,
                    open: OpenEntries::default(),
                    last_end,
                    ended: false,
                },
            ),
            progress: OwnLock::new(process.clone(), Progress::new(settings)),
            process,
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

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The process that records this run.
    pub(crate) fn process(&self) -> &OwnProcess {
        &self.process
    }

    /// How many spans are in the file and how many are lost; a forked child has written none.
    pub(crate) fn stats(&self) -> RunStats {
        let Some(files) = self.files.lock() else {
            return RunStats::default();
        };
        let dropped = files.run.dropped().map_or(0, |dropped| dropped.spans);
        RunStats {
            written: files.run.written(),
            dropped,
        }
    }

    /// Does something with the run's files, unless this is a forked child.
    fn with_files(&self, work: impl FnOnce(&mut RunFiles) -> std::io::Result<()>) {
        let outcome = self.files.lock().map_or(Ok(()), |mut files| work(&mut files.run));
        self.warn(outcome.err());
    }

    /// Writes whatever waits in a batch.
    pub(crate) fn flush(&self) {
        self.with_files(RunFiles::flush);
    }

    /// Whether finished spans wait to be written together.
    pub(crate) fn is_batched(&self) -> bool {
        self.batched
    }

    /// Writes what waits in the batch, if it has waited so long.
    pub(crate) fn flush_what_waited(&self, delay: Duration) {
        self.with_files(|files| files.flush_what_waited(delay));
    }

    /// From now on another process may append to this run.
    pub(crate) fn share(&self) {
        self.with_files(RunFiles::share);
    }

    /// Makes the run visible to readers before its first span has ended.
    pub(crate) fn begin(&self) {
        let process = environment::process_identity();
        let header = LiveHeader {
            run_name: &self.name,
            started_at: self.started_at(),
            pid: self.process.id(),
            process_start: process.start.as_deref(),
            boot: process.boot.as_deref(),
            pid_namespace: process.namespace.as_deref(),
            time_namespace: process.time_namespace.as_deref(),
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

    /// Asks for a place for a call that is about to be made; a forked child needs none.
    pub(crate) fn reserve(&self, kind: EventKind) -> Result<Option<Reservation>, Refusal> {
        let (elapsed, now) = self.clock.read();
        let Some(mut progress) = self.progress.lock() else {
            return Ok(None);
        };
        let tripped_before = progress.tripped().is_some();
        let reserved = progress.reserve(kind, elapsed, now);
        reserved.map(Some).map_err(|exceeded| Refusal {
            exceeded,
            crossed_at: (!tripped_before).then_some(now),
        })
    }

    /// Gives a place back that was not used.
    pub(crate) fn release(&self, reservation: Reservation) {
        if let Some(mut progress) = self.progress.lock() {
            progress.release(reservation);
        }
    }

    /// Tells the run that a record was written: limits and loops are looked at, and what they find is written.
    pub(crate) fn observe(&self, written: Written<'_>, now: Timestamp) -> Result<(), GuardrailExceeded> {
        // The record's own end is near enough: to read the clock again would cost as much as all the rest here.
        let elapsed = self.clock.since_start(now);
        let Some(mut progress) = self.progress.lock() else {
            return Ok(());
        };
        let warning = progress.observe(written, elapsed, now);
        if let Some(warning) = warning {
            drop(progress);
            // Told at the instant of whatever it trips, because the file has the warning before the error.
            root::write_loop_warning(self, &warning, now);
            progress = match self.progress.lock() {
                Some(progress) => progress,
                None => return Ok(()),
            };
            progress.loop_written(elapsed, now);
        }
        progress.tripped().map_or(Ok(()), Err)
    }

    // ---- spans -----------------------------------------------------------------------------------------------------

    /// Remembers a span that has started; `false` when the run has ended.
    pub(crate) fn opened(&self, id: SpanId, entry: OpenEntry) -> bool {
        let Some(mut files) = self.files.lock() else {
            return false;
        };
        if files.ended {
            return false;
        }
        let Files { run, open, .. } = &mut *files;
        let outcome = run.started(id, &entry, open);
        open.insert(id, entry);
        drop(files);
        self.warn(outcome.err());
        true
    }

    /// Writes a span that has ended; `false` when the run has ended: what comes later is not written.
    pub(crate) fn write(&self, span: &EndedSpan<'_>, draft: &mut Draft) -> bool {
        if !self.is_own_process() {
            return false;
        }
        pool::with_line_buffer(|line| {
            self.write_span_line(line, span, draft);
            let Some(mut files) = self.files.lock() else {
                return false;
            };
            if files.ended {
                return false;
            }
            let outcome = files.append(line, span);
            drop(files);
            self.warn(outcome.err());
            true
        })
    }

    fn write_span_line(&self, line: &mut Vec<u8>, span: &EndedSpan<'_>, draft: &mut Draft) {
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
        self.fail_at(error, now);
    }

    fn fail_at(&self, error: ErrorInfo, at: Timestamp) {
        if let Some(mut progress) = self.progress.lock() {
            progress.fail(error, at);
        }
    }

    // ---- end -------------------------------------------------------------------------------------------------------

    /// Ends the run: open spans are written as cancelled, then the root, then `meta.json`. Only the first call counts.
    pub(crate) fn end(&self, error: Option<ErrorInfo>, end: Timestamp) {
        if !self.process.is_surely_current() {
            return;
        }
        if let Some(error) = error {
            self.fail_at(error, end);
        }
        registry::remove(self);
        let Some(mut files) = self.files.lock() else {
            return;
        };
        if std::mem::replace(&mut files.ended, true) {
            return;
        }
        if !self.joined {
            files.run.hold_to_end();
        }
        let cancelled = self.cancel_open_spans(&mut files, end);
        let end = end.max(files.last_end);
        let flushed = files.run.flush_at_end();
        let ended = if self.joined {
            self.find_own_losses(&mut files.run);
            let parents = root::write_lost_parents(self, &mut files.run);
            parents.and(root::write_dropped(self, &mut files.run, end))
        } else {
            self.write_end(&mut files.run, end)
        };
        drop(files);
        self.warn(cancelled.and(flushed).and(ended).err());
    }

    fn write_end(&self, files: &mut RunFiles, end: Timestamp) -> std::io::Result<()> {
        let (exceptions, loops) = self
            .progress
            .lock()
            .map(|mut progress| (progress.take_exceptions(), progress.loops()))
            .unwrap_or_default();
        let parents = root::write_lost_parents(self, files);
        let (found, strangers) = self.found_in_the_file(files);
        // The run ends last, whatever another thread or process told meanwhile.
        let ended_at = exceptions
            .iter()
            .map(|exception| exception.at)
            .chain(found.last_end)
            .fold(end, Timestamp::max);
        let mut counts = found.counts;
        counts.errors += exceptions.len() as u64;
        let rooted = root::write_root(self, files, &exceptions, &counts, ended_at);
        let whole = parents.is_ok() && strangers.is_ok() && rooted.is_ok();
        let status = if exceptions.is_empty() {
            RunStatus::Ok
        } else {
            RunStatus::Error
        };
        let micros = ended_at.microseconds_since(self.clock.started_at());
        let duration_ms = u64::try_from(micros / 1_000).unwrap_or(0);
        let ending = Ending {
            status,
            ended_at,
            duration_ms,
            counts,
            // Of a run that others share, this process knows a part: readers look at its spans.
            loops: (counts.loop_warnings > 0 && !files.is_shared()).then_some(loops),
        };
        let finished = files.finish(ending, whole);
        let recounted = self.count_what_came_last(files, ending, whole);
        files.let_go();
        parents.and(strangers).and(rooted).and(finished).and(recounted)
    }

    /// What the spans that are written add up to. A file that other processes share, or have changed, is read, and parents
    /// that died with their process or were cut from the file get stand-ins.
    fn found_in_the_file(&self, files: &mut RunFiles) -> (Found, std::io::Result<()>) {
        let own = Found {
            counts: files.counts(),
            last_end: None,
        };
        if !files.needs_reading() {
            return (own, Ok(()));
        }
        files.note_length();
        let Some(survey) = self.survey(files) else {
            if files.is_shared() {
                return (own, Ok(()));
            }
            files.keep_only(0);
            return (own, Err(log_was_changed()));
        };
        files.keep_only(survey.own);
        if let Some(dropped) = &survey.dropped {
            files.add_dropped(dropped);
        }
        let written = self.write_missing_parents(files, survey.missing_parents, survey.is_damaged);
        (survey.found, written)
    }

    fn survey(&self, files: &RunFiles) -> Option<Survey> {
        shared_run::survey(files.directory(), self.root_id, &self.ids)
    }

    fn write_missing_parents(
        &self,
        files: &mut RunFiles,
        missing: Vec<LostParent>,
        is_damaged: bool,
    ) -> std::io::Result<()> {
        files.add_lost_parents(missing);
        let written = root::write_lost_parents(self, files);
        if is_damaged {
            Err(log_was_changed())
        } else {
            written
        }
    }

    /// Counts what other processes appended after the file was read for the end: the lock that keeps them from it may be
    /// kept by one that was stopped. Whoever appends from now on finds that the run has ended.
    fn count_what_came_last(
        &self,
        files: &mut RunFiles,
        mut ending: Ending,
        mut whole: bool,
    ) -> std::io::Result<()> {
        /// How often the file is read again: everybody who shares it is late once at the most.
        const MAX_READINGS: usize = 8;
        for _ in 0..MAX_READINGS {
            if !files.is_shared() || !files.has_changed() {
                break;
            }
            // Whoever was late may be about to take it back.
            files.hold_to_end();
            files.note_length();
            let Some(survey) = self.survey(files) else { break };
            let written = self.write_missing_parents(files, survey.missing_parents, survey.is_damaged);
            whole &= written.is_ok();
            // The root is there by now, with its errors.
            ending.counts = survey.found.counts;
            files.describe_end(&ending, whole)?;
        }
        Ok(())
    }

    /// Counts the spans of this process that another program has cut from a run that this process joined.
    fn find_own_losses(&self, files: &mut RunFiles) {
        if files.was_cut()
            && let Some(survey) = self.survey(files)
        {
            files.keep_only(survey.own);
        }
    }

    fn cancel_open_spans(&self, files: &mut Files, end: Timestamp) -> std::io::Result<()> {
        let mut open: Vec<(SpanId, OpenEntry)> = std::mem::take(&mut files.open).into_iter().collect();
        // In the order in which they started, so that the same program writes the same file.
        open.sort_unstable_by_key(|(id, entry)| (entry.start, *id));
        let mut outcome = Ok(());
        for (id, entry) in open {
            let mut draft = root::cancelled_span(&entry, &self.redactor);
            let span = EndedSpan {
                id,
                parent: entry.parent,
                name: &entry.name,
                event_type: entry.event_type,
                start: entry.start,
                end: end.max(entry.start),
                error: Some(root::OVERTAKEN),
                may_have_children: true,
            };
            let written = pool::with_line_buffer(|line| {
                self.write_span_line(line, &span, &mut draft);
                files.append(line, &span)
            });
            outcome = outcome.and(written);
        }
        outcome
    }

    /// Whether the run has ended; one of another process has, for a forked child.
    pub(crate) fn has_ended(&self) -> bool {
        self.files.lock().is_none_or(|files| files.ended)
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
                self.trace_id,
                self.directory.display()
            ));
        }
    }
}

#[cfg(test)]
impl RunState {
    /// Holds the lock of the files, for tests.
    pub(super) fn hold_files(&self) -> Option<impl Drop> {
        self.files.lock()
    }

    /// Holds the lock of the progress, for tests.
    pub(super) fn hold_progress(&self) -> Option<impl Drop> {
        self.progress.lock()
    }
}

impl Files {
    fn append(&mut self, line: &[u8], span: &EndedSpan<'_>) -> std::io::Result<()> {
        if !self.open.is_empty() {
            self.open.remove(&span.id);
        }
        self.last_end = self.last_end.max(span.end);
        let as_parent = span.may_have_children.then(|| LostParent {
            id: span.id,
            parent: span.parent,
            name: span.name.clone(),
            start: span.start,
            end: span.end,
        });
        self.run.append(line, span.event_type, as_parent)
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
