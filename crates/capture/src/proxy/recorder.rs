//! The thread that turns exchanges into spans: reading bodies and writing files never holds up a request.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use tokio::sync::Notify;
use tracer_insight::text::counted;

use super::ProxyCounters;
use super::exchange::{Exchange, ModelCall};
use super::run_groups::RunGroups;
use crate::exchange::ExchangeSink;
use crate::{OtlpSink, Refused};
use tracer_providers::{ModelApi, is_auxiliary};

/// Summary of the requests to a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxySummary {
    /// Model calls that were recorded.
    pub model_calls: u64,
    /// Those of them that a run counts as model calls: all but embeddings and their like.
    pub counted_calls: u64,
    /// Requests of APIs that are not known: passed on, and recorded without content.
    pub other_requests: u64,
    /// Those of them that ask for something, but of an API that is not known.
    pub unknown_requests: u64,
    /// Their paths, each once; the first few.
    pub unknown_routes: Vec<String>,
    /// Requests to open a `WebSocket`, which were refused, of clients that did not ask the same by a request then.
    pub refused_upgrades: u64,
    /// Requests that are signed for the provider's address, such as Bedrock's, which were refused.
    pub refused_signed: u64,
    /// Requests with a path that no provider has, which were refused.
    pub refused_paths: u64,
    /// Their paths, each once; the first few.
    pub refused_routes: Vec<String>,
    /// Streamed answers that brought no tokens.
    pub without_tokens: u64,
    /// Spans that could not be written.
    pub lost: u64,
}

impl ProxySummary {
    /// Notes for the user, a sentence each; none when everything was recorded.
    ///
    /// ```
    /// let summary = tracer_capture::proxy::ProxySummary::default();
    /// assert!(summary.notes().is_empty());
    /// ```
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, noun: &str, what: &str| {
            if count > 0 {
                notes.push(format!("{} {what}", counted(count, noun)));
            }
        };
        note(
            self.refused_upgrades,
            "request",
            "to open a WebSocket refused, which cannot be recorded: tracer record --no-proxy lets them through",
        );
        note(
            self.refused_signed,
            "request",
            "refused that is signed for the provider's own address, as Bedrock's are: tracer record --no-proxy lets them through",
        );
        note(
            self.unknown_requests,
            "request",
            &format!(
                "of an API that is not known ({}), passed on and recorded without content",
                self.unknown_routes.join(", ")
            ),
        );
        note(
            self.refused_paths,
            "request",
            &format!(
                "refused with 404: no provider has the path {}",
                self.refused_routes.join(", ")
            ),
        );
        note(
            self.without_tokens,
            "model call",
            "whose tokens are not known: the stream brought none; chat completions bring them where the program asks: \
             stream_options={\"include_usage\": true}, in LangChain stream_usage=True",
        );
        note(self.lost, "model or tool call", "could not be written");
        notes
    }
}

/// Bytes of bodies that may wait to be recorded; beyond that the next request waits.
const MAX_WAITING_BYTES: usize = 256 * 1024 * 1024;

/// Number of paths of unknown APIs that are named.
const MAX_ROUTES: usize = 3;

/// Number of retries of a span that the sink does not take at once, and the time between them.
const TRIES: usize = 20;
const RETRY: Duration = Duration::from_millis(100);

/// Interval of the checks for runs that have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Report of the forwarder.
#[derive(Debug)]
pub(super) enum ExchangeReport {
    Exchange(Box<Exchange>),
    /// Of the path with the provider's segment before it.
    RefusedUpgrade(String),
    RefusedSigned,
    /// The path, without the token.
    RefusedPath(String),
    /// Nothing comes any more.
    End,
}

/// Hands exchanges to the thread.
#[derive(Debug, Clone)]
pub(super) struct ReportSender {
    sender: mpsc::Sender<ExchangeReport>,
    backlog: Arc<Backlog>,
}

impl ReportSender {
    /// Never waits. After the end of the recorder nothing is recorded.
    pub(super) fn send(&self, report: ExchangeReport) {
        if let ExchangeReport::Exchange(exchange) = &report {
            self.backlog.add(weight(exchange));
        }
        let _ = self.sender.send(report);
    }

    /// Waits until little enough is to be recorded for another request.
    pub(super) async fn has_room(&self) {
        self.backlog.has_room().await;
    }
}

/// The share of an exchange in the backlog, in bytes.
fn weight(exchange: &Exchange) -> usize {
    size_of::<Exchange>() + exchange.request.len() + exchange.response.len()
}

/// The bytes that wait to be recorded. Requests that come while there are too many are held back.
#[derive(Debug)]
struct Backlog {
    limit: usize,
    bytes: AtomicUsize,
    /// Nothing is recorded any more, and so nothing waits.
    is_closed: AtomicBool,
    /// Fewer bytes wait, or none will again.
    has_shrunk: Notify,
}

impl Backlog {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            has_shrunk: Notify::new(),
        }
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.has_shrunk.notify_waiters();
    }

    /// Holds no request back from now on.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.has_shrunk.notify_waiters();
    }

    async fn has_room(&self) {
        loop {
            // Registered before the check, so that a change in between is not missed.
            let shrunk = self.has_shrunk.notified();
            if self.is_closed.load(Ordering::Acquire) || self.bytes.load(Ordering::Acquire) <= self.limit {
                return;
            }
            shrunk.await;
        }
    }
}

/// Closes the backlog when the recorder ends, however it ends: a client never waits for a recorder that is gone.
struct CloseAtEnd(Arc<Backlog>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The thread, and the way to it.
#[derive(Debug)]
pub(super) struct ExchangeRecorder {
    sender: ReportSender,
    thread: thread::JoinHandle<ProxySummary>,
}

impl ExchangeRecorder {
    pub(super) fn start(
        runs: RunGroups,
        sink: Arc<dyn OtlpSink>,
        counters: Arc<ProxyCounters>,
        exchanges: Option<Box<dyn ExchangeSink>>,
    ) -> io::Result<Self> {
        let (sender, reports) = mpsc::channel();
        let backlog = Arc::new(Backlog::new(MAX_WAITING_BYTES));
        let sender = ReportSender {
            sender,
            backlog: Arc::clone(&backlog),
        };
        let state = ExchangeRecorderState {
            runs,
            sink,
            exchanges,
            refused_upgrades: HashMap::new(),
            summary: ProxySummary::default(),
        };
        let thread = thread::Builder::new()
            .name("tracer-proxy".to_owned())
            .spawn(move || {
                let backlog = CloseAtEnd(backlog);
                state.record_all(&reports, &backlog.0, &counters)
            })?;
        Ok(Self { sender, thread })
    }

    pub(super) fn sender(&self) -> ReportSender {
        self.sender.clone()
    }

    /// Waits until everything is recorded that was reported before.
    pub(super) fn finish(self) -> ProxySummary {
        self.sender.send(ExchangeReport::End);
        self.thread.join().unwrap_or_default()
    }
}

struct ExchangeRecorderState {
    runs: RunGroups,
    sink: Arc<dyn OtlpSink>,
    exchanges: Option<Box<dyn ExchangeSink>>,
    /// Number of refused upgrades by path, without paths on which a call has come since.
    refused_upgrades: HashMap<String, u64>,
    summary: ProxySummary,
}

impl ExchangeRecorderState {
    /// Records what is reported until the end.
    fn record_all(
        mut self,
        reports: &mpsc::Receiver<ExchangeReport>,
        backlog: &Backlog,
        counters: &ProxyCounters,
    ) -> ProxySummary {
        loop {
            match reports.recv_timeout(POLL_INTERVAL) {
                Ok(ExchangeReport::Exchange(mut exchange)) => {
                    let weight = weight(&exchange);
                    self.record(&mut exchange);
                    drop(exchange);
                    backlog.remove(weight);
                }
                Ok(ExchangeReport::RefusedUpgrade(path)) => {
                    *self.refused_upgrades.entry(path).or_default() += 1;
                }
                Ok(ExchangeReport::RefusedSigned) => self.summary.refused_signed += 1,
                Ok(ExchangeReport::RefusedPath(path)) => {
                    self.summary.refused_paths += 1;
                    add_route(&mut self.summary.refused_routes, &path);
                }
                Ok(ExchangeReport::End) | Err(RecvTimeoutError::Disconnected) => break,
                // As long as an answer is on its way, nothing is idle.
                Err(RecvTimeoutError::Timeout) if counters.read().open_requests == 0 => {
                    let spans = self.runs.end_idle(SystemTime::now());
                    self.write(spans);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let spans = self.runs.finish();
        self.write(spans);
        self.summary.refused_upgrades = self.refused_upgrades.values().sum();
        self.summary
    }

    fn record(&mut self, exchange: &mut Exchange) {
        if let Some(exchanges) = &mut self.exchanges {
            exchange.hand_over(exchanges.as_mut());
        }
        let Some((api, call)) = ModelCall::of(exchange) else {
            self.record_other(exchange);
            return;
        };
        let is_known = |(_, id): &(ModelApi, String)| self.runs.knows_answer(id);
        if !exchange.asked_again.as_ref().is_some_and(is_known) {
            self.summary.model_calls += 1;
            self.summary.counted_calls += u64::from(!api.is_service());
            self.summary.without_tokens += u64::from(!api.is_service() && call.lacks_tokens(exchange));
        }
        // A client that was refused a WebSocket for this has lost nothing.
        self.refused_upgrades
            .remove(&format!("{}{}", exchange.segment, exchange.path));
        let spans = self.runs.spans(exchange, Some((api, &call)));
        self.write(spans);
    }

    fn record_other(&mut self, exchange: &Exchange) {
        self.summary.other_requests += 1;
        // They ask whether somebody is there, and tell a reader nothing.
        if matches!(exchange.method.as_str(), "HEAD" | "OPTIONS") {
            return;
        }
        let is_unknown = exchange.method == "POST" && !is_auxiliary(&exchange.path);
        self.summary.unknown_requests += u64::from(is_unknown);
        if is_unknown {
            add_route(&mut self.summary.unknown_routes, &exchange.path);
        }
        let spans = self.runs.spans(exchange, None);
        self.write(spans);
    }

    fn write(&mut self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let request = ResourceSpans {
            resource: None,
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "tracer.proxy".to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        };
        for _ in 0..TRIES {
            match self.sink.accept_spans(vec![request.clone()]) {
                Ok(accepted) => {
                    self.summary.lost += accepted.rejected;
                    return;
                }
                Err(Refused::Busy { .. }) => thread::sleep(RETRY),
                Err(Refused::Storage(_)) => break,
            }
        }
        self.summary.lost += count;
    }
}

/// Names a path once, among the first few.
fn add_route(routes: &mut Vec<String>, path: &str) {
    if routes.len() < MAX_ROUTES && !routes.iter().any(|known| known == path) {
        routes.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_waits_while_too_much_is_to_be_recorded() {
        let backlog = Arc::new(Backlog::new(10));
        backlog.has_room().await;
        backlog.add(11);
        let waiting = tokio::spawn({
            let backlog = Arc::clone(&backlog);
            async move { backlog.has_room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        backlog.remove(11);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn no_request_waits_for_a_recorder_that_has_ended() {
        let backlog = Arc::new(Backlog::new(10));
        backlog.add(11);
        let waiting = tokio::spawn({
            let backlog = Arc::clone(&backlog);
            async move { backlog.has_room().await }
        });
        tokio::task::yield_now().await;
        drop(CloseAtEnd(backlog));
        waiting.await.unwrap();
    }
}
