//! What a receiver has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

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

#[derive(Debug, Default)]
pub(super) struct ReceiverCounters {
    accepted_requests: AtomicU64,
    refused_requests: AtomicU64,
    rejected_items: AtomicU64,
    dropped_metrics_requests: AtomicU64,
    forwarded_requests: AtomicU64,
    unforwarded_requests: AtomicU64,
    connections: AtomicU64,
    open_connections: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

impl ReceiverCounters {
    pub(super) fn took(&self, signal: Signal, taken: &Result<Accepted, Refusal>) {
        match taken {
            Ok(_) if signal == Signal::Metrics => add(&self.dropped_metrics_requests, 1),
            Ok(accepted) => {
                add(&self.accepted_requests, 1);
                add(&self.rejected_items, accepted.rejected);
            }
            // Counted where the answer is made, with what never came this far.
            Err(_) => {}
        }
    }

    pub(super) fn refused(&self) {
        add(&self.refused_requests, 1);
    }

    pub(super) fn forwarded(&self, is_taken: bool) {
        let counter = if is_taken {
            &self.forwarded_requests
        } else {
            &self.unforwarded_requests
        };
        add(counter, 1);
    }

    pub(super) fn opened(&self) {
        add(&self.connections, 1);
        add(&self.open_connections, 1);
    }

    pub(super) fn closed(&self) {
        self.open_connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> ServerStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServerStatistics {
            accepted_requests: read(&self.accepted_requests),
            refused_requests: read(&self.refused_requests),
            rejected_items: read(&self.rejected_items),
            dropped_metrics_requests: read(&self.dropped_metrics_requests),
            forwarded_requests: read(&self.forwarded_requests),
            unforwarded_requests: read(&self.unforwarded_requests),
            connections: read(&self.connections),
            open_connections: read(&self.open_connections),
        }
    }
}
