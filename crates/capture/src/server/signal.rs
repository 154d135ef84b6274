//! The kinds of telemetry.

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Logs,
    /// Read and dropped: an exporter whose metrics are refused repeats them forever.
    Metrics,
}
