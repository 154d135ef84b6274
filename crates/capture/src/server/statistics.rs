//! Statistics of a receiver.

use parking_lot::Mutex;

/// Counts since the receiver was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatistics {
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

/// The counts of a receiver that runs.
#[derive(Debug, Default)]
pub(super) struct ReceiverCounters(Mutex<ServerStatistics>);

impl ReceiverCounters {
    pub(super) fn rejected(&self, items: u64) {
        self.0.lock().rejected_items += items;
    }

    pub(super) fn refused(&self) {
        self.0.lock().refused_requests += 1;
    }

    pub(super) fn not_forwarded(&self) {
        self.0.lock().unforwarded_requests += 1;
    }

    pub(super) fn grpc_not_forwarded(&self) {
        self.0.lock().unforwarded_grpc_requests += 1;
    }

    pub(super) fn opened(&self) {
        let mut statistics = self.0.lock();
        statistics.connections += 1;
        statistics.open_connections += 1;
    }

    pub(super) fn closed(&self) {
        self.0.lock().open_connections -= 1;
    }

    pub(super) fn snapshot(&self) -> ServerStatistics {
        *self.0.lock()
    }
}
