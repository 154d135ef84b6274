//! [`RunStream`]: all runs of a store one after the other, for questions whose answers are small. Those of a bucket, which
//! may be millions, come from their mirror, and few of them are in memory at a time.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tracer_insight::status::RunStatus;
use tracer_runs::CancelToken;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::prices::Prices;

use crate::database::{DatabaseRow, RunDatabase};
use crate::database_file::DatabaseError;
use crate::mirror::TeamStore;
use crate::query::{FactsTest, RunMatch, RunQuery, StepTest};
use crate::run_column::RunColumn;
use crate::run_facts;
use crate::search::match_steps;
use crate::selection::MatchProgress;
use crate::store::{ListedRun, ReadingProgress, StoreFacts, Survey, SurveyedRun, SurveyedRuns};
use crate::threads::PlaceInThread;
use crate::workers;

/// Runs that a thread takes at once.
const RUNS_PER_TURN: usize = 256;
/// Runs whose steps are read that are in memory at a time.
const RUNS_PER_STEPS: usize = 1_000;
/// Runs that are in memory at least before all but the first ones are given up.
const MIN_HELD: usize = 1_000;

/// A sink of the runs of a stream, in several threads and in no order.
///
/// ```
/// use std::borrow::Cow;
/// use tracer_facts::{ListedRun, RunSink};
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
/// let listed = tracer_facts::FactsStore::new(folder.path()).all(false)?;
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
/// use tracer_facts::RunChoice;
/// use tracer_facts::query::RunQuery;
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
/// # Ok::<(), tracer_facts::query::QueryError>(())
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
/// assert_eq!(tracer_facts::RunCensus::default().ids.len(), 0);
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
/// use tracer_facts::query::RunQuery;
/// use tracer_facts::stats::{StatsSink, StoreStats};
/// use tracer_facts::{FactsStore, RunChoice};
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
    here: Vec<SurveyedRun>,
    details: DetailsReader,
    bucket: Option<StreamedBucket>,
}

/// The runs of a bucket.
#[derive(Debug)]
struct StreamedBucket {
    team: Arc<TeamStore>,
    /// No writer changes it until reading ends.
    mirror: RunDatabase,
    /// Runs that are read from this machine instead.
    read_here: HashSet<TraceId>,
}

impl StreamedBucket {
    /// `None` when nothing was ever synchronized.
    fn open(team: Arc<TeamStore>, here: &[SurveyedRun]) -> Result<Option<Self>, DatabaseError> {
        let Some(mirror) = team.mirror().open_database()? else {
            return Ok(None);
        };
        mirror.begin_reading()?;
        Ok(Some(Self {
            team,
            mirror,
            read_here: here.iter().map(|known| known.run.directory.trace_id).collect(),
        }))
    }
}

/// Gives runs the details that are kept of them, and their cost.
#[derive(Debug)]
struct DetailsReader {
    is_wanted: bool,
    prices: Prices,
}

impl DetailsReader {
    /// A run of this machine.
    fn of_known<'a>(&self, known: &'a SurveyedRun) -> Cow<'a, ListedRun> {
        if known.details.is_none() && known.run.details.is_none() {
            return Cow::Borrowed(&known.run);
        }
        let mut run = known.run.clone();
        if let Some(text) = &known.details {
            let kept = serde_json::from_str(text);
            // What is kept is damaged: its files have it.
            run.details = Some(kept.unwrap_or_else(|_| Box::new(run_facts::read(&run.directory).details)));
        }
        Cow::Owned(self.priced(run))
    }

    /// The same of a run that is not needed any more.
    fn of_last_known(&self, known: SurveyedRun) -> ListedRun {
        match self.of_known(&known) {
            Cow::Owned(run) => run,
            Cow::Borrowed(_) => known.run,
        }
    }

    fn of_bucket(&self, row: &DatabaseRow, team: &Arc<TeamStore>) -> Option<ListedRun> {
        let run = ListedRun::of_bucket(row, team)?;
        Some(self.priced(run))
    }

    fn priced(&self, mut run: ListedRun) -> ListedRun {
        if let Some(details) = &mut run.details {
            details.price(&self.prices);
        }
        run
    }
}

/// Runs that a thread takes at once.
enum StreamTurn {
    Here(Range<usize>),
    Bucket(Vec<DatabaseRow>),
}

/// The place of a run whose steps decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StreamPlace {
    Here(usize),
    Bucket(TraceId),
}

/// The runs that one thread has added, and those that it has left open.
struct StreamPart<Sink> {
    sink: Sink,
    undecided: Vec<StreamPlace>,
}

impl Survey {
    /// Reads the runs that have to be read, the newest first, in several threads, and keeps their facts as it goes. When
    /// `cancel` is cancelled, what was read until then is given, and kept.
    pub fn read(self, cancel: &CancelToken, progress: impl FnMut(ReadingProgress)) -> StoreFacts {
        let (runs, unopened) = RunStream::open(self.read_here(cancel, progress));
        runs.collect(unopened)
    }

    /// The same for who asks something of all runs and does not need them at once: those of a bucket are still to come.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
    pub fn stream(
        self,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> Result<RunStream, DatabaseError> {
        let (runs, unopened) = RunStream::open(self.read_here(cancel, progress));
        unopened.map_or(Ok(runs), Err)
    }
}

impl RunStream {
    /// The stream, and why those of a bucket are missing in it.
    fn open(runs: SurveyedRuns) -> (Self, Option<DatabaseError>) {
        let opened = runs
            .team
            .map_or(Ok(None), |team| StreamedBucket::open(team, &runs.here));
        let (bucket, unopened) = match opened {
            Ok(bucket) => (bucket, None),
            Err(error) => (None, Some(error)),
        };
        let stream = Self {
            bucket,
            unread: runs.unread,
            not_kept: runs.not_kept,
            here: runs.here,
            details: DetailsReader {
                is_wanted: runs.with_details,
                prices: runs.prices,
            },
        };
        (stream, unopened)
    }

    /// Lets a waiting synchronization of the bucket continue. What is read from now on may be newer.
    fn end_reading(&self) -> Result<(), DatabaseError> {
        match &self.bucket {
            Some(bucket) => bucket.mirror.end(),
            None => Ok(()),
        }
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
    /// let survey = tracer_facts::FactsStore::new(folder.path()).survey(false)?;
    /// let census = survey.stream(&CancelToken::default(), |_| ())?.census(true)?;
    /// assert_eq!((census.ids.len(), census.statuses[&RunStatus::Ok]), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
    pub fn census(&self, with_trials: bool) -> Result<RunCensus, DatabaseError> {
        let mut census = RunCensus::default();
        for SurveyedRun { run, .. } in &self.here {
            let is_hidden = run.facts.is_trial && !with_trials;
            census.add(run.directory.trace_id, run.status, is_hidden);
        }
        if let Some(bucket) = &self.bucket {
            bucket.mirror.each_counted(|run, status, is_trial| {
                if !bucket.read_here.contains(&run) {
                    census.add(run, status, is_trial && !with_trials);
                }
            })?;
        }
        Ok(census)
    }

    /// The newest runs, the newest first; of those of a bucket no other one is read.
    ///
    /// ```
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_facts::FactsStore::new(folder.path()).survey(false)?;
    /// let newest = survey.stream(&CancelToken::default(), |_| ())?.newest(20, false)?;
    /// assert_eq!(newest[0].facts.name.as_deref(), Some("captured"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
    pub fn newest(&self, limit: usize, with_trials: bool) -> Result<Vec<ListedRun>, DatabaseError> {
        let is_wanted = |known: &&SurveyedRun| with_trials || !known.run.facts.is_trial;
        let mut here: Vec<&SurveyedRun> = self.here.iter().filter(is_wanted).collect();
        here.sort_by_cached_key(|known| known.run.place());
        here.truncate(limit);
        let details = &self.details;
        let here = here.into_iter().map(|known| details.of_known(known).into_owned());
        let mut newest: Vec<ListedRun> = here.collect();
        if let Some(bucket) = &self.bucket {
            let mut count = 0;
            bucket.mirror.each_newest(with_trials, |row| {
                if count == limit {
                    return ControlFlow::Break(());
                }
                if !bucket.read_here.contains(&row.trace_id)
                    && let Some(run) = ListedRun::of_bucket(&row, &bucket.team)
                {
                    count += 1;
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
    /// let survey = tracer_facts::FactsStore::new(folder.path()).survey(true)?;
    /// let mut runs = survey.stream(&CancelToken::default(), |_| ())?;
    /// assert_eq!(runs.candidates(&"tool:search refund".parse()?, false, now())?.len(), 1);
    /// assert_eq!(runs.candidates(&"tool:fetch refund".parse()?, false, now())?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
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
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
    pub fn run(&self, id: TraceId) -> Result<Option<ListedRun>, DatabaseError> {
        let here = self
            .here
            .iter()
            .position(|known| known.run.directory.trace_id == id);
        self.run_at(here.map_or(StreamPlace::Bucket(id), StreamPlace::Here))
    }

    /// The places of these runs in their threads. A run that is alone in its session has none.
    ///
    /// ```
    /// use tracer_runs::CancelToken;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let survey = tracer_facts::FactsStore::new(folder.path()).survey(false)?;
    /// let runs = survey.stream(&CancelToken::default(), |_| ())?;
    /// let newest = runs.newest(20, false)?;
    /// assert!(runs.threads(&newest, false)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
    pub fn threads<'a>(
        &self,
        listed: &'a [ListedRun],
        with_trials: bool,
    ) -> Result<HashMap<TraceId, PlaceInThread<'a>>, DatabaseError> {
        let sessions = listed.iter().filter_map(|run| run.facts.session.as_deref());
        let mut members: HashMap<&str, Vec<_>> = sessions.map(|session| (session, Vec::new())).collect();
        for SurveyedRun { run, .. } in &self.here {
            let session = run
                .facts
                .session
                .as_deref()
                .filter(|_| with_trials || !run.facts.is_trial);
            if let Some(members) = session.and_then(|session| members.get_mut(session)) {
                members.push(run.place());
            }
        }
        for (session, members) in &mut members {
            let Some(bucket) = &self.bucket else { break };
            let found = bucket.mirror.of_session(session)?;
            let is_one = |(run, _, is_trial): &(TraceId, Option<Timestamp>, bool)| {
                (with_trials || !is_trial) && !bucket.read_here.contains(run)
            };
            let found = found.into_iter().filter(is_one);
            members.extend(found.map(|(run, started, _)| (Reverse(started), run)));
        }
        let mut places = HashMap::new();
        for (thread, mut members) in members.into_iter().filter(|(_, members)| members.len() > 1) {
            // The one that started first is the last one of a list.
            members.sort_unstable_by(|one, other| other.cmp(one));
            let count = members.len();
            for (number, (_, run)) in (1..).zip(members) {
                let place = PlaceInThread {
                    thread,
                    number,
                    count,
                };
                places.insert(run, place);
            }
        }
        let is_listed: HashSet<TraceId> = listed.iter().map(|run| run.directory.trace_id).collect();
        places.retain(|run, _| is_listed.contains(run));
        Ok(places)
    }

    /// Adds the runs that are wanted to a sink: those that facts decide, in several threads, and then those whose steps have to
    /// be read. Before that, a synchronization of the bucket can continue: what is read afterwards may be newer. `progress` is
    /// called before the first run whose steps decide is read, and after each one; when `cancel` is
    /// cancelled, those that were not read yet are left out.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the mirror of a bucket cannot be read.
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
        let (StreamPart { mut sink, undecided }, read) = self.fold_facts(&is_wanted, &begin);
        // The rest may take minutes, in which no other process should wait: reading steps, and the caller's own work.
        let ended = self.end_reading();
        read.and(ended)?;
        if undecided.is_empty() {
            return Ok(sink);
        }
        let test = StepTest::new(choice.query);
        let mut reading = MatchProgress {
            runs: undecided.len(),
            read_runs: 0,
        };
        progress(reading);
        for places in undecided.chunks(RUNS_PER_STEPS) {
            let runs = places.iter().filter_map(|place| self.run_at(*place).transpose());
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

    /// All runs, the newest first. What cannot be read of a bucket is missing: those of one that is `unopened`, too.
    fn collect(mut self, unopened: Option<DatabaseError>) -> StoreFacts {
        let here = std::mem::take(&mut self.here);
        let (part, read) = self.fold_facts(&|_| RunMatch::Yes, &AllRuns::default);
        let here = workers::map(here, workers::processors(), |known| {
            self.details.of_last_known(known)
        });
        let mut runs: Vec<ListedRun> = here.chain(part.sink.0).collect();
        // Each is moved once: it is large, and there are many.
        runs.sort_by_cached_key(ListedRun::place);
        StoreFacts {
            runs,
            unread: self.unread,
            not_kept: self.not_kept,
            unread_bucket: unopened.or(read.err()),
        }
    }

    /// Adds the runs that match to a sink, in several threads; which ones are left open, in their order.
    fn fold_facts<Sink: RunSink>(
        &self,
        is_wanted: &(impl Fn(&ListedRun) -> RunMatch + Sync),
        begin: &(impl Fn() -> Sink + Sync),
    ) -> (StreamPart<Sink>, Result<(), DatabaseError>) {
        let (here, details) = (&self.here, &self.details);
        let team = self.bucket.as_ref().map(|bucket| &bucket.team);
        let add = |part: &mut StreamPart<Sink>, turn: StreamTurn| match turn {
            StreamTurn::Here(range) => {
                for (at, known) in range.clone().zip(here.get(range).unwrap_or_default()) {
                    part.add(details.of_known(known), StreamPlace::Here(at), is_wanted);
                }
            }
            StreamTurn::Bucket(rows) => {
                for row in rows {
                    if let Some(run) = team.and_then(|team| details.of_bucket(&row, team)) {
                        part.add(Cow::Owned(run), StreamPlace::Bucket(row.trace_id), is_wanted);
                    }
                }
            }
        };
        let new_part = || StreamPart {
            sink: begin(),
            undecided: Vec::new(),
        };
        let (sender, receiver) = mpsc::sync_channel(2 * workers::processors());
        let receiver = Arc::new(Mutex::new(receiver));
        let work = |receiver: Arc<Mutex<Receiver<StreamTurn>>>| {
            let mut part = new_part();
            while let Some(turn) = next_turn(&receiver) {
                add(&mut part, turn);
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
            let read = self.each_turn(&mut |turn| {
                if threads.is_empty() {
                    add(&mut all, turn);
                } else {
                    // A thread that has panicked says so below.
                    let _ = sender.send(turn);
                }
            });
            drop(sender);
            for thread in threads {
                match thread.join() {
                    Ok(part) => all.append(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all.undecided.sort_unstable();
            (all, read)
        })
    }

    /// Gives all runs, a few at a time.
    fn each_turn(&self, take: &mut dyn FnMut(StreamTurn)) -> Result<(), DatabaseError> {
        for start in (0..self.here.len()).step_by(RUNS_PER_TURN) {
            take(StreamTurn::Here(
                start..self.here.len().min(start + RUNS_PER_TURN),
            ));
        }
        let Some(bucket) = &self.bucket else {
            return Ok(());
        };
        let mut rows = Vec::with_capacity(RUNS_PER_TURN);
        let read = bucket.mirror.each(self.details.is_wanted, |row| {
            if bucket.read_here.contains(&row.trace_id) {
                return;
            }
            rows.push(row);
            if rows.len() == RUNS_PER_TURN {
                let turn = std::mem::replace(&mut rows, Vec::with_capacity(RUNS_PER_TURN));
                take(StreamTurn::Bucket(turn));
            }
        });
        take(StreamTurn::Bucket(rows));
        read
    }

    /// A run of this stream; `None` when it was removed from the bucket meanwhile.
    fn run_at(&self, place: StreamPlace) -> Result<Option<ListedRun>, DatabaseError> {
        Ok(match (place, &self.bucket) {
            (StreamPlace::Here(at), _) => {
                let known = self.here.get(at);
                known.map(|known| self.details.of_known(known).into_owned())
            }
            (StreamPlace::Bucket(run), Some(bucket)) => {
                let row = bucket.mirror.run(run)?;
                row.and_then(|row| self.details.of_bucket(&row, &bucket.team))
            }
            (StreamPlace::Bucket(_), None) => None,
        })
    }
}

fn next_turn(receiver: &Mutex<Receiver<StreamTurn>>) -> Option<StreamTurn> {
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    receiver.recv().ok()
}

impl<Sink: RunSink> StreamPart<Sink> {
    fn add(
        &mut self,
        run: Cow<'_, ListedRun>,
        place: StreamPlace,
        is_wanted: &impl Fn(&ListedRun) -> RunMatch,
    ) {
        match is_wanted(&run) {
            RunMatch::No => {}
            RunMatch::Yes => self.sink.add(run),
            RunMatch::IfSteps => self.undecided.push(place),
        }
    }

    fn append(&mut self, others: Self) {
        self.sink.append(others.sink);
        self.undecided.extend(others.undecided);
    }
}

/// All runs.
#[derive(Default)]
struct AllRuns(Vec<ListedRun>);

impl RunSink for AllRuns {
    fn add(&mut self, run: Cow<'_, ListedRun>) {
        self.0.push(run.into_owned());
    }

    fn append(&mut self, others: Self) {
        self.0.extend(others.0);
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
/// use tracer_facts::{LeadingRuns, RunColumn, RunSink};
/// use tracer_insight::units::now;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let listed = tracer_facts::FactsStore::new(folder.path()).all(false)?;
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
