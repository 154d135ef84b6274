//! [`KnownFacts`]: the facts of all runs, for every question of the page over them; at most two seconds behind the files.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use parking_lot::Mutex;
use tracer_facts::query::RunQuery;
use tracer_facts::{
    FactsSnapshot, FactsStore, ListedRun, ReadingProgress, SnapshotLook, Survey, matching_runs,
};
use tracer_sdk::format::Timestamp;
use tracer_sdk::read::{CancelToken, StoreError};

use super::answer::ApiError;
use super::work;

/// A look at the files of all runs answers for this multiple of the time that it took: looks take a part of the time only.
const REST_FACTOR: u32 = 4;
/// But never longer than this.
const MAX_AGE: Duration = Duration::from_millis(1_800);
/// The answer to a query that reads steps serves the other parts of its list for so long.
const MAX_MATCHES_AGE: Duration = Duration::from_secs(30);
/// Logs that have to be read for longer than anybody waits without seeing anything.
const SLOW_BYTES: u64 = 64 * 1024 * 1024;

/// The facts of all runs of a viewer.
#[derive(Debug)]
pub(super) struct KnownFacts {
    store: FactsStore,
    /// Held while the files are looked at: others wait for that look instead of making one of their own.
    state: Arc<Mutex<FactsState>>,
    /// How far a first reading is, that goes on in a thread.
    reading: Arc<Mutex<Option<ReadingProgress>>>,
    last_matches: Mutex<Option<LastMatches>>,
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
    /// How long a look takes.
    took: Duration,
}

/// What is known of all runs.
#[derive(Debug, Clone)]
pub(super) enum Facts {
    /// Everything.
    All(Arc<FactsSnapshot>),
    /// The runs are being read for the first time, or very much of them has changed.
    Reading(ReadingProgress),
}

impl KnownFacts {
    pub(super) fn new(store: FactsStore) -> Self {
        Self {
            store,
            state: Arc::default(),
            reading: Arc::default(),
            last_matches: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &FactsStore {
        &self.store
    }

    /// The facts of all runs, as their files are now.
    pub(super) fn now(&self, with_details: bool) -> Result<Facts, ApiError> {
        let mut state = self.lock()?;
        let known = state.snapshot.clone();
        let is_enough = |known: &Arc<FactsSnapshot>| known.has_details() || !with_details;
        if let Some(known) = known.as_ref().filter(|known| is_enough(known))
            && state
                .looked
                .is_some_and(|looked| looked.elapsed() < (state.took * REST_FACTOR).min(MAX_AGE))
        {
            return Ok(Facts::All(Arc::clone(known)));
        }
        if let Some(progress) = *self.reading.lock() {
            return Ok(Facts::Reading(progress));
        }
        let looked = Instant::now();
        let look = FactsSnapshot::look(&self.store, known.as_deref(), with_details)
            .map_err(|error| unreadable(&error))?;
        state.took = looked.elapsed();
        let survey = match (look, known) {
            (SnapshotLook::Same, Some(known)) => {
                state.looked = Some(looked);
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
            *self.reading.lock() = Some(progress);
            self.read_aside(survey);
            return Ok(Facts::Reading(progress));
        }
        let read = FactsSnapshot::read(survey, &work::token(), |_| ());
        let snapshot = Arc::new(read.ok_or_else(ApiError::internal)?);
        state.snapshot = Some(Arc::clone(&snapshot));
        state.looked = Some(looked);
        Ok(Facts::All(snapshot))
    }

    /// The next question looks at the files again.
    pub(super) fn look_again(&self) {
        if let Some(mut state) = self.state.try_lock() {
            state.looked = None;
        }
    }

    /// Waits for the look of another request, as long as somebody waits for this one.
    fn lock(&self) -> Result<parking_lot::MutexGuard<'_, FactsState>, ApiError> {
        if let Some(state) = self.state.try_lock() {
            return Ok(state);
        }
        work::aside(|| {
            loop {
                if let Some(state) = self.state.try_lock_for(work::POLL_INTERVAL) {
                    return Ok(state);
                }
                if work::is_cancelled() {
                    return Err(ApiError::internal());
                }
            }
        })
    }

    /// Reads in a thread. What was read is kept in the database as it goes, whoever stops the viewer.
    fn read_aside(&self, survey: Survey) {
        let (state, reading) = (Arc::clone(&self.state), Arc::clone(&self.reading));
        let read = move || {
            let progress = |progress| *reading.lock() = Some(progress);
            let snapshot = FactsSnapshot::read(survey, &CancelToken::default(), progress);
            let mut state = state.lock();
            state.snapshot = snapshot.map(Arc::new);
            state.looked = None;
            *reading.lock() = None;
        };
        if thread::Builder::new()
            .name("tracer-facts".to_owned())
            .spawn(read)
            .is_err()
        {
            *self.reading.lock() = None;
        }
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
                .filter_map(|place| snapshot.runs.get(*place))
                .collect()
        };
        if !query.needs_steps() {
            return Ok(at(&matching_places(&snapshot.runs, query, now)?));
        }
        let text = query.to_string();
        if let Some(last) = self.last_matches.lock().as_ref()
            && last.query == text
            && Arc::ptr_eq(&last.snapshot, snapshot)
            && last.found.elapsed() < MAX_MATCHES_AGE
        {
            return Ok(at(&last.places));
        }
        let places = matching_places(&snapshot.runs, query, now)?;
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

fn unreadable(error: &StoreError) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "unreadable_data_directory",
        error.to_string(),
    )
}
