//! The kinds of telemetry.

/// Kind of telemetry in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Logs,
    /// Read and dropped: an exporter whose metrics are refused repeats them forever.
    Metrics,
}
