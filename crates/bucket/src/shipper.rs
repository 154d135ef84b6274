//! [`Shipper`]: sends the completed runs of a data directory to a bucket, each once and whole.
//!
//! A run is committed by its `meta.json`, which is written after its spans. Then the facts of the batch are written as one
//! object, whose name the journal remembers before: the shipper after one that was killed asks for it. So a run is
//! listed once, whenever a shipper dies.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tokio_util::sync::CancellationToken;
use tracer_capture::push::{FollowPace, FollowedRuns, Journal, RetryPolicy, until_stopped};
use tracer_sdk::format::TraceId;
use tracer_sdk::read::{RunDirectory, RunStore};
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use crate::bucket::OpenBucket;
use crate::error::BucketError;
use crate::event::{NotSent, ShipEvent, ShipSummary};
use crate::facts_writer::FactsWriter;
use crate::patience::{Halt, Patience, SharedObserver};
use crate::run_sender::{RunSender, Shipped};
use crate::sent_run::{SentRun, files_stamp};

/// Runs of one object of facts.
const MAX_BATCH: usize = 500;
/// Runs that are sent at the same time: most of a request is waiting.
const CONCURRENT_RUNS: usize = 16;
/// Turns of a data directory that is followed for each that includes runs that were sent.
const TURNS_PER_LATE_SPAN: u64 = 6;

/// Options of a [`Shipper`].
///
/// ```
/// use tracer_bucket::ShipOptions;
///
/// assert!(!ShipOptions::default().again);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ShipOptions {
    /// A check in the bucket of runs that were sent before.
    pub again: bool,
    /// When a request is repeated.
    pub retry: RetryPolicy,
    /// Interval in which [`Shipper::follow`] lists the data directory.
    pub poll_interval: Duration,
}

impl Default for ShipOptions {
    fn default() -> Self {
        Self {
            again: false,
            retry: RetryPolicy::default(),
            poll_interval: Duration::from_secs(5),
        }
    }
}

/// Sends completed runs of a data directory to a bucket. Another process cannot send to the same bucket meanwhile.
///
/// ```
/// use tracer_bucket::{OpenBucket, ShipOptions, Shipper};
/// use tracer_sdk::read::RunStore;
/// use tracer_sdk::settings::Settings;
/// use tracer_sdk::testing::capture;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let recorded = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(recorded.path())?;
/// let folder = tempfile::tempdir()?;
/// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
/// let mut shipper = Shipper::open(&Settings::with_data_dir(recorded.path()), bucket, ShipOptions::default())?;
/// let runs = RunStore::new(recorded.path()).list_directories()?;
/// let summary = shipper.push(&runs, std::future::pending(), &mut |_| {}).await?;
/// assert_eq!((summary.runs, summary.not_sent.len()), (1, 0));
/// let run = folder.path().join("runs").join(runs[0].trace_id.to_string());
/// assert!(run.join("meta.json").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Shipper {
    store: RunStore,
    journal: Journal<SentRun>,
    sender: RunSender,
    facts: FactsWriter,
    is_unredacted: bool,
    options: ShipOptions,
    summary: ShipSummary,
    /// Runs that were checked again already.
    looked_again: HashSet<TraceId>,
    /// Runs that cannot be sent, by what their files looked like.
    unsendable: HashMap<TraceId, Option<String>>,
}

/// A run, what its files looked like before, and what has become of it.
type ShippedRun = (RunDirectory, Option<String>, Shipped);

impl Shipper {
    /// Opens the journal of the bucket in the data directory of the settings, whose redaction is applied once more to what
    /// is sent.
    ///
    /// # Errors
    ///
    /// [`BucketError::Journal`]: the journal cannot be used, or another process has it.
    pub fn open(settings: &Settings, bucket: OpenBucket, options: ShipOptions) -> Result<Self, BucketError> {
        let store = RunStore::new(&settings.data_dir);
        let journal = Journal::open(&store, &bucket.key, &bucket.to_string())?;
        Ok(Self {
            store,
            journal,
            facts: FactsWriter::new(bucket.clone()),
            sender: RunSender::new(
                bucket,
                Redaction::new(settings, std::env::vars()),
                Patience::new(options.retry),
                options.again,
            ),
            is_unredacted: !settings.redact,
            options,
            summary: ShipSummary::default(),
            looked_again: HashSet::new(),
            unsendable: HashMap::new(),
        })
    }

    /// `true` when the user has to agree first: runs leave this machine, and no user has agreed yet.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        self.sender.bucket.url.is_remote() && !self.journal.is_confirmed()
    }

    /// Remembers that the user has agreed to send runs to this bucket.
    ///
    /// # Errors
    ///
    /// [`BucketError::Journal`]: the journal cannot be written.
    pub fn confirm(&mut self) -> Result<(), BucketError> {
        Ok(self.journal.confirm()?)
    }

    /// Sends those of these runs that have ended and were not sent as they are now. It ends early, without an error, when
    /// `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`BucketError`]. What was committed before is remembered.
    pub async fn push(
        &mut self,
        runs: &[RunDirectory],
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(ShipEvent),
    ) -> Result<ShipSummary, BucketError> {
        let token = CancellationToken::new();
        self.sender.patience.token = token.clone();
        let observe = SharedObserver::new(observe);
        let ended = until_stopped(self.push_all(runs, &observe), stop, &token).await;
        self.ended(ended)
    }

    /// Sends runs when they have ended, and again when they change. It ends when `stop` is ready, or when each of
    /// [`FollowedRuns::These`] is sent.
    ///
    /// # Errors
    ///
    /// [`BucketError`]. What was committed before is remembered.
    pub async fn follow(
        &mut self,
        runs: &FollowedRuns,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(ShipEvent),
    ) -> Result<ShipSummary, BucketError> {
        let token = CancellationToken::new();
        self.sender.patience.token = token.clone();
        let observe = SharedObserver::new(observe);
        let ended = until_stopped(self.follow_all(runs, &observe), stop, &token).await;
        self.ended(ended)
    }

    fn ended(&mut self, ended: Result<(), Halt>) -> Result<ShipSummary, BucketError> {
        let mut summary = mem::take(&mut self.summary);
        summary.is_unredacted = self.is_unredacted;
        summary.is_stopped = self.sender.patience.token.is_cancelled();
        match ended {
            Ok(()) | Err(Halt::Stopped) => Ok(summary),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    async fn push_all(&mut self, runs: &[RunDirectory], observe: &SharedObserver<'_>) -> Result<(), Halt> {
        self.finish_facts(observe).await?;
        for batch in runs.chunks(MAX_BATCH) {
            self.push_batch(batch, observe).await?;
        }
        Ok(())
    }

    async fn follow_all(&mut self, runs: &FollowedRuns, observe: &SharedObserver<'_>) -> Result<(), Halt> {
        self.finish_facts(observe).await?;
        let (store, token) = (self.store.clone(), self.sender.patience.token.clone());
        let pace = FollowPace {
            interval: self.options.poll_interval,
            turns_per_late_span: TURNS_PER_LATE_SPAN,
        };
        let send = async |mut directories: Vec<RunDirectory>, is_late_turn: bool| -> Result<u64, Halt> {
            if !is_late_turn {
                directories.retain(|run| !self.journal.sent(run.trace_id).is_some_and(|sent| sent.complete));
            }
            self.summary.open_runs = 0;
            self.summary.runs_sent_before = 0;
            for batch in directories.chunks(MAX_BATCH) {
                self.push_batch(batch, observe).await?;
            }
            Ok(self.summary.open_runs)
        };
        runs.follow(&store, pace, &token, send).await
    }

    /// Sends the runs of a batch, then their facts.
    async fn push_batch(&mut self, runs: &[RunDirectory], observe: &SharedObserver<'_>) -> Result<(), Halt> {
        let mut waiting = Vec::new();
        for run in runs {
            let files = files_stamp(&run.path);
            if !self.is_done(run.trace_id, files.as_deref()) {
                waiting.push((run.clone(), files));
            }
        }
        let (done, halt) = self.ship_all(waiting, observe).await;
        let mut rows = BTreeMap::new();
        for (run, files, shipped) in done {
            if let Some(not_sent) = self.note(&run, files, shipped, &mut rows)? {
                observe.notify(ShipEvent::NotSent(not_sent));
            }
        }
        match halt {
            None => self.write_facts(rows, observe).await,
            // A user who stops it wants what is committed to be seen.
            Some(Halt::Stopped) => {
                self.write_facts(rows, observe).await?;
                Err(Halt::Stopped)
            }
            Some(halt) => Err(halt),
        }
    }

    /// Sends runs at the same time, until one fails in a way that the others will, too.
    async fn ship_all(
        &self,
        runs: Vec<(RunDirectory, Option<String>)>,
        observe: &SharedObserver<'_>,
    ) -> (Vec<ShippedRun>, Option<Halt>) {
        let mut sending = pin!(
            stream::iter(runs)
                .map(|(run, files)| async move {
                    let stamp = files.as_deref().unwrap_or_default();
                    let shipped = self
                        .sender
                        .send(&run, stamp, self.journal.sent(run.trace_id), observe)
                        .await;
                    (run, files, shipped)
                })
                .buffer_unordered(CONCURRENT_RUNS)
        );
        let mut done = Vec::new();
        while let Some((run, files, shipped)) = sending.next().await {
            match shipped {
                Ok(shipped) => done.push((run, files, shipped)),
                Err(halt) => return (done, Some(halt)),
            }
        }
        (done, None)
    }

    fn is_done(&mut self, run: TraceId, files: Option<&str>) -> bool {
        if self.options.again && self.looked_again.insert(run) {
            return false;
        }
        if self
            .unsendable
            .get(&run)
            .is_some_and(|then| then.as_deref() == files)
        {
            return true;
        }
        let is_done = self
            .journal
            .sent(run)
            .is_some_and(|sent| sent.complete && Some(sent.files.as_str()) == files);
        self.summary.runs_sent_before += u64::from(is_done);
        is_done
    }

    fn note(
        &mut self,
        run: &RunDirectory,
        files: Option<String>,
        shipped: Shipped,
        rows: &mut BTreeMap<TraceId, Vec<u8>>,
    ) -> Result<Option<NotSent>, Halt> {
        match shipped {
            Shipped::Open => self.summary.open_runs += 1,
            Shipped::NotSent(reason) => {
                self.unsendable.insert(run.trace_id, files);
                let not_sent = NotSent {
                    run: run.trace_id,
                    reason,
                };
                self.summary.not_sent.push(not_sent.clone());
                return Ok(Some(not_sent));
            }
            Shipped::Committed {
                sent,
                row,
                bytes,
                redacted_values,
            } => {
                self.summary.changed_runs += u64::from(sent.generation > 1);
                self.summary.bytes += bytes;
                self.summary.redacted_values += redacted_values;
                self.journal.record(run.trace_id, sent)?;
                rows.insert(run.trace_id, row);
            }
        }
        Ok(None)
    }

    /// Completes what a shipper that was killed has left: runs that are committed, and perhaps not in the facts.
    async fn finish_facts(&mut self, observe: &SharedObserver<'_>) -> Result<(), Halt> {
        let mut by_name: HashMap<Option<String>, Vec<(TraceId, SentRun)>> = HashMap::new();
        for (run, sent) in self.journal.iter().filter(|(_, sent)| !sent.complete) {
            by_name
                .entry(sent.facts.clone())
                .or_default()
                .push((run, sent.clone()));
        }
        let mut unlisted = Vec::new();
        for (name, runs) in by_name {
            let is_written = match &name {
                None => false,
                Some(name) => {
                    self.facts
                        .is_written(name, &self.sender.patience, observe)
                        .await?
                }
            };
            if is_written {
                for (run, sent) in runs {
                    self.journal.record(
                        run,
                        SentRun {
                            complete: true,
                            ..sent
                        },
                    )?;
                }
            } else {
                unlisted.extend(runs);
            }
        }
        // These are sent again: they are in the bucket already, which costs a request, and then they get their facts.
        let directories: Vec<RunDirectory> = unlisted
            .into_iter()
            .map(|(run, _)| RunDirectory {
                trace_id: run,
                path: self.store.runs_dir().join(run.to_string()),
            })
            .collect();
        for batch in directories.chunks(MAX_BATCH) {
            self.push_batch(batch, observe).await?;
        }
        Ok(())
    }

    /// Writes the facts of runs that are committed as one object.
    async fn write_facts(
        &mut self,
        rows: BTreeMap<TraceId, Vec<u8>>,
        observe: &SharedObserver<'_>,
    ) -> Result<(), Halt> {
        if rows.is_empty() {
            return Ok(());
        }
        let Self {
            journal,
            facts,
            sender,
            ..
        } = self;
        let lines = rows.values().flatten().copied().collect();
        let on_named = |name: &str| remember(journal, &rows, Some(name));
        facts.write(lines, &sender.patience, on_named, observe).await?;
        remember(journal, &rows, None)?;
        self.summary.runs += rows.len() as u64;
        Ok(())
    }
}

/// Remembers which object of facts is to list runs, or that one does.
fn remember(
    journal: &mut Journal<SentRun>,
    rows: &BTreeMap<TraceId, Vec<u8>>,
    name: Option<&str>,
) -> Result<(), BucketError> {
    for run in rows.keys() {
        let sent = SentRun {
            facts: name.map(str::to_owned),
            complete: name.is_none(),
            ..journal.sent(*run).cloned().unwrap_or_default()
        };
        journal.record(*run, sent)?;
    }
    Ok(())
}
