//! [`RunStream`]: all runs of a store one after the other, for questions whose answers are small: there may be millions, and
//! few of them are in memory at a time.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tracer_insight::status::RunStatus;
use tracer_runs::CancelToken;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database::{DatabaseRow, RunDatabase};
use crate::database_file::DatabaseError;
use crate::mirror::TeamStore;
use crate::query::{FactsTest, RunMatch, RunQuery, StepTest};
use crate::run_column::RunColumn;
use crate::run_facts::status_now;
use crate::search::match_steps;
use crate::selection::MatchProgress;
use crate::store::{FactsStore, ListedRun, ReadingProgress, StoreFacts};
use crate::survey::{RunsBefore, Survey};
use crate::threads::RunThreads;
use crate::workers;

/// Rows that a thread takes at once.
const ROWS_PER_TURN: usize = 256;
/// The same where all runs are to be in memory.
const ROWS_PER_LOAD: usize = 2_000;
/// Runs whose steps are read that are in memory at a time.
const RUNS_PER_STEPS: usize = 1_000;
/// Runs that are in memory at least before all but the first ones are given up.
const MIN_HELD: usize = 1_000;

/// A sink of the runs of a stream, in several threads and in no order.
///
/// ```
/// use std::borrow::Cow;
/// use tracer_catalog::{ListedRun, RunSink};
/// use tracer_sdk::testing::capture;
///
/// #[derive(Default)]
/// struct Errors(u64);
///
/// impl RunSink for Errors {
///     fn add(&mut self, run: Cow<'_, ListedRun>) {
///         self.0 += run.facts.errors;
///     }
///     fn append(&mut self, others: Self) {
///         self.0 += others.0;
///     }
/// }
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let listed = tracer_catalog::FactsStore::new(folder.path()).all(false)?;
/// let mut errors = Errors::default();
/// errors.add(Cow::Borrowed(&listed.runs[0]));
/// assert_eq!(errors.0, listed.runs[0].facts.errors);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RunSink: Send {
    /// Adds a run.
    fn add(&mut self, run: Cow<'_, ListedRun>);
    /// Adds the runs of another thread.
    fn append(&mut self, others: Self);
}

/// Which runs of a stream are wanted.
///
/// ```
/// use tracer_catalog::RunChoice;
/// use tracer_catalog::query::RunQuery;
/// use tracer_insight::units::now;
///
/// let query: RunQuery = "status:failed since:7d".parse()?;
/// let choice = RunChoice {
///     query: &query,
///     now: now(),
///     with_trials: false,
///     also: &|run| run.origin().is_none(),
/// };
/// assert!(!choice.query.needs_steps());
/// # Ok::<(), tracer_catalog::query::QueryError>(())
/// ```
#[derive(Clone, Copy)]
pub struct RunChoice<'a> {
    /// The query of their facts and steps.
    pub query: &'a RunQuery,
    /// The time that ages are counted back from.
    pub now: Timestamp,
    /// Set where trials of gates are wanted.
    pub with_trials: bool,
    /// A further condition.
    pub also: &'a (dyn Fn(&ListedRun) -> bool + Sync),
}

/// The number of runs, without any one of them.
///
/// ```
/// assert_eq!(tracer_catalog::RunCensus::default().ids.len(), 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCensus {
    /// The runs, in no order.
    pub ids: Vec<TraceId>,
    /// The number of runs with each status.
    pub statuses: BTreeMap<RunStatus, usize>,
    /// Trials of gates that were left out.
    pub hidden_trials: usize,
}

impl RunCensus {
    fn add(&mut self, run: TraceId, status: RunStatus, is_hidden: bool) {
        if is_hidden {
            self.hidden_trials += 1;
        } else {
            self.ids.push(run);
            *self.statuses.entry(status).or_default() += 1;
        }
    }
}

/// All runs of a store, as they were at one instant.
///
/// ```
/// use tracer_catalog::query::RunQuery;
/// use tracer_catalog::stats::{StatsSink, StoreStats};
/// use tracer_catalog::{FactsStore, RunChoice};
/// use tracer_insight::units::now;
/// use tracer_runs::CancelToken;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let cancel = CancelToken::default();
/// let mut runs = FactsStore::new(folder.path()).survey(true)?.stream(&cancel, |_| ())?;
/// assert_eq!(runs.census(true)?.ids.len(), 1);
///
/// let query: RunQuery = "tool:search".parse()?;
/// let choice = RunChoice { query: &query, now: now(), with_trials: false, also: &|_| true };
/// let sums = runs.fold(&choice, || StatsSink::new(None), &cancel, |_| ())?;
/// let stats: StoreStats = sums.finish();
/// assert_eq!(stats.all.runs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunStream {
    /// Runs that are missing because reading was cancelled.
    pub unread: usize,
    /// Why facts could not be kept; they are read again the next time then.
    pub not_kept: Option<DatabaseError>,
    loader: RunLoader,
    /// This machine, and the bucket that is read as well.
    sources: Vec<RunSource>,
}

/// Makes runs of the rows of databases.
#[derive(Debug)]
struct RunLoader {
    store: FactsStore,
    with_details: bool,
    /// The runs that are read from this machine.
    here: HashSet<TraceId>,
}

impl RunLoader {
    /// True of a run that is read from this source: of one that is here and in the bucket, only one of both is.
    fn is_shown(&self, team: Option<&Arc<TeamStore>>, run: TraceId) -> bool {
        team.is_none() == self.here.contains(&run)
    }

    /// The run of a row, with its cost; `None` when it was removed from a bucket, or is read from elsewhere.
    fn load(
        &self,
        team: Option<&Arc<TeamStore>>,
        row: &DatabaseRow,
        with_details: bool,
    ) -> Option<ListedRun> {
        if !self.is_shown(team, row.trace_id) {
            return None;
        }
        let mut run = match team {
            Some(team) => ListedRun::of_bucket(row, team)?,
            None => ListedRun::of_this_machine(row, self.store.directory(row.trace_id), with_details),
        };
        if let Some(details) = &mut run.details {
            details.price(self.store.prices());
        }
        Some(run)
    }
}

/// A database of runs; no writer changes it until reading ends.
#[derive(Debug)]
struct RunSource {
    database: RunDatabase,
    /// The bucket that it mirrors; `None` of this machine.
    team: Option<Arc<TeamStore>>,
}

impl RunSource {
    /// The mirror of a bucket; `None` when nothing was ever synchronized.
    fn mirror(team: &Arc<TeamStore>) -> Result<Option<Self>, DatabaseError> {
        let Some(database) = team.mirror().open_database()? else {
            return Ok(None);
        };
        database.begin_reading()?;
        Ok(Some(Self {
            database,
            team: Some(Arc::clone(team)),
        }))
    }
}

/// The runs that one thread has added, and those that it has left open.
struct StreamPart<Sink> {
    sink: Sink,
    undecided: Vec<TraceId>,
}

impl Survey {
    /// Reads the runs that have to be read, the newest first, in several threads, and keeps their facts as it goes. When
    /// `cancel` is cancelled, what was read until then is given, and kept.
    pub fn read(mut self, cancel: &CancelToken, progress: impl FnMut(ReadingProgress)) -> StoreFacts {
        let before = std::mem::take(&mut self.before);
        RunStream::read(self, before, cancel, progress)
    }

    /// Reads likewise, and loads no run yet: for questions that need each run once.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the runs cannot be kept anywhere, or the mirror of a bucket cannot be read.
    pub fn stream(
        self,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> Result<RunStream, DatabaseError> {
        let (runs, unopened) = RunStream::open(self, cancel, progress)?;
        unopened.map_or(Ok(runs), Err)
    }
}

impl RunStream {
    /// The stream of a survey whose runs are read, and why those of a bucket are missing in it.
    fn open(
        survey: Survey,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> Result<(Self, Option<DatabaseError>), DatabaseError> {
        let (store, with_details) = (survey.store.clone(), survey.with_details);
        let here = survey.read_here(cancel, progress)?;
        here.database.begin_reading()?;
        let mirror = store.team().map(RunSource::mirror).transpose();
        let (mirror, unopened) = match mirror {
            Ok(mirror) => (mirror.flatten(), None),
            Err(error) => (None, Some(error)),
        };
        let source = RunSource {
            database: here.database,
            team: None,
        };
        let stream = Self {
            unread: here.unread,
            not_kept: here.not_kept,
            loader: RunLoader {
                store,
                with_details,
                here: here.ids,
            },
            sources: iter::once(source).chain(mirror).collect(),
        };
        Ok((stream, unopened))
    }

    /// Lets other processes write again. What is read from now on may be newer.
    fn end_reading(&self) -> Result<(), DatabaseError> {
        self.sources.iter().try_for_each(|source| source.database.end())
    }

    /// Counts all runs.
    ///
    /// ```
    /// use tracer_insight::status::RunStatus;
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_catalog::FactsStore::new(folder.path()).survey(false)?;
    /// let census = survey.stream(&CancelToken::default(), |_| ())?.census(true)?;
    /// assert_eq!((census.ids.len(), census.statuses[&RunStatus::Ok]), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn census(&self, with_trials: bool) -> Result<RunCensus, DatabaseError> {
        let mut census = RunCensus::default();
        for source in &self.sources {
            source.database.each_counted(|run, status, is_trial| {
                if self.loader.is_shown(source.team.as_ref(), run) {
                    let is_here = source.team.is_none() && status.is_open();
                    let directory = is_here.then(|| self.loader.store.directory(run));
                    let status = directory.map_or(status, |directory| status_now(status, &directory));
                    census.add(run, status, is_trial && !with_trials);
                }
            })?;
        }
        Ok(census)
    }

    /// The newest runs, the newest first, without details; no other one is read.
    ///
    /// ```
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_catalog::FactsStore::new(folder.path()).survey(false)?;
    /// let newest = survey.stream(&CancelToken::default(), |_| ())?.newest(20, false)?;
    /// assert_eq!(newest[0].facts.name.as_deref(), Some("captured"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn newest(&self, limit: usize, with_trials: bool) -> Result<Vec<ListedRun>, DatabaseError> {
        let mut newest = Vec::new();
        for source in &self.sources {
            let mut left = limit;
            source.database.each_newest(with_trials, |row| {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                if let Some(run) = self.loader.load(source.team.as_ref(), &row, false) {
                    left -= 1;
                    newest.push(run);
                }
                ControlFlow::Continue(())
            })?;
        }
        newest.sort_by_cached_key(ListedRun::place);
        newest.truncate(limit);
        Ok(newest)
    }

    /// The runs whose facts do not exclude them, the newest first, for a search that reads their steps itself. They come
    /// without details: there may be many.
    ///
    /// ```
    /// use tracer_insight::units::now;
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_catalog::FactsStore::new(folder.path()).survey(true)?;
    /// let mut runs = survey.stream(&CancelToken::default(), |_| ())?;
    /// assert_eq!(runs.candidates(&"tool:search refund".parse()?, false, now())?.len(), 1);
    /// assert_eq!(runs.candidates(&"tool:fetch refund".parse()?, false, now())?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn candidates(
        &mut self,
        query: &RunQuery,
        with_trials: bool,
        now: Timestamp,
    ) -> Result<Vec<ListedRun>, DatabaseError> {
        let facts = FactsTest::new(query, now);
        let choice = RunChoice {
            query: &RunQuery::default(),
            now,
            with_trials,
            also: &|run| facts.matches(run) != RunMatch::No,
        };
        let found = self.fold(&choice, Candidates::default, &CancelToken::default(), |_| ())?;
        let mut runs = found.0;
        runs.sort_by_cached_key(ListedRun::place);
        Ok(runs)
    }

    /// One run; `None` when there is none with this ID.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn run(&self, id: TraceId) -> Result<Option<ListedRun>, DatabaseError> {
        for source in &self.sources {
            let row = source.database.run(id, self.loader.with_details)?;
            let load = |row| {
                self.loader
                    .load(source.team.as_ref(), &row, self.loader.with_details)
            };
            if let Some(run) = row.and_then(load) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// The threads of these runs.
    ///
    /// ```
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_catalog::FactsStore::new(folder.path()).survey(false)?;
    /// let runs = survey.stream(&CancelToken::default(), |_| ())?;
    /// let newest = runs.newest(20, false)?;
    /// assert_eq!(runs.threads(&newest, false)?.place(&newest[0]), None, "it is alone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn threads(&self, listed: &[ListedRun], with_trials: bool) -> Result<RunThreads, DatabaseError> {
        let sessions = listed.iter().filter_map(|run| run.facts.session.as_deref());
        let mut members = Vec::new();
        for session in sessions.collect::<HashSet<&str>>() {
            for source in &self.sources {
                let found = source.database.of_session(session)?.into_iter();
                let found = found.filter(|(run, _, is_trial)| {
                    (with_trials || !is_trial) && self.loader.is_shown(source.team.as_ref(), *run)
                });
                members.extend(found.map(|(run, placed, _)| (Reverse(placed), run, session)));
            }
        }
        members.sort_unstable();
        let members = members.into_iter().map(|(_, run, session)| (session, run));
        Ok(RunThreads::of_members(members))
    }

    /// Adds the runs that are wanted to a sink: those that facts decide, in several threads, and then those whose steps have to
    /// be read. Before that, other processes can write again: what is read afterwards may be newer. `progress` is
    /// called before the first run whose steps decide is read, and after each one; when `cancel` is
    /// cancelled, those that were not read yet are left out.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: a database cannot be read.
    pub fn fold<Sink: RunSink>(
        &mut self,
        choice: &RunChoice<'_>,
        begin: impl Fn() -> Sink + Sync,
        cancel: &CancelToken,
        mut progress: impl FnMut(MatchProgress),
    ) -> Result<Sink, DatabaseError> {
        let facts = FactsTest::new(choice.query, choice.now);
        let is_wanted = |run: &ListedRun| {
            if (run.facts.is_trial && !choice.with_trials) || !(choice.also)(run) {
                return RunMatch::No;
            }
            facts.matches(run)
        };
        let new_part = || StreamPart {
            sink: begin(),
            undecided: Vec::new(),
        };
        let mut all = new_part();
        let mut read = Ok(());
        for source in &self.sources {
            let (part, ended) = self.fold_source(source, &is_wanted, &new_part);
            all.append(part);
            read = read.and(ended);
        }
        // The rest may take minutes, in which no other process should wait: reading steps, and the caller's own work.
        let ended = self.end_reading();
        read.and(ended)?;
        let StreamPart {
            mut sink,
            mut undecided,
        } = all;
        if undecided.is_empty() {
            return Ok(sink);
        }
        undecided.sort_unstable();
        let test = StepTest::new(choice.query);
        let mut reading = MatchProgress {
            runs: undecided.len(),
            read_runs: 0,
        };
        progress(reading);
        for ids in undecided.chunks(RUNS_PER_STEPS) {
            let runs = ids.iter().filter_map(|id| self.run(*id).transpose());
            let runs: Vec<ListedRun> = runs.collect::<Result<_, _>>()?;
            let runs: Vec<&ListedRun> = runs.iter().collect();
            match_steps(&runs, &test, cancel, |at, matches| {
                reading.read_runs += 1;
                progress(reading);
                if let Some(run) = runs.get(at).filter(|_| matches) {
                    sink.add(Cow::Borrowed(run));
                }
            });
        }
        Ok(sink)
    }

    /// All runs of a survey, the newest first. What cannot be read of a bucket is missing.
    fn read(
        survey: Survey,
        before: RunsBefore,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> StoreFacts {
        let (mut stream, mut unread_bucket) = match Self::open(survey, cancel, progress) {
            Ok(opened) => opened,
            Err(error) => {
                return StoreFacts {
                    unread: 1,
                    not_kept: Some(error),
                    ..StoreFacts::default()
                };
            }
        };
        let known = before.runs.into_iter().map(|run| (run.directory.trace_id, run));
        let mut runs: HashMap<TraceId, ListedRun> = known.collect();
        let mut mirrored = 0;
        for source in &stream.sources {
            if source.team.is_some() {
                match stream.add_changes(source, before.mirrored, &mut runs) {
                    Ok(last) => mirrored = last,
                    Err(error) => unread_bucket = Some(error),
                }
            } else if let Err(error) = stream.add_missing(source, &mut runs) {
                stream.unread += 1;
                stream.not_kept = Some(error);
                break;
            }
        }
        runs.retain(|id, run| run.origin().is_none() == stream.loader.here.contains(id));
        let mut runs: Vec<ListedRun> = runs.into_values().collect();
        // Each is moved once: it is large, and there are many.
        runs.sort_by_cached_key(ListedRun::place);
        StoreFacts {
            runs,
            unread: stream.unread,
            not_kept: stream.not_kept,
            unread_bucket,
            mirrored,
        }
    }

    /// Adds the runs of this machine that are not among those that are known.
    fn add_missing(
        &self,
        source: &RunSource,
        runs: &mut HashMap<TraceId, ListedRun>,
    ) -> Result<(), DatabaseError> {
        let is_known = |run: &TraceId| runs.get(run).is_some_and(|run| run.origin().is_none());
        let missing = self.loader.here.iter().copied().filter(|run| !is_known(run));
        let missing: Vec<TraceId> = missing.collect();
        if missing.len() > ROWS_PER_TURN {
            return self.add_rows(source, 0, runs);
        }
        for id in missing {
            let row = source.database.run(id, self.loader.with_details)?;
            let run = row.and_then(|row| self.loader.load(None, &row, self.loader.with_details));
            runs.extend(run.map(|run| (id, run)));
        }
        Ok(())
    }

    /// Takes over what changed in a bucket since an earlier change; the number of the last one.
    fn add_changes(
        &self,
        source: &RunSource,
        since: i64,
        runs: &mut HashMap<TraceId, ListedRun>,
    ) -> Result<i64, DatabaseError> {
        let last = source.database.last_number()?;
        // A new mirror begins to count again.
        let since = if last < since { 0 } else { since };
        if since == 0 {
            runs.retain(|_, run| run.origin().is_none());
        }
        self.add_rows(source, since, runs)?;
        Ok(last)
    }

    fn add_rows(
        &self,
        source: &RunSource,
        after: i64,
        runs: &mut HashMap<TraceId, ListedRun>,
    ) -> Result<(), DatabaseError> {
        let (loader, team) = (&self.loader, source.team.as_ref());
        let load = |row: DatabaseRow| (row.trace_id, loader.load(team, &row, loader.with_details));
        source
            .database
            .each_change(after, ROWS_PER_LOAD, loader.with_details, |rows| {
                for (id, run) in workers::map(rows, workers::processors(), load) {
                    match run {
                        Some(run) => drop(runs.insert(id, run)),
                        None if loader.is_shown(team, id) => drop(runs.remove(&id)),
                        None => {}
                    }
                }
            })
    }

    /// Adds the runs of a source that match to sinks, in several threads; which ones are left open.
    fn fold_source<Sink: RunSink>(
        &self,
        source: &RunSource,
        is_wanted: &(impl Fn(&ListedRun) -> RunMatch + Sync),
        new_part: &(impl Fn() -> StreamPart<Sink> + Sync),
    ) -> (StreamPart<Sink>, Result<(), DatabaseError>) {
        let (loader, team) = (&self.loader, source.team.as_ref());
        let add = |part: &mut StreamPart<Sink>, rows: Vec<DatabaseRow>| {
            for row in rows {
                if let Some(run) = loader.load(team, &row, loader.with_details) {
                    part.add(run, is_wanted);
                }
            }
        };
        let (sender, receiver) = mpsc::sync_channel(2 * workers::processors());
        let receiver = Arc::new(Mutex::new(receiver));
        let work = |receiver: Arc<Mutex<Receiver<Vec<DatabaseRow>>>>| {
            let mut part = new_part();
            while let Some(rows) = next_rows(&receiver) {
                add(&mut part, rows);
            }
            part
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..workers::processors())
                .filter_map(|_| {
                    let (work, receiver) = (&work, Arc::clone(&receiver));
                    let thread = thread::Builder::new().spawn_scoped(scope, move || work(receiver));
                    thread.ok()
                })
                .collect();
            // When no thread works any more, sending fails.
            drop(receiver);
            let mut all = new_part();
            let read = source
                .database
                .each_change(0, ROWS_PER_TURN, loader.with_details, |rows| {
                    if threads.is_empty() {
                        add(&mut all, rows);
                    } else {
                        // A thread that has panicked says so below.
                        let _ = sender.send(rows);
                    }
                });
            drop(sender);
            for thread in threads {
                match thread.join() {
                    Ok(part) => all.append(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            (all, read)
        })
    }
}

fn next_rows(receiver: &Mutex<Receiver<Vec<DatabaseRow>>>) -> Option<Vec<DatabaseRow>> {
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    receiver.recv().ok()
}

impl<Sink: RunSink> StreamPart<Sink> {
    fn add(&mut self, run: ListedRun, is_wanted: &impl Fn(&ListedRun) -> RunMatch) {
        match is_wanted(&run) {
            RunMatch::No => {}
            RunMatch::Yes => self.sink.add(Cow::Owned(run)),
            RunMatch::IfSteps => self.undecided.push(run.directory.trace_id),
        }
    }

    fn append(&mut self, others: Self) {
        self.sink.append(others.sink);
        self.undecided.extend(others.undecided);
    }
}

/// Runs without their details.
#[derive(Default)]
struct Candidates(Vec<ListedRun>);

impl RunSink for Candidates {
    fn add(&mut self, run: Cow<'_, ListedRun>) {
        let mut run = run.into_owned();
        run.details = None;
        self.0.push(run);
    }

    fn append(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}

/// The first runs in an order, and how many there are.
///
/// ```
/// use std::borrow::Cow;
/// use tracer_catalog::{LeadingRuns, RunColumn, RunSink};
/// use tracer_insight::units::now;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let listed = tracer_catalog::FactsStore::new(folder.path()).all(false)?;
/// let mut first = LeadingRuns::new(20, RunColumn::Tokens, false, now());
/// first.add(Cow::Borrowed(&listed.runs[0]));
/// assert_eq!((first.count(), first.finish()), (1, listed.runs));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LeadingRuns {
    limit: usize,
    order: RunColumn,
    is_reversed: bool,
    now: Timestamp,
    count: usize,
    #[expect(
        clippy::vec_box,
        reason = "runs are large, and sorting moves them again and again"
    )]
    held: Vec<Box<ListedRun>>,
}

impl LeadingRuns {
    /// None yet; of those that are added, at most `limit` are kept.
    #[must_use]
    pub fn new(limit: usize, order: RunColumn, is_reversed: bool, now: Timestamp) -> Self {
        Self {
            limit,
            order,
            is_reversed,
            now,
            count: 0,
            held: Vec::new(),
        }
    }

    /// The number of those that were added.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of them, in their order.
    #[must_use]
    pub fn finish(mut self) -> Vec<ListedRun> {
        self.cut();
        self.held.into_iter().map(|run| *run).collect()
    }

    fn cut(&mut self) {
        self.held.sort_by_cached_key(|run| run.place());
        self.order.sort(&mut self.held, self.is_reversed, self.now);
        self.held.truncate(self.limit);
    }

    fn cut_if_many(&mut self) {
        if self.held.len() > self.limit.saturating_mul(2).max(MIN_HELD) {
            self.cut();
        }
    }
}

impl RunSink for LeadingRuns {
    fn add(&mut self, run: Cow<'_, ListedRun>) {
        self.count += 1;
        self.held.push(Box::new(run.into_owned()));
        self.cut_if_many();
    }

    fn append(&mut self, others: Self) {
        self.count += others.count;
        self.held.extend(others.held);
        self.cut_if_many();
    }
}

#[cfg(test)]
mod tests;
