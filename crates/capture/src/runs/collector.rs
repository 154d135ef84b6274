//! [`RunCollector`]: takes what arrives, keeps the traces that are under way, and ends their runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracer_sdk::format::{SpanEvent, SpanKind, SpanRecord, StatusCode, StoredTime, TraceId, names};
use tracer_sdk::import::{ImportError, ImportedSpan, Importer, RunPhase, RunWriter, StagingLock};

use super::clock::{Clock, SystemClock};
use super::conversation::CodingAgent;
use super::convert::convert_spans;
use super::identity::{RunEnding, RunIdentity};
use super::ids::synthetic_root;
use super::join::{join_late, join_logs};
use super::logs::convert_logs;
use super::marks::marks_run;
use super::options::{CaptureError, CollectorOptions, CollectorSummary, Destination};
use super::placement::{
    AgentTraces, ReceivedSpan, SpanGroup, SpanGroups, continues_conversation, join_run, waiting_run,
};
use super::roots;
use super::trace::Trace;
use crate::otlp::Repairs;
use crate::sink::{Accepted, OtlpSink, Refused};

/// How often the collector looks which runs have ended.
const TICK: Duration = Duration::from_millis(250);
/// How long a request waits for others before the sender is asked to come back: exporters give up after 10 s.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// How many requests wait for their turn at the most.
const MAX_WAITING: usize = 64;
/// When the sender is asked to come back.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long a completed run stays open for late spans.
const LATE: Duration = Duration::from_secs(60);
/// How long it takes until completing a run is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How many spans are known in memory by their IDs, about 64 bytes each.
const MAX_KNOWN_SPANS: usize = 4_000_000;
/// How many runs the summary lists.
const MAX_LISTED_RUNS: usize = 10_000;
/// Attributes of the root of a run that is forked: the other run, and the first of its model calls that was not answered as
/// recorded (capture-facts, section E.3).
const FORKED_FROM: &str = "tracer.forked_from";
const FORK_AT: &str = "tracer.fork_at";

/// Makes runs of spans and logs.
///
/// What it has accepted is on disk; it may be dropped, or its process killed, at any moment: the next collector with
/// [`resume_unfinished`](CollectorOptions::resume_unfinished) goes on. [`RunCollector::close`] ends all runs.
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
    state: Mutex<CollectorState>,
    /// The runs of the traces of coding agents.
    agent_traces: AgentTraces,
    waiting: AtomicUsize,
    is_closed: AtomicBool,
    /// Kept for as long as this collector is the one that goes on with what others left.
    receiver_lock: Option<StagingLock>,
}

#[derive(Debug, Default)]
struct CollectorState {
    open: HashMap<TraceId, Trace>,
    /// Traces that are on disk and have not ended, but are not in memory; of spans that wait for their conversation, the
    /// trace that they were sent in.
    at_rest: BTreeMap<TraceId, Option<TraceId>>,
    /// How many spans the open traces know.
    known_spans: usize,
    /// The run of [`Destination::OneRun`] has ended.
    one_has_ended: bool,
    summary: CollectorSummary,
    /// Completed, and not asked for yet.
    newly_completed: Vec<TraceId>,
}

/// What became of a request.
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
            let spans = if without_parent == 1 { "span" } else { "spans" };
            let warning = format!("stored, but {without_parent} {spans} came without a parent");
            accepted.message = Some(warning);
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
            state: Mutex::default(),
            waiting: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            options,
            receiver_lock,
        });
        {
            let mut state = collector.state.lock();
            if let Destination::OneRun(identity) = &collector.options.into {
                collector.begin_one_run(&mut state, identity)?;
            }
            if collector.receiver_lock.is_some() {
                collector.resume_unfinished(&mut state)?;
            }
        }
        Ok(collector)
    }

    fn begin_one_run(&self, state: &mut CollectorState, identity: &RunIdentity) -> Result<(), CaptureError> {
        let mut run = self
            .importer
            .start(identity.trace_id, &identity.name, identity.started_at)?;
        if let Some(origin) = &identity.fork {
            run.mark_fork(origin.clone())?;
        }
        self.note_run(state, identity.trace_id);
        state
            .open
            .insert(identity.trace_id, Trace::new(run, self.clock.elapsed())?);
        Ok(())
    }

    /// Reads what an earlier process left.
    fn resume_unfinished(&self, state: &mut CollectorState) -> Result<(), CaptureError> {
        for left in self.importer.unfinished()? {
            match self.importer.resume(left.trace_id) {
                Ok(Some(run)) if run.phase() == RunPhase::Completed => {
                    self.importer.forget_unfinished(left.trace_id);
                }
                Ok(Some(run)) => {
                    let inserted = self.insert(state, run);
                    state.note_error(inserted.err());
                }
                Ok(None) => self.importer.forget_unfinished(left.trace_id),
                // Another process goes on with it; or nobody can.
                Err(ImportError::RunActive | ImportError::NotImported) => {}
                Err(error) => state.summary.last_error = Some(error.to_string()),
            }
        }
        Ok(())
    }

    /// Ends what has ended. [`RunCollector::open`] calls it four times a second.
    pub fn tick(&self) {
        let mut state = self.state.lock();
        let now = self.clock.elapsed();
        let ids: Vec<TraceId> = state.open.keys().copied().collect();
        for trace_id in ids {
            if self.one_run().is_some_and(|one| one.trace_id == trace_id) {
                continue;
            }
            self.tick_trace(&mut state, trace_id, now);
        }
    }

    fn tick_trace(&self, state: &mut CollectorState, trace_id: TraceId, now: Duration) {
        let Some(trace) = state.open.get(&trace_id) else {
            return;
        };
        if trace.retry_at.is_some_and(|at| now < at) {
            return;
        }
        let quiet = now.saturating_sub(trace.last_arrival);
        let has_ended = trace.has_root && quiet >= self.options.quiet;
        if let Some(sent_in) = trace.waiting_for {
            // Nothing is hidden for longer, though more of it arrives; a process may have died before it moved them.
            let is_settled = has_ended || self.agent_traces.is_known(sent_in);
            if is_settled || now.saturating_sub(trace.opened_at) >= self.options.silence {
                let placed = self.place_waiting(state, sent_in, now);
                state.note_error(placed.err());
            }
            return;
        }
        match trace.run.phase() {
            RunPhase::Completed if quiet >= LATE => close_trace(state, trace_id),
            RunPhase::Running | RunPhase::Staged if has_ended => Self::end_trace(state, trace_id, now),
            RunPhase::Running | RunPhase::Staged if quiet >= self.options.silence => {
                close_trace(state, trace_id);
            }
            _ => {}
        }
    }

    /// Completes a run, or drops what is none.
    fn end_trace(state: &mut CollectorState, trace_id: TraceId, now: Duration) {
        let Some(trace) = state
            .open
            .get_mut(&trace_id)
            .filter(|trace| trace.waiting_for.is_none())
        else {
            return;
        };
        let ended = if trace.run.phase() == RunPhase::Running {
            let name = trace.root_name().map(str::to_owned);
            let joined = if trace.may_have_logs {
                join_logs(&mut trace.run)
            } else {
                Ok(())
            };
            joined.and_then(|()| roots::complete(&mut trace.run, name.as_deref()))
        } else {
            let Some(trace) = state.open.remove(&trace_id) else {
                return;
            };
            state.known_spans = state.known_spans.saturating_sub(trace.run.span_count());
            state.summary.ignored_traces += 1;
            let discarded = trace.run.discard();
            state.note_error(discarded.err());
            return;
        };
        match ended {
            Ok(()) if trace.run.phase() == RunPhase::Completed => {
                trace.has_root = false;
                state.note_completed(trace_id);
            }
            // Nothing is in it.
            Ok(()) => close_trace(state, trace_id),
            Err(error) => {
                trace.retry_at = Some(now + RETRY);
                state.note_error(Some(error));
            }
        }
    }

    /// Ends the run of [`Destination::OneRun`]: its root is written, then `meta.json`.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Run`] when it cannot be written; it may be tried again.
    pub fn end_run(&self, ending: &RunEnding) -> Result<(), CaptureError> {
        let Some(identity) = self.one_run() else {
            return Ok(());
        };
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(trace) = state
            .open
            .get_mut(&identity.trace_id)
            .filter(|_| !state.one_has_ended)
        else {
            return Ok(());
        };
        let root = self.root_of_command(identity, ending);
        trace.run.refresh()?;
        if trace.may_have_logs {
            join_logs(&mut trace.run)?;
        }
        trace.run.append(&[ImportedSpan::new(root)])?;
        roots::complete_under(&mut trace.run, identity.root_span_id, &identity.name)?;
        state.one_has_ended = true;
        state.note_completed(identity.trace_id);
        Ok(())
    }

    fn one_run(&self) -> Option<&RunIdentity> {
        match &self.options.into {
            Destination::OneRun(identity) => Some(identity),
            Destination::RunPerTrace => None,
        }
    }

    fn root_of_command(&self, identity: &RunIdentity, ending: &RunEnding) -> SpanRecord {
        let arguments = self.importer.redact_arguments(identity.arguments.iter().cloned());
        let mut attributes = identity.attributes.clone();
        attributes.extend(ending.attributes.clone());
        if let Some(origin) = &identity.fork {
            attributes.insert(FORKED_FROM.to_owned(), origin.run.to_string().into());
            attributes.insert(FORK_AT.to_owned(), origin.at.into());
        }
        let mut set = |name: names::Name, value: Value| attributes.insert(name.written().to_owned(), value);
        set(names::RUN_NAME, identity.name.as_str().into());
        set(names::PLATFORM, platform().into());
        set(
            names::WORKING_DIRECTORY,
            identity.working_directory.as_str().into(),
        );
        set(names::ARGUMENTS, arguments.into());
        let ended_at = ending.ended_at.max(identity.started_at);
        let exception = ending.error.as_ref().map(|(error_type, message)| SpanEvent {
            name: names::events::EXCEPTION.written().to_owned(),
            timestamp: ended_at.into(),
            attributes: json!({
                names::ERROR_TYPE.written(): error_type,
                names::ERROR_MESSAGE.written(): message,
            })
            .as_object()
            .cloned()
            .unwrap_or_default(),
        });
        SpanRecord {
            trace_id: identity.trace_id,
            span_id: identity.root_span_id,
            parent_span_id: None,
            name: identity.name.clone(),
            kind: SpanKind::Internal,
            start_time: StoredTime::from(identity.started_at),
            end_time: Some(StoredTime::from(ended_at)),
            duration_ms: None,
            attributes,
            status_code: match exception {
                Some(_) => StatusCode::Error,
                None => StatusCode::Ok,
            },
            status_description: ending
                .error
                .as_ref()
                .map(|(_, message)| message.clone())
                .unwrap_or_default(),
            events: exception.into_iter().collect(),
        }
    }

    /// Ends every run that has not ended, and gives what was done. Later requests are refused.
    pub fn close(&self) -> CollectorSummary {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return self.state.lock().summary.clone();
        }
        if self.one_run().is_some() {
            let ending =
                RunEnding::new(self.clock.now()).failed("Interrupted", "recording ended before the run did");
            let ended = self.end_run(&ending);
            let mut state = self.state.lock();
            if let Err(error) = ended {
                state.summary.last_error = Some(error.to_string());
            }
            return state.summary.clone();
        }
        let mut state = self.state.lock();
        let now = self.clock.elapsed();
        let waiting = state.open.values().filter_map(|trace| trace.waiting_for);
        let waiting: BTreeSet<TraceId> = waiting.chain(state.at_rest.values().copied().flatten()).collect();
        for sent_in in waiting {
            let placed = self.place_waiting(&mut state, sent_in, now);
            state.note_error(placed.err());
        }
        let mut ids: BTreeSet<TraceId> = state.open.keys().copied().collect();
        ids.extend(std::mem::take(&mut state.at_rest).into_keys());
        for trace_id in ids {
            if !state.open.contains_key(&trace_id) {
                let resumed = match self.importer.resume(trace_id) {
                    Ok(Some(run)) => self.insert(&mut state, run),
                    Ok(None) => continue,
                    Err(error) => Err(error),
                };
                if let Err(error) = resumed {
                    state.note_error(Some(error));
                    continue;
                }
            }
            let is_done = |trace: &Trace| trace.run.phase() == RunPhase::Completed;
            if !state.open.get(&trace_id).is_some_and(is_done) {
                Self::end_trace(&mut state, trace_id, now);
            }
            close_trace(&mut state, trace_id);
            state.at_rest.clear();
        }
        state.summary.clone()
    }

    /// What was done so far.
    #[must_use]
    pub fn summary(&self) -> CollectorSummary {
        self.state.lock().summary.clone()
    }

    /// The runs that were completed since the last call, in that order; at most 10,000 are kept. A run that spans were
    /// added to afterwards is completed again.
    #[must_use]
    pub fn take_completed(&self) -> Vec<TraceId> {
        std::mem::take(&mut self.state.lock().newly_completed)
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
        let mut taken = Taken::default();
        if received.is_empty() {
            return Ok(taken.warned());
        }
        let busy = || Refused::Busy {
            retry_after: RETRY_AFTER,
        };
        if self.is_closed.load(Ordering::SeqCst) || self.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            return Err(busy());
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let locked = self.state.try_lock_for(MAX_WAIT);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let mut state = locked.ok_or_else(busy)?;
        let now = self.clock.elapsed();
        let (groups, named) = self.group(received)?;
        for group in groups {
            let (trace_id, count) = (group.run, group.spans.len() as u64);
            let taking = self.take_group(&mut state, group, now, &mut taken);
            let accepted = &mut taken.accepted;
            match taking {
                Ok(()) => {}
                Err(ImportError::Io { source, .. }) => return Err(Refused::Storage(source)),
                Err(ImportError::NotImported) => {
                    // The program records itself, and exports as well: its own records are the better ones.
                    state.summary.recorded_elsewhere += count;
                    accepted.also("spans of runs that are recorded here already were left out");
                }
                Err(error) => {
                    state.summary.rejected += count;
                    accepted.rejected += count;
                    accepted.also(&error.to_string());
                }
            }
            self.make_room(&mut state, trace_id);
        }
        for sent_in in named {
            let placed = self.place_waiting(&mut state, sent_in, now);
            state.note_error(placed.err());
        }
        Ok(taken.warned())
    }

    /// Moves what waited for the conversation of a trace into the conversation's run; where none was named, into a run of the
    /// trace. Repeated after a death, it leaves out what was moved before.
    fn place_waiting(
        &self,
        state: &mut CollectorState,
        sent_in: TraceId,
        now: Duration,
    ) -> Result<(), ImportError> {
        let id = waiting_run(sent_in);
        if !state.open.contains_key(&id) {
            match self.importer.resume(id)? {
                Some(run) => self.insert(state, run)?,
                None => return Ok(()),
            }
        }
        let Some(mut waiting) = state.open.remove(&id) else {
            return Ok(());
        };
        state.known_spans = state.known_spans.saturating_sub(waiting.run.span_count());
        let moved = self.move_waiting(state, &waiting, sent_in, now);
        if let Err(error) = moved {
            waiting.retry_at = Some(now + RETRY);
            state.known_spans += waiting.run.span_count();
            state.open.insert(id, waiting);
            return Err(error);
        }
        waiting.run.discard()
    }

    fn move_waiting(
        &self,
        state: &mut CollectorState,
        waiting: &Trace,
        sent_in: TraceId,
        now: Duration,
    ) -> Result<(), ImportError> {
        let spans = waiting.run.spans()?;
        let count = spans.len() as u64;
        let at = |source| ImportError::Io {
            path: self.agent_traces.path().to_owned(),
            source,
        };
        let group = self.agent_traces.settle(sent_in, spans).map_err(at)?;
        match self.take_group(state, group, now, &mut Taken::default()) {
            Err(ImportError::NotImported) => {
                state.summary.recorded_elsewhere += count;
                Ok(())
            }
            taken => taken,
        }
    }

    fn take_group(
        &self,
        state: &mut CollectorState,
        group: SpanGroup,
        now: Duration,
        taken: &mut Taken,
    ) -> Result<(), ImportError> {
        let SpanGroup {
            run: trace_id,
            waiting_for,
            mut spans,
        } = group;
        if !state.open.contains_key(&trace_id) {
            let run = match self.importer.resume(trace_id)? {
                Some(run) => run,
                None if waiting_for.is_some() => self.importer.stage(trace_id)?,
                None => self.begin(state, trace_id, &spans)?,
            };
            self.insert(state, run)?;
        }
        let Some(trace) = state.open.get_mut(&trace_id) else {
            return Ok(());
        };
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
            state.summary.rejected += rejected;
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
            // A session that rested for hours goes on; no part of it is late.
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
        state.known_spans += usize::try_from(appended.written).unwrap_or(usize::MAX);
        if waiting_for.is_none() {
            state.summary.spans += appended.written;
        }
        state.summary.duplicates += appended.duplicates;
        state.summary.differing += appended.differing;
        if let Some(id) = appended.first_differing {
            taken.accepted.rejected += appended.differing;
            let spans = if appended.differing == 1 {
                "span was"
            } else {
                "spans were"
            };
            taken.accepted.also(&format!(
                "{} {spans} left out: {id} is a duplicate ID, of a span that differs from the one that came first",
                appended.differing
            ));
        }
        if trace.run.phase() == RunPhase::Staged && waiting_for.is_none() && self.is_run(&spans) {
            trace.run.promote(&first_name(&spans))?;
            self.note_run(state, trace_id);
        }
        Ok(())
    }

    fn is_run(&self, spans: &[ImportedSpan]) -> bool {
        self.options.keep_all || spans.iter().any(|span| marks_run(&span.record))
    }

    /// Begins a trace of which nothing is on disk.
    fn begin(
        &self,
        state: &mut CollectorState,
        trace_id: TraceId,
        spans: &[ImportedSpan],
    ) -> Result<RunWriter, ImportError> {
        if !self.is_run(spans) {
            return self.importer.stage(trace_id);
        }
        let starts = spans.iter().map(|span| span.record.start_time.instant());
        let started_at = starts.min().unwrap_or_else(|| self.clock.now());
        let run = self.importer.start(trace_id, &first_name(spans), started_at)?;
        self.note_run(state, trace_id);
        Ok(run)
    }

    fn insert(&self, state: &mut CollectorState, run: RunWriter) -> Result<(), ImportError> {
        let trace_id = run.trace_id();
        let trace = Trace::new(run, self.clock.elapsed())?;
        state.known_spans += trace.run.span_count();
        state.at_rest.remove(&trace_id);
        state.open.insert(trace_id, trace);
        self.make_room(state, trace_id);
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "beside the other steps of a run")]
    fn note_run(&self, state: &mut CollectorState, trace_id: TraceId) {
        state.summary.started_runs += 1;
        if state.summary.runs.len() < MAX_LISTED_RUNS {
            state.summary.runs.push(trace_id);
        }
    }

    /// Forgets the traces that were quiet for longest, until memory is bounded again.
    fn make_room(&self, state: &mut CollectorState, current: TraceId) {
        while state.open.len() > self.options.max_open_traces.max(1)
            || state.known_spans > MAX_KNOWN_SPANS && state.open.len() > 1
        {
            let one = self.one_run().map(|one| one.trace_id);
            let oldest = state
                .open
                .iter()
                .filter(|(id, _)| **id != current && Some(**id) != one)
                .min_by_key(|(id, trace)| (trace.last_arrival, **id))
                .map(|(id, trace)| (*id, trace.has_root && trace.waiting_for.is_none()));
            let Some((oldest, has_root)) = oldest else { return };
            if has_root {
                // Nobody would come back to it.
                Self::end_trace(state, oldest, self.clock.elapsed());
            }
            close_trace(state, oldest);
        }
    }
}

impl CollectorState {
    fn note_completed(&mut self, trace_id: TraceId) {
        self.summary.completed_runs += 1;
        if self.newly_completed.len() < MAX_LISTED_RUNS {
            self.newly_completed.push(trace_id);
        }
    }

    fn note_error(&mut self, error: Option<ImportError>) {
        if let Some(error) = error {
            self.summary.last_error = Some(error.to_string());
        }
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
            self.state.lock().summary.rejected += rejected;
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
        let summary = &mut self.state.lock().summary;
        summary.ignored_logs += converted.ignored;
        summary.logs_without_session += converted.without_session;
        Ok(accepted)
    }

    fn note_repairs(&self, repairs: &Repairs) {
        self.state.lock().summary.repaired += repairs.values;
    }
}

/// Forgets a trace: it is on disk, and readers see a run that goes on as interrupted.
fn close_trace(state: &mut CollectorState, trace_id: TraceId) {
    if let Some(trace) = state.open.remove(&trace_id) {
        state.known_spans = state.known_spans.saturating_sub(trace.run.span_count());
        if trace.run.phase() != RunPhase::Completed {
            state.at_rest.insert(trace_id, trace.waiting_for);
        }
    }
}

/// What a run is called until its root has come.
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
