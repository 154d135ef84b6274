//! [`Shipper`]: the loop that sends runs of a data directory to a destination.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::Path;
use std::time::Duration;

use tracer_runs::{RunDirectory, RunStore, StoreError};
use tracer_sdk::format::TraceId;

use crate::destination::{ChangedRun, Destination, ShipState};
use crate::error::ShipError;
use crate::event::{ShipEvent, ShipSummary};
use crate::journal::Journal;
use crate::retry::{Requests, RetryPolicy};

/// Runs of one batch.
const MAX_BATCH: usize = 500;
/// Turns of a followed data directory for each that includes complete runs: they can get late spans.
const TURNS_PER_LATE_SPAN: u64 = 10;

/// Runs to send.
///
/// ```
/// use tracer_ship::RunSelection;
///
/// assert!(matches!(RunSelection::default(), RunSelection::All));
/// ```
#[derive(Debug, Clone, Default)]
pub enum RunSelection {
    /// All runs of the data directory; followed, those that are recorded meanwhile as well, until it is stopped.
    #[default]
    All,
    /// These runs; followed, until each has ended and is sent.
    These(Vec<RunDirectory>),
}

/// Options of a [`Shipper`].
///
/// ```
/// use tracer_ship::ShipOptions;
///
/// assert!(!ShipOptions::default().again);
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ShipOptions {
    /// Runs are sent, or checked in the bucket, although they were sent before.
    pub again: bool,
    /// Runs are sent as they are recorded, and again when they change.
    pub follow: bool,
    /// Policy for failed requests.
    pub retry: RetryPolicy,
    /// Interval in which the data directory is listed while runs are followed; `None` is the destination's own.
    pub poll_interval: Option<Duration>,
}

/// Sends runs of a data directory to a destination. Another process cannot send to the same one meanwhile.
///
/// ```
/// use tracer_ship::{BucketDestination, OpenBucket, RunSelection, ShipOptions, Shipper};
/// use tracer_sdk::settings::Settings;
/// use tracer_sdk::testing::capture;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let recorded = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(recorded.path())?;
/// let folder = tempfile::tempdir()?;
/// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
/// let settings = Settings::with_data_dir(recorded.path());
/// let destination = BucketDestination::new(bucket, &settings);
/// let mut shipper = Shipper::open(recorded.path(), destination, ShipOptions::default())?;
/// let summary = shipper.ship(&RunSelection::All, std::future::pending(), &mut |_| {}).await?;
/// assert_eq!((summary.runs, summary.not_sent.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Shipper<D: Destination> {
    destination: D,
    options: ShipOptions,
    state: ShipState<D::Sent>,
    /// Runs that were sent again already.
    sent_again: HashSet<TraceId>,
}

impl<D: Destination> Shipper<D> {
    /// Opens the journal of the destination in a data directory.
    ///
    /// # Errors
    ///
    /// [`ShipError::Journal`]: the journal cannot be used, or another process has it.
    pub fn open(data_dir: impl AsRef<Path>, destination: D, options: ShipOptions) -> Result<Self, ShipError> {
        let store = RunStore::new(data_dir.as_ref());
        let journal = Journal::open(&store, &destination.key(), &destination.to_string())?;
        Ok(Self {
            destination,
            options,
            state: ShipState {
                store,
                journal,
                summary: ShipSummary::default(),
                unsendable: HashMap::new(),
            },
            sent_again: HashSet::new(),
        })
    }

    /// `true` when the user has to agree first: runs leave this machine, and no user has agreed yet.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        self.destination.is_remote() && !self.state.journal.is_confirmed()
    }

    /// Remembers that the user has agreed to send runs to this destination.
    ///
    /// # Errors
    ///
    /// [`ShipError::Journal`]: the journal cannot be written.
    pub fn confirm(&mut self) -> Result<(), ShipError> {
        Ok(self.state.journal.confirm()?)
    }

    /// Sends what these runs have that was not sent before. It ends early, without an error, when `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`ShipError`]. What was acknowledged before is remembered.
    pub async fn ship(
        &mut self,
        runs: &RunSelection,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(ShipEvent),
    ) -> Result<ShipSummary, ShipError> {
        let requests = Requests::new(self.options.retry, observe);
        let is_stopped = requests.run_until(stop, self.send_all(runs, &requests)).await;
        let mut summary = mem::take(&mut self.state.summary);
        summary.is_stopped = is_stopped?;
        Ok(summary)
    }

    async fn send_all(&mut self, runs: &RunSelection, requests: &Requests<'_>) -> Result<(), ShipError> {
        self.destination.resume(&mut self.state, requests).await?;
        let interval = self.options.poll_interval.unwrap_or(D::POLL_INTERVAL);
        for turn in 0_u64.. {
            let directories = list(runs, &self.state.store)?;
            self.state.summary.open_runs = 0;
            self.state.summary.runs_sent_before = 0;
            let is_late_turn = turn.is_multiple_of(TURNS_PER_LATE_SPAN);
            for batch in directories.chunks(MAX_BATCH) {
                let changed = self.changed(batch, is_late_turn);
                self.destination.send(changed, &mut self.state, requests).await?;
            }
            let has_ended = self.state.summary.open_runs == 0 && matches!(runs, RunSelection::These(_));
            let pause = tokio::time::sleep(interval);
            if !self.options.follow || has_ended || requests.token.run_until_cancelled(pause).await.is_none()
            {
                break;
            }
        }
        Ok(())
    }

    /// Those of these runs that are not sent as they are now.
    fn changed(&mut self, directories: &[RunDirectory], is_late_turn: bool) -> Vec<ChangedRun> {
        let mut changed = Vec::new();
        for directory in directories {
            let id = directory.trace_id;
            let complete = self.state.journal.sent(id).filter(|sent| D::is_complete(sent));
            let is_again = self.options.again && !self.sent_again.contains(&id);
            if complete.is_some() && !is_late_turn && !is_again {
                continue;
            }
            let run = ChangedRun::new(directory.clone(), is_again);
            if is_again {
                self.sent_again.insert(id);
            } else if complete.is_some_and(|sent| D::is_unchanged(sent, &run)) {
                self.state.summary.runs_sent_before += 1;
                continue;
            } else if self
                .state
                .unsendable
                .get(&id)
                .is_some_and(|stamp| *stamp == run.stamp)
            {
                continue;
            }
            changed.push(run);
        }
        changed
    }
}

/// The directories of the selected runs that are there now.
fn list(runs: &RunSelection, store: &RunStore) -> Result<Vec<RunDirectory>, StoreError> {
    if let RunSelection::These(runs) = runs {
        return Ok(runs.clone());
    }
    match store.list_directories() {
        // Nothing is recorded yet.
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        listed => listed,
    }
}
