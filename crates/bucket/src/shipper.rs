//! [`Shipper`]: sends the completed runs of a data directory to a bucket, each once and whole.
//!
//! A run is committed by its `meta.json`, which is written after its spans. Then the facts of the batch are written as one
//! object, whose name the journal remembers before: whoever goes on after a shipper that was killed looks for it. So a run is
//! listed once, whenever a shipper dies.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tracer_capture::push::{Journal, JournalError, RetryPolicy};
use tracer_insight::units;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::read::{RunDirectory, RunStore, StoreError};
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use crate::bucket::OpenBucket;
use crate::committed_run::{CommittedRun, MAX_META_BYTES, StoredSpans};
use crate::error::{BucketError, RequestFailure};
use crate::event::{NotSent, ShipEvent, ShipSummary};
use crate::facts_row;
use crate::layout;
use crate::package::{NoPackage, PackageParts, RunPackage, compressed};
use crate::sent_run::{SentRun, files_stamp};

/// Runs of one object of facts.
const MAX_BATCH: usize = 500;
/// Runs that are sent at the same time: most of a request is waiting.
const CONCURRENT_RUNS: usize = 16;
const CONCURRENT_LARGE_RUNS: usize = 2;
/// Bytes of a part of a large object. Stores want 5 MiB or more, and take 10,000 parts.
#[cfg(not(test))]
const PART_BYTES: usize = 16 * 1024 * 1024;
#[cfg(test)]
const PART_BYTES: usize = 64 * 1024;
/// How long requests that are under way may take once it is stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Attempts to commit a run that another writer commits, too.
const MAX_RACES: usize = 8;
/// One of this number of looks at the data directory includes the runs that were sent: they can get late spans.
const LOOKS_PER_LATE_SPAN: u32 = 6;
/// The difference of the clocks that is the time of a request.
const MAX_CLOCK_NOISE: Duration = Duration::from_secs(2);
/// How long the difference to the store's clock is believed.
const CLOCK_TRUST: Duration = Duration::from_secs(3600);
/// How old the name of an object of facts may get before it is written under a newer one: readers that have seen later names
/// look back a while only.
const MAX_NAME_AGE: Duration = Duration::from_secs(60);

/// Options of a [`Shipper`].
///
/// ```
/// use tracer_bucket::ShipOptions;
///
/// assert!(!ShipOptions::default().is_compressed);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ShipOptions {
    /// Whether spans and facts are compressed by zstd.
    pub is_compressed: bool,
    /// Whether runs are looked at in the bucket although they were sent before.
    pub again: bool,
    /// When a request is repeated.
    pub retry: RetryPolicy,
    /// How often [`Shipper::follow`] looks at the data directory.
    pub poll_interval: Duration,
}

impl Default for ShipOptions {
    fn default() -> Self {
        Self {
            is_compressed: false,
            again: false,
            retry: RetryPolicy::default(),
            poll_interval: Duration::from_secs(5),
        }
    }
}

/// The runs that [`Shipper::follow`] sends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ShippedRuns {
    /// All runs of the data directory, those that are recorded meanwhile included, until it is stopped.
    All {
        /// Only runs that started then or later.
        since: Option<Timestamp>,
    },
    /// These runs, until each is sent.
    These(Vec<RunDirectory>),
}

/// Sends completed runs of a data directory to a bucket. Another process cannot send to the same bucket meanwhile.
///
/// ```
/// use tracer_bucket::{OpenBucket, ShipOptions, Shipper};
/// use tracer_sdk::read::RunStore;
/// use tracer_sdk::settings::Settings;
///
/// # let (recorded, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tracer-sdk/docs/stored.rs"));
/// # let data_dir = recorded.path();
/// # let folder = tempfile::tempdir().unwrap();
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
/// let mut shipper = Shipper::open(&Settings::with_data_dir(data_dir), bucket, ShipOptions::default())?;
/// let runs = RunStore::new(data_dir).list_directories()?;
/// let summary = shipper.push(&runs, std::future::pending(), &mut |_| {}).await?;
/// assert_eq!((summary.runs, summary.not_sent.len()), (1, 0));
/// # let run = folder.path().join("runs").join(runs[0].trace_id.to_string());
/// assert!(run.join("meta.json").is_file());
/// # Ok::<(), tracer_bucket::BucketError>(()) }).unwrap();
/// ```
pub struct Shipper {
    store: RunStore,
    bucket: OpenBucket,
    journal: Journal<SentRun>,
    redaction: Redaction,
    is_unredacted: bool,
    options: ShipOptions,
    summary: ShipSummary,
    /// Runs that were looked at again already.
    looked_again: HashSet<TraceId>,
    /// Runs that cannot be sent, by what their files looked like.
    unsendable: HashMap<TraceId, Option<String>>,
    /// Part of the names of facts: distinguishes shippers.
    name: String,
    clock: Cell<StoreClock>,
    /// Large runs that are sent at the same time: each needs the memory of a part.
    large_runs: Semaphore,
    stopping: watch::Receiver<bool>,
}

/// How the clock of the store differs from that of this machine.
#[derive(Debug, Clone, Copy, Default)]
struct StoreClock {
    /// What is added to the time of this machine, in microseconds.
    offset_us: i64,
    asked: Option<Instant>,
    last_name_us: i64,
}

/// Why the work ends.
enum Halt {
    Stopped,
    Error(BucketError),
}

impl From<BucketError> for Halt {
    fn from(error: BucketError) -> Self {
        Self::Error(error)
    }
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Self::Error(error.into())
    }
}

/// Who is notified.
type ShipObserver<'a> = &'a mut dyn FnMut(ShipEvent);

/// The same for runs that are sent at the same time.
type SharedShipObserver<'a> = RefCell<ShipObserver<'a>>;

fn shared<'a>(observe: &'a mut (dyn FnMut(ShipEvent) + '_)) -> SharedShipObserver<'a> {
    RefCell::new(observe)
}

/// What has become of a run.
enum Shipped {
    /// It is committed; its line of facts is still to be written.
    Committed {
        sent: SentRun,
        row: Vec<u8>,
        bytes: u64,
        redacted_values: u64,
    },
    Open,
    NotSent(String),
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
        // Runs are only forgotten when the folder can be listed: it may be on a disk that is not there now.
        let known: Option<HashSet<TraceId>> = store
            .list_directories()
            .ok()
            .map(|directories| directories.iter().map(|directory| directory.trace_id).collect());
        let exists = |run: TraceId| known.as_ref().is_none_or(|known| known.contains(&run));
        let journal = Journal::open(store.data_dir(), &bucket.key, &bucket.to_string(), exists)?;
        Ok(Self {
            store,
            bucket,
            journal,
            redaction: Redaction::new(settings, std::env::vars()),
            is_unredacted: !settings.redact,
            options,
            summary: ShipSummary::default(),
            looked_again: HashSet::new(),
            unsendable: HashMap::new(),
            name: format!("{:08x}", fastrand::u32(..)),
            clock: Cell::default(),
            large_runs: Semaphore::new(CONCURRENT_LARGE_RUNS),
            stopping: watch::channel(false).1,
        })
    }

    /// Whether the user has to agree first: runs leave this machine, and nobody has agreed yet.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        self.bucket.url.is_remote() && !self.journal.is_confirmed()
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
        let (stopper, stopping) = watch::channel(false);
        self.stopping = stopping;
        let ended = until_stopped(self.push_all(runs, observe), stop, stopper).await;
        self.ended(ended)
    }

    /// Sends runs when they have ended, and again when they change. It ends when `stop` is ready, or when each of
    /// [`ShippedRuns::These`] is sent.
    ///
    /// # Errors
    ///
    /// [`BucketError`]. What was committed before is remembered.
    pub async fn follow(
        &mut self,
        runs: &ShippedRuns,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(ShipEvent),
    ) -> Result<ShipSummary, BucketError> {
        let (stopper, stopping) = watch::channel(false);
        self.stopping = stopping;
        let ended = until_stopped(self.follow_all(runs, observe), stop, stopper).await;
        self.ended(ended)
    }

    fn ended(&mut self, ended: Result<(), Halt>) -> Result<ShipSummary, BucketError> {
        let mut summary = mem::take(&mut self.summary);
        summary.is_unredacted = self.is_unredacted;
        match ended {
            Ok(()) => Ok(summary),
            Err(Halt::Stopped) => {
                summary.is_stopped = true;
                Ok(summary)
            }
            Err(Halt::Error(error)) => Err(error),
        }
    }

    async fn push_all(&mut self, runs: &[RunDirectory], observe: ShipObserver<'_>) -> Result<(), Halt> {
        self.finish_facts(observe).await?;
        for batch in runs.chunks(MAX_BATCH) {
            self.push_batch(batch, observe).await?;
        }
        Ok(())
    }

    async fn follow_all(&mut self, runs: &ShippedRuns, observe: ShipObserver<'_>) -> Result<(), Halt> {
        self.finish_facts(observe).await?;
        let mut too_old = HashSet::new();
        let mut look = 0_u32;
        loop {
            let mut directories = match runs {
                ShippedRuns::These(runs) => runs.clone(),
                ShippedRuns::All { since } => self.directories(*since, &mut too_old)?,
            };
            if !look.is_multiple_of(LOOKS_PER_LATE_SPAN) {
                directories.retain(|run| !self.journal.sent(run.trace_id).is_some_and(|sent| sent.complete));
            }
            self.summary.open_runs = 0;
            self.summary.runs_sent_before = 0;
            for batch in directories.chunks(MAX_BATCH) {
                self.push_batch(batch, observe).await?;
            }
            let is_over = self.summary.open_runs == 0 && matches!(runs, ShippedRuns::These(_));
            if is_over {
                return Ok(());
            }
            self.pause(self.options.poll_interval).await?;
            look = look.wrapping_add(1);
        }
    }

    fn directories(
        &self,
        since: Option<Timestamp>,
        too_old: &mut HashSet<TraceId>,
    ) -> Result<Vec<RunDirectory>, BucketError> {
        let mut directories = match self.store.list_directories() {
            Ok(directories) => directories,
            // Nothing is recorded yet.
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let Some(since) = since else {
            return Ok(directories);
        };
        directories.retain(|run| {
            if too_old.contains(&run.trace_id) {
                return false;
            }
            // A run whose start cannot be read yet is looked at again.
            let Some(started) = run.clone().read_summary().started() else {
                return false;
            };
            if started < since {
                too_old.insert(run.trace_id);
            }
            started >= since
        });
        Ok(directories)
    }

    /// Sends the runs of a batch, then their facts.
    async fn push_batch(&mut self, runs: &[RunDirectory], observe: ShipObserver<'_>) -> Result<(), Halt> {
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
                observe(ShipEvent::NotSent(not_sent));
            }
        }
        match halt {
            None => self.write_facts(rows, observe).await,
            // Whoever stops it wants what is committed to be seen.
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
        observe: ShipObserver<'_>,
    ) -> (Vec<ShippedRun>, Option<Halt>) {
        let observe = &shared(observe);
        let mut sending = pin!(
            stream::iter(runs)
                .map(|(run, files)| async move {
                    let stamp = files.as_deref().unwrap_or_default();
                    let shipped = self.ship(&run, stamp, observe).await;
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

    /// Sends a run, up to its commit.
    async fn ship(
        &self,
        run: &RunDirectory,
        files: &str,
        observe: &SharedShipObserver<'_>,
    ) -> Result<Shipped, Halt> {
        let package = match RunPackage::read(run, &self.redaction, self.options.is_compressed) {
            Ok(package) => package,
            Err(NoPackage::Open) => return Ok(Shipped::Open),
            Err(NoPackage::Unreadable(reason)) => return Ok(Shipped::NotSent(reason)),
        };
        let before = self.journal.sent(run.trace_id);
        let outcome = self.commit(run, &package, before, observe).await?;
        let Some(generation) = outcome else {
            return Ok(Shipped::NotSent("it changed while it was read".to_owned()));
        };
        let Some(row) = facts_row::row(run, generation, package.bytes) else {
            return Ok(Shipped::NotSent("it was deleted while it was read".to_owned()));
        };
        let row = facts_row::without_secrets(row, &self.redaction);
        let name = package
            .meta
            .get("run_name")
            .and_then(Value::as_str)
            .map(str::to_owned);
        (observe.borrow_mut())(ShipEvent::Committed {
            run: run.trace_id,
            name,
            generation,
            bytes: package.bytes,
        });
        let mut line = serde_json::to_vec(&row).map_err(|error| BucketError::Refused {
            reason: error.to_string(),
        })?;
        line.push(b'\n');
        Ok(Shipped::Committed {
            sent: SentRun {
                files: files.to_owned(),
                sha256: package.sha256,
                generation,
                facts: None,
                complete: false,
            },
            row: line,
            bytes: package.bytes,
            redacted_values: package.redacted_values,
        })
    }

    /// Makes a run in the bucket what it is here, and gives its generation. `None` when the run changed meanwhile.
    async fn commit(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        before: Option<&SentRun>,
        observe: &SharedShipObserver<'_>,
    ) -> Result<Option<u64>, Halt> {
        let path = layout::meta(&self.bucket.prefix, run.trace_id);
        // A run that was never sent is not asked for: its first commit fails where it is there already.
        let mut is_new = before.is_none() && !self.options.again;
        let mut spans = None;
        for _ in 0..MAX_RACES {
            let found = if is_new {
                None
            } else {
                let get = || async {
                    match self.bucket.get(&path, MAX_META_BYTES).await {
                        Ok(found) => Ok(Some(found)),
                        Err(RequestFailure::Missing(_)) => Ok(None),
                        Err(failure) => Err(failure),
                    }
                };
                self.patiently(get, observe).await?
            };
            is_new = false;
            let stored = found.as_ref().and_then(|found| CommittedRun::parse(&found.bytes));
            if let Some(stored) = &stored {
                let is_same_log = stored.stored.sha256 == package.sha256;
                if is_same_log && stored.meta == package.meta {
                    return Ok(Some(stored.stored.generation));
                }
                if is_same_log {
                    // Only the metadata changed: a name, a count.
                    spans = Some(stored.stored.spans.clone());
                }
            }
            let name = match &spans {
                Some(name) => name.clone(),
                None => match self.write_spans(run, package, stored.is_none(), observe).await? {
                    Some(name) => name,
                    None => return Ok(None),
                },
            };
            spans = Some(name.clone());
            let generation = stored.map_or(1, |stored| stored.stored.generation.saturating_add(1));
            let meta = CommittedRun {
                meta: package.meta.clone(),
                stored: StoredSpans::new(generation, name, package.bytes, package.sha256.clone()),
            };
            let bytes = Bytes::from(meta.to_bytes());
            let put = || async {
                let done = match &found {
                    None => self.bucket.create(&path, bytes.clone()).await,
                    Some(found) => {
                        self.bucket
                            .replace(&path, bytes.clone(), found.version.clone())
                            .await
                    }
                };
                match done {
                    Ok(()) => Ok(true),
                    // Another writer, or this one: an answer that was lost on its way.
                    Err(RequestFailure::Exists | RequestFailure::Changed) => Ok(false),
                    Err(failure) => Err(failure),
                }
            };
            if self.patiently(put, observe).await? {
                self.ask_clock(&path).await;
                return Ok(Some(generation));
            }
        }
        Err(RequestFailure::Changed.into_error().into())
    }

    /// Writes the spans of a run under a name that nothing else has. `None` when the run changed meanwhile.
    async fn write_spans(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        is_first: bool,
        observe: &SharedShipObserver<'_>,
    ) -> Result<Option<String>, Halt> {
        let is_compressed = self.options.is_compressed;
        let own_name = layout::spans_name(Some(&package.sha256), is_compressed);
        let path_of = |name: &str| layout::of_run(&self.bucket.prefix, run.trace_id, name);
        let Some(whole) = &package.whole else {
            // In parts, an object cannot be written only where there is none: it has the name of its contents, and
            // whoever writes it, too, writes the same.
            let path = path_of(&own_name);
            let upload = || self.upload(run, package, &path);
            return Ok(self.patiently(upload, observe).await?.then_some(own_name));
        };
        if is_first {
            let name = layout::spans_name(None, is_compressed);
            if self.create_or_same(&path_of(&name), whole, observe).await? {
                return Ok(Some(name));
            }
        }
        // The bytes under the name of their hash are the same ones, whoever wrote them. Compressed by another version they
        // may differ, and hold the same log.
        self.create_or_same(&path_of(&own_name), whole, observe).await?;
        Ok(Some(own_name))
    }

    /// Writes an object, and gives whether it is there with these bytes.
    async fn create_or_same(
        &self,
        path: &Path,
        bytes: &Bytes,
        observe: &SharedShipObserver<'_>,
    ) -> Result<bool, Halt> {
        let put = || async {
            match self.bucket.create(path, bytes.clone()).await {
                Ok(()) => Ok(true),
                // A shipper that was killed, or an answer that was lost.
                Err(RequestFailure::Exists) => {
                    let length = bytes.len() as u64;
                    if self.bucket.head(path).await?.size != length {
                        return Ok(false);
                    }
                    Ok(self.bucket.get(path, length).await?.bytes == *bytes)
                }
                Err(failure) => Err(failure),
            }
        };
        self.patiently(put, observe).await
    }

    /// Sends a large log in parts; `false` when it is not the log that was hashed.
    async fn upload(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        path: &Path,
    ) -> Result<bool, RequestFailure> {
        // It is never closed.
        let _permit = self.large_runs.acquire().await;
        match self.bucket.head(path).await {
            Ok(_) => return Ok(true),
            Err(RequestFailure::Missing(_)) => {}
            Err(failure) => return Err(failure),
        }
        // A log that cannot be read any more was there a moment ago.
        let parts = PackageParts::open(&run.path, &self.redaction, self.options.is_compressed);
        let Ok(mut parts) = parts else {
            return Ok(false);
        };
        let mut upload = self.bucket.store.put_multipart(path).await?;
        loop {
            let sent = match parts.next_part(PART_BYTES) {
                Ok(None) => break,
                Ok(Some(part)) => upload.put_part(PutPayload::from(part)).await,
                Err(_) => {
                    let _ = upload.abort().await;
                    return Ok(false);
                }
            };
            if let Err(error) = sent {
                // What is left over is removed by the bucket's own rule where this fails, too.
                let _ = upload.abort().await;
                return Err(error.into());
            }
            if self.is_stopping() {
                let _ = upload.abort().await;
                return Err(RequestFailure::Transient("it was stopped".to_owned()));
            }
        }
        if parts.finish() != package.sha256 {
            let _ = upload.abort().await;
            return Ok(false);
        }
        upload.complete().await?;
        Ok(true)
    }

    /// Learns from an object that was just written how the store's clock differs.
    async fn ask_clock(&self, path: &Path) {
        let mut clock = self.clock.get();
        if clock.asked.is_some_and(|asked| asked.elapsed() < CLOCK_TRUST) {
            return;
        }
        clock.asked = Some(Instant::now());
        if let Ok(found) = self.bucket.head(path).await {
            let offset = found.last_modified.timestamp_micros() - units::now().unix_microseconds();
            let noise = i64::try_from(MAX_CLOCK_NOISE.as_micros()).unwrap_or(i64::MAX);
            clock.offset_us = if offset.abs() <= noise { 0 } else { offset };
        }
        self.clock.set(clock);
    }

    /// A name for facts that are written now; each is later than the one before.
    fn new_facts_name(&self) -> String {
        let mut clock = self.clock.get();
        let now = units::now().unix_microseconds().saturating_add(clock.offset_us);
        clock.last_name_us = now.max(clock.last_name_us + 1);
        self.clock.set(clock);
        let at = Timestamp::from_unix_microseconds(clock.last_name_us);
        layout::facts_name(at, &self.name, fastrand::u64(..), self.options.is_compressed)
    }

    /// Completes what a shipper that was killed has left: runs that are committed, and perhaps not in the facts.
    async fn finish_facts(&mut self, observe: ShipObserver<'_>) -> Result<(), Halt> {
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
                    let path = layout::facts_object(&self.bucket.prefix, name);
                    let observe = shared(observe);
                    let look = || async {
                        match self.bucket.head(&path).await {
                            Ok(_) => Ok(true),
                            Err(RequestFailure::Missing(_)) => Ok(false),
                            Err(failure) => Err(failure),
                        }
                    };
                    self.patiently(look, &observe).await?
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
        // These are sent anew: they are in the bucket already, which costs a look, and then they get their facts.
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
        observe: ShipObserver<'_>,
    ) -> Result<(), Halt> {
        if rows.is_empty() {
            return Ok(());
        }
        let content = rows.values().flatten().copied().collect::<Vec<u8>>();
        let content = if self.options.is_compressed {
            compressed(&content).map_err(|error| BucketError::Refused {
                reason: error.to_string(),
            })?
        } else {
            content
        };
        let content = Bytes::from(content);
        let started = Instant::now();
        let mut failures = 0;
        'names: loop {
            let name = self.new_facts_name();
            let named = Instant::now();
            self.remember(&rows, &name, false)?;
            let path = layout::facts_object(&self.bucket.prefix, &name);
            loop {
                // Nobody else has this name: what is there is ours, and its answer was lost.
                let failure = match self.bucket.create(&path, content.clone()).await {
                    Ok(()) | Err(RequestFailure::Exists) => {
                        if failures > 0 {
                            observe(ShipEvent::Resumed);
                        }
                        self.remember(&rows, &name, true)?;
                        self.summary.runs += rows.len() as u64;
                        return Ok(());
                    }
                    Err(failure) => failure,
                };
                let RequestFailure::Transient(reason) = failure else {
                    return Err(failure.into_error().into());
                };
                failures += 1;
                let waiting = self.wait(reason, failures, started)?;
                let delay = match &waiting {
                    ShipEvent::Waiting { delay, .. } => *delay,
                    _ => Duration::ZERO,
                };
                observe(waiting);
                self.pause(delay).await?;
                // After a long outage the name is in the past, where nobody looks any more. It may have arrived, though.
                if named.elapsed() > MAX_NAME_AGE
                    && matches!(self.bucket.head(&path).await, Err(RequestFailure::Missing(_)))
                {
                    continue 'names;
                }
            }
        }
    }

    fn remember(
        &mut self,
        rows: &BTreeMap<TraceId, Vec<u8>>,
        name: &str,
        complete: bool,
    ) -> Result<(), BucketError> {
        for run in rows.keys() {
            let sent = SentRun {
                facts: (!complete).then(|| name.to_owned()),
                complete,
                ..self.journal.sent(*run).cloned().unwrap_or_default()
            };
            self.journal.record(*run, sent)?;
        }
        Ok(())
    }

    /// Does something until it works, fails for good, or patience ends.
    async fn patiently<T, F: Future<Output = Result<T, RequestFailure>>>(
        &self,
        mut work: impl FnMut() -> F,
        observe: &SharedShipObserver<'_>,
    ) -> Result<T, Halt> {
        let started = Instant::now();
        let mut failures = 0;
        loop {
            if self.is_stopping() {
                return Err(Halt::Stopped);
            }
            match work().await {
                Ok(done) => {
                    if failures > 0 {
                        (observe.borrow_mut())(ShipEvent::Resumed);
                    }
                    return Ok(done);
                }
                Err(RequestFailure::Transient(reason)) => {
                    failures += 1;
                    let waiting = self.wait(reason, failures, started)?;
                    let delay = match &waiting {
                        ShipEvent::Waiting { delay, .. } => *delay,
                        _ => Duration::ZERO,
                    };
                    (observe.borrow_mut())(waiting);
                    self.pause(delay).await?;
                }
                Err(failure) => return Err(failure.into_error().into()),
            }
        }
    }

    /// How long to wait after a failure; an error when patience ends.
    fn wait(&self, reason: String, failures: u32, started: Instant) -> Result<ShipEvent, BucketError> {
        let delay = self.options.retry.delay(failures);
        let waited = started.elapsed();
        if self
            .options
            .retry
            .patience
            .is_some_and(|patience| waited + delay > patience)
        {
            return Err(BucketError::GaveUp {
                reason,
                after: waited,
            });
        }
        Ok(ShipEvent::Waiting { reason, delay })
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    async fn pause(&self, delay: Duration) -> Result<(), Halt> {
        let mut stopping = self.stopping.clone();
        let stopped = async {
            // Without anybody who could stop it, it is never stopped.
            if stopping.wait_for(|stopping| *stopping).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = stopped => Err(Halt::Stopped),
        }
    }
}

/// Does the work until it ends; once `stop` is ready, what is under way may end within the grace.
async fn until_stopped(
    work: impl Future<Output = Result<(), Halt>>,
    stop: impl Future<Output = ()>,
    stopper: watch::Sender<bool>,
) -> Result<(), Halt> {
    let mut work = pin!(work);
    tokio::select! {
        result = &mut work => return result,
        () = stop => {}
    }
    // The work listens as long as it goes on.
    let _ = stopper.send(true);
    match tokio::time::timeout(GRACE, work).await {
        Ok(Ok(())) | Err(_) => Err(Halt::Stopped),
        Ok(Err(halt)) => Err(halt),
    }
}
