//! Copies of accepted requests for an upstream over HTTP, within bounds, for which the sender never waits.

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::guard::TOKEN_HEADER;
use super::options::Upstream;
use super::signal::Signal;
use super::statistics::ReceiverCounters;
use crate::hop_by_hop;

/// Requests that wait.
const MAX_WAITING: usize = 256;
/// Bytes that wait or are under way.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Time for one request to the upstream.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for what waits when the receiver ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Headers that are not copied, but set for the new request.
const MADE_ANEW: [HeaderName; 3] = [header::CONTENT_LENGTH, header::EXPECT, header::HOST];

/// The upstream and the queue before it.
#[derive(Debug)]
pub(super) struct Forward {
    upstream: Upstream,
    has_token: bool,
    queue: mpsc::Sender<WaitingRequest>,
    room: Arc<Semaphore>,
    counters: Arc<ReceiverCounters>,
}

/// A request to the upstream.
#[derive(Debug)]
struct WaitingRequest {
    address: String,
    headers: HeaderMap,
    body: Bytes,
    _room: OwnedSemaphorePermit,
}

/// The task that sends, which ends some time after the [`Forward`].
pub(super) type Sending = JoinHandle<()>;

impl Forward {
    /// Starts to send; called within the runtime of the receiver. `has_token` says whether the receiver wants a token,
    /// which is not the upstream's business.
    pub(super) fn start(
        upstream: Upstream,
        has_token: bool,
        counters: &Arc<ReceiverCounters>,
    ) -> Result<(Self, Sending), reqwest::Error> {
        // Another part of the process may have chosen a provider already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let sending = tokio::spawn(send_all(client, waiting, Arc::clone(counters)));
        let forward = Self {
            upstream,
            has_token,
            queue,
            room: Arc::new(Semaphore::new(MAX_WAITING_BYTES)),
            counters: Arc::clone(counters),
        };
        Ok((forward, sending))
    }

    /// Passes on a request of HTTP, as it was sent.
    pub(super) fn pass_on(&self, signal: Signal, headers: &HeaderMap, body: Bytes) {
        if let Some(address) = self.address(signal) {
            self.enqueue(address, self.passed_on(headers), body);
        }
    }

    /// The upstream's address for a signal; none where it gets no copy of it.
    pub(super) fn address(&self, signal: Signal) -> Option<&str> {
        match signal {
            Signal::Traces => self.upstream.traces.as_deref(),
            Signal::Logs => self.upstream.logs.as_deref(),
            Signal::Metrics => None,
        }
    }

    /// The sender's headers without those of the connection.
    fn passed_on(&self, sent: &HeaderMap) -> HeaderMap {
        hop_by_hop::passed_on(sent, |name| {
            let is_own_token = self.has_token && *name == header::AUTHORIZATION;
            MADE_ANEW.contains(name) || name.as_str() == TOKEN_HEADER || is_own_token
        })
    }

    fn enqueue(&self, address: &str, headers: HeaderMap, body: Bytes) {
        let room = u32::try_from(body.len())
            .ok()
            .and_then(|bytes| Arc::clone(&self.room).try_acquire_many_owned(bytes).ok());
        let is_waiting = room.is_some_and(|room| {
            let waiting = WaitingRequest {
                address: address.to_owned(),
                headers,
                body,
                _room: room,
            };
            self.queue.try_send(waiting).is_ok()
        });
        if !is_waiting {
            self.counters.count(|counts| counts.unforwarded_requests += 1);
        }
    }
}

async fn send_all(
    client: reqwest::Client,
    mut queue: mpsc::Receiver<WaitingRequest>,
    counters: Arc<ReceiverCounters>,
) {
    while let Some(waiting) = queue.recv().await {
        let request = client
            .post(&waiting.address)
            .headers(waiting.headers)
            .body(waiting.body);
        let answer = request.send().await;
        if !answer.is_ok_and(|answer| answer.status().is_success()) {
            counters.count(|counts| counts.unforwarded_requests += 1);
        }
    }
}

/// Waits until what waits is sent, for a bounded time, after the [`Forward`] is dropped.
pub(super) async fn drain(sending: Sending) {
    let abort = sending.abort_handle();
    if tokio::time::timeout(DRAIN_TIMEOUT, sending).await.is_err() {
        abort.abort();
    }
}
