//! Loop over runs that are sent while they are recorded, to a collector or to a bucket.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracer_sdk::read::{RunDirectory, RunStore, StoreError};

/// The runs to send.
///
/// ```
/// use tracer_capture::push::FollowedRuns;
///
/// assert!(matches!(FollowedRuns::default(), FollowedRuns::All));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum FollowedRuns {
    /// All runs of the data directory, those that are recorded meanwhile included, until it is stopped.
    #[default]
    All,
    /// These runs, until each has ended and is sent.
    These(Vec<RunDirectory>),
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
        let mut turn = 0_u64;
        loop {
            let runs = self.list(store)?;
            let open_runs = send(runs, turn.is_multiple_of(pace.turns_per_late_span)).await?;
            let is_over = open_runs == 0 && matches!(self, Self::These(_));
            let pause = tokio::time::sleep(pace.interval);
            if is_over || token.run_until_cancelled(pause).await.is_none() {
                return Ok(());
            }
            turn += 1;
        }
    }

    /// Those that are there now.
    fn list(&self, store: &RunStore) -> Result<Vec<RunDirectory>, StoreError> {
        if let Self::These(runs) = self {
            return Ok(runs.clone());
        }
        match store.list_directories() {
            // Nothing is recorded yet.
            Err(StoreError::Missing { .. }) => Ok(Vec::new()),
            listed => listed,
        }
    }
}
