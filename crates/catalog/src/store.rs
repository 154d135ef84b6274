//! [`FactsStore`]: the facts of every run of a data directory, as its files are now.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rusqlite::Row;
use tracer_insight::run_entry::RunEntry;
use tracer_insight::status::RunStatus;
use tracer_runs::{RunDirectory, RunStore, RunSummary, StoreError};
use tracer_sdk::format::{Timestamp, TraceId, Usage};
use tracer_sdk::prices::Prices;

use crate::database::{RunDatabase, id_at, time_at};
use crate::mirror::{FetchError, RunLease, TeamStore};
use crate::run_row::{self, RunRow, status_now};

/// The facts of the runs of a data directory.
#[derive(Debug, Clone)]
pub struct FactsStore {
    runs: RunStore,
    prices: Prices,
    team: Option<Arc<TeamStore>>,
    /// Runs that take long to read and are still written: when each was read last, and for how long.
    pub(crate) long_readings: Arc<Mutex<HashMap<TraceId, (Instant, Duration)>>>,
}

/// A run of a store, as it is now.
#[derive(Debug, Clone)]
pub struct ListedRun {
    /// Its directory.
    pub directory: RunDirectory,
    /// Its status now.
    pub status: RunStatus,
    /// All else that is known of it.
    pub row: RunRow,
    /// By which it is placed: its start, or else when its directory was last changed.
    placed: Option<Timestamp>,
    /// Of a run in a bucket, where its files come from.
    remote: Option<RemoteRun>,
}

/// A state of a run in a bucket.
#[derive(Debug, Clone)]
struct RemoteRun {
    team: Arc<TeamStore>,
    generation: i64,
}

/// Equality of what is known; the time of reading says nothing.
impl PartialEq for ListedRun {
    fn eq(&self, other: &Self) -> bool {
        (&self.directory, self.status, &self.row, self.placed)
            == (&other.directory, other.status, &other.row, other.placed)
    }
}

impl ListedRun {
    /// The start of the run, if it can be read.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.row.started()
    }

    /// The duration of the run, until now while it is running, in microseconds; unknown of an interrupted one.
    #[must_use]
    pub(crate) fn duration_until(&self, now: Timestamp) -> Option<u64> {
        let so_far = || u64::try_from(now.microseconds_since(self.started()?)).ok();
        self.row
            .duration_us
            .or_else(|| so_far().filter(|_| self.status == RunStatus::Running))
    }

    /// A run by its metadata alone.
    #[must_use]
    pub fn of_summary(summary: &RunSummary) -> Self {
        Self::new(summary.directory.clone(), run_row::of_summary(summary))
    }

    fn new(directory: RunDirectory, row: RunRow) -> Self {
        Self {
            status: status_now(row.recorded_status, &directory),
            placed: row.started(),
            directory,
            row,
            remote: None,
        }
    }

    /// Why its numbers cannot be shown: what is wrong with its metadata or its log; empty where only its start is missing.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        let has_no_start = self.row.started_us.is_none();
        self.row.problem.as_deref().or(has_no_start.then_some(""))
    }

    /// Returns whether its log was read: of any other run only the metadata is known.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.row.cost.is_some()
    }

    /// The run as lists of runs have it in JSON, with its metadata of `run`; `None` of a damaged one. Of a store that reads a bucket as
    /// well, `origin` is where it is from.
    #[must_use]
    pub fn entry<'a>(&'a self, run: &'a RunSummary, origin: Option<&'a str>) -> Option<RunEntry<'a>> {
        let mut entry = RunEntry::of(run)?;
        if origin.is_some() {
            entry.run_status = self.status.as_str();
            entry.origin = origin;
        }
        let row = &self.row;
        let Some(cost) = &row.cost else {
            return Some(entry);
        };
        Some(RunEntry {
            failed_calls: Some(row.failed_calls),
            unknown_calls: Some(row.unknown_calls),
            waiting: row.is_waiting.then_some(true),
            tags: Some(&row.tags).filter(|tags| !tags.is_empty()),
            thread: row.session.as_deref(),
            tokens: Some(row.tokens).filter(|tokens| *tokens != Usage::default()),
            cost: Some(cost.into()),
            ..entry
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

    /// By which it is placed: its start, or else when its directory was last changed.
    pub(crate) fn placed(&self) -> Option<Timestamp> {
        self.placed
    }
}

/// A run as it is stored.
pub(crate) struct DatabaseRow {
    run: TraceId,
    placed: Option<Timestamp>,
    generation: i64,
    facts: String,
    pub(crate) is_of_bucket: bool,
}

impl DatabaseRow {
    /// Its columns of the view `listed`.
    pub(crate) const COLUMNS: &str = "trace_id, placed, generation, facts, origin";

    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: id_at(row, 0)?,
            placed: time_at(row, 1)?,
            generation: row.get(2)?,
            facts: row.get(3)?,
            is_of_bucket: row.get(4)?,
        })
    }

    /// The same with its status now, and its cost. Where what is kept of it is damaged, the files of one of this machine have it.
    pub(crate) fn listed(&self, store: &FactsStore) -> Option<ListedRun> {
        let team = store.team().filter(|_| self.is_of_bucket);
        let directory = store.directory_at(self.run, self.is_of_bucket);
        let mut row: RunRow = match serde_json::from_str(&self.facts) {
            Ok(row) => row,
            Err(_) if team.is_none() => run_row::read(&directory).row,
            Err(_) => return None,
        };
        row.price(store.prices());
        Some(ListedRun {
            placed: self.placed,
            remote: team.map(|team| RemoteRun {
                team: Arc::clone(team),
                generation: self.generation,
            }),
            ..ListedRun::new(directory, row)
        })
    }
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

    /// The directory of a run of this machine, or of the bucket that is read as well.
    pub(crate) fn directory_at(&self, run: TraceId, is_of_bucket: bool) -> RunDirectory {
        match self.team().filter(|_| is_of_bucket) {
            Some(team) => team.mirror().directory(run),
            None => self.directory(run),
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
            let mut row = run_row::read(&directory).row;
            row.price(&Prices::default());
            ListedRun {
                placed: placed(&directory, &row),
                ..ListedRun::new(directory, row)
            }
        };
        directories.into_iter().map(read).collect()
    }

    /// The facts of some runs of this machine, read from their files, at the prices of this store.
    pub fn read_runs(&self, runs: impl IntoIterator<Item = TraceId>) -> Vec<ListedRun> {
        let mut read = Self::read(runs.into_iter().map(|run| self.directory(run)));
        for run in &mut read {
            run.row.price(&self.prices);
        }
        read
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
pub(crate) fn placed(directory: &RunDirectory, row: &RunRow) -> Option<Timestamp> {
    row.started().or_else(|| {
        let changed = fs::metadata(&directory.path).ok()?.modified().ok()?;
        let since = changed.duration_since(UNIX_EPOCH).ok()?;
        let microseconds = i64::try_from(since.as_micros()).ok()?;
        Some(Timestamp::from_unix_microseconds(microseconds))
    })
}
