//! Events and summary of sending runs.

use std::time::Duration;

use tracer_sdk::format::TraceId;

/// Event while runs are sent.
///
/// ```
/// use tracer_ship::ShipEvent;
///
/// let event = ShipEvent::Sent { spans: 3 };
/// assert_eq!(event, ShipEvent::Sent { spans: 3 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShipEvent {
    /// An endpoint acknowledged a request.
    Sent {
        /// Number of its spans.
        spans: u64,
    },
    /// A run that has ended is whole at the destination.
    Completed {
        /// The run.
        run: TraceId,
        /// Its name, as it is recorded.
        name: Option<String>,
        /// Number of its spans, over all pushes; `None` where whole logs are sent.
        spans: Option<u64>,
        /// Bytes of its log.
        bytes: u64,
        /// It had been sent before, and has changed since.
        is_changed: bool,
    },
    /// A request failed and is repeated.
    Waiting {
        /// The failure.
        reason: String,
        /// Time until the next attempt.
        delay: Duration,
    },
    /// The destination answers again.
    Resumed,
    /// The endpoint will never accept these spans: they are not sent again.
    Refused {
        /// Number of spans.
        spans: u64,
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// The endpoint accepted the request and has a warning.
    Warning {
        /// The endpoint's message.
        message: String,
    },
    /// The endpoint accepts no protobuf: from here on it gets JSON.
    SwitchedToJson,
    /// A run was not sent, or not to its end; the others are.
    NotSent(NotSent),
}

/// A run that was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSent {
    /// The run.
    pub run: TraceId,
    /// The reason, as a part of a sentence.
    pub reason: String,
}

/// Result of sending runs.
///
/// ```
/// use tracer_ship::ShipSummary;
///
/// assert_eq!(ShipSummary::default().runs, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShipSummary {
    /// Runs that were sent at least in part; in a bucket, those that its facts list.
    pub runs: u64,
    /// Runs among them that had been sent to a bucket before and have changed since.
    pub changed_runs: u64,
    /// Runs that had been sent whole before.
    pub runs_sent_before: u64,
    /// Runs that have not ended, or whose process died.
    pub open_runs: u64,
    /// Runs that were not sent, and will not be until their files change.
    pub not_sent: Vec<NotSent>,
    /// Spans that an endpoint acknowledged.
    pub sent_spans: u64,
    /// Spans that an endpoint will never accept.
    pub refused_spans: u64,
    /// Lines of logs without a readable span of their run.
    pub unreadable_lines: u64,
    /// Bytes of the logs that a bucket got.
    pub bytes: u64,
    /// Values that the check before sending redacted, which recording had not.
    pub redacted_values: u64,
    /// `true` when it was stopped before everything was sent.
    pub is_stopped: bool,
}
