//! Loop over runs that are sent while they are recorded, to a collector or to a bucket.

use std::collections::HashMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
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

/// Pace at which runs are followed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct FollowPace {
    /// How often the data directory is listed.
    pub interval: Duration,
    /// One of this number of turns includes runs that were sent whole: they can get late spans.
    pub turns_per_late_span: u64,
}

impl FollowedRuns {
    /// Gives the runs to `send`, turn after turn, until the token is cancelled or each of [`FollowedRuns::These`] has ended.
    /// `send` learns, too, whether runs that were sent whole have their turn, and gives how many runs have not ended.
    ///
    /// # Errors
    ///
    /// Those of `send`, and a data directory that cannot be listed.
    // For `tracer-bucket`, as the journal is.
    #[doc(hidden)]
    pub async fn follow<E: From<StoreError>>(
        &self,
        store: &RunStore,
        pace: FollowPace,
        token: &CancellationToken,
        mut send: impl AsyncFnMut(Vec<RunDirectory>, bool) -> Result<u64, E>,
    ) -> Result<(), E> {
        let mut chosen = HashMap::new();
        let mut turn = 0_u64;
        loop {
            let runs = self.list(store, &mut chosen)?;
            let open_runs = send(runs, turn.is_multiple_of(pace.turns_per_late_span)).await?;
            let is_over = open_runs == 0 && matches!(self, Self::These(_));
            let pause = tokio::time::sleep(pace.interval);
            if is_over || token.run_until_cancelled(pause).await.is_none() {
                return Ok(());
            }
            turn += 1;
        }
    }

    /// Those that are there now. Whether a run started late enough is read once, and kept in `chosen`.
    fn list(
        &self,
        store: &RunStore,
        chosen: &mut HashMap<TraceId, bool>,
    ) -> Result<Vec<RunDirectory>, StoreError> {
        let since = match self {
            Self::These(runs) => return Ok(runs.clone()),
            Self::All { since } => *since,
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
            if let Some(chosen) = chosen.get(&run.trace_id) {
                return *chosen;
            }
            // A start that cannot be read yet is read again.
            let Some(started) = run.clone().read_summary().started() else {
                return false;
            };
            chosen.insert(run.trace_id, started >= since);
            started >= since
        });
        Ok(directories)
    }
}
