//! [`FollowedRuns`]: the runs that are sent while they are recorded, to a collector or to a bucket.

use std::collections::HashMap;

use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::read::{RunDirectory, RunStore, StoreError};

/// The runs to send.
///
/// ```
/// use tracer_capture::push::FollowedRuns;
///
/// assert!(matches!(FollowedRuns::default(), FollowedRuns::All { since: None }));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FollowedRuns {
    /// All runs of the data directory, those that are recorded meanwhile included, until it is stopped.
    All {
        /// Only runs that started then or later.
        since: Option<Timestamp>,
    },
    /// These runs, until each has ended and is sent.
    These(Vec<RunDirectory>),
}

impl Default for FollowedRuns {
    fn default() -> Self {
        Self::All { since: None }
    }
}

/// The directories of followed runs, look after look.
#[derive(Debug, Default)]
pub struct FollowedDirectories {
    /// Whether a run started late enough.
    chosen: HashMap<TraceId, bool>,
}

impl FollowedDirectories {
    /// Those that are there now. Whether a run started late enough is read once.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: the data directory cannot be listed.
    pub fn list(&mut self, runs: &FollowedRuns, store: &RunStore) -> Result<Vec<RunDirectory>, StoreError> {
        let since = match runs {
            FollowedRuns::These(runs) => return Ok(runs.clone()),
            FollowedRuns::All { since } => *since,
        };
        let mut directories = match store.list_directories() {
            Ok(directories) => directories,
            // Nothing is recorded yet.
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let Some(since) = since else {
            return Ok(directories);
        };
        directories.retain(|run| {
            if let Some(chosen) = self.chosen.get(&run.trace_id) {
                return *chosen;
            }
            // A run whose start cannot be read yet is looked at again.
            let Some(started) = run.clone().read_summary().started() else {
                return false;
            };
            self.chosen.insert(run.trace_id, started >= since);
            started >= since
        });
        Ok(directories)
    }
}
