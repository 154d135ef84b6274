//! [`FactsStore`]: the facts of every run of a data directory, as its files are now.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracer_insight::run_preview::RunPreview;
use tracer_insight::status::RunStatus;
use tracer_insight::step_summary;
use tracer_runs::{CancelToken, RunDirectory, RunStore, RunSummary, StoreError};
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::prices::Prices;

use crate::database::{DatabaseRow, FactsTexts, RunDatabase, RunToStore};
use crate::database_file::DatabaseError;
use crate::files_stamp::{FilesStamp, FolderListing};
use crate::mirror::{FetchError, RunLease, TeamStore};
use crate::run_facts::{self, FullReading, RunDetails, RunFacts};
use crate::run_folder::RunFolder;
use crate::workers;

/// Threads that stat the files of runs: a disk answers many questions at once.
const MAX_LOOKING: usize = 16;
/// Runs that are kept in one transaction, and how long that may wait: what was read is kept when reading is cancelled.
const RUNS_PER_WRITE: usize = 500;
const MAX_UNWRITTEN: Duration = Duration::from_secs(1);
/// Runs that were just read whose details stay in memory where those of all are not wanted.
const MAX_DETAILS: usize = 1_000;
/// A run whose reading takes longer, and that is running, is not read again at every look …
const EXPENSIVE_READING: Duration = Duration::from_millis(50);
/// … but when as many times its reading have passed: reading takes a part of the time only.
#[cfg(not(test))]
const REST_FACTOR: u32 = 4;
/// Tests change runs at once after they were read.
#[cfg(test)]
const REST_FACTOR: u32 = 0;

/// The facts of the runs of a data directory.
///
/// ```
/// use tracer_facts::FactsStore;
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
    /// Its details, where they were asked for: see [`FactsStore::read_details`]. They are as large as everything else.
    pub details: Option<Box<RunDetails>>,
    /// By which it is placed: its start, or else when its directory was last changed.
    placed: Option<Timestamp>,
    /// The stamp of its files.
    files: Box<[u8]>,
    /// When it was read, and for how long; `None` when its files say all that a look needs.
    unsettled: Option<(Instant, Duration)>,
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
    /// use tracer_facts::{ListedRun, RunColumn};
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
            ..Self::new(
                summary.directory.clone(),
                run_facts::of_summary(summary),
                None,
                &[],
            )
        }
    }

    /// A run of this machine; `files` are what its files looked like.
    fn new(directory: RunDirectory, facts: RunFacts, details: Option<Box<RunDetails>>, files: &[u8]) -> Self {
        Self {
            status: facts.status_now(&directory),
            placed: placed(&directory, &facts),
            directory,
            facts,
            details,
            files: files.into(),
            unsettled: None,
            remote: None,
            unread: None,
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
    /// let run = &tracer_facts::FactsStore::new(folder.path()).all(true)?.runs[0];
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
            read_bytes: 0,
        })
    }

    /// A number that changes when the run does.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.directory.trace_id, self.status.as_str(), &self.files).hash(&mut hasher);
        hasher.finish()
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
            placed: facts.started(),
            remote: Some(RemoteRun {
                team: Arc::clone(team),
                generation: row.generation,
            }),
            ..Self::new(
                team.mirror().directory(row.trace_id),
                facts,
                details,
                &row.generation.to_be_bytes(),
            )
        })
    }

    /// True of a run that a list of all runs, the newest first, has later than the other.
    #[must_use]
    pub fn comes_after(&self, other: &Self) -> bool {
        self.place() > other.place()
    }

    /// Its place among all runs; the newest is the first.
    pub(crate) fn place(&self) -> (Reverse<Option<Timestamp>>, TraceId) {
        (Reverse(self.placed), self.directory.trace_id)
    }

    /// A look at its files: the changes since the last look.
    fn look_again(&self) -> Again {
        let is_open = self.facts.is_open();
        let files = FilesStamp::of(&self.directory.path, is_open);
        match self.unsettled {
            Some((read, took))
                if took >= EXPENSIVE_READING && read.elapsed() < took.saturating_mul(REST_FACTOR) => {}
            // Its files may have changed within the resolution of their clock.
            Some(_) => return Again::Changed,
            None if files.bytes() != &*self.files => return Again::Changed,
            None => {}
        }
        // One without a readable start has its place by the time of its folder.
        if self.facts.started_us.is_none() && placed(&self.directory, &self.facts) != self.placed {
            return Again::Changed;
        }
        match self.facts.status_now(&self.directory) {
            status if status == self.status => Again::Same,
            status => Again::Status(status),
        }
    }
}

/// The result of another comparison of the files of a run.
#[derive(Clone, Copy)]
enum Again {
    Same,
    /// Its process has died.
    Status(RunStatus),
    Changed,
}

/// A run in the folder: one that was known before, or is new.
enum LookedRun<'a> {
    Known(&'a ListedRun),
    New(RunDirectory),
}

impl LookedRun<'_> {
    fn look(&self) -> Again {
        match self {
            Self::Known(run) => run.look_again(),
            Self::New(_) => Again::Changed,
        }
    }
}

/// The result of another comparison of the files of all runs.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
pub enum SnapshotLook {
    /// Nothing has changed.
    Same,
    /// The runs that are known now, and those that have to be read.
    Changed(Survey),
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

/// The runs of a store after a comparison of their files alone: those that are known, and those to be read.
#[derive(Debug)]
pub struct Survey {
    known: Vec<SurveyedRun>,
    /// The newest first.
    unread: Vec<UnreadRun>,
    gone: Vec<TraceId>,
    database: Result<RunDatabase, Option<DatabaseError>>,
    /// Set where all runs get their details.
    pub(crate) with_details: bool,
    prices: Prices,
    /// Up to which change the mirror of a bucket is read.
    pub(crate) mirrored: i64,
    /// The bucket whose runs are still to be read from its mirror.
    team: Option<Arc<TeamStore>>,
    /// The listing of the folder that found the runs.
    pub(crate) listing: Option<FolderListing>,
}

/// A run whose files are as they were when it was read.
#[derive(Debug)]
pub(crate) struct SurveyedRun {
    pub(crate) run: ListedRun,
    /// Its details as they are kept, where they are wanted: as values they are ten times as large.
    pub(crate) details: Option<String>,
}

/// The runs of this machine, and the bucket whose runs are still to be read from its mirror.
pub(crate) struct SurveyedRuns {
    pub(crate) here: Vec<SurveyedRun>,
    pub(crate) unread: usize,
    pub(crate) not_kept: Option<DatabaseError>,
    pub(crate) with_details: bool,
    pub(crate) prices: Prices,
    pub(crate) team: Option<Arc<TeamStore>>,
}

impl From<ListedRun> for SurveyedRun {
    fn from(run: ListedRun) -> Self {
        Self { run, details: None }
    }
}

#[derive(Debug)]
struct UnreadRun {
    directory: RunDirectory,
    newest: Option<SystemTime>,
    bytes: u64,
}

/// The result of a comparison of the files of a run.
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large one")]
enum Look {
    Known(SurveyedRun),
    Unread(UnreadRun),
}

impl FactsStore {
    /// The store in a data directory. Facts are kept there, in `cache/`, where that is possible.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            runs: RunStore::new(data_dir),
            prices: Prices::default(),
            team: None,
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

    /// The facts of all runs, as their files are now.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs is missing or cannot be read.
    pub fn all(&self, with_details: bool) -> Result<StoreFacts, StoreError> {
        Ok(self.survey(with_details)?.read(&CancelToken::default(), |_| ()))
    }

    /// Compares the files of all runs with what is kept of them, and reads none.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs is missing or cannot be read.
    pub fn survey(&self, with_details: bool) -> Result<Survey, StoreError> {
        let listing = FolderListing::begin(&self.runs.runs_dir());
        let (looks, opened) = thread::scope(|scope| {
            let loading = thread::Builder::new().spawn_scoped(scope, || self.load(with_details));
            // An ended run is the common case: the stamps of the others get what else matters.
            let folder = RunFolder::open(&self.runs.runs_dir());
            let look = move |directory: RunDirectory| (folder.stamp(&directory), directory);
            let looks = self
                .local_directories()
                .map(|directories| workers::map(directories, MAX_LOOKING, look));
            let loaded = loading.ok().and_then(|loading| loading.join().ok());
            (looks, loaded.unwrap_or((Err(None), HashMap::new())))
        });
        let (database, mut kept) = opened;
        let looks: Vec<(FilesStamp, RunDirectory)> = looks?.collect();
        let mirror = self.team.as_ref().and_then(|team| team.mirror().database());
        let mirrored = mirror
            .as_ref()
            .map_or(0, |mirror| mirror.last_number().unwrap_or(0));
        // Of a run that is in the bucket as well, only one of both is read.
        let in_bucket = mirror
            .and_then(|mirror| mirror.known_of(looks.iter().map(|(_, run)| run.trace_id)).ok())
            .unwrap_or_default();
        let is_read_here = |directory: &RunDirectory| {
            let has_changed = |team: &Arc<TeamStore>| team.has_changed_here(directory);
            !in_bucket.contains(&directory.trace_id) || self.team.as_ref().is_none_or(has_changed)
        };
        let items: Vec<(FilesStamp, RunDirectory, Option<DatabaseRow>)> = looks
            .into_iter()
            .filter_map(|(files, directory)| {
                let kept = kept.remove(&directory.trace_id);
                is_read_here(&directory).then_some((files, directory, kept))
            })
            .collect();
        let gone = kept.into_keys().collect();
        let count = items.len();
        let looks = workers::map(items, workers::processors(), |(files, directory, kept)| {
            look(files, directory, kept, with_details)
        });
        let (mut known, mut unread) = (Vec::with_capacity(count), Vec::new());
        for look in looks {
            match look {
                Look::Known(run) => known.push(run),
                Look::Unread(run) => unread.push(run),
            }
        }
        Ok(Survey {
            mirrored,
            team: self.team.clone(),
            listing,
            ..Survey::new(self, known, unread, gone, database, with_details)
        })
    }

    /// The same where the runs were known before: what is kept of them is not read, and those that are as they were are
    /// taken over. The folder is not listed while it is as it was at the last `listing`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs is missing or cannot be read.
    pub(crate) fn look_again(
        &self,
        before: &[ListedRun],
        mirrored: i64,
        with_details: bool,
        last_listing: &Mutex<Option<FolderListing>>,
    ) -> Result<SnapshotLook, StoreError> {
        let listing = FolderListing::begin(&self.runs.runs_dir());
        let mut last_listing = last_listing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_listed = listing.as_ref().zip(last_listing.as_ref());
        if self.team.is_none() && is_listed.is_some_and(|(now, before)| now.is_same(before)) {
            let items = before.iter().map(LookedRun::Known).collect();
            let (remote, listing) = (RemoteRuns::default(), last_listing.clone());
            return Ok(self.looked(items, Vec::new(), remote, true, listing, with_details));
        }
        let mut by_id: HashMap<TraceId, &ListedRun> = before
            .iter()
            .filter(|run| run.remote.is_none())
            .map(|run| (run.directory.trace_id, run))
            .collect();
        let remote_before = before.len() - by_id.len();
        let directories = self.local_directories()?;
        let here: HashSet<TraceId> = directories.iter().map(|run| run.trace_id).collect();
        // One that is gone here may be in the bucket.
        let has_gone = by_id.keys().any(|run| !here.contains(run));
        let (known, up_to) = if has_gone {
            (&[][..], 0)
        } else {
            (before, mirrored)
        };
        let mut remote = self.remote_runs(known, up_to, with_details);
        let mut is_remote_same = remote.up_to == mirrored;
        let items: Vec<LookedRun<'_>> = directories
            .into_iter()
            .filter_map(|directory| {
                let before = by_id.remove(&directory.trace_id);
                let is_read_here = remote.is_read_here(&directory);
                is_remote_same &= is_read_here || before.is_none();
                is_read_here.then(|| before.map_or(LookedRun::New(directory), LookedRun::Known))
            })
            .collect();
        is_remote_same &= remote.runs.len() == remote_before;
        let gone: Vec<TraceId> = by_id.into_keys().collect();
        let look = self.looked(items, gone, remote, is_remote_same, listing.clone(), with_details);
        // What is the same is so by this listing. What has changed may never be read, and is to be found again then.
        if matches!(look, SnapshotLook::Same) {
            *last_listing = listing;
        }
        Ok(look)
    }

    /// Compares the files of runs that were known before or are new.
    fn looked(
        &self,
        items: Vec<LookedRun<'_>>,
        gone: Vec<TraceId>,
        remote: RemoteRuns,
        is_remote_same: bool,
        listing: Option<FolderListing>,
        with_details: bool,
    ) -> SnapshotLook {
        let looks: Vec<(LookedRun<'_>, Again)> = workers::map(items, MAX_LOOKING, |run| {
            let look = run.look();
            (run, look)
        })
        .collect();
        if is_remote_same && gone.is_empty() && looks.iter().all(|(_, look)| matches!(look, Again::Same)) {
            return SnapshotLook::Same;
        }
        let (mut known, mut unread) = (Vec::with_capacity(looks.len()), Vec::new());
        for look in looks {
            match look {
                (LookedRun::Known(run), Again::Same) => known.push(run.clone().into()),
                (LookedRun::Known(run), Again::Status(status)) => known.push(SurveyedRun::from(ListedRun {
                    status,
                    ..run.clone()
                })),
                (LookedRun::Known(run), Again::Changed) => unread.push(UnreadRun::of(run.directory.clone())),
                (LookedRun::New(directory), _) => unread.push(UnreadRun::of(directory)),
            }
        }
        known.extend(remote.runs.into_values().map(SurveyedRun::from));
        let is_written = !unread.is_empty() || !gone.is_empty();
        let database = if is_written && self.runs.runs_dir().is_dir() {
            RunDatabase::of_this_machine(self.runs.data_dir()).map_err(Some)
        } else {
            Err(None)
        };
        SnapshotLook::Changed(Survey {
            mirrored: remote.up_to,
            listing,
            ..Survey::new(self, known, unread, gone, database, with_details)
        })
    }

    /// The directories of the runs of this machine; where a bucket is read as well, none need be there.
    pub(crate) fn local_directories(&self) -> Result<Vec<RunDirectory>, StoreError> {
        match self.runs.list_directories() {
            Err(StoreError::Missing { .. }) if self.team.is_some() => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// The runs of the bucket that is read as well. Of those that were known `before`, up to a change of its mirror, only
    /// what changed since is read.
    fn remote_runs(&self, before: &[ListedRun], mirrored: i64, with_details: bool) -> RemoteRuns {
        let Some(team) = &self.team else {
            return RemoteRuns::default();
        };
        let mut found = RemoteRuns {
            team: Some(Arc::clone(team)),
            ..RemoteRuns::default()
        };
        let opened = team.mirror().open_database().and_then(|database| match database {
            Some(database) => Ok(Some((database.last_number()?, database))),
            None => Ok(None),
        });
        let (up_to, database) = match opened {
            Ok(Some((last, database))) => (last, Some(database)),
            Ok(None) => return found,
            // What is known stays: the next look reads what came after it.
            Err(_) => (mirrored, None),
        };
        // A new mirror begins to count again.
        let since = if up_to < mirrored { 0 } else { mirrored };
        if since > 0 {
            let known = before.iter().filter(|run| run.remote.is_some());
            found.runs = known.map(|run| (run.directory.trace_id, run.clone())).collect();
        }
        found.up_to = up_to;
        let Some(database) = database.filter(|_| up_to != since) else {
            return found;
        };
        let mut after = since;
        loop {
            let Ok(rows) = database.changes(after, with_details) else {
                found.up_to = after;
                break;
            };
            let Some(last) = rows.last() else { break };
            after = last.number;
            let read = |row: DatabaseRow| (row.trace_id, ListedRun::of_bucket(&row, team));
            for (id, run) in workers::map(rows, workers::processors(), read) {
                match run {
                    Some(run) => drop(found.runs.insert(id, run)),
                    None => drop(found.runs.remove(&id)),
                }
            }
        }
        found
    }

    fn load(
        &self,
        with_details: bool,
    ) -> (
        Result<RunDatabase, Option<DatabaseError>>,
        HashMap<TraceId, DatabaseRow>,
    ) {
        if !self.runs.runs_dir().is_dir() {
            return (Err(None), HashMap::new());
        }
        // A file that turns out to be damaged is gone then, and there is a new one the second time.
        let mut failure = None;
        for _ in 0..2 {
            match RunDatabase::of_this_machine(self.runs.data_dir()) {
                Ok(database) => {
                    let mut kept = HashMap::new();
                    let loaded = database.each(with_details, |run| drop(kept.insert(run.trace_id, run)));
                    match loaded {
                        Ok(()) => return (Ok(database), kept),
                        Err(error) => failure = Some(error),
                    }
                }
                Err(error) => return (Err(Some(error)), HashMap::new()),
            }
        }
        (Err(failure), HashMap::new())
    }

    /// The facts of some runs, read from their files.
    pub fn read(directories: impl IntoIterator<Item = RunDirectory>) -> Vec<ListedRun> {
        let read = |directory: RunDirectory| {
            let files = FilesStamp::of(&directory.path, true);
            let mut run = listed(&directory, run_facts::read(&directory), true, &files, None);
            if let Some(details) = &mut run.details {
                details.price(&Prices::default());
            }
            run
        };
        directories.into_iter().map(read).collect()
    }

    /// Gives the runs their details that have none yet: from what is kept, or from their files.
    pub fn read_details<'a>(&self, runs: impl IntoIterator<Item = &'a mut ListedRun>) {
        let (mut database, mut mirror) = (None, None);
        for run in runs.into_iter().filter(|run| run.details.is_none()) {
            let id = run.directory.trace_id;
            let kept = |database: &Option<RunDatabase>, files: &[u8]| {
                let text = database.as_ref()?.details(id, files).ok()??;
                serde_json::from_str(&text).ok()
            };
            let details = if let Some(remote) = &run.remote {
                let mirror = mirror.get_or_insert_with(|| remote.team.mirror().database());
                Some(kept(mirror, &[]).unwrap_or_default())
            } else {
                let database =
                    database.get_or_insert_with(|| RunDatabase::of_this_machine(self.runs.data_dir()).ok());
                let files = FilesStamp::of(&run.directory.path, run.facts.is_open());
                kept(database, files.bytes())
            };
            let mut details: Box<RunDetails> =
                details.unwrap_or_else(|| Box::new(run_facts::read(&run.directory).details));
            details.price(&self.prices);
            run.details = Some(details);
        }
    }

    /// Forgets what is kept of runs that were deleted. What cannot be forgotten now is forgotten by the next listing.
    pub fn forget(&self, runs: &[TraceId]) {
        if !runs.is_empty() && RunDatabase::is_there(self.runs.data_dir()) {
            let _ = RunDatabase::of_this_machine(self.runs.data_dir())
                .and_then(|database| database.write(&[], runs));
        }
    }
}

/// The runs of a bucket that is read as well.
#[derive(Default)]
struct RemoteRuns {
    team: Option<Arc<TeamStore>>,
    runs: HashMap<TraceId, ListedRun>,
    /// Up to which change of the mirror.
    up_to: i64,
}

impl RemoteRuns {
    /// True of a run of this machine that is read from here. Of one that is in the bucket, only one of both is.
    fn is_read_here(&mut self, directory: &RunDirectory) -> bool {
        let Some(team) = &self.team else { return true };
        if !self.runs.contains_key(&directory.trace_id) {
            return true;
        }
        let has_changed = team.has_changed_here(directory);
        if has_changed {
            self.runs.remove(&directory.trace_id);
        }
        has_changed
    }
}

impl Survey {
    fn new(
        store: &FactsStore,
        known: Vec<SurveyedRun>,
        unread: Vec<UnreadRun>,
        gone: Vec<TraceId>,
        database: Result<RunDatabase, Option<DatabaseError>>,
        with_details: bool,
    ) -> Self {
        Self {
            known,
            unread: newest_first(unread),
            gone,
            database,
            with_details,
            prices: store.prices.clone(),
            mirrored: 0,
            team: None,
            listing: None,
        }
    }

    /// Number of runs that have to be read, and the bytes of their logs.
    #[must_use]
    pub fn unread(&self) -> (usize, u64) {
        (self.unread.len(), self.unread.iter().map(|run| run.bytes).sum())
    }

    /// No runs.
    pub(crate) fn empty(store: &FactsStore, with_details: bool) -> Self {
        let (known, unread, gone) = (Vec::new(), Vec::new(), Vec::new());
        Self::new(store, known, unread, gone, Err(None), with_details)
    }

    /// Reads the runs of this machine that have to be read, the newest first, in several threads, and keeps their facts as it
    /// goes. When `cancel` is cancelled, what was read until then is given, and kept.
    pub(crate) fn read_here(
        mut self,
        cancel: &CancelToken,
        mut progress: impl FnMut(ReadingProgress),
    ) -> SurveyedRuns {
        let (count, bytes) = self.unread();
        let mut reading = ReadingProgress {
            runs: count,
            bytes,
            ..ReadingProgress::default()
        };
        let mut keeping = Keeping::new(self.database, std::mem::take(&mut self.gone));
        let with_details = self.with_details || count <= MAX_DETAILS;
        let mut runs = self.known;
        let mut left = count;
        workers::each(
            &self.unread,
            workers::processors(),
            cancel,
            |run| read_settled(&run.directory),
            |at, read| {
                left -= 1;
                reading.read_runs += 1;
                reading.read_bytes += self.unread.get(at).map_or(0, |run| run.bytes);
                if let (Some(run), Some(settled)) = (self.unread.get(at), read) {
                    let SettledReading {
                        read,
                        files,
                        unsettled,
                    } = settled;
                    if unsettled.is_none() {
                        keeping.add(&run.directory, &files, &read);
                    }
                    runs.push(listed(&run.directory, read, with_details, &files, unsettled).into());
                }
                progress(reading);
            },
        );
        SurveyedRuns {
            here: runs,
            unread: left,
            not_kept: keeping.finish(),
            with_details: self.with_details,
            prices: self.prices,
            team: self.team,
        }
    }
}

/// The runs that wait to be written to the database.
struct Keeping {
    database: Result<RunDatabase, Option<DatabaseError>>,
    waiting: Vec<(TraceId, Vec<u8>, FactsTexts)>,
    gone: Vec<TraceId>,
    last_write: Instant,
}

impl Keeping {
    fn new(database: Result<RunDatabase, Option<DatabaseError>>, gone: Vec<TraceId>) -> Self {
        Self {
            database,
            waiting: Vec::new(),
            gone,
            last_write: Instant::now(),
        }
    }

    fn add(&mut self, directory: &RunDirectory, files: &FilesStamp, read: &FullReading) {
        if self.database.is_err() {
            return;
        }
        let state = FactsTexts::of_reading(read);
        self.waiting
            .extend(state.map(|state| (directory.trace_id, files.bytes().to_vec(), state)));
        if self.waiting.len() >= RUNS_PER_WRITE || self.last_write.elapsed() >= MAX_UNWRITTEN {
            self.write();
        }
    }

    /// Writes what waits. After a failure nothing more is kept: a disk is full, or another process writes.
    fn write(&mut self) {
        let runs = self.waiting.iter().map(|(trace_id, files, state)| RunToStore {
            trace_id: *trace_id,
            files,
            generation: 0,
            partition: "",
            state: Some(state),
        });
        if let Ok(database) = &self.database
            && let Err(error) = database.write(&runs.collect::<Vec<_>>(), &self.gone)
        {
            self.database = Err(Some(error));
        }
        self.waiting.clear();
        self.gone.clear();
        self.last_write = Instant::now();
    }

    fn finish(mut self) -> Option<DatabaseError> {
        self.write();
        self.database.err().flatten()
    }
}

/// A run as it is kept, when its files are still what they were; `files` is the stamp of one that has ended.
fn look(
    mut files: FilesStamp,
    directory: RunDirectory,
    kept: Option<DatabaseRow>,
    with_details: bool,
) -> Look {
    let known = kept.and_then(|kept| {
        let facts: RunFacts = serde_json::from_str(kept.facts.as_ref()?).ok()?;
        if facts.is_open() {
            files.add_live_file(&directory.path);
        }
        if files.bytes() != kept.files {
            return None;
        }
        if with_details && kept.details.is_none() {
            return None;
        }
        Some((facts, kept))
    });
    match known {
        Some((facts, kept)) => Look::Known(SurveyedRun {
            run: ListedRun::new(directory, facts, None, &kept.files),
            details: kept.details,
        }),
        None => Look::Unread(UnreadRun::of(directory)),
    }
}

impl UnreadRun {
    fn of(directory: RunDirectory) -> Self {
        let files = FilesStamp::of(&directory.path, true);
        Self {
            directory,
            newest: files.newest,
            bytes: files.log_bytes,
        }
    }
}

fn newest_first(mut unread: Vec<UnreadRun>) -> Vec<UnreadRun> {
    unread.sort_by(|one, other| {
        let newest_first = other.newest.cmp(&one.newest);
        newest_first.then_with(|| one.directory.trace_id.cmp(&other.directory.trace_id))
    });
    unread
}

/// A run that was read, and what its files looked like.
struct SettledReading {
    read: FullReading,
    files: FilesStamp,
    /// When it was read, and for how long, when its files changed meanwhile or just before: it is read again the next time.
    unsettled: Option<(Instant, Duration)>,
}

/// Reads a run; `None` when it was deleted.
fn read_settled(directory: &RunDirectory) -> Option<SettledReading> {
    let began = Instant::now();
    let before = FilesStamp::of(&directory.path, true);
    let is_settled = before.is_settled();
    let read = run_facts::read(directory);
    if !directory.path.is_dir() {
        return None;
    }
    let is_open = read.facts.is_open();
    let is_same = FilesStamp::of(&directory.path, true) == before;
    let files = FilesStamp::of(&directory.path, is_open);
    let is_kept = is_same && read.is_complete && is_settled;
    Some(SettledReading {
        read,
        files,
        unsettled: (!is_kept).then(|| (Instant::now(), began.elapsed())),
    })
}

fn listed(
    directory: &RunDirectory,
    read: FullReading,
    with_details: bool,
    files: &FilesStamp,
    unsettled: Option<(Instant, Duration)>,
) -> ListedRun {
    let details = with_details.then(|| Box::new(read.details));
    ListedRun {
        unsettled,
        ..ListedRun::new(directory.clone(), read.facts, details, files.bytes())
    }
}

fn placed(directory: &RunDirectory, facts: &RunFacts) -> Option<Timestamp> {
    facts.started().or_else(|| {
        let changed = fs::metadata(&directory.path).ok()?.modified().ok()?;
        let since = changed.duration_since(UNIX_EPOCH).ok()?;
        let microseconds = i64::try_from(since.as_micros()).ok()?;
        Some(Timestamp::from_unix_microseconds(microseconds))
    })
}
