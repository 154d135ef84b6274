//! [`FactsStore`]: the facts of every run of a data directory, as its files are now.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use tracer_insight::run_preview::RunPreview;
use tracer_insight::status::RunStatus;
use tracer_insight::step_summary;
use tracer_runs::{RunDirectory, RunStore, RunSummary, StoreError};
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::prices::Prices;

use crate::database::{DatabaseRow, RunDatabase};
use crate::database_file::DatabaseError;
use crate::mirror::{FetchError, RunLease, TeamStore};
use crate::run_facts::{self, RunDetails, RunFacts};

/// The facts of the runs of a data directory.
///
/// ```
/// use tracer_catalog::FactsStore;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let listed = FactsStore::new(folder.path()).all(false)?;
/// assert_eq!(listed.runs[0].facts.name.as_deref(), Some("captured"));
/// assert_eq!(listed.runs[0].facts.tool_calls, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FactsStore {
    runs: RunStore,
    prices: Prices,
    team: Option<Arc<TeamStore>>,
    /// Runs that take long to read and are still written: when each was read last, and for how long.
    pub(crate) long_readings: Arc<Mutex<HashMap<TraceId, (Instant, Duration)>>>,
}

/// A run of a store, with its facts.
#[derive(Debug, Clone)]
pub struct ListedRun {
    /// Its directory.
    pub directory: RunDirectory,
    /// Its status now.
    pub status: RunStatus,
    /// Its numbers and times.
    pub facts: RunFacts,
    /// Its details, where they were wanted. They are as large as everything else.
    pub details: Option<Box<RunDetails>>,
    /// By which it is placed: its start, or else when its directory was last changed.
    placed: Option<Timestamp>,
    /// Of a run in a bucket, where its files come from.
    remote: Option<RemoteRun>,
    /// The preview of a run that was not read, by the ends of its log.
    unread: Option<Box<RunPreview>>,
}

/// A state of a run in a bucket.
#[derive(Debug, Clone)]
struct RemoteRun {
    team: Arc<TeamStore>,
    generation: i64,
}

/// Equality of facts and details; the time of reading says nothing.
impl PartialEq for ListedRun {
    fn eq(&self, other: &Self) -> bool {
        (
            &self.directory,
            self.status,
            &self.facts,
            &self.details,
            self.placed,
        ) == (
            &other.directory,
            other.status,
            &other.facts,
            &other.details,
            other.placed,
        )
    }
}

impl ListedRun {
    /// The start of the run, if it can be read.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.facts.started()
    }

    /// The duration of the run, until now while it is running, in microseconds; unknown of an interrupted one.
    #[must_use]
    pub(crate) fn duration_until(&self, now: Timestamp) -> Option<u64> {
        let so_far = || u64::try_from(now.microseconds_since(self.started()?)).ok();
        self.facts
            .duration_us
            .or_else(|| so_far().filter(|_| self.status == RunStatus::Running))
    }

    /// A run by its metadata, and by the ends of its log, where these were read.
    ///
    /// ```
    /// use tracer_catalog::{ListedRun, RunColumn};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let summary = &tracer_runs::RunStore::new(folder.path()).list()?[0];
    /// let run = ListedRun::of_summary(summary, None);
    /// assert_eq!((RunColumn::Name.field(&run), run.preview()), ("captured".to_owned(), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_summary(summary: &RunSummary, preview: Option<RunPreview>) -> Self {
        Self {
            unread: preview.map(Box::new),
            ..Self::new(summary.directory.clone(), run_facts::of_summary(summary), None)
        }
    }

    fn new(directory: RunDirectory, facts: RunFacts, details: Option<Box<RunDetails>>) -> Self {
        Self {
            status: facts.status_now(&directory),
            placed: facts.started(),
            directory,
            facts,
            details,
            remote: None,
            unread: None,
        }
    }

    /// A run of this machine. Where what is kept of it is damaged, its files have it.
    pub(crate) fn of_this_machine(row: &DatabaseRow, directory: RunDirectory, with_details: bool) -> Self {
        let facts = row
            .facts
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        let details = row
            .details
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        let (facts, details) = match (facts, details) {
            (Some(facts), details) if details.is_some() || !with_details => (facts, details),
            _ => {
                let read = run_facts::read(&directory);
                (read.facts, with_details.then(|| Box::new(read.details)))
            }
        };
        Self {
            placed: row.placed,
            ..Self::new(directory, facts, details)
        }
    }

    /// Why its numbers cannot be shown: what is wrong with its metadata or its log; empty where only its start is missing.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        let has_no_start = self.facts.started_us.is_none();
        self.facts.problem.as_deref().or(has_no_start.then_some(""))
    }

    /// The steps of the run as a list shows them; `None` without its details. Of a running one more is to come.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let run = &tracer_catalog::FactsStore::new(folder.path()).all(true)?.runs[0];
    /// let preview = run.preview().expect("it has details");
    /// assert_eq!((preview.steps, preview.is_whole), (run.facts.steps, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn preview(&self) -> Option<RunPreview> {
        let Some(details) = &self.details else {
            return self.unread.as_deref().cloned();
        };
        Some(RunPreview {
            steps: self.facts.steps,
            tokens: self.facts.tokens.total_tokens,
            token_shares: step_summary::token_shares(&self.facts.tokens),
            is_whole: self.status != RunStatus::Running,
            subtitle: details.subtitle.clone(),
            path: details.path.clone(),
        })
    }

    /// The URL of the bucket that it was read from; `None` of a run of this machine.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.remote.as_ref().map(|remote| remote.team.origin())
    }

    /// Its files, fetched where they are not here.
    ///
    /// # Errors
    ///
    /// [`FetchError`]: the run is in a bucket, and its files cannot be had.
    pub fn fetch(&self) -> Result<RunLease, FetchError> {
        match &self.remote {
            None => Ok(RunLease::unheld(self.directory.clone())),
            Some(remote) => remote.team.fetch(self.directory.trace_id, remote.generation),
        }
    }

    /// A run of a bucket; `None` when it was removed, or what is kept of it is damaged.
    pub(crate) fn of_bucket(row: &DatabaseRow, team: &Arc<TeamStore>) -> Option<Self> {
        let facts: RunFacts = serde_json::from_str(row.facts.as_ref()?).ok()?;
        let details = row
            .details
            .as_ref()
            .and_then(|details| serde_json::from_str(details).ok());
        Some(Self {
            remote: Some(RemoteRun {
                team: Arc::clone(team),
                generation: row.generation,
            }),
            ..Self::new(team.mirror().directory(row.trace_id), facts, details)
        })
    }

    /// By which it is placed: its start, or else when its directory was last changed.
    pub(crate) fn placed(&self) -> Option<Timestamp> {
        self.placed
    }
}

/// The runs of a store, the newest first, those of one instant by ID: the order of
/// [`RunStore::list`](tracer_runs::RunStore::list).
#[derive(Debug, Default)]
pub struct StoreFacts {
    /// The runs.
    pub runs: Vec<ListedRun>,
    /// Runs that are missing because reading was cancelled.
    pub unread: usize,
    /// Why facts could not be kept; they are read again the next time then.
    pub not_kept: Option<DatabaseError>,
    /// Why runs of the bucket that is read as well are missing.
    pub unread_bucket: Option<DatabaseError>,
}

/// The progress of reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadingProgress {
    /// Runs that had to be read.
    pub runs: usize,
    /// Those that are read.
    pub read_runs: usize,
    /// Bytes of the logs of all of them.
    pub bytes: u64,
    /// Bytes of the logs that are read.
    pub read_bytes: u64,
}

impl FactsStore {
    /// The store in a data directory. Facts are kept there, in `cache/`, where that is possible.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            runs: RunStore::new(data_dir),
            prices: Prices::default(),
            team: None,
            long_readings: Arc::default(),
        }
    }

    /// The same with the runs of a team's bucket as well as those of this machine. A run that is in both is one: as the bucket
    /// has it, so that everybody sees the same, unless it has changed here since it was sent.
    #[must_use]
    pub fn with_team(self, team: Arc<TeamStore>) -> Self {
        Self {
            team: Some(team),
            ..self
        }
    }

    /// The bucket that is read as well.
    #[must_use]
    pub fn team(&self) -> Option<&Arc<TeamStore>> {
        self.team.as_ref()
    }

    /// The prices of model calls.
    #[must_use]
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// The same with other prices than the release's. What runs cost is computed with them whenever details are read.
    #[must_use]
    pub fn with_prices(self, prices: Prices) -> Self {
        Self { prices, ..self }
    }

    /// The runs themselves.
    #[must_use]
    pub fn runs(&self) -> &RunStore {
        &self.runs
    }

    /// The directory of a run of this machine.
    pub(crate) fn directory(&self, run: TraceId) -> RunDirectory {
        RunDirectory {
            trace_id: run,
            path: self.runs.runs_dir().join(run.to_string()),
        }
    }

    /// The directories of the runs of this machine; where a bucket is read as well, none need be there.
    pub(crate) fn local_directories(&self) -> Result<Vec<RunDirectory>, StoreError> {
        match self.runs.list_directories() {
            Err(StoreError::Missing { .. }) if self.team.is_some() => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// The facts of some runs, read from their files.
    pub fn read(directories: impl IntoIterator<Item = RunDirectory>) -> Vec<ListedRun> {
        let read = |directory: RunDirectory| {
            let mut read = run_facts::read(&directory);
            read.details.price(&Prices::default());
            ListedRun {
                placed: placed(&directory, &read.facts),
                ..ListedRun::new(directory, read.facts, Some(Box::new(read.details)))
            }
        };
        directories.into_iter().map(read).collect()
    }

    /// Forgets what is kept of runs that were deleted. What cannot be forgotten now is forgotten by the next listing.
    pub fn forget(&self, runs: &[TraceId]) {
        if !runs.is_empty() && RunDatabase::is_there(self.runs.data_dir()) {
            let _ = RunDatabase::of_this_machine(self.runs.data_dir())
                .and_then(|database| database.write(&[], runs));
        }
    }
}

/// The place of a run among others: its start, or else when its directory was last changed.
pub(crate) fn placed(directory: &RunDirectory, facts: &RunFacts) -> Option<Timestamp> {
    facts.started().or_else(|| {
        let changed = fs::metadata(&directory.path).ok()?.modified().ok()?;
        let since = changed.duration_since(UNIX_EPOCH).ok()?;
        let microseconds = i64::try_from(since.as_micros()).ok()?;
        Some(Timestamp::from_unix_microseconds(microseconds))
    })
}
