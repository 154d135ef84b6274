//! [`KnownFacts`]: the facts of all runs, for every question of the page over them; at most two seconds behind the files.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use parking_lot::Mutex;
use tracer_catalog::query::RunQuery;
use tracer_catalog::{
    FactsSnapshot, FactsStore, ListedRun, ReadingProgress, SnapshotLook, Survey, matching_runs,
};
use tracer_runs::{CancelToken, StoreError};
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
    snapshot: Arc<FactsSnapshot>,
    found: Instant,
    places: Vec<usize>,
}

#[derive(Debug, Default)]
struct FactsState {
    snapshot: Option<Arc<FactsSnapshot>>,
    looked: Option<Instant>,
    /// Duration of the last scan.
    took: Duration,
    /// Time before which facts are stale.
    not_before: Option<Instant>,
}

/// Facts of all runs.
#[derive(Debug, Clone)]
pub(super) enum Facts {
    /// Everything.
    All(Arc<FactsSnapshot>),
    /// The runs are being read for the first time, or very much of them has changed.
    Reading(ReadingProgress),
}

impl FactsState {
    /// The known facts, when they are younger than `age`.
    fn known_for(&self, age: Duration, with_details: bool) -> Option<&Arc<FactsSnapshot>> {
        let known = self.snapshot.as_ref();
        let known = known.filter(|known| known.has_details() || !with_details);
        let is_young = |looked: Instant| looked.elapsed() < age && Some(looked) >= self.not_before;
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
    pub(super) fn now(&self, with_details: bool) -> Result<Facts, ApiError> {
        let state = self.shared.state.lock();
        let rest = (state.took * REST_FACTOR).min(MAX_REST);
        if let Some(known) = state.known_for(rest, with_details) {
            return Ok(Facts::All(Arc::clone(known)));
        }
        let known = state.known_for(MAX_AGE, with_details).cloned();
        let known = known.filter(|_| state.took >= SLOW_LOOK);
        drop(state);
        let is_aside = known.is_some() && self.shared.look_aside(with_details);
        if let Some(known) = known.filter(|_| is_aside) {
            return Ok(Facts::All(known));
        }
        let _looking = self.shared.wait_for_look()?;
        // Perhaps that was the look of another request.
        let state = self.shared.state.lock();
        if let Some(known) = state.known_for(rest, with_details) {
            return Ok(Facts::All(Arc::clone(known)));
        }
        drop(state);
        SharedFacts::look(&self.shared, with_details, &work::token())
    }

    /// Makes the next request scan the files again.
    pub(super) fn look_again(&self) {
        self.shared.state.lock().not_before = Some(Instant::now());
    }

    /// The runs that match a query: its terms on runs by their facts, those on steps by reading the steps. What the last
    /// reading of steps gave serves the other parts of its list.
    ///
    /// # Errors
    ///
    /// The request was cancelled.
    pub(super) fn matching<'a>(
        &self,
        snapshot: &'a Arc<FactsSnapshot>,
        query: &RunQuery,
        now: Timestamp,
    ) -> Result<Vec<&'a ListedRun>, ApiError> {
        let at = |places: &[usize]| {
            places
                .iter()
                .filter_map(|place| snapshot.runs().get(*place))
                .collect()
        };
        if !query.needs_steps() {
            return Ok(at(&matching_places(snapshot.runs(), query, now)?));
        }
        let text = query.to_string();
        if let Some(last) = self.last_matches.lock().as_ref()
            && last.query == text
            && Arc::ptr_eq(&last.snapshot, snapshot)
            && last.found.elapsed() < MAX_MATCHES_AGE
        {
            return Ok(at(&last.places));
        }
        let places = matching_places(snapshot.runs(), query, now)?;
        let runs = at(&places);
        *self.last_matches.lock() = Some(LastMatches {
            query: text,
            snapshot: Arc::clone(snapshot),
            found: Instant::now(),
            places,
        });
        Ok(runs)
    }
}

impl SharedFacts {
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
    fn look_aside(self: &Arc<Self>, with_details: bool) -> bool {
        let shared = Arc::clone(self);
        let look = move || {
            if let Some(_looking) = shared.looking.try_lock() {
                // An error is reported to the next request that has to wait for a scan.
                let _ = Self::look(&shared, with_details, &CancelToken::default());
            }
        };
        if self.looking.is_locked() {
            return true;
        }
        let thread = thread::Builder::new().name("tracer-look".to_owned());
        thread.spawn(look).is_ok()
    }

    /// Scans the files, and reads what has changed; `looking` is held.
    fn look(shared: &Arc<Self>, with_details: bool, cancel: &CancelToken) -> Result<Facts, ApiError> {
        if let Some(progress) = *shared.reading.lock() {
            return Ok(Facts::Reading(progress));
        }
        let known = shared.state.lock().snapshot.clone();
        let looked = Instant::now();
        let look = FactsSnapshot::look(&shared.store, known.as_deref(), with_details)
            .map_err(|error| unreadable(&error))?;
        let took = looked.elapsed();
        let survey = match (look, known) {
            (SnapshotLook::Same, Some(known)) => {
                shared.remember(&known, looked, took);
                return Ok(Facts::All(known));
            }
            (SnapshotLook::Same, None) => return Err(ApiError::internal()),
            (SnapshotLook::Changed(survey), _) => survey,
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
        let read = FactsSnapshot::read(survey, cancel, |_| ());
        let snapshot = Arc::new(read.ok_or_else(ApiError::internal)?);
        shared.remember(&snapshot, looked, took);
        Ok(Facts::All(snapshot))
    }

    fn remember(&self, snapshot: &Arc<FactsSnapshot>, looked: Instant, took: Duration) {
        let mut state = self.state.lock();
        state.snapshot = Some(Arc::clone(snapshot));
        state.looked = Some(looked);
        state.took = took;
    }

    /// Reads in a thread. Facts are stored in the database as they are read, so that stopping the viewer loses none.
    fn read_aside(self: &Arc<Self>, survey: Survey) {
        let shared = Arc::clone(self);
        let read = move || {
            let progress = |progress| *shared.reading.lock() = Some(progress);
            let snapshot = FactsSnapshot::read(survey, &CancelToken::default(), progress);
            let mut state = shared.state.lock();
            state.snapshot = snapshot.map(Arc::new);
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

/// The places of the runs that match a query.
fn matching_places(runs: &[ListedRun], query: &RunQuery, now: Timestamp) -> Result<Vec<usize>, ApiError> {
    let matching = matching_runs(runs, query, now, &work::token(), |_| ());
    if query.needs_steps() && work::is_cancelled() {
        return Err(ApiError::internal());
    }
    let places = matching.into_iter().enumerate();
    Ok(places
        .filter_map(|(place, matches)| matches.then_some(place))
        .collect())
}

/// The runs cannot be listed.
pub(super) fn unreadable(error: &StoreError) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "unreadable_data_directory",
        error.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(facts: Facts) -> Arc<FactsSnapshot> {
        match facts {
            Facts::All(known) => known,
            Facts::Reading(_) => panic!("there is nothing to read"),
        }
    }

    #[test]
    fn nobody_waits_for_a_look_while_what_is_known_is_young() {
        let folder = tempfile::tempdir().unwrap();
        let facts = KnownFacts::new(FactsStore::new(folder.path()));
        let first = known(facts.now(false).unwrap());
        let age = |age: Duration| {
            let mut state = facts.shared.state.lock();
            (state.looked, state.took) = (Instant::now().checked_sub(age), SLOW_LOOK);
        };
        // Somebody looks, and does not come to an end.
        let looking = facts.shared.looking.lock();
        age(MAX_REST + Duration::from_millis(100));
        assert!(Arc::ptr_eq(&known(facts.now(false).unwrap()), &first));
        drop(looking);
        age(MAX_AGE);
        let second = known(facts.now(false).unwrap());
        assert!(!Arc::ptr_eq(&second, &first), "what is too old is not given");
        age(Duration::ZERO);
        facts.look_again();
        let third = known(facts.now(false).unwrap());
        assert!(
            !Arc::ptr_eq(&third, &second),
            "nor what was known before a run was deleted"
        );
    }

    #[test]
    fn a_question_begins_a_look_that_it_does_not_wait_for() {
        let folder = tempfile::tempdir().unwrap();
        let facts = KnownFacts::new(FactsStore::new(folder.path()));
        let first = known(facts.now(false).unwrap());
        let age = MAX_REST + Duration::from_millis(100);
        let mut state = facts.shared.state.lock();
        (state.looked, state.took) = (Instant::now().checked_sub(age), SLOW_LOOK);
        drop(state);
        assert!(Arc::ptr_eq(&known(facts.now(false).unwrap()), &first));
        while Arc::ptr_eq(facts.shared.state.lock().snapshot.as_ref().unwrap(), &first) {
            thread::yield_now();
        }
    }
}
