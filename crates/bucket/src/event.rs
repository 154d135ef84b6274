//! Events and results of sending runs to a bucket.

use std::time::Duration;

use tracer_sdk::format::TraceId;

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
    /// A request failed and is repeated.
    Waiting {
        /// Why.
        reason: String,
        /// For how long.
        delay: Duration,
    },
    /// The store answers again.
    Resumed,
    /// A run was not sent; the others are.
    NotSent(NotSent),
}

/// A run that was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSent {
    /// The run.
    pub run: TraceId,
    /// Why, as a part of a sentence.
    pub reason: String,
}

/// Result of sending.
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
    /// Bytes of the logs that were sent.
    pub bytes: u64,
    /// Values that the check before sending redacted, which recording had not.
    pub redacted_values: u64,
    /// `true` when nothing was redacted because the settings say so.
    pub is_unredacted: bool,
    /// `true` when it was stopped before everything was sent.
    pub is_stopped: bool,
}
