//! [`Pusher`]: reads what was recorded since the last push and sends it, batch by batch.

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracer_sdk::format::{SpanId, SpanRecord, TraceId};
use tracer_sdk::read::{RunDirectory, RunStore};

use super::answer::Answer;
use super::batch::{MAX_BYTES, Mark, SpanBatch};
use super::cancellation::until_stopped;
use super::client::{Client, NoAnswer, encode};
use super::content;
use super::endpoint::PushEndpoint;
use super::error::PushError;
use super::event::{PushEvent, PushSummary};
use super::follow::{FollowPace, FollowedRuns};
use super::journal::{Journal, SentPart};
use super::repeats::RepeatedSpans;
use super::retry::{Retry, RetryEnd, RetryPolicy};
use super::settings::{Protocol, PushSettings};
use super::tail::{RunTail, RunTailPart, log_bytes};
use crate::otlp;

/// Failures to connect, before the endpoint has answered at all, with which a push gives up: it is not there.
const MAX_FIRST_FAILURES: u32 = 3;
/// Number of answers in a row by which the server reports a defect of its own.
const MAX_SERVER_FAILURES: u32 = 5;
/// The longest wait that an endpoint can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// Turns of a data directory that is followed for each that includes runs that were sent whole.
const TURNS_PER_LATE_SPAN: u64 = 20;

/// Options of a push.
///
/// ```
/// use tracer_capture::push::PushOptions;
///
/// assert!(PushOptions::default().with_content);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PushOptions {
    /// Whether what was said is sent: messages, arguments, results, descriptions of errors. Without it names, numbers and
    /// times remain.
    pub with_content: bool,
    /// Whether runs are sent although they were sent before.
    pub again: bool,
    /// When a request is repeated.
    pub retry: RetryPolicy,
    /// How often [`Pusher::follow`] looks at the data directory.
    pub poll_interval: Duration,
}

impl Default for PushOptions {
    fn default() -> Self {
        Self {
            with_content: true,
            again: false,
            retry: RetryPolicy::default(),
            poll_interval: Duration::from_millis(500),
        }
    }
}

/// Sends runs of a data directory to an endpoint. Another process cannot push to the same endpoint meanwhile.
///
/// ```no_run
/// use tracer_capture::push::{PushOptions, PushSettings, Pusher};
/// use tracer_sdk::read::RunStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = PushSettings::resolve(None, |name| std::env::var(name).ok())?;
/// let data_dir = "/home/me/.tracer";
/// let mut pusher = Pusher::open(data_dir, &settings, PushOptions::default())?;
/// let newest = RunStore::new(data_dir).newest()?;
/// let summary = pusher.push(&[newest], std::future::pending(), &mut |_| {}).await?;
/// println!("{} spans sent", summary.sent_spans);
/// # Ok(()) }
/// ```
pub struct Pusher {
    store: RunStore,
    endpoint: PushEndpoint,
    client: Client,
    protocol: Protocol,
    journal: Journal<SentPart>,
    options: PushOptions,
    batch: SpanBatch,
    summary: PushSummary,
    /// Runs of which something was acknowledged.
    sent_runs: HashSet<TraceId>,
    /// Runs that were forgotten so that they are sent again.
    forgotten_runs: HashSet<TraceId>,
    unreadable_runs: HashSet<TraceId>,
    /// Of each run that goes on, its calls that are recorded several times.
    repeated_calls: HashMap<TraceId, RepeatedSpans>,
    /// Whether the endpoint has answered anything.
    has_answered: bool,
    token: CancellationToken,
}

/// What became of a request.
enum Delivery {
    Answered(Answer),
    /// The push is stopped.
    Stopped,
}

/// Who is notified.
type Observer<'a> = &'a mut dyn FnMut(PushEvent);

impl Pusher {
    /// Opens the journal of the endpoint in a data directory.
    ///
    /// ```
    /// use tracer_capture::push::{PushError, PushOptions, PushSettings, Pusher};
    ///
    /// let settings = PushSettings::resolve(None, |_| None)?;
    /// let data_dir = tempfile::tempdir().unwrap();
    /// let pusher = Pusher::open(data_dir.path(), &settings, PushOptions::default())?;
    /// let other = Pusher::open(data_dir.path(), &settings, PushOptions::default());
    /// assert!(matches!(other, Err(PushError::Locked)));
    /// # Ok::<(), PushError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PushError`]: the journal cannot be used or another process has it, or a certificate cannot be used.
    pub fn open(
        data_dir: impl Into<PathBuf>,
        settings: &PushSettings,
        options: PushOptions,
    ) -> Result<Self, PushError> {
        let store = RunStore::new(data_dir);
        let client = Client::new(settings)?;
        let endpoint = &settings.endpoint;
        let journal = Journal::open(&store, &endpoint.key(), &endpoint.to_string());
        let journal = journal.map_err(PushError::of_journal)?;
        Ok(Self {
            store,
            endpoint: settings.endpoint.clone(),
            client,
            protocol: settings.protocol,
            journal,
            options,
            batch: SpanBatch::default(),
            summary: PushSummary::default(),
            sent_runs: HashSet::new(),
            forgotten_runs: HashSet::new(),
            unreadable_runs: HashSet::new(),
            repeated_calls: HashMap::new(),
            has_answered: false,
            token: CancellationToken::new(),
        })
    }

    /// Whether the user has to agree first: the endpoint is on another machine, and nobody has agreed yet.
    ///
    /// ```
    /// use tracer_capture::push::{PushOptions, PushSettings, Pusher};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let settings = PushSettings::resolve(Some("https://example.test"), |_| None)?;
    /// let mut pusher = Pusher::open(folder.path(), &settings, PushOptions::default())?;
    /// assert!(pusher.needs_confirmation());
    /// pusher.confirm()?;
    /// assert!(!pusher.needs_confirmation());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        !self.endpoint.is_loopback() && !self.journal.is_confirmed()
    }

    /// Remembers that the user has agreed to send runs to this endpoint.
    ///
    /// # Errors
    ///
    /// [`PushError::Journal`]: the journal cannot be written.
    pub fn confirm(&mut self) -> Result<(), PushError> {
        self.journal.confirm().map_err(PushError::of_journal)
    }

    /// Sends what these runs have recorded and was not sent before, and what is recorded until it gets to them.
    /// It ends early, without an error, when `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`PushError`]. What was acknowledged before is remembered.
    pub async fn push(
        &mut self,
        runs: &[RunDirectory],
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(PushEvent),
    ) -> Result<PushSummary, PushError> {
        let token = CancellationToken::new();
        self.token = token.clone();
        until_stopped(self.push_all(runs, observe), stop, &token).await?;
        Ok(self.take_summary())
    }

    /// Sends what runs record, as they do: spans that have ended, the root at the run's end. It ends when `stop` is ready,
    /// or when each of [`FollowedRuns::These`] has ended.
    ///
    /// # Errors
    ///
    /// [`PushError`]. What was acknowledged before is remembered.
    pub async fn follow(
        &mut self,
        runs: &FollowedRuns,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(PushEvent),
    ) -> Result<PushSummary, PushError> {
        let token = CancellationToken::new();
        self.token = token.clone();
        until_stopped(self.follow_all(runs, observe), stop, &token).await?;
        Ok(self.take_summary())
    }

    /// How far a run is sent.
    fn sent(&self, run: TraceId) -> SentPart {
        self.journal.sent(run).copied().unwrap_or_default()
    }

    fn record(&mut self, run: TraceId, part: SentPart) -> Result<(), PushError> {
        self.journal.record(run, part).map_err(PushError::of_journal)
    }

    fn take_summary(&mut self) -> PushSummary {
        // What was not acknowledged is read again by the next push.
        self.batch = SpanBatch::default();
        self.summary.is_stopped = self.token.is_cancelled();
        self.summary.runs = mem::take(&mut self.sent_runs).len() as u64;
        mem::take(&mut self.summary)
    }

    async fn push_all(&mut self, runs: &[RunDirectory], observe: Observer<'_>) -> Result<(), PushError> {
        for run in runs {
            self.read_run(run, observe).await?;
        }
        self.flush(observe).await
    }

    async fn follow_all(&mut self, runs: &FollowedRuns, observe: Observer<'_>) -> Result<(), PushError> {
        let (store, token) = (self.store.clone(), self.token.clone());
        let pace = FollowPace {
            interval: self.options.poll_interval,
            turns_per_late_span: TURNS_PER_LATE_SPAN,
        };
        let send = async |directories: Vec<RunDirectory>, is_late_turn: bool| -> Result<u64, PushError> {
            let mut open_runs = 0;
            for run in &directories {
                if self.sent(run.trace_id).complete && !is_late_turn {
                    continue;
                }
                open_runs += u64::from(self.read_run(run, observe).await? == TailState::Open);
            }
            self.flush(observe).await?;
            self.summary.open_runs = open_runs;
            self.summary.runs_sent_before = 0;
            Ok(open_runs)
        };
        runs.follow(&store, pace, &token, send).await
    }

    /// Puts what was not sent of a run into batches, and sends those that are full.
    async fn read_run(&mut self, run: &RunDirectory, observe: Observer<'_>) -> Result<TailState, PushError> {
        if self.options.again && self.forgotten_runs.insert(run.trace_id) {
            self.record(run.trace_id, SentPart::default())?;
        }
        let before = self.sent(run.trace_id);
        if before.complete && before.bytes == log_bytes(&run.path) {
            self.summary.runs_sent_before += 1;
            return Ok(TailState::Ended);
        }
        let mut tail = match RunTail::open(run, before) {
            Ok(tail) => tail,
            Err(error) => return Ok(self.note_unreadable(run, &error, observe)),
        };
        let mut repeated = self
            .repeated_calls
            .remove(&run.trace_id)
            .unwrap_or_else(|| RepeatedSpans::new(tail.sent_bytes()));
        loop {
            let part = match tail.next_part() {
                Ok(part) => part,
                Err(error) => return Ok(self.note_unreadable(run, &error, observe)),
            };
            let RunTailPart {
                spans,
                unreadable_lines,
                sent,
                is_to_end,
            } = part;
            repeated.read(run, &spans);
            for span in spans {
                if self.token.is_cancelled() {
                    return Ok(TailState::Open);
                }
                let counted_in = repeated.counted_in(span.span_id);
                self.add(span, counted_in, tail.name.as_deref(), observe).await?;
            }
            if sent != before {
                self.summary.unreadable_lines += unreadable_lines;
                self.batch.mark_sent(Mark {
                    run: run.trace_id,
                    name: tail.name.clone(),
                    part: sent,
                });
            }
            if is_to_end {
                break;
            }
        }
        if tail.is_ended {
            return Ok(TailState::Ended);
        }
        self.repeated_calls.insert(run.trace_id, repeated);
        self.summary.open_runs += 1;
        Ok(TailState::Open)
    }

    fn note_unreadable(&mut self, run: &RunDirectory, error: &io::Error, observe: Observer<'_>) -> TailState {
        if self.unreadable_runs.insert(run.trace_id) {
            self.summary.unreadable_runs += 1;
            observe(PushEvent::Unreadable {
                run: run.trace_id,
                reason: error.to_string(),
            });
        }
        TailState::Ended
    }

    async fn add(
        &mut self,
        span: SpanRecord,
        counted_in: Option<SpanId>,
        run_name: Option<&str>,
        observe: Observer<'_>,
    ) -> Result<(), PushError> {
        let resource = otlp::encode::resource_of(&span, run_name);
        let mut span = match counted_in {
            Some(call) => otlp::encode::repeated_span(span, call),
            None => otlp::encode::span(span),
        };
        if !self.options.with_content {
            content::strip(&mut span);
        }
        if !self.batch.has_room(prost::Message::encoded_len(&span)) {
            self.flush(observe).await?;
        }
        self.batch.push(&resource, span);
        Ok(())
    }

    /// Sends the batch. Stopped, it leaves it unsent.
    async fn flush(&mut self, observe: Observer<'_>) -> Result<(), PushError> {
        let mut waiting = vec![mem::take(&mut self.batch)];
        while let Some(batch) = waiting.pop() {
            if batch.is_empty() {
                continue;
            }
            if batch.span_count() == 0 {
                self.remember(batch, observe)?;
                continue;
            }
            // Bytes that were just encoded in memory; only that memory can fail.
            let body = encode(batch.request(), self.protocol)
                .map_err(|error| PushError::Client(error.to_string()))?;
            let is_too_large = body.len() > MAX_BYTES && batch.span_count() > 1;
            let delivery = if is_too_large {
                Delivery::Answered(Answer::TooLarge)
            } else {
                self.deliver(body, observe).await?
            };
            match delivery {
                Delivery::Answered(Answer::TooLarge) if batch.span_count() > 1 => {
                    let (first, second) = batch.halves();
                    waiting.push(second);
                    waiting.push(first);
                }
                Delivery::Answered(Answer::UnknownEncoding { message }) => {
                    if self.protocol == Protocol::HttpJson {
                        return Err(PushError::NoCommonEncoding { message });
                    }
                    self.protocol = Protocol::HttpJson;
                    observe(PushEvent::SwitchedToJson);
                    waiting.push(batch);
                }
                Delivery::Answered(answer) => self.settle(batch, answer, observe)?,
                Delivery::Stopped => return Ok(()),
            }
        }
        Ok(())
    }

    /// Counts what an answer says of a batch, and remembers the batch: none of it is sent again.
    fn settle(&mut self, batch: SpanBatch, answer: Answer, observe: Observer<'_>) -> Result<(), PushError> {
        let spans = batch.span_count() as u64;
        let (refused, message) = match answer {
            Answer::Taken { rejected, message } => (rejected.min(spans), message),
            Answer::Refused { message } => (spans, message),
            Answer::TooLarge => (spans, "the span is too large for the endpoint".to_owned()),
            // The others are dealt with where they are received.
            Answer::TryAgain { .. }
            | Answer::UnknownEncoding { .. }
            | Answer::Failed { .. }
            | Answer::Stop { .. } => (0, String::new()),
        };
        let sent = spans - refused;
        self.summary.sent_spans += sent;
        self.summary.refused_spans += refused;
        self.summary.add_message(&message);
        if sent > 0 {
            observe(PushEvent::Sent { spans: sent });
        }
        if refused > 0 {
            observe(PushEvent::Refused {
                spans: refused,
                message,
            });
        } else if !message.is_empty() {
            observe(PushEvent::Warning { message });
        }
        self.remember(batch, observe)
    }

    fn remember(&mut self, batch: SpanBatch, observe: Observer<'_>) -> Result<(), PushError> {
        for Mark { run, name, part } in batch.into_marks() {
            let before = self.sent(run);
            self.record(run, part)?;
            if part.spans != before.spans {
                self.sent_runs.insert(run);
            }
            if part.complete {
                observe(PushEvent::Completed {
                    run,
                    name,
                    spans: part.spans,
                });
            }
        }
        Ok(())
    }

    /// Sends a request until it is answered for good.
    async fn deliver(&mut self, body: Vec<u8>, observe: Observer<'_>) -> Result<Delivery, PushError> {
        let body = self
            .client
            .compressed(body)
            .map_err(|error| PushError::Client(error.to_string()))?;
        let mut retry = Retry::new(self.options.retry);
        let mut server_failures = 0;
        loop {
            if self.token.is_cancelled() {
                return Ok(Delivery::Stopped);
            }
            let answer = self.client.send(body.clone(), self.protocol).await;
            self.has_answered |= answer.is_ok();
            let (reason, after) = match answer {
                Ok(Answer::Stop { error }) | Err(NoAnswer::Never(error)) => return Err(error),
                Ok(Answer::Failed { error }) => {
                    server_failures += 1;
                    if server_failures >= MAX_SERVER_FAILURES {
                        return Err(error);
                    }
                    (error.to_string(), None)
                }
                Ok(Answer::TryAgain { reason, after }) => (reason, after),
                Ok(answer) => {
                    if retry.failures() > 0 {
                        observe(PushEvent::Resumed);
                    }
                    return Ok(Delivery::Answered(answer));
                }
                Err(NoAnswer::Unreachable(reason)) => {
                    let is_patient = self.has_answered || self.options.retry.patience.is_none();
                    if !is_patient && retry.failures() + 1 >= MAX_FIRST_FAILURES {
                        return Err(PushError::Unreachable { reason });
                    }
                    (reason, None)
                }
                Err(NoAnswer::Broken(reason)) => (reason, None),
            };
            let asked = after.map(|asked| asked.min(MAX_RETRY_AFTER));
            let on_wait = |reason, delay| observe(PushEvent::Waiting { reason, delay });
            match retry.wait(reason, asked, &self.token, on_wait).await {
                Ok(()) => {}
                Err(RetryEnd::Cancelled) => return Ok(Delivery::Stopped),
                Err(RetryEnd::GaveUp { reason, after }) => return Err(PushError::GaveUp { reason, after }),
            }
        }
    }
}

/// Whether a run has more to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailState {
    Ended,
    Open,
}
