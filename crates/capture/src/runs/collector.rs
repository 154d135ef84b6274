//! [`RunCollector`]: takes what arrives, keeps the traces that are under way, and ends their runs.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use parking_lot::Mutex;
use tracer_insight::text::counted;
use tracer_runs::import::{ImportError, ImportedSpan, Importer, RunPhase, RunWriter, StagingLock};
use tracer_sdk::format::{SpanEvent, SpanRecord, StatusCode, TraceId, names};

use super::clock::{Clock, SystemClock};
use super::conversation::CodingAgent;
use super::convert::convert_spans;
use super::identity::{RunEnding, RunIdentity};
use super::ids::synthetic_root;
use super::join::{join_late, join_logs};
use super::logs::convert_logs;
use super::marks::marks_run;
use super::open_traces::OpenTraces;
use super::options::{CaptureError, CollectorOptions, CollectorSummary, TraceRuns};
use super::placement::{
    AgentTraces, ReceivedSpan, SpanGroup, SpanGroups, continues_conversation, join_run, waiting_run,
};
use super::roots;
use super::trace::Trace;
use crate::otlp::Repairs;
use crate::sink::{Accepted, OtlpSink, Refused, SpanSink};

/// Interval in which runs that have ended are completed.
const TICK: Duration = Duration::from_millis(250);
/// Time that a request waits for others of its trace before it is refused: exporters give up after 10 s.
const PATIENCE: Duration = Duration::from_secs(5);
const UNTIL_FREE: Duration = Duration::MAX;
/// Delay after which a refused sender tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Time that a completed run stays open for late spans.
const LATE: Duration = Duration::from_secs(60);
/// Delay after which completing a run is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// Most runs that the summary lists.
const MAX_LISTED_RUNS: usize = 10_000;
/// Attributes of the root of a run that is forked: the other run, and the first of its model calls that was not answered as
/// recorded (capture, section 6).
const FORKED_FROM: &str = "tracer.forked_from";
const FORK_AT: &str = "tracer.fork_at";

/// Makes runs of spans and logs.
///
/// What it has accepted is on disk; it may be dropped, or its process killed, at any moment: the next collector with
/// [`resume_unfinished`](CollectorOptions::resume_unfinished) continues. [`RunCollector::close`] ends all runs.
///
/// ```
/// use tracer_capture::OtlpSink;
/// use tracer_capture::runs::{CollectorOptions, RunCollector};
/// use tracer_sdk::settings::Settings;
///
/// let folder = tempfile::tempdir()?;
/// let collector = RunCollector::open(CollectorOptions::new(&Settings::with_data_dir(folder.path())))?;
/// collector.accept_spans(Vec::new())?;
/// assert_eq!(collector.close().started_runs, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunCollector {
    options: CollectorOptions,
    importer: Importer,
    clock: Arc<dyn Clock>,
    pub(super) traces: OpenTraces,
    totals: Mutex<CollectorTotals>,
    /// The runs of the traces of coding agents.
    agent_traces: AgentTraces,
    is_closed: AtomicBool,
    /// Lock of the collector that continues what others left.
    receiver_lock: Option<StagingLock>,
}

/// Work that was done so far.
#[derive(Debug, Default)]
struct CollectorTotals {
    summary: CollectorSummary,
    /// Completed, and not asked for yet.
    newly_completed: Vec<TraceId>,
}

/// Outcome of a request.
#[derive(Debug, Default)]
struct Taken {
    accepted: Accepted,
    /// Spans that were stored and lack the parent that they need.
    without_parent: u64,
}

impl Taken {
    /// With a warning, where there is nothing else to say.
    fn warned(self) -> Accepted {
        let Self {
            mut accepted,
            without_parent,
        } = self;
        if accepted.message.is_none() && without_parent > 0 {
            let spans = counted(without_parent, "span");
            accepted.message = Some(format!("stored, but {spans} came without a parent"));
        }
        accepted
    }
}

impl RunCollector {
    /// Opens a collector, with a thread that ends runs as time goes by.
    ///
    /// # Errors
    ///
    /// [`CaptureError`] when the data directory cannot be used.
    pub fn open(options: CollectorOptions) -> Result<Arc<Self>, CaptureError> {
        let collector = Self::with_clock(options, Arc::new(SystemClock::default()))?;
        let weak = Arc::downgrade(&collector);
        thread::Builder::new()
            .name("tracer-runs".to_owned())
            .spawn(move || tick_while_open(&weak))?;
        Ok(collector)
    }

    /// Opens a collector with a clock of its own. Nothing ends by itself: call [`RunCollector::tick`].
    ///
    /// # Errors
    ///
    /// [`CaptureError`] when the data directory cannot be used.
    pub(crate) fn with_clock(
        options: CollectorOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, CaptureError> {
        let importer = Importer::new(&options.settings);
        let importer = if options.without_content {
            importer.without_content()
        } else {
            importer
        };
        let receiver_lock = if options.resume_unfinished {
            importer.lock_staging()?
        } else {
            None
        };
        let collector = Arc::new(Self {
            agent_traces: AgentTraces::open(importer.data_directory()),
            importer,
            clock,
            traces: OpenTraces::default(),
            totals: Mutex::default(),
            is_closed: AtomicBool::new(false),
            options,
            receiver_lock,
        });
        if let TraceRuns::OneRun(identity) = &collector.options.into {
            collector.begin_one_run(identity)?;
        }
        if collector.receiver_lock.is_some() {
            collector.resume_unfinished()?;
        }
        Ok(collector)
    }

    fn begin_one_run(&self, identity: &RunIdentity) -> Result<(), CaptureError> {
        let id = identity.trace_id;
        let mut run = self.importer.start(id, &identity.name, identity.started_at)?;
        if let Some(origin) = &identity.fork {
            run.mark_fork(origin.clone())?;
        }
        self.note_run(id);
        let trace = Trace::new(run, self.clock.elapsed())?;
        self.traces.with(id, UNTIL_FREE, |slot| *slot = Some(trace));
        Ok(())
    }

    /// Reads what an earlier process left.
    fn resume_unfinished(&self) -> Result<(), CaptureError> {
        for left in self.importer.unfinished()? {
            let id = left.trace_id;
            let resumed = self.traces.with(id, UNTIL_FREE, |slot| {
                self.load(slot, id)?;
                let is_running = |trace: &Trace| trace.run.phase() != RunPhase::Completed;
                if !slot.as_ref().is_some_and(is_running) {
                    *slot = None;
                    self.importer.forget_unfinished(id);
                }
                Ok(())
            });
            // Another process continues it; or no process can.
            let is_of_others =
                |error: &ImportError| matches!(error, ImportError::RunActive | ImportError::NotImported);
            if let Some(Err(error)) = resumed.filter(|resumed| !resumed.as_ref().is_err_and(is_of_others)) {
                self.note_error(&error);
            }
            self.make_room(None);
        }
        Ok(())
    }

    /// Reads a trace that is not in memory from the disk, if it is there.
    fn load(&self, slot: &mut Option<Trace>, id: TraceId) -> Result<(), ImportError> {
        if slot.is_none()
            && let Some(run) = self.importer.resume(id)?
        {
            *slot = Some(Trace::new(run, self.clock.elapsed())?);
        }
        Ok(())
    }

    /// Ends what has ended. [`RunCollector::open`] calls it four times a second.
    pub fn tick(&self) {
        let now = self.clock.elapsed();
        let one = self.one_run().map(|one| one.trace_id);
        for id in self.traces.in_memory() {
            if Some(id) != one {
                // A trace that another thread writes has not ended.
                let settled = self
                    .traces
                    .with(id, Duration::ZERO, |slot| self.tick_trace(slot, now))
                    .flatten();
                if let Some(sent_in) = settled {
                    self.place_waiting(sent_in, now);
                }
            }
        }
    }

    /// Ends a trace that has ended; of one whose spans wait no longer, the trace that they were sent in.
    fn tick_trace(&self, slot: &mut Option<Trace>, now: Duration) -> Option<TraceId> {
        let trace = slot.as_ref()?;
        if trace.retry_at.is_some_and(|at| now < at) {
            return None;
        }
        let quiet = now.saturating_sub(trace.last_arrival);
        let has_ended = trace.has_root && quiet >= self.options.quiet;
        if let Some(sent_in) = trace.waiting_for {
            // Nothing is hidden for longer, though more of it arrives; a process may have died before it moved them.
            let is_settled = has_ended || self.agent_traces.is_known(sent_in);
            let is_old = now.saturating_sub(trace.opened_at) >= self.options.silence;
            return (is_settled || is_old).then_some(sent_in);
        }
        match trace.run.phase() {
            RunPhase::Completed if quiet >= LATE => self.rest(slot),
            RunPhase::Running | RunPhase::Staged if has_ended => self.end_trace(slot, now),
            RunPhase::Running | RunPhase::Staged if quiet >= self.options.silence => self.rest(slot),
            _ => {}
        }
        None
    }

    /// Takes a trace out of memory.
    fn rest(&self, slot: &mut Option<Trace>) {
        if let Some(trace) = slot.take() {
            self.traces.rest(&trace);
        }
    }

    /// Completes a run, or drops what is none.
    fn end_trace(&self, slot: &mut Option<Trace>, now: Duration) {
        let may_end =
            |trace: &&mut Trace| trace.waiting_for.is_none() && trace.run.phase() != RunPhase::Completed;
        let Some(trace) = slot.as_mut().filter(may_end) else {
            return;
        };
        if trace.run.phase() == RunPhase::Staged {
            self.totals.lock().summary.ignored_traces += 1;
            let discarded = slot.take().map(|trace| trace.run.discard());
            if let Some(Err(error)) = discarded {
                self.note_error(&error);
            }
            return;
        }
        let name = trace.root_name().map(str::to_owned);
        let joined = if trace.may_have_logs {
            join_logs(&mut trace.run)
        } else {
            Ok(())
        };
        match joined.and_then(|()| roots::complete(&mut trace.run, name.as_deref(), &self.options.settings)) {
            Ok(()) if trace.run.phase() == RunPhase::Completed => {
                trace.has_root = false;
                self.note_completed(trace.run.trace_id());
            }
            // Nothing is in it.
            Ok(()) => self.rest(slot),
            Err(error) => {
                trace.retry_at = Some(now + RETRY);
                self.note_error(&error);
            }
        }
    }

    /// Ends the run of [`TraceRuns::OneRun`]: its root is written, then `meta.json`.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Run`] when it cannot be written; it may be tried again.
    pub fn end_run(&self, ending: &RunEnding) -> Result<(), CaptureError> {
        let Some(identity) = self.one_run() else {
            return Ok(());
        };
        let id = identity.trace_id;
        let ended = self.traces.with(id, UNTIL_FREE, |slot| {
            let is_running = |trace: &&mut Trace| trace.run.phase() != RunPhase::Completed;
            let Some(trace) = slot.as_mut().filter(is_running) else {
                return Ok(());
            };
            let root = self.root_of_command(identity, ending);
            trace.run.refresh()?;
            if trace.may_have_logs {
                join_logs(&mut trace.run)?;
            }
            trace.run.append(&[ImportedSpan::new(root)])?;
            let settings = &self.options.settings;
            roots::complete_under(&mut trace.run, identity.root_span_id, &identity.name, settings)?;
            self.note_completed(id);
            Ok(())
        });
        ended.unwrap_or(Ok(()))
    }

    fn one_run(&self) -> Option<&RunIdentity> {
        match &self.options.into {
            TraceRuns::OneRun(identity) => Some(identity),
            TraceRuns::RunPerTrace => None,
        }
    }

    fn root_of_command(&self, identity: &RunIdentity, ending: &RunEnding) -> SpanRecord {
        let ended_at = ending.ended_at.max(identity.started_at);
        let times = (identity.started_at, ended_at);
        let name = identity.name.as_str();
        let mut root = SpanRecord::new(identity.trace_id, identity.root_span_id, None, name, times);
        root.attributes.clone_from(&identity.attributes);
        root.attributes.extend(ending.attributes.clone());
        if let Some(origin) = &identity.fork {
            root.set(FORKED_FROM, origin.run.to_string());
            root.set(FORK_AT, origin.at);
        }
        root.set(names::RUN_NAME, name);
        root.set(names::PLATFORM, platform());
        root.set(names::WORKING_DIRECTORY, identity.working_directory.as_str());
        let arguments = identity.arguments.iter().cloned();
        root.set(names::ARGUMENTS, self.importer.redact_arguments(arguments));
        root.status_code = StatusCode::Ok;
        if let Some((error_type, message)) = &ending.error {
            root.status_code = StatusCode::Error;
            message.clone_into(&mut root.status_description);
            let mut exception = SpanEvent::new(names::events::EXCEPTION, ended_at)
                .with(names::ERROR_TYPE, error_type.as_str())
                .with(names::ERROR_MESSAGE, message.as_str());
            exception.attributes.extend(ending.error_attributes.clone());
            root.events.push(exception);
        }
        root
    }

    /// Ends every run that has not ended, and gives what was done. Later requests are refused.
    pub fn close(&self) -> CollectorSummary {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return self.summary();
        }
        if self.one_run().is_some() {
            let ending =
                RunEnding::new(self.clock.now()).failed("Interrupted", "recording ended before the run did");
            if let Err(error) = self.end_run(&ending) {
                self.totals.lock().summary.last_error = Some(error.to_string());
            }
            return self.summary();
        }
        let now = self.clock.elapsed();
        for sent_in in self.traces.waiting() {
            self.place_waiting(sent_in, now);
        }
        for id in self.traces.all() {
            let ended = self.traces.with(id, UNTIL_FREE, |slot| {
                self.load(slot, id)?;
                self.end_trace(slot, now);
                self.rest(slot);
                Ok(())
            });
            if let Some(Err(error)) = ended {
                self.note_error(&error);
            }
        }
        self.summary()
    }

    /// Work that was done so far.
    #[must_use]
    pub fn summary(&self) -> CollectorSummary {
        self.totals.lock().summary.clone()
    }

    /// The runs that were completed since the last call, in that order; at most 10,000 are kept. A run that spans were
    /// added to afterwards is completed again.
    #[must_use]
    pub fn take_completed(&self) -> Vec<TraceId> {
        std::mem::take(&mut self.totals.lock().newly_completed)
    }

    // ---- what arrives ----------------------------------------------------------------------------------------------

    /// Spans by the run that they go to, and the traces whose conversation became known with them.
    fn group(&self, received: Vec<ReceivedSpan>) -> io::Result<(Vec<SpanGroup>, Vec<TraceId>)> {
        let mut groups = SpanGroups::default();
        if let Some(one) = self.one_run() {
            for mut sent in received {
                join_run(&mut sent.span, one.trace_id, one.root_span_id);
                groups.add(one.trace_id, None, sent.span);
            }
            return Ok((groups.all, Vec::new()));
        }
        let named = self.agent_traces.learn(&received)?;
        for sent in received {
            self.agent_traces.place(sent, &mut groups);
        }
        Ok((groups.all, named))
    }

    fn take(&self, received: Vec<ReceivedSpan>) -> Result<Accepted, Refused> {
        if received.is_empty() {
            return Ok(Accepted::default());
        }
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(busy());
        }
        self.take_groups(received)
    }

    fn take_groups(&self, received: Vec<ReceivedSpan>) -> Result<Accepted, Refused> {
        let now = self.clock.elapsed();
        let mut taken = Taken::default();
        let (groups, named) = self.group(received)?;
        for group in groups {
            let (id, count) = (group.run, group.spans.len() as u64);
            let taking = self
                .traces
                .with(id, PATIENCE, |slot| self.take_group(slot, group, now, &mut taken));
            let accepted = &mut taken.accepted;
            match taking.ok_or_else(busy)? {
                Ok(()) => {}
                Err(ImportError::Io { source, .. }) => return Err(Refused::Storage(source)),
                Err(ImportError::NotImported) => {
                    // The program records itself, and exports as well: its own records are the better ones.
                    self.totals.lock().summary.recorded_elsewhere += count;
                    accepted.also("spans of runs that are recorded here already were left out");
                }
                Err(error) => {
                    self.totals.lock().summary.rejected += count;
                    accepted.rejected += count;
                    accepted.also(&error.to_string());
                }
            }
            self.make_room(Some(id));
        }
        for sent_in in named {
            self.place_waiting(sent_in, now);
        }
        Ok(taken.warned())
    }

    /// Moves what waited for the session of a trace into the session's run; where none was named, into a run of the trace.
    /// Repeated after a death, it leaves out what was moved before.
    fn place_waiting(&self, sent_in: TraceId, now: Duration) {
        let id = waiting_run(sent_in);
        let placed = self.traces.with(id, PATIENCE, |slot| {
            self.load(slot, id)?;
            let Some(waiting) = slot else { return Ok(()) };
            waiting.retry_at = Some(now + RETRY);
            if !self.move_waiting(&waiting.run, sent_in, now)? {
                return Ok(());
            }
            self.traces.forget(id);
            slot.take().map_or(Ok(()), |waiting| waiting.run.discard())
        });
        if let Some(Err(error)) = placed {
            self.note_error(&error);
        }
        self.make_room(None);
    }

    /// `false` when another thread has the run for too long.
    fn move_waiting(
        &self,
        waiting: &RunWriter,
        sent_in: TraceId,
        now: Duration,
    ) -> Result<bool, ImportError> {
        let spans = waiting.spans()?;
        if spans.is_empty() {
            return Ok(true);
        }
        let count = spans.len() as u64;
        let at = |source| ImportError::Io {
            path: self.agent_traces.path().to_owned(),
            source,
        };
        let group = self.agent_traces.settle(sent_in, spans).map_err(at)?;
        let taken = self.traces.with(group.run, PATIENCE, |slot| {
            self.take_group(slot, group, now, &mut Taken::default())
        });
        match taken {
            Some(Err(ImportError::NotImported)) => {
                self.totals.lock().summary.recorded_elsewhere += count;
                Ok(true)
            }
            Some(taken) => taken.map(|()| true),
            None => Ok(false),
        }
    }

    fn take_group(
        &self,
        slot: &mut Option<Trace>,
        group: SpanGroup,
        now: Duration,
        taken: &mut Taken,
    ) -> Result<(), ImportError> {
        let SpanGroup {
            run: trace_id,
            waiting_for,
            mut spans,
        } = group;
        self.load(slot, trace_id)?;
        if slot.is_none() {
            let run = if waiting_for.is_some() {
                self.importer.stage(trace_id)?
            } else {
                self.begin(trace_id, &spans)?
            };
            *slot = Some(Trace::new(run, now)?);
        }
        let Some(trace) = slot else { return Ok(()) };
        let room = self
            .options
            .max_spans_of_trace
            .saturating_sub(trace.run.span_count());
        if spans.len() > room {
            let before = spans.len();
            let mut left = room;
            spans.retain(|span| {
                let is_kept = left > 0 || trace.run.contains(span.record.span_id);
                left = left.saturating_sub(1);
                is_kept
            });
            let rejected = (before - spans.len()) as u64;
            taken.accepted.rejected += rejected;
            self.totals.lock().summary.rejected += rejected;
            taken.accepted.also(&format!(
                "a trace takes {} spans at the most",
                self.options.max_spans_of_trace
            ));
        }
        let is_new = |span: &ImportedSpan| !trace.run.contains(span.record.span_id);
        let continues = |span: &ImportedSpan| continues_conversation(span, trace_id) && is_new(span);
        if trace.run.phase() == RunPhase::Completed
            && trace.run.root() == Some(synthetic_root(trace_id))
            && spans.iter().any(continues)
        {
            // A session that rested for hours continues; no part of it is late.
            trace.run.reopen()?;
            trace.may_have_logs = true;
        }
        if trace.run.phase() == RunPhase::Completed {
            spans = join_late(&mut trace.run, spans)?;
        }
        trace.waiting_for = waiting_for;
        let without_parent = trace.place(&mut spans);
        let appended = trace.run.append(&spans)?;
        taken.without_parent += without_parent;
        trace.note(&spans, now);
        let mut totals = self.totals.lock();
        if waiting_for.is_none() {
            totals.summary.spans += appended.written;
        }
        totals.summary.duplicates += appended.duplicates;
        totals.summary.differing += appended.differing;
        drop(totals);
        if let Some(id) = appended.first_differing {
            taken.accepted.rejected += appended.differing;
            taken.accepted.also(&format!(
                "{} left out: {id} is a duplicate ID, of a span that differs from the one that came first",
                counted(appended.differing, "span")
            ));
        }
        if trace.run.phase() == RunPhase::Staged && waiting_for.is_none() && self.is_run(&spans) {
            trace.run.promote(&first_name(&spans))?;
            self.note_run(trace_id);
        }
        Ok(())
    }

    fn is_run(&self, spans: &[ImportedSpan]) -> bool {
        self.options.keep_all || spans.iter().any(|span| marks_run(&span.record))
    }

    /// Begins a trace that is not on disk yet.
    fn begin(&self, trace_id: TraceId, spans: &[ImportedSpan]) -> Result<RunWriter, ImportError> {
        if !self.is_run(spans) {
            return self.importer.stage(trace_id);
        }
        let starts = spans.iter().map(|span| span.record.start_time.instant());
        let started_at = starts.min().unwrap_or_else(|| self.clock.now());
        let run = self.importer.start(trace_id, &first_name(spans), started_at)?;
        self.note_run(trace_id);
        Ok(run)
    }

    fn note_run(&self, trace_id: TraceId) {
        let summary = &mut self.totals.lock().summary;
        summary.started_runs += 1;
        if summary.runs.len() < MAX_LISTED_RUNS {
            summary.runs.push(trace_id);
        }
    }

    fn note_completed(&self, trace_id: TraceId) {
        let mut totals = self.totals.lock();
        totals.summary.completed_runs += 1;
        if totals.newly_completed.len() < MAX_LISTED_RUNS {
            totals.newly_completed.push(trace_id);
        }
    }

    fn note_error(&self, error: &ImportError) {
        self.totals.lock().summary.last_error = Some(error.to_string());
    }

    /// Takes the traces that were quiet for longest out of memory, until it is bounded again.
    fn make_room(&self, current: Option<TraceId>) {
        let kept = [current, self.one_run().map(|one| one.trace_id)];
        while let Some(oldest) = self.traces.beyond(self.options.max_open_traces, &kept) {
            let rested = self.traces.with(oldest, PATIENCE, |slot| {
                if slot.as_ref().is_some_and(|trace| trace.has_root) {
                    // Nothing else would end it.
                    self.end_trace(slot, self.clock.elapsed());
                }
                self.rest(slot);
            });
            if rested.is_none() {
                return;
            }
        }
    }
}

fn busy() -> Refused {
    Refused::Busy {
        retry_after: RETRY_AFTER,
    }
}

impl OtlpSink for RunCollector {
    fn accept_spans(&self, spans: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
        let (converted, rejected) = convert_spans(spans);
        let mut received = Vec::with_capacity(converted.len());
        for span in converted {
            let is_pending = span
                .record
                .attributes
                .get("logfire.span_type")
                .is_some_and(|kind| kind == "pending_span");
            if is_pending {
                // The span itself comes when it has ended.
                continue;
            }
            let agent = CodingAgent::of_span(&span.record.name, &span.record.attributes);
            let mut new = ImportedSpan::new(span.record);
            if span.lacks_times {
                new.record.start_time = self.clock.now().into();
            }
            received.push(ReceivedSpan::new(new, agent));
        }
        let mut accepted = self.take(received)?;
        if rejected > 0 {
            self.totals.lock().summary.rejected += rejected;
            accepted.also(
                "spans without a trace ID of 16 bytes and a span ID of 8 bytes were rejected; were logs sent to the path of traces?",
            );
            accepted.rejected += rejected;
        }
        Ok(accepted)
    }

    fn accept_logs(&self, logs: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
        let converted = convert_logs(logs, self.clock.now());
        let spans = converted.spans.into_iter();
        let received = spans.map(|(span, agent)| ReceivedSpan::new(ImportedSpan::new(span), agent));
        let accepted = self.take(received.collect())?;
        let summary = &mut self.totals.lock().summary;
        summary.ignored_logs += converted.ignored;
        summary.logs_without_session += converted.without_session;
        Ok(accepted)
    }

    fn note_repairs(&self, repairs: &Repairs) {
        self.totals.lock().summary.repaired += repairs.values;
    }
}

impl SpanSink for RunCollector {
    fn accept(&self, spans: Vec<SpanRecord>) -> Result<Accepted, Refused> {
        let spans = spans.into_iter().map(ImportedSpan::new);
        self.take(spans.map(|span| ReceivedSpan::new(span, None)).collect())
    }
}

/// Name of a run until its root has come.
fn first_name(spans: &[ImportedSpan]) -> String {
    let attributes = || spans.iter().map(|span| &span.record.attributes);
    attributes()
        .find_map(roots::service)
        .or_else(|| attributes().find_map(roots::run_name))
        .or_else(|| spans.first().map(|span| span.record.name.clone()))
        .unwrap_or_default()
}

fn platform() -> &'static str {
    if cfg!(target_os = "macos") {
        "darwin"
    } else if cfg!(windows) {
        "win32"
    } else {
        "linux"
    }
}

/// Ends runs until the collector is closed or gone.
fn tick_while_open(collector: &Weak<RunCollector>) {
    loop {
        thread::sleep(TICK);
        match collector.upgrade() {
            Some(collector) if !collector.is_closed.load(Ordering::SeqCst) => collector.tick(),
            _ => return,
        }
    }
}
