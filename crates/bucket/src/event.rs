//! What happens while runs are sent to a bucket, for whoever shows it.

use std::time::Duration;

use tracer_sdk::format::TraceId;

/// The store cannot be used for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitEvent {
    /// A request failed and is repeated.
    Waiting {
        /// Why.
        reason: String,
        /// For how long.
        delay: Duration,
    },
    /// The store answers again.
    Resumed,
}

impl From<WaitEvent> for PruneEvent {
    fn from(event: WaitEvent) -> Self {
        Self::Wait(event)
    }
}

impl From<WaitEvent> for ShipEvent {
    fn from(event: WaitEvent) -> Self {
        Self::Wait(event)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShipEvent {
    /// A run is whole in the bucket: its `meta.json` is there.
    Committed {
        /// The run.
        run: TraceId,
        /// Its name, as it is recorded.
        name: Option<String>,
        /// Which state of it: 1, or more for a run that changed after it was sent.
        generation: u64,
        /// Bytes of its log.
        bytes: u64,
    },
    /// The store is waited for.
    Wait(WaitEvent),
    /// A run was not sent; the others are.
    NotSent(NotSent),
}

/// Something that happened while a bucket was pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PruneEvent {
    /// Runs are gone, and the facts say so.
    Removed {
        /// How many.
        runs: u64,
    },
    /// The facts of a day were written anew.
    Compacted {
        /// The day.
        date: String,
    },
    /// The store is waited for.
    Wait(WaitEvent),
}

/// A run that was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSent {
    /// The run.
    pub run: TraceId,
    /// Why, as a part of a sentence.
    pub reason: String,
}

/// What sending did.
///
/// ```
/// use tracer_bucket::ShipSummary;
///
/// assert_eq!(ShipSummary::default().runs, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShipSummary {
    /// Runs that were sent: they are in the bucket, and its facts list them.
    pub runs: u64,
    /// Those of them that had been sent before and have changed since.
    pub changed_runs: u64,
    /// Runs of which everything had been sent before.
    pub runs_sent_before: u64,
    /// Runs that have not ended.
    pub open_runs: u64,
    /// Runs that were not sent, and will not be until something changes.
    pub not_sent: Vec<NotSent>,
    /// Bytes of the logs that were sent, before compression.
    pub bytes: u64,
    /// Values that the check before sending redacted, which recording had not.
    pub redacted_values: u64,
    /// Whether nothing was redacted because the settings say so.
    pub is_unredacted: bool,
    /// Whether it was stopped before everything was sent.
    pub is_stopped: bool,
}
