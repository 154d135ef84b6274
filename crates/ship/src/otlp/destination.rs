//! [`OtlpDestination`]: an endpoint that gets what was recorded since the last push, batch by batch.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::mem;
use std::time::Duration;

use tracer_capture::otlp::encode;
use tracer_sdk::format::{SpanId, SpanRecord, TraceId};

use super::answer::Answer;
use super::batch::{MAX_BYTES, Mark, SpanBatch};
use super::client::{Client, encode_request};
use super::content;
use super::endpoint::OtlpEndpoint;
use super::repeats::RepeatedSpans;
use super::settings::{OtlpSettings, Protocol};
use super::tail::{RunTail, SentPart, log_bytes};
use crate::destination::{ChangedRun, Destination, ShipState};
use crate::error::{RequestFailure, ShipError};
use crate::event::ShipEvent;
use crate::retry::Requests;

/// Failed connections, before there was one, with which a push gives up: the endpoint is not there.
const MAX_FIRST_FAILURES: u32 = 3;
/// Answers by which the server reports a defect of its own, with which a push gives up.
const MAX_SERVER_FAILURES: u32 = 5;

/// An endpoint of OTLP over HTTP.
pub struct OtlpDestination {
    endpoint: OtlpEndpoint,
    client: Client,
    protocol: Protocol,
    with_content: bool,
    batch: SpanBatch,
    /// Runs with an acknowledged part.
    sent_runs: HashSet<TraceId>,
    /// Of each open run, its calls that are recorded several times.
    repeated_calls: HashMap<TraceId, RepeatedSpans>,
    /// A connection to the endpoint came about.
    has_connected: bool,
}

impl OtlpDestination {
    /// Prepares a connection. Without content, messages, arguments, results and descriptions of errors are left out; names,
    /// numbers and times remain.
    ///
    /// ```
    /// use tracer_ship::{OtlpDestination, OtlpSettings};
    ///
    /// let settings = OtlpSettings::resolve(None, |_| None)?;
    /// let destination = OtlpDestination::new(&settings, true)?;
    /// assert_eq!(destination.to_string(), "http://localhost:4318/v1/traces");
    /// # Ok::<(), tracer_ship::ShipError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShipError::TlsFile`], [`ShipError::Client`]: a certificate cannot be used.
    pub fn new(settings: &OtlpSettings, with_content: bool) -> Result<Self, ShipError> {
        Ok(Self {
            endpoint: settings.endpoint.clone(),
            client: Client::new(settings)?,
            protocol: settings.protocol,
            with_content,
            batch: SpanBatch::default(),
            sent_runs: HashSet::new(),
            repeated_calls: HashMap::new(),
            has_connected: false,
        })
    }
}

impl fmt::Display for OtlpDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(formatter)
    }
}

impl Destination for OtlpDestination {
    type Sent = SentPart;

    const POLL_INTERVAL: Duration = Duration::from_millis(500);

    fn key(&self) -> String {
        self.endpoint.key()
    }

    fn is_remote(&self) -> bool {
        !self.endpoint.is_loopback()
    }

    fn is_complete(sent: &SentPart) -> bool {
        sent.complete
    }

    fn is_unchanged(sent: &SentPart, run: &ChangedRun) -> bool {
        sent.bytes == log_bytes(&run.directory.path)
    }

    async fn resume(
        &mut self,
        _state: &mut ShipState<SentPart>,
        _requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        // Spans that a push before could not send are read again.
        self.batch = SpanBatch::default();
        self.sent_runs.clear();
        Ok(())
    }

    async fn send(
        &mut self,
        runs: Vec<ChangedRun>,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        for run in runs {
            if let Err(error) = self.read_run(&run, state, requests).await? {
                state.not_sent(&run, error.to_string(), requests);
            }
        }
        self.flush(state, requests).await
    }
}

impl OtlpDestination {
    /// Puts the unsent spans of a run into batches, and sends those that are full. The inner error is that of its log.
    async fn read_run(
        &mut self,
        run: &ChangedRun,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<io::Result<()>, ShipError> {
        let id = run.directory.trace_id;
        let known = state.journal.sent(id).filter(|_| !run.is_again);
        let before = known.copied().unwrap_or_default();
        let mut tail = match RunTail::open(&run.directory, before) {
            Ok(tail) => tail,
            Err(error) => return Ok(Err(error)),
        };
        let mut repeated = self
            .repeated_calls
            .remove(&id)
            .unwrap_or_else(|| RepeatedSpans::new(tail.sent_bytes()));
        loop {
            let part = match tail.next_part() {
                Ok(part) => part,
                Err(error) => return Ok(Err(error)),
            };
            repeated.read(&run.directory, &part.spans);
            for span in part.spans {
                let counted_in = repeated.counted_in(span.span_id);
                self.add(span, counted_in, tail.name.as_deref(), state, requests)
                    .await?;
            }
            if part.sent != before {
                state.summary.unreadable_lines += part.unreadable_lines;
                self.batch.mark_sent(Mark {
                    run: id,
                    name: tail.name.clone(),
                    part: part.sent,
                    has_spans: part.sent.spans != before.spans,
                });
            }
            if part.is_to_end {
                break;
            }
        }
        if !tail.is_ended {
            self.repeated_calls.insert(id, repeated);
            state.summary.open_runs += 1;
        }
        Ok(Ok(()))
    }

    async fn add(
        &mut self,
        span: SpanRecord,
        counted_in: Option<SpanId>,
        run_name: Option<&str>,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let resource = encode::resource_of(&span, run_name);
        let mut span = match counted_in {
            Some(call) => encode::repeated_span(span, call),
            None => encode::span(span),
        };
        if !self.with_content {
            content::strip(&mut span);
        }
        if !self.batch.has_room(prost::Message::encoded_len(&span)) {
            self.flush(state, requests).await?;
        }
        self.batch.push(&resource, span);
        Ok(())
    }

    /// Sends the batch, in halves where it is too large.
    async fn flush(
        &mut self,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let mut waiting = vec![mem::take(&mut self.batch)];
        while let Some(batch) = waiting.pop() {
            if batch.span_count() == 0 {
                self.remember(batch, state, requests)?;
                continue;
            }
            // Bytes that were just encoded in memory; only that memory can fail.
            let body = encode_request(batch.request(), self.protocol)
                .map_err(|error| ShipError::Client(error.to_string()))?;
            let answer = if body.len() > MAX_BYTES && batch.span_count() > 1 {
                Answer::TooLarge
            } else {
                self.deliver(body, requests).await?
            };
            match answer {
                Answer::TooLarge if batch.span_count() > 1 => {
                    let (first, second) = batch.halves();
                    waiting.push(second);
                    waiting.push(first);
                }
                Answer::UnknownEncoding { message } => {
                    if self.protocol == Protocol::HttpJson {
                        return Err(ShipError::NoCommonEncoding { message });
                    }
                    self.protocol = Protocol::HttpJson;
                    requests.notify(ShipEvent::SwitchedToJson);
                    waiting.push(batch);
                }
                Answer::Accepted { rejected, message } => {
                    self.settle(batch, rejected, message, state, requests)?;
                }
                Answer::Refused { message } => self.settle(batch, u64::MAX, message, state, requests)?,
                Answer::TooLarge => {
                    let message = "the span is too large for the endpoint".to_owned();
                    self.settle(batch, u64::MAX, message, state, requests)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the accepted and refused spans of a batch, and records it: none of it is sent again.
    fn settle(
        &mut self,
        batch: SpanBatch,
        refused: u64,
        message: String,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let spans = batch.span_count() as u64;
        let refused = refused.min(spans);
        let sent = spans - refused;
        state.summary.sent_spans += sent;
        state.summary.refused_spans += refused;
        if sent > 0 {
            requests.notify(ShipEvent::Sent { spans: sent });
        }
        if refused > 0 {
            requests.notify(ShipEvent::Refused {
                spans: refused,
                message,
            });
        } else if !message.is_empty() {
            requests.notify(ShipEvent::Warning { message });
        }
        self.remember(batch, state, requests)
    }

    fn remember(
        &mut self,
        batch: SpanBatch,
        state: &mut ShipState<SentPart>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        for mark in batch.into_marks() {
            state.journal.record(mark.run, mark.part)?;
            if mark.has_spans && self.sent_runs.insert(mark.run) {
                state.summary.runs += 1;
            }
            if mark.part.complete {
                requests.notify(ShipEvent::Completed {
                    run: mark.run,
                    name: mark.name,
                    spans: Some(mark.part.spans),
                    bytes: mark.part.bytes,
                    is_changed: false,
                });
            }
        }
        Ok(())
    }

    /// Sends a request until it is answered for good.
    async fn deliver(&mut self, body: Vec<u8>, requests: &Requests<'_>) -> Result<Answer, ShipError> {
        let body = self
            .client
            .compressed(body)
            .map_err(|error| ShipError::Client(error.to_string()))?;
        requests.check()?;
        let (mut failures, mut server_failures) = (0, 0);
        let is_patient = requests.policy.patience.is_none();
        requests
            .repeat(async || {
                let sent = self.client.send(body.clone(), self.protocol).await;
                failures += 1;
                let is_final = match &sent {
                    Err(RequestFailure::Unreachable(_)) => {
                        failures >= MAX_FIRST_FAILURES && !self.has_connected && !is_patient
                    }
                    Err(RequestFailure::ServerError(_)) => {
                        server_failures += 1;
                        server_failures >= MAX_SERVER_FAILURES
                    }
                    _ => false,
                };
                self.has_connected |= !matches!(sent, Err(RequestFailure::Unreachable(_)));
                sent.map_err(|failure| {
                    if is_final {
                        return failure.into_error().into();
                    }
                    failure
                })
            })
            .await
    }
}
