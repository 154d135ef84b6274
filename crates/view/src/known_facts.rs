//! [`KnownFacts`]: the facts of all runs, for every question of the page over them; at most two seconds behind the files.

use std::fmt::Display;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use parking_lot::Mutex;
use tracer_catalog::query::RunQuery;
use tracer_catalog::{DatabaseError, FactsStore, ReadingProgress, RunCatalog, SelectedRuns, Survey};
use tracer_runs::CancelToken;
use tracer_sdk::format::Timestamp;

use super::answer::ApiError;
use super::work;

/// A scan of the files of all runs stays valid for this multiple of the time that it took: scans take a part of the
/// time only.
const REST_FACTOR: u32 = 4;
/// But never longer than this.
const MAX_REST: Duration = Duration::from_secs(1);
/// No request waits for a scan that takes longer …
const SLOW_LOOK: Duration = Duration::from_millis(50);
/// … unless what is known is older than this.
const MAX_AGE: Duration = Duration::from_millis(1_800);
/// The answer to a query that reads steps serves the other parts of its list for so long.
const MAX_MATCHES_AGE: Duration = Duration::from_secs(30);
/// Names of runs that are known.
pub(super) const MAX_NAMES: usize = 500;
/// Logs that have to be read for longer than anybody waits without seeing anything.
const SLOW_BYTES: u64 = 64 * 1024 * 1024;

/// The facts of all runs of a viewer.
#[derive(Debug)]
pub(super) struct KnownFacts {
    shared: Arc<SharedFacts>,
    last_matches: Mutex<Option<LastMatches>>,
}

/// State that requests share with the threads that scan files and read runs.
#[derive(Debug)]
struct SharedFacts {
    store: FactsStore,
    state: Mutex<FactsState>,
    /// Held while the files are scanned: others wait for that scan instead of making one of their own, where what is
    /// known is too old.
    looking: Mutex<()>,
    /// Progress of a first reading in a thread.
    reading: Mutex<Option<ReadingProgress>>,
}

/// The runs that matched a query whose answer needs their steps.
#[derive(Debug)]
struct LastMatches {
    query: String,
    known: Arc<KnownRuns>,
    found: Instant,
    selection: SelectedRuns,
}

/// All runs as they were at one instant, in a database.
#[derive(Debug)]
pub(super) struct KnownRuns {
    /// Opened again by each request.
    catalog: Mutex<RunCatalog>,
    /// Compared with the files by the next scan.
    compared: Mutex<RunCatalog>,
    /// A number that changes when a run is added, changes, or goes.
    pub(super) version: u64,
    pub(super) total: usize,
    /// The names of the runs, at most [`MAX_NAMES`]; `None` of runs without one.
    pub(super) names: Vec<Option<String>>,
    pub(super) thread_count: usize,
}

impl KnownRuns {
    fn new(catalog: RunCatalog) -> Result<Self, DatabaseError> {
        let census = catalog.census(true)?;
        let known = Self {
            version: census.version,
            total: census.ids.len(),
            names: catalog.names(MAX_NAMES)?,
            thread_count: catalog.thread_count()?,
            compared: Mutex::new(catalog.reopen()?),
            catalog: Mutex::new(catalog),
        };
        // Others write while nothing is asked.
        known.catalog.lock().end_reading()?;
        known.compared.lock().end_reading()?;
        Ok(known)
    }
}

#[derive(Debug, Default)]
struct FactsState {
    known: Option<Arc<KnownRuns>>,
    looked: Option<Instant>,
    /// Duration of the last scan.
    took: Duration,
    /// Time before which facts are stale.
    not_before: Option<Instant>,
    /// Why a reading in a thread kept nothing, until a request is answered with it.
    failed: Option<DatabaseError>,
}

/// Facts of all runs.
#[derive(Debug, Clone)]
pub(super) enum Facts {
    /// Everything.
    All(Arc<KnownRuns>),
    /// The runs are being read for the first time, or very much of them has changed.
    Reading(ReadingProgress),
}

impl FactsState {
    /// The known facts, when they are younger than `age`.
    fn known_for(&self, age: Duration) -> Option<&Arc<KnownRuns>> {
        let is_young = |looked: Instant| looked.elapsed() < age && Some(looked) >= self.not_before;
        let known = self.known.as_ref();
        known.filter(|_| self.looked.is_some_and(is_young))
    }
}

impl KnownFacts {
    pub(super) fn new(store: FactsStore) -> Self {
        let shared = SharedFacts {
            store,
            state: Mutex::default(),
            looking: Mutex::default(),
            reading: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            last_matches: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &FactsStore {
        &self.shared.store
    }

    /// The facts of all runs, as their files are now.
    pub(super) fn now(&self) -> Result<Facts, ApiError> {
        let state = self.shared.state.lock();
        let rest = (state.took * REST_FACTOR).min(MAX_REST);
        if let Some(known) = state.known_for(rest) {
            return Ok(Facts::All(Arc::clone(known)));
        }
        let known = state.known_for(MAX_AGE).cloned();
        let known = known.filter(|_| state.took >= SLOW_LOOK);
        drop(state);
        let is_aside = known.is_some() && self.shared.look_aside();
        if let Some(known) = known.filter(|_| is_aside) {
            return Ok(Facts::All(known));
        }
        let _looking = self.shared.wait_for_look()?;
        // Perhaps that was the look of another request.
        let state = self.shared.state.lock();
        if let Some(known) = state.known_for(rest) {
            return Ok(Facts::All(Arc::clone(known)));
        }
        drop(state);
        SharedFacts::look(&self.shared, &work::token())
    }

    /// The answer to a question that begins with [`now`](Self::now). It is asked a second time where the database turns out to be
    /// damaged: then it is made again.
    pub(super) fn ask<T>(&self, question: impl Fn(&Self) -> Result<T, ApiError>) -> Result<T, ApiError> {
        match question(self) {
            Err(error) if error.is_made_again => question(self),
            answer => answer,
        }
    }

    /// Makes the next request scan the files again.
    pub(super) fn look_again(&self) {
        self.shared.state.lock().not_before = Some(Instant::now());
    }

    /// The known runs for a request. After a failure the next request scans the files again: the database may be damaged.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub(super) fn open(&self, known: &KnownRuns) -> Result<RunCatalog, ApiError> {
        let catalog = known.catalog.lock();
        let opened = catalog.reopen().map_err(|error| self.unreadable(&error))?;
        match &opened.unread_bucket {
            // Its runs are there, and cannot be read now.
            Some(error) if catalog.unread_bucket.is_none() => Err(of_database(error)),
            _ => Ok(opened),
        }
    }

    /// The answer to a request whose question to the database failed.
    pub(super) fn unreadable(&self, error: &DatabaseError) -> ApiError {
        self.shared.unreadable(error)
    }

    /// The runs that match a query: its terms on runs by their facts, those on steps by reading the steps. The last
    /// reading of steps serves the other parts of its list.
    ///
    /// # Errors
    ///
    /// The request was cancelled, or the database cannot be read.
    pub(super) fn select(
        &self,
        known: &Arc<KnownRuns>,
        runs: &RunCatalog,
        query: &RunQuery,
        now: Timestamp,
    ) -> Result<SelectedRuns, ApiError> {
        let select = || {
            let selected = runs.select(query, true, now, &work::token(), |_| ());
            let selected = selected.map_err(|error| self.unreadable(&error))?;
            if query.needs_steps() && work::is_cancelled() {
                return Err(ApiError::internal());
            }
            Ok(selected)
        };
        if !query.needs_steps() {
            return select();
        }
        let text = query.to_string();
        if let Some(last) = self.last_matches.lock().as_ref()
            && last.query == text
            && Arc::ptr_eq(&last.known, known)
            && last.found.elapsed() < MAX_MATCHES_AGE
        {
            return Ok(last.selection.clone());
        }
        let selection = select()?;
        *self.last_matches.lock() = Some(LastMatches {
            query: text,
            known: Arc::clone(known),
            found: Instant::now(),
            selection: selection.clone(),
        });
        Ok(selection)
    }
}

impl SharedFacts {
    fn unreadable(&self, error: &DatabaseError) -> ApiError {
        self.state.lock().known = None;
        of_database(error)
    }

    /// Waits for the look of another request, as long as somebody waits for this one.
    fn wait_for_look(&self) -> Result<parking_lot::MutexGuard<'_, ()>, ApiError> {
        if let Some(looking) = self.looking.try_lock() {
            return Ok(looking);
        }
        loop {
            if let Some(looking) = self.looking.try_lock_for(work::POLL_INTERVAL) {
                return Ok(looking);
            }
            if work::is_cancelled() {
                return Err(ApiError::internal());
            }
        }
    }

    /// Scans the files in a thread, unless another thread does; returns whether a scan is under way.
    fn look_aside(self: &Arc<Self>) -> bool {
        let shared = Arc::clone(self);
        let look = move || {
            if let Some(_looking) = shared.looking.try_lock() {
                // An error is reported to the next request that has to wait for a scan.
                let _ = Self::look(&shared, &CancelToken::default());
            }
        };
        if self.looking.is_locked() {
            return true;
        }
        let thread = thread::Builder::new().name("tracer-look".to_owned());
        thread.spawn(look).is_ok()
    }

    /// Scans the files, and reads what has changed; `looking` is held.
    fn look(shared: &Arc<Self>, cancel: &CancelToken) -> Result<Facts, ApiError> {
        if let Some(progress) = *shared.reading.lock() {
            return Ok(Facts::Reading(progress));
        }
        let mut state = shared.state.lock();
        if let Some(error) = state.failed.take() {
            return Err(of_database(&error));
        }
        let known = state.known.clone();
        drop(state);
        let looked = Instant::now();
        let survey = {
            let compared = known.as_ref().map(|known| known.compared.lock());
            shared.store.survey_after(compared.as_deref())
        };
        let survey = survey.map_err(|error| unreadable(&error))?;
        let took = looked.elapsed();
        let survey = match (survey, known) {
            (Some(survey), _) => survey,
            (None, Some(known)) => {
                shared.remember(&known, looked, took);
                return Ok(Facts::All(known));
            }
            (None, None) => return Err(ApiError::internal()),
        };
        let (runs, bytes) = survey.unread();
        if bytes > SLOW_BYTES {
            let progress = ReadingProgress {
                runs,
                bytes,
                ..ReadingProgress::default()
            };
            *shared.reading.lock() = Some(progress);
            shared.read_aside(survey);
            return Ok(Facts::Reading(progress));
        }
        let read = match read(survey, cancel, |_| ()) {
            // The database is damaged, and made again.
            Err(error) if error.is_made_again() => shared
                .store
                .survey_after(None)
                .map_err(|error| unreadable(&error))?
                .map_or(Ok(None), |survey| read(survey, cancel, |_| ())),
            read => read,
        };
        let read = read.map_err(|error| shared.unreadable(&error))?;
        let known = Arc::new(read.ok_or_else(ApiError::internal)?);
        shared.remember(&known, looked, took);
        Ok(Facts::All(known))
    }

    fn remember(&self, known: &Arc<KnownRuns>, looked: Instant, took: Duration) {
        let mut state = self.state.lock();
        state.known = Some(Arc::clone(known));
        state.looked = Some(looked);
        state.took = took;
    }

    /// Reads in a thread. Facts are stored in the database as they are read, so that stopping the viewer loses none.
    fn read_aside(self: &Arc<Self>, survey: Survey) {
        let shared = Arc::clone(self);
        let read = move || {
            let progress = |progress| *shared.reading.lock() = Some(progress);
            let known = read(survey, &CancelToken::default(), progress);
            let mut state = shared.state.lock();
            (state.known, state.failed) = match known {
                Ok(known) => (known.map(Arc::new), None),
                Err(error) => (None, Some(error)),
            };
            state.looked = None;
            *shared.reading.lock() = None;
        };
        if thread::Builder::new()
            .name("tracer-catalog".to_owned())
            .spawn(read)
            .is_err()
        {
            *self.reading.lock() = None;
        }
    }
}

/// Reads the runs that have to be read; `None` when reading was cancelled.
fn read(
    survey: Survey,
    cancel: &CancelToken,
    progress: impl FnMut(ReadingProgress),
) -> Result<Option<KnownRuns>, DatabaseError> {
    let catalog = survey.open(cancel, progress)?;
    (catalog.unread == 0).then(|| KnownRuns::new(catalog)).transpose()
}

fn of_database(error: &DatabaseError) -> ApiError {
    let mut answer = unreadable(error);
    answer.is_made_again = error.is_made_again();
    answer
}

/// The runs cannot be listed.
pub(super) fn unreadable(error: &impl Display) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "unreadable_data_directory",
        error.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(facts: Facts) -> Arc<KnownRuns> {
        match facts {
            Facts::All(known) => known,
            Facts::Reading(_) => panic!("there is nothing to read"),
        }
    }

    #[test]
    fn nobody_waits_for_a_look_while_what_is_known_is_young() {
        let folder = tempfile::tempdir().unwrap();
        let facts = KnownFacts::new(FactsStore::new(folder.path()));
        let first = known(facts.now().unwrap());
        let age = |age: Duration| {
            let mut state = facts.shared.state.lock();
            (state.looked, state.took) = (Instant::now().checked_sub(age), SLOW_LOOK);
        };
        // Somebody looks, and does not come to an end.
        let looking = facts.shared.looking.lock();
        age(MAX_REST + Duration::from_millis(100));
        assert!(Arc::ptr_eq(&known(facts.now().unwrap()), &first));
        drop(looking);
        age(MAX_AGE);
        let second = known(facts.now().unwrap());
        assert!(!Arc::ptr_eq(&second, &first), "what is too old is not given");
        age(Duration::ZERO);
        facts.look_again();
        let third = known(facts.now().unwrap());
        assert!(
            !Arc::ptr_eq(&third, &second),
            "nor what was known before a run was deleted"
        );
    }

    #[test]
    fn a_question_to_a_database_that_is_deleted_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let run = tracer_sdk::testing::capture(|| tracer_sdk::tool_call("search").record());
        run.save(folder.path()).unwrap();
        let facts = KnownFacts::new(FactsStore::new(folder.path()));
        let first = known(facts.now().unwrap());
        let count = |known: &KnownRuns| Ok(facts.open(known)?.census(true).unwrap().ids.len());
        assert_eq!(count(&first).unwrap(), 1);
        std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
        assert!(count(&first).is_err_and(|error: ApiError| error.is_made_again));
        assert_eq!(count(&known(facts.now().unwrap())).unwrap(), 1);
        std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
        assert_eq!(facts.ask(|facts| count(&known(facts.now()?))).unwrap(), 1);
    }

    #[test]
    fn a_question_begins_a_look_that_it_does_not_wait_for() {
        let folder = tempfile::tempdir().unwrap();
        let facts = KnownFacts::new(FactsStore::new(folder.path()));
        let first = known(facts.now().unwrap());
        let age = MAX_REST + Duration::from_millis(100);
        let mut state = facts.shared.state.lock();
        (state.looked, state.took) = (Instant::now().checked_sub(age), SLOW_LOOK);
        drop(state);
        assert!(Arc::ptr_eq(&known(facts.now().unwrap()), &first));
        while Arc::ptr_eq(facts.shared.state.lock().known.as_ref().unwrap(), &first) {
            thread::yield_now();
        }
    }
}
