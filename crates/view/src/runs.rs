//! Cache of recently viewed runs, each opened once.
//!
//! A run is updated on the next request for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tracer_catalog::{FactsStore, FetchError, RunLease};
use tracer_runs::maintenance::Trash;
use tracer_runs::{RunDirectory, RunStore};
use tracer_sdk::format::TraceId;
use tracer_sdk::prices::Prices;

use super::answer::{ApiError, no_such_run};
use super::run::open_run::OpenRun;
use super::work;

/// Runs that are kept open.
const MAX_OPEN_RUNS: usize = 16;
/// Runs of a bucket whose files stay here though others were asked for since.
const MAX_LEASES: usize = 32;
/// Spans of all open runs together; the run that was requested last stays open, however many it has.
const MAX_OPEN_SPANS: usize = 1_000_000;

type RunSlot = Arc<RwLock<Option<OpenRun>>>;

/// The store, and the runs that are open.
#[derive(Debug)]
pub(super) struct Runs {
    facts: FactsStore,
    trash: Trash,
    prices: Prices,
    /// The runs of a bucket that were asked for lately: their files stay here.
    leases: Mutex<Vec<RunLease>>,
    /// The one that was requested last comes last.
    open: Mutex<Vec<(TraceId, RunSlot)>>,
}

impl Runs {
    pub(super) fn new(facts: FactsStore) -> Self {
        Self {
            trash: Trash::new(facts.runs()),
            prices: facts.prices().clone(),
            facts,
            leases: Mutex::default(),
            open: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn store(&self) -> &RunStore {
        self.facts.runs()
    }

    /// Prices of model calls.
    pub(super) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Deleted runs, here and in other viewers.
    pub(super) fn trash(&self) -> &Trash {
        &self.trash
    }

    /// Directory of a run, fetched or not.
    pub(super) fn locate(&self, trace_id: TraceId) -> Result<RunDirectory, ApiError> {
        self.facts.locate(trace_id).ok_or_else(no_such_run)
    }

    /// Directory of a run that may be changed from here.
    pub(super) fn own_directory(&self, trace_id: TraceId) -> Result<RunDirectory, ApiError> {
        let directory = self.locate(trace_id)?;
        if self.facts.origin(&directory).is_some() {
            let message = "the run is in a team's bucket, which is not changed from here";
            return Err(ApiError::new(StatusCode::CONFLICT, "in_bucket", message));
        }
        Ok(directory)
    }

    /// The directory of a run, its files fetched where they are in a bucket.
    pub(super) fn directory(&self, trace_id: TraceId) -> Result<RunDirectory, ApiError> {
        let directory = self.locate(trace_id)?;
        if self.facts.origin(&directory).is_none() {
            return Ok(directory);
        }
        let lease = self.facts.files(&directory).map_err(|error| match error {
            FetchError::Gone => no_such_run(),
            error => ApiError::new(
                StatusCode::BAD_GATEWAY,
                "not_fetched",
                format!("the run is in a bucket, and cannot be fetched: {error}"),
            ),
        })?;
        let mut leases = self.leases.lock();
        leases.retain(|other| other.directory.trace_id != trace_id);
        leases.push(lease);
        let surplus = leases.len().saturating_sub(MAX_LEASES);
        leases.drain(..surplus);
        Ok(directory)
    }

    /// Opens a run, or brings it up to date, and gives it to `look`.
    pub(super) fn with<T>(
        &self,
        trace_id: TraceId,
        look: impl FnOnce(&OpenRun) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let directory = self.directory(trace_id)?;
        let slot = self.slot(trace_id);
        let opened = self.current(&slot, directory).map_err(ApiError::unreadable)?;
        let run = opened.as_ref().ok_or_else(no_such_run)?;
        let answer = look(run);
        drop(opened);
        if answer.as_ref().is_err_and(ApiError::is_unreadable) {
            // It has been written over since it was indexed: the next request reads it again.
            self.close(trace_id);
        }
        self.close_some();
        answer
    }

    /// Gives the beginning of a run to `look`, without waiting for the rest of its log.
    pub(super) fn with_beginning<T>(
        &self,
        trace_id: TraceId,
        look: impl FnOnce(&OpenRun) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let directory = self.directory(trace_id)?;
        look(&OpenRun::read_beginning(directory, self.prices.clone()))
    }

    /// The run in a slot, as its files are now.
    fn current<'a>(
        &self,
        slot: &'a RunSlot,
        directory: RunDirectory,
    ) -> io::Result<RwLockReadGuard<'a, Option<OpenRun>>> {
        {
            let run = wait(|| slot.try_read(), |time| slot.try_read_for(time))?;
            if run.as_ref().is_some_and(OpenRun::is_current) {
                return Ok(run);
            }
        }
        let mut run = wait(|| slot.try_write(), |time| slot.try_write_for(time))?;
        // Somebody else may have brought it up to date meanwhile.
        if !run.as_ref().is_some_and(OpenRun::is_current) {
            let is_updated = match run.as_mut() {
                Some(run) => run.update()?,
                None => false,
            };
            if !is_updated {
                *run = None;
                let origin = self.facts.origin(&directory);
                *run = Some(OpenRun::open(directory, self.prices.clone()).read_from(origin));
            }
            if work::is_cancelled() {
                // Whatever could not be read any more is missing in it.
                *run = None;
                return Err(called_off());
            }
        }
        Ok(RwLockWriteGuard::downgrade(run))
    }

    fn slot(&self, trace_id: TraceId) -> RunSlot {
        let mut open = self.open.lock();
        let slot = match open.iter().position(|(other, _)| *other == trace_id) {
            Some(place) => open.remove(place).1,
            None => RunSlot::default(),
        };
        open.push((trace_id, Arc::clone(&slot)));
        slot
    }

    /// Lets go of runs that were not asked for lately.
    fn close_some(&self) {
        let mut open = self.open.lock();
        let (mut runs, mut spans) = (0, 0);
        let mut kept: Vec<(TraceId, RunSlot)> = Vec::new();
        for (trace_id, slot) in open.drain(..).rev() {
            runs += 1;
            spans += slot
                .try_read()
                .and_then(|run| Some(run.as_ref()?.steps.index.len()))
                .unwrap_or(0);
            if runs == 1 || (runs <= MAX_OPEN_RUNS && spans <= MAX_OPEN_SPANS) {
                kept.push((trace_id, slot));
            }
        }
        kept.reverse();
        *open = kept;
    }

    /// Lets go of a run.
    pub(super) fn close(&self, trace_id: TraceId) {
        self.open.lock().retain(|(other, _)| *other != trace_id);
    }

    /// Removes what was deleted here, for good.
    pub(super) fn empty_trash(&self) {
        // A directory that cannot be removed now is removed when a viewer stops the next time.
        let _ = self.trash.empty();
    }
}

/// Waits for the lock of a run until the client is gone.
fn wait<T>(now: impl FnOnce() -> Option<T>, within: impl Fn(Duration) -> Option<T>) -> io::Result<T> {
    if let Some(taken) = now() {
        return Ok(taken);
    }
    loop {
        if let Some(taken) = within(work::POLL_INTERVAL) {
            return Ok(taken);
        }
        if work::is_cancelled() {
            return Err(called_off());
        }
    }
}

fn called_off() -> io::Error {
    io::Error::other("the reading was cancelled")
}
