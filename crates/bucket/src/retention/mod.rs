//! [`BucketPruner`]: removes runs of a bucket by rules, and makes few objects of many.
//!
//! A run stops to exist when its `meta.json` is removed; then go its spans, and then a line of facts says so to readers that
//! know it. Whoever is killed in between leaves a run that the facts list and nobody finds, and the next pruner removes the rest.

mod compaction;
mod known_runs;
mod references;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use serde_json::json;
use tracer_capture::push::{RetryPolicy, Stopping, until_stopped};
use tracer_facts::FACTS_LINE_VERSION;
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::maintenance::{PruneCandidate, PruneRules};

use crate::bucket::OpenBucket;
use crate::committed_run::{CommittedRun, MAX_META_BYTES};
use crate::error::{BucketError, if_there};
use crate::event::PruneEvent;
use crate::facts_writer::FactsWriter;
use crate::layout;
use crate::patience::{Halt, Patience, SharedObserver};
use crate::store_clock::StoreClock;
use compaction::CountedLines;
use known_runs::KnownRuns;

/// Version of the object that says when runs were removed; readers go by its time alone.
const PRUNED_VERSION: u32 = 1;
/// Runs that are removed, and then forgotten, together: who is killed leaves no more than these half done.
const MAX_BATCH: usize = 100;
/// How long a shipper may take from the spans of a run to its commit.
const MAX_COMMITTING: Duration = Duration::from_secs(15 * 60);
/// Runs that are looked at at the same time.
const CONCURRENT_RUNS: usize = 16;

/// Options of a [`BucketPruner`].
///
/// ```
/// use std::time::Duration;
/// use tracer_bucket::RetentionOptions;
///
/// assert_eq!(RetentionOptions::default().settle, Duration::from_secs(24 * 3600));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RetentionOptions {
    /// When a request is repeated.
    pub retry: RetryPolicy,
    /// How old compacted facts are before what they replace is removed: by then whoever had listed that has read it.
    pub settle: Duration,
}

impl Default for RetentionOptions {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            settle: Duration::from_secs(24 * 3600),
        }
    }
}

/// A run that a plan removes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BucketRemoval {
    /// The run.
    pub run: TraceId,
    /// Its name, as it is recorded.
    pub name: Option<String>,
    /// When it started, if that is known.
    pub started: Option<Timestamp>,
    /// Its status.
    pub status: RunStatus,
    /// Bytes of its log.
    pub bytes: u64,
    /// Which state of it the facts know.
    generation: u64,
}

/// The runs that rules remove from a bucket, the oldest first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BucketPrunePlan {
    /// The runs to remove, the oldest first.
    pub removals: Vec<BucketRemoval>,
    /// All runs that the facts list.
    pub runs: u64,
    /// Runs that the rules select, and that a baseline of the bucket needs.
    pub needed_runs: u64,
}

impl BucketPrunePlan {
    /// Bytes of the logs of all runs to remove.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.removals
            .iter()
            .fold(0, |sum, removal| sum.saturating_add(removal.bytes))
    }
}

/// What pruning or compaction did.
///
/// ```
/// assert_eq!(tracer_bucket::RetentionSummary::default().removed_runs, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionSummary {
    /// Runs that were removed.
    pub removed_runs: u64,
    /// Bytes of their logs.
    pub removed_bytes: u64,
    /// Runs that were left: a baseline has come that needs them, a newer release wrote them, or they are not whole, and a
    /// shipper may be writing them.
    pub left_runs: u64,
    /// Days whose facts were written anew.
    pub compacted_days: u64,
    /// Objects of facts that were written for that.
    pub written_objects: u64,
    /// Objects of facts that were removed because later ones have what counts of them.
    pub removed_objects: u64,
    /// Whether it was stopped before everything was done.
    pub is_stopped: bool,
}

/// Removes runs of a bucket, and compacts its facts. Several can work at the same time, beside shippers and readers.
///
/// ```
/// use tracer_bucket::{BucketPruner, OpenBucket, RetentionOptions, ShipOptions, Shipper};
/// use tracer_sdk::maintenance::PruneRules;
/// use tracer_sdk::read::RunStore;
/// use tracer_sdk::settings::Settings;
/// use tracer_sdk::testing::capture;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let recorded = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(recorded.path())?;
/// let folder = tempfile::tempdir()?;
/// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
/// let mut shipper = Shipper::open(&Settings::with_data_dir(recorded.path()), bucket.clone(), ShipOptions::default())?;
/// let runs = RunStore::new(recorded.path()).list_directories()?;
/// shipper.push(&runs, std::future::pending(), &mut |_| {}).await?;
///
/// let mut pruner = BucketPruner::new(bucket, RetentionOptions::default());
/// let rules = PruneRules { keep: Some(0), ..PruneRules::default() };
/// let plan = pruner.plan(&rules, &mut |_| {}).await?;
/// let summary = pruner.apply(&plan, std::future::pending(), &mut |_| {}).await?;
/// assert_eq!(summary.removed_runs, 1);
/// assert!(!folder.path().join("runs").join(runs[0].trace_id.to_string()).exists());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct BucketPruner {
    bucket: OpenBucket,
    facts: FactsWriter,
    clock: StoreClock,
    patience: Patience,
    settle: Duration,
    summary: RetentionSummary,
}

/// What is left of a run that is being removed.
enum RunRemains {
    Removable {
        /// The generation that its removal is of.
        generation: u64,
        /// Its objects but for the commit. What a shipper writes from now on is none of them.
        objects: Vec<Path>,
    },
    /// It is not to be removed now: a newer release wrote it, or a shipper may be writing it.
    Left,
}

impl BucketPruner {
    /// A pruner. No request is made.
    #[must_use]
    pub fn new(bucket: OpenBucket, options: RetentionOptions) -> Self {
        Self {
            facts: FactsWriter::new(bucket.clone(), false),
            bucket,
            clock: StoreClock::default(),
            patience: Patience::new(options.retry),
            settle: options.settle,
            summary: RetentionSummary::default(),
        }
    }

    /// Reads the facts, and finds the runs that the rules remove. A run that a baseline in the bucket names is never one of
    /// them.
    ///
    /// # Errors
    ///
    /// [`BucketError`]: the facts or a baseline cannot be read.
    pub async fn plan(
        &mut self,
        rules: &PruneRules,
        observe: &mut dyn FnMut(PruneEvent),
    ) -> Result<BucketPrunePlan, BucketError> {
        self.patience.stopping = Stopping::never();
        let observe = SharedObserver::new(observe);
        match self.find_removals(rules, &observe).await {
            Ok(plan) => Ok(plan),
            Err(Halt::Stopped) => Ok(BucketPrunePlan::default()),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    /// Removes the runs of a plan. It ends early, without an error, when `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`BucketError`]. The same rules find what is left.
    pub async fn apply(
        &mut self,
        plan: &BucketPrunePlan,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(PruneEvent),
    ) -> Result<RetentionSummary, BucketError> {
        let (stopper, stopping) = Stopping::pair();
        self.patience.stopping = stopping;
        let observe = SharedObserver::new(observe);
        let ended = until_stopped(self.remove_all(&plan.removals, &observe), stop, stopper).await;
        self.ended(ended)
    }

    /// Makes one object, or a few of a bounded size, of the facts of each day that has passed, without those of runs that
    /// were removed. What they replace is removed by a later compaction, once they are as old as [`RetentionOptions::settle`].
    ///
    /// # Errors
    ///
    /// [`BucketError`]. Nothing is lost: duplicates may stay, which the next compaction removes.
    pub async fn compact(
        &mut self,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(PruneEvent),
    ) -> Result<RetentionSummary, BucketError> {
        let (stopper, stopping) = Stopping::pair();
        self.patience.stopping = stopping;
        let observe = SharedObserver::new(observe);
        let ended = until_stopped(self.compact_all(&observe), stop, stopper).await;
        self.ended(ended)
    }

    fn ended(&mut self, ended: Result<(), Halt>) -> Result<RetentionSummary, BucketError> {
        let mut summary = std::mem::take(&mut self.summary);
        summary.is_stopped = self.patience.stopping.is_stopping();
        match ended {
            Ok(()) | Err(Halt::Stopped) => Ok(summary),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    async fn find_removals(
        &self,
        rules: &PruneRules,
        observe: &SharedObserver<'_, PruneEvent>,
    ) -> Result<BucketPrunePlan, Halt> {
        let known = KnownRuns::read(&self.bucket, &self.patience, observe).await?;
        let needed = references::referenced_runs(&self.bucket, &self.patience, observe).await?;
        let mut runs: Vec<_> = known
            .runs
            .into_iter()
            .filter(|(_, run)| !run.is_removed)
            .collect();
        // The newest first; a run whose start is unknown is no newer than any.
        runs.sort_by_key(|(id, run)| Reverse((run.started, *id)));
        let mut candidates: Vec<PruneCandidate> = runs
            .iter()
            .map(|(_, run)| PruneCandidate {
                status: run.status,
                is_protected: false,
                started: run.started,
                bytes: run.bytes,
            })
            .collect();
        let selected = rules.choose(&candidates);
        let is_needed = |position: &usize| runs.get(*position).is_some_and(|(id, _)| needed.contains(id));
        let needed_runs = selected.into_iter().filter(is_needed).count() as u64;
        // What stays frees no room: others go in its place.
        for ((id, _), candidate) in runs.iter().zip(&mut candidates) {
            candidate.is_protected = needed.contains(id);
        }
        let mut plan = BucketPrunePlan {
            runs: runs.len() as u64,
            needed_runs,
            ..BucketPrunePlan::default()
        };
        for position in rules.choose(&candidates) {
            let Some((id, run)) = runs.get(position) else {
                continue;
            };
            plan.removals.push(BucketRemoval {
                run: *id,
                name: run.name.clone(),
                started: run.started,
                status: run.status,
                bytes: run.bytes,
                generation: run.generation,
            });
        }
        Ok(plan)
    }

    async fn remove_all(
        &mut self,
        removals: &[BucketRemoval],
        observe: &SharedObserver<'_, PruneEvent>,
    ) -> Result<(), Halt> {
        if removals.is_empty() {
            return Ok(());
        }
        self.mark(observe).await?;
        for batch in removals.chunks(MAX_BATCH) {
            // A baseline may have come since.
            let needed = references::referenced_runs(&self.bucket, &self.patience, observe).await?;
            let batch: Vec<&BucketRemoval> = batch
                .iter()
                .filter(|removal| !needed.contains(&removal.run))
                .collect();
            let before = self.summary.removed_runs;
            self.remove_batch(&batch, observe).await?;
            let removed = self.summary.removed_runs - before;
            observe.notify(PruneEvent::Removed { runs: removed });
        }
        self.summary.left_runs = removals.len() as u64 - self.summary.removed_runs;
        Ok(())
    }

    /// Removes runs: their commits, the rest of them, and then they are forgotten.
    async fn remove_batch(
        &mut self,
        batch: &[&BucketRemoval],
        observe: &SharedObserver<'_, PruneEvent>,
    ) -> Result<(), Halt> {
        let this = &*self;
        let looked: Vec<RunRemains> = stream::iter(batch)
            .map(|removal| this.look(removal, observe))
            .buffered(CONCURRENT_RUNS)
            .try_collect()
            .await?;
        let (mut removable, mut commits, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (removal, remains) in batch.iter().zip(looked) {
            if let RunRemains::Removable { generation, objects } = remains {
                removable.push((removal, generation));
                commits.push(layout::meta(&this.bucket.prefix, removal.run));
                rest.extend(objects);
            }
        }
        this.remove(commits, observe).await?;
        this.remove(rest, observe).await?;
        let mut lines = Vec::new();
        for (removal, generation) in &removable {
            let line = json!({
                "version": FACTS_LINE_VERSION, "trace_id": removal.run, "generation": generation, "removed": true,
            });
            lines.extend(line.to_string().into_bytes());
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.facts
            .write(lines, &self.clock, &self.patience, |_| Ok(()), observe)
            .await?;
        self.summary.removed_runs += removable.len() as u64;
        for (removal, _) in &removable {
            self.summary.removed_bytes = self.summary.removed_bytes.saturating_add(removal.bytes);
        }
        Ok(())
    }

    /// What the bucket has of a run now: it may have changed since its facts were written.
    async fn look(
        &self,
        removal: &BucketRemoval,
        observe: &SharedObserver<'_, PruneEvent>,
    ) -> Result<RunRemains, Halt> {
        let path = layout::meta(&self.bucket.prefix, removal.run);
        let get = || async { if_there(self.bucket.get(&path, MAX_META_BYTES).await) };
        let found = self.patience.patiently(get, observe).await?;
        let is_uncommitted = found.is_none();
        let generation = match found {
            // Another pruner was killed.
            None => removal.generation,
            Some(found) => match CommittedRun::parse(&found.bytes) {
                Some(committed) => committed.stored.generation.max(removal.generation),
                None => return Ok(RunRemains::Left),
            },
        };
        let folder = layout::run_folder(&self.bucket.prefix, removal.run);
        let listed = self
            .patience
            .patiently(|| self.bucket.list(&folder), observe)
            .await?;
        let committing = self.settle.min(MAX_COMMITTING);
        let settled =
            self.clock.now().unix_microseconds() - i64::try_from(committing.as_micros()).unwrap_or(i64::MAX);
        if is_uncommitted
            && listed
                .iter()
                .any(|object| object.last_modified.timestamp_micros() > settled)
        {
            return Ok(RunRemains::Left);
        }
        let objects = listed.into_iter().map(|object| object.location);
        Ok(RunRemains::Removable {
            generation: generation.saturating_add(1),
            objects: objects.filter(|object| *object != path).collect(),
        })
    }

    async fn remove(&self, paths: Vec<Path>, observe: &SharedObserver<'_, PruneEvent>) -> Result<(), Halt> {
        self.patience
            .patiently(|| self.bucket.remove(paths.clone()), observe)
            .await
    }

    /// Writes when the bucket was pruned, and so learns the time by the store's clock.
    async fn mark(&self, observe: &SharedObserver<'_, PruneEvent>) -> Result<(), Halt> {
        let path = layout::pruned(&self.bucket.prefix);
        let text = json!({"version": PRUNED_VERSION, "pruned_at": self.clock.now()}).to_string() + "\n";
        let text = Bytes::from(text);
        self.patience
            .patiently(|| self.bucket.overwrite(&path, text.clone()), observe)
            .await?;
        self.clock.ask(&self.bucket, &path).await;
        Ok(())
    }

    async fn compact_all(&mut self, observe: &SharedObserver<'_, PruneEvent>) -> Result<(), Halt> {
        self.mark(observe).await?;
        let known = KnownRuns::read(&self.bucket, &self.patience, observe).await?;
        let lines = CountedLines::of(&known, self.clock.now());
        for day in compaction::plan(&lines, self.settle) {
            if !day.sources.is_empty() {
                let written = compaction::write(&self.bucket, &day, &lines, &self.patience, observe).await?;
                let Some(written) = written else {
                    continue;
                };
                self.summary.compacted_days += 1;
                self.summary.written_objects += written;
                observe.notify(PruneEvent::Compacted {
                    date: day.date.clone(),
                });
            }
            self.summary.removed_objects += day.removals.len() as u64;
            self.remove(day.removals, observe).await?;
        }
        Ok(())
    }
}
