//! Statistics of a receiver.

use parking_lot::Mutex;

use super::refusal::Refusal;
use super::signal::Signal;
use crate::sink::Accepted;

/// Counts since the receiver was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatistics {
    /// Requests of spans and logs that were accepted, at least in part.
    pub accepted_requests: u64,
    /// Requests that were refused: malformed, too large, from a page, or because nothing could be written.
    pub refused_requests: u64,
    /// Spans and log records that were rejected within accepted requests.
    pub rejected_items: u64,
    /// Requests of metrics, which are dropped.
    pub dropped_metrics_requests: u64,
    /// Requests that the upstream took.
    pub forwarded_requests: u64,
    /// Requests that the upstream did not take, or not in time.
    pub unforwarded_requests: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Connections that are open now.
    pub open_connections: u64,
}

/// The counts of a receiver that runs.
#[derive(Debug, Default)]
pub(super) struct ReceiverCounters(Mutex<ServerStatistics>);

impl ReceiverCounters {
    pub(super) fn took(&self, signal: Signal, taken: &Result<Accepted, Refusal>) {
        let mut statistics = self.0.lock();
        match taken {
            Ok(_) if signal == Signal::Metrics => statistics.dropped_metrics_requests += 1,
            Ok(accepted) => {
                statistics.accepted_requests += 1;
                statistics.rejected_items += accepted.rejected;
            }
            // Counted where the answer is made, with what never came this far.
            Err(_) => {}
        }
    }

    pub(super) fn refused(&self) {
        self.0.lock().refused_requests += 1;
    }

    pub(super) fn forwarded(&self, is_taken: bool) {
        let mut statistics = self.0.lock();
        if is_taken {
            statistics.forwarded_requests += 1;
        } else {
            statistics.unforwarded_requests += 1;
        }
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
