//! The thread that turns exchanges into spans: reading bodies and writing files never holds up a request.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tracer_insight::text::counted;
use tracer_sdk::format::SpanRecord;

use super::exchange::{Exchange, ModelCall};
use super::run_groups::RunGroups;
use crate::exchange::ExchangeSink;
use crate::sink::{Refused, SpanSink};
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
    /// Number of requests that were passed on.
    pub(crate) fn requests(&self) -> u64 {
        self.model_calls + self.other_requests
    }

    /// Number of model calls that asked for something else than an answer: embeddings, transcripts, images.
    pub(crate) fn service_calls(&self) -> u64 {
        self.model_calls - self.counted_calls
    }

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
    /// The bytes that wait to be recorded.
    backlog: watch::Sender<usize>,
}

impl ReportSender {
    /// Never waits. After the end of the recorder nothing is recorded.
    pub(super) fn send(&self, report: ExchangeReport) {
        let bytes = match &report {
            ExchangeReport::Exchange(exchange) => weight(exchange),
            _ => 0,
        };
        self.backlog.send_modify(|waiting| *waiting += bytes);
        if self.sender.send(report).is_err() {
            self.backlog.send_replace(0);
        }
    }

    /// Waits until little enough is to be recorded for another request.
    pub(super) async fn has_room(&self) {
        let mut backlog = self.backlog.subscribe();
        let _ = backlog.wait_for(|waiting| *waiting <= MAX_WAITING_BYTES).await;
    }
}

/// The share of an exchange in the backlog, in bytes.
fn weight(exchange: &Exchange) -> usize {
    size_of::<Exchange>() + exchange.request.len() + exchange.response.len()
}

/// Takes all bytes away when the recorder ends, however it ends: a client never waits for a recorder that is gone.
struct EmptyAtEnd(watch::Sender<usize>);

impl Drop for EmptyAtEnd {
    fn drop(&mut self) {
        self.0.send_replace(0);
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
        sink: Option<Arc<dyn SpanSink>>,
        open_requests: Arc<AtomicU64>,
        exchanges: Option<Box<dyn ExchangeSink>>,
    ) -> io::Result<Self> {
        let (sender, reports) = mpsc::channel();
        let backlog = watch::Sender::new(0);
        let sender = ReportSender {
            sender,
            backlog: backlog.clone(),
        };
        let state = ExchangeRecorderState {
            reports,
            runs,
            sink,
            exchanges,
            refused_upgrades: HashMap::new(),
            summary: ProxySummary::default(),
        };
        let thread = thread::Builder::new()
            .name("tracer-proxy".to_owned())
            .spawn(move || {
                let backlog = EmptyAtEnd(backlog);
                state.record_all(&backlog.0, &open_requests)
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
    /// Gone before the backlog is emptied: a report that is sent then fails.
    reports: mpsc::Receiver<ExchangeReport>,
    runs: RunGroups,
    sink: Option<Arc<dyn SpanSink>>,
    exchanges: Option<Box<dyn ExchangeSink>>,
    /// Number of refused upgrades by path, without paths on which a call has come since.
    refused_upgrades: HashMap<String, u64>,
    summary: ProxySummary,
}

impl ExchangeRecorderState {
    /// Records what is reported until the end.
    fn record_all(mut self, backlog: &watch::Sender<usize>, open_requests: &AtomicU64) -> ProxySummary {
        loop {
            match self.reports.recv_timeout(POLL_INTERVAL) {
                Ok(ExchangeReport::Exchange(mut exchange)) => {
                    let weight = weight(&exchange);
                    self.record(&mut exchange);
                    drop(exchange);
                    backlog.send_modify(|waiting| *waiting = waiting.saturating_sub(weight));
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
                Err(RecvTimeoutError::Timeout) if open_requests.load(Ordering::Relaxed) == 0 => {
                    let spans = self.runs.end_idle(SystemTime::now());
                    self.write(&spans);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let spans = self.runs.finish();
        self.write(&spans);
        self.summary.refused_upgrades = self.refused_upgrades.values().sum();
        self.summary
    }

    fn record(&mut self, exchange: &mut Exchange) {
        if exchange.is_held {
            // Its client left before any provider got it: it is no model call.
            let spans = self.runs.spans(exchange, None);
            self.write(&spans);
            return;
        }
        let is_made = exchange.refused_by.is_none();
        if let Some(exchanges) = self.exchanges.as_mut().filter(|_| is_made) {
            exchange.hand_over(exchanges.as_mut());
        }
        let Some((api, call)) = ModelCall::of(exchange) else {
            self.record_other(exchange);
            return;
        };
        let is_known = |(_, id): &(ModelApi, String)| self.runs.knows_answer(id);
        if is_made && !exchange.asked_again.as_ref().is_some_and(is_known) {
            self.summary.model_calls += 1;
            self.summary.counted_calls += u64::from(!api.is_service());
            self.summary.without_tokens += u64::from(!api.is_service() && call.lacks_tokens(exchange));
        }
        if let (Some(reservation), Some(used)) = (exchange.reservation.take(), call.used(exchange, api)) {
            reservation.settle(&used);
        }
        // A client that was refused a WebSocket for this has lost nothing.
        self.refused_upgrades
            .remove(&format!("{}{}", exchange.segment, exchange.path));
        let spans = self.runs.spans(exchange, Some((api, &call)));
        self.write(&spans);
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
        self.write(&spans);
    }

    fn write(&mut self, spans: &[SpanRecord]) {
        let Some(sink) = self.sink.as_deref().filter(|_| !spans.is_empty()) else {
            return;
        };
        for _ in 0..TRIES {
            match sink.accept(spans.to_vec()) {
                Ok(accepted) => {
                    self.summary.lost += accepted.rejected;
                    return;
                }
                Err(Refused::Busy { .. }) => thread::sleep(RETRY),
                Err(Refused::Storage(_)) => break,
            }
        }
        self.summary.lost += spans.len() as u64;
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

    /// A sender before too many bytes, and a request that waits for room.
    async fn waiting() -> (ReportSender, tokio::task::JoinHandle<()>) {
        let (sender, _) = mpsc::channel();
        let backlog = watch::Sender::new(0);
        let sender = ReportSender { sender, backlog };
        sender.has_room().await;
        sender.backlog.send_replace(MAX_WAITING_BYTES + 1);
        let waiting = tokio::spawn({
            let sender = sender.clone();
            async move { sender.has_room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        (sender, waiting)
    }

    #[tokio::test]
    async fn a_request_waits_while_too_much_is_to_be_recorded() {
        let (sender, waiting) = waiting().await;
        sender.backlog.send_modify(|waiting| *waiting -= 1);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn no_request_waits_for_a_recorder_that_has_ended() {
        let (sender, waiting) = waiting().await;
        drop(EmptyAtEnd(sender.backlog.clone()));
        waiting.await.unwrap();
        // Nor for a report that comes too late.
        sender.backlog.send_replace(MAX_WAITING_BYTES + 1);
        sender.send(ExchangeReport::RefusedSigned);
        sender.has_room().await;
    }
}
