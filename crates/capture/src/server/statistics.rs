//! Statistics of a receiver.

use parking_lot::Mutex;

/// Counts since the receiver was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatistics {
    /// Spans of accepted requests.
    pub spans: u64,
    /// Log records of accepted requests.
    pub log_records: u64,
    /// Requests that were refused: malformed, too large, from a page, or because nothing could be written.
    pub refused_requests: u64,
    /// Spans and log records that were rejected within accepted requests.
    pub rejected_items: u64,
    /// Requests over HTTP that the upstream did not take, or not in time, or that found no room to wait.
    pub unforwarded_requests: u64,
    /// Requests over gRPC that were accepted here, and are not passed on to the upstream.
    pub unforwarded_grpc_requests: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Connections that are open now.
    pub open_connections: u64,
}

impl ServerStatistics {
    /// Number of items and requests that were not taken.
    pub(crate) fn not_taken(&self) -> u64 {
        self.rejected_items.saturating_add(self.refused_requests)
    }
}

/// The counts of a receiver that runs.
#[derive(Debug, Default)]
pub(super) struct ReceiverCounters(Mutex<ServerStatistics>);

impl ReceiverCounters {
    /// Counts something.
    pub(super) fn count(&self, count: impl FnOnce(&mut ServerStatistics)) {
        count(&mut self.0.lock());
    }

    pub(super) fn snapshot(&self) -> ServerStatistics {
        *self.0.lock()
    }
}
