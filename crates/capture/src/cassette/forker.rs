//! Forks of recorded runs.
//!
//! [`Forker`] answers the first calls of a run as recorded, as long as they are repeated, and changes the later ones.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use super::file::Cassette;
use super::fork_plan::{CallFault, ForkError, ForkPlan};
use super::keeping::Scrubbing;
use super::normalise::Place;
use super::pool::{Miss, Pool};
use super::recorded::RecordedExchange;
use crate::exchange::{ChangedRequest, IncomingRequest, PreparedAnswer, RequestDecision, Responder};
use tracer_providers::{EVENT_BEGINNINGS, ModelApi, ModelReply, assemble, error_body};

/// Delay of a call without an answer: longer than clients wait.
const NO_ANSWER: Duration = Duration::from_secs(15 * 60);

/// Answers the calls of a program that is forked from a recorded run.
///
/// Calls before the fork must be those that were recorded. One that is not stops the fork: it and all that follow are
/// answered with an error, and no request reaches a provider.
#[derive(Debug)]
pub struct Forker {
    plan: ForkPlan,
    scrubbing: Scrubbing,
    /// The recorded calls of models, in their order.
    calls: Vec<RecordedExchange>,
    /// The calls before the fork, and what is no call of a model.
    before: Pool,
    /// The calls from the fork on: which of them a request is.
    behind: Pool,
    state: Mutex<ForkState>,
}

#[derive(Debug)]
struct ForkState {
    /// The numbers of calls from the fork on that were asked.
    asked: BTreeSet<u64>,
    outcome: ForkOutcome,
}

/// Outcome of a fork.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkOutcome {
    /// Number of calls before the fork.
    pub before: u64,
    /// Number of them that were repeated, and answered as recorded.
    pub verified: u64,
    /// The request that was not recorded, and stopped the fork.
    pub drift: Option<Miss>,
    /// The numbers of the calls whose answers were changed.
    pub changed: Vec<u64>,
    /// The numbers of the calls whose answers were to be changed, and that were never asked.
    pub unasked: Vec<u64>,
    /// Calls of models that went on to the provider.
    pub live: u64,
    /// Number of these that could not be changed as requested: their API, or their body, has no place for it.
    pub unchanged: u64,
}

impl ForkOutcome {
    /// Returns whether all calls before the fork were repeated as recorded.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.drift.is_none() && self.verified == self.before
    }
}

impl Forker {
    /// Forks the run that kept these exchanges.
    ///
    /// # Errors
    ///
    /// [`ForkError`] when the plan does not fit the run, or a recorded answer that is needed was not kept.
    pub fn new(cassette: &Cassette, scrubbing: Scrubbing, plan: ForkPlan) -> Result<Self, ForkError> {
        let (calls, others) = numbered(cassette);
        plan.check(calls.len() as u64)?;
        let is_before = |call: &&RecordedExchange| call.number < plan.at;
        let needed = calls
            .iter()
            .filter(|call| is_before(call) || plan.faults.get(&call.number) == Some(&CallFault::Cut));
        if let Some(call) = needed.clone().find(|call| call.response.is_cut) {
            return Err(ForkError::WithoutContent { call: call.number });
        }
        if let Some((call, _)) = plan
            .edits
            .iter()
            .find(|(_, text)| EditedAnswer::read(text).is_none())
        {
            return Err(ForkError::NoAnswer { call: *call });
        }
        let pool = |exchanges| {
            let part = Cassette {
                exchanges,
                path: cassette.path.clone(),
                head: cassette.head.clone(),
                rules: cassette.rules.clone(),
                is_torn: cassette.is_torn,
            };
            Pool::new(Arc::new(part), false)
        };
        let mut before: Vec<RecordedExchange> = calls.iter().filter(is_before).cloned().collect();
        let outcome = ForkOutcome {
            before: before.len() as u64,
            ..ForkOutcome::default()
        };
        before.extend(others);
        let behind = calls.iter().filter(|call| !is_before(call)).cloned().collect();
        Ok(Self {
            before: pool(before),
            behind: pool(behind),
            plan,
            scrubbing,
            calls,
            state: Mutex::new(ForkState {
                asked: BTreeSet::new(),
                outcome,
            }),
        })
    }

    /// Outcome of the calls so far.
    #[must_use]
    pub fn outcome(&self) -> ForkOutcome {
        let state = self.state.lock();
        let changed = &state.outcome.changed;
        ForkOutcome {
            unasked: self
                .plan
                .changed_calls()
                .filter(|call| !changed.contains(call))
                .collect(),
            ..state.outcome.clone()
        }
    }

    /// A call from the fork on.
    fn change(
        &self,
        number: u64,
        request: &IncomingRequest<'_>,
        outcome: &mut ForkOutcome,
    ) -> RequestDecision {
        let answer = match (self.plan.faults.get(&number), self.plan.edits.get(&number)) {
            (Some(CallFault::Status(status)), _) => Some(error_answer(*status, request.api)),
            (Some(CallFault::Timeout), _) => Some(PreparedAnswer {
                delay: NO_ANSWER,
                ..error_answer(504, request.api)
            }),
            (Some(CallFault::Cut), _) => self.recorded(number).map(half_answer),
            (None, Some(edited)) => EditedAnswer::read(edited).map(|edited| edited.to_request(request)),
            (None, None) => None,
        };
        if let Some(answer) = answer {
            outcome.changed.push(number);
            return RequestDecision::Answer(answer);
        }
        outcome.live += 1;
        if self.plan.model.is_none() && self.plan.system_prompt.is_none() {
            return RequestDecision::PassOn;
        }
        if let Some(changed) = self.changed_request(request) {
            RequestDecision::PassOnAs(changed)
        } else {
            outcome.unchanged += 1;
            RequestDecision::PassOn
        }
    }

    fn recorded(&self, number: u64) -> Option<&RecordedExchange> {
        self.calls.iter().find(|call| call.number == number)
    }

    /// The request with the plan's model and system prompt.
    fn changed_request(&self, request: &IncomingRequest<'_>) -> Option<ChangedRequest> {
        let api = request.api?;
        let mut body: Value = serde_json::from_slice(request.body)
            .ok()
            .filter(Value::is_object)?;
        let model = self.plan.model.as_deref();
        let path = model.and_then(|model| api.set_model(request.path, &mut body, model));
        let prompt = self.plan.system_prompt.as_deref();
        if prompt.is_some_and(|prompt| !api.set_system_prompt(&mut body, prompt)) {
            return None;
        }
        Some(ChangedRequest {
            path,
            body: body.to_string().into_bytes(),
        })
    }
}

/// The calls of models of a run, numbered among themselves, and the other exchanges behind them.
fn numbered(cassette: &Cassette) -> (Vec<RecordedExchange>, Vec<RecordedExchange>) {
    let all = cassette.exchanges.iter().cloned();
    let (mut calls, mut others): (Vec<_>, Vec<_>) = all.partition(|exchange| exchange.api.is_some());
    for (number, exchange) in (1..).zip(calls.iter_mut().chain(&mut others)) {
        exchange.number = number;
    }
    (calls, others)
}

impl Cassette {
    /// A call of a model, from 1.
    pub(super) fn call(&self, call: u64) -> Result<&RecordedExchange, ForkError> {
        let calls = self.exchanges.iter().filter(|exchange| exchange.api.is_some());
        let place = usize::try_from(call).ok().and_then(|call| call.checked_sub(1));
        let found = place.and_then(|place| calls.clone().nth(place));
        found.ok_or_else(|| match calls.count() as u64 {
            0 => ForkError::NoCalls,
            calls => ForkError::NoSuchCall { call, calls },
        })
    }

    /// The recorded answer of a call of a model, from 1, as the document that its API gives when it does not stream: what an
    /// edited answer begins with.
    ///
    /// # Errors
    ///
    /// [`ForkError`] when there is no such call, or its answer was not kept.
    pub fn answer_of_call(&self, call: u64) -> Result<Value, ForkError> {
        let exchange = self.call(call)?;
        let Some(api) = exchange.api.filter(|_| !exchange.response.is_cut) else {
            return Err(ForkError::WithoutContent { call });
        };
        let content_type = exchange.response.header("content-type").unwrap_or_default();
        Ok(assemble(api, content_type, &exchange.response.body.bytes()).body)
    }
}

impl Responder for Forker {
    fn respond(&self, request: &IncomingRequest<'_>) -> RequestDecision {
        let body = self.scrubbing.request(request.body);
        let place = Place::of(request);
        let normal = self.before.normalise(place, body.as_ref());
        if request.api.is_none() {
            // Lists of models, counts of tokens: as recorded, at any point of the run.
            return match self.before.take(&normal) {
                Ok(exchange) => RequestDecision::Answer(exchange.answer()),
                Err(_) => RequestDecision::PassOn,
            };
        }
        // Held over both look-ups: of two requests at once, one would be drift because of the other, or be answered after it.
        let state = &mut *self.state.lock();
        if let Some(miss) = &state.outcome.drift {
            return RequestDecision::Answer(miss.answer(COMMAND, request.api));
        }
        let mut drift = None;
        if state.outcome.verified < state.outcome.before {
            match self.before.take(&normal) {
                Ok(exchange) => {
                    state.outcome.verified = state.outcome.before - self.before.unused().len() as u64;
                    return RequestDecision::Answer(exchange.answer());
                }
                Err(unanswered) => drift = Some(unanswered),
            }
        }
        let known = self.behind.take(&normal).ok();
        let known = known.map(|exchange| exchange.number);
        // A later call while one before the fork is missing: it is drift, unless calls are made in parallel.
        if let Some(unanswered) = drift.filter(|_| known.is_none()) {
            let miss = self.before.miss(&unanswered, &normal, place, body.as_ref());
            let answer = miss.answer(COMMAND, request.api);
            state.outcome.drift = Some(miss);
            return RequestDecision::Answer(answer);
        }
        // The lowest number that is free: there is one after as many as were asked.
        let last = self.plan.at.saturating_add(state.asked.len() as u64);
        let next = || (self.plan.at..=last).find(|number| !state.asked.contains(number));
        let number = known.filter(|number| !state.asked.contains(number)).or_else(next);
        let number = number.unwrap_or(self.plan.at);
        state.asked.insert(number);
        self.change(number, request, &mut state.outcome)
    }
}

/// Command whose name is in the refusal of a request that was not recorded.
const COMMAND: &str = "tracer fork";

/// The recorded answer up to its middle.
fn half_answer(exchange: &RecordedExchange) -> PreparedAnswer {
    let mut answer = exchange.answer();
    let length: usize = answer.chunks.iter().map(Bytes::len).sum();
    let mut left = length / 2;
    for chunk in &mut answer.chunks {
        let kept = chunk.len().min(left);
        chunk.truncate(kept);
        left -= kept;
    }
    answer.chunks.retain(|chunk| !chunk.is_empty());
    answer.breaks_off = true;
    answer
}

/// An answer that was edited.
enum EditedAnswer<'a> {
    /// The document that the API gives when it does not stream.
    Document(Value),
    /// A stream, and its type.
    Stream(&'static str, &'a str),
}

impl<'a> EditedAnswer<'a> {
    fn read(text: &'a str) -> Option<Self> {
        if let Ok(document) = serde_json::from_str::<Value>(text) {
            return document.is_object().then_some(Self::Document(document));
        }
        if EVENT_BEGINNINGS
            .iter()
            .any(|beginning| text.starts_with(beginning))
        {
            return Some(Self::Stream("text/event-stream", text));
        }
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
        (!text.trim().is_empty() && lines.all(is_json)).then_some(Self::Stream("application/x-ndjson", text))
    }

    /// As the request wants it.
    fn to_request(&self, request: &IncomingRequest<'_>) -> PreparedAnswer {
        let (content_type, pieces) = match (self, request.api) {
            (Self::Stream(content_type, text), _) => (*content_type, vec![(*text).to_owned()]),
            (Self::Document(document), Some(api)) => {
                let body = serde_json::from_slice(request.body).unwrap_or_default();
                let query = request.query.unwrap_or_default();
                let reply = ModelReply::to_request(api, request.path, query, &body, document);
                (reply.content_type, reply.pieces)
            }
            (Self::Document(document), None) => ("application/json", vec![document.to_string()]),
        };
        PreparedAnswer {
            status: 200,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            chunks: pieces.into_iter().map(Bytes::from).collect(),
            // No provider gets the request, and nothing is paid.
            is_replayed: true,
            ..PreparedAnswer::default()
        }
    }
}

/// An error as the API words it.
fn error_answer(status: u16, api: Option<ModelApi>) -> PreparedAnswer {
    let message = format!("tracer fork: this call fails with status {status}");
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let body = error_body(api, status, kind, &message);
    let header = matches!(status, 429 | 503 | 529).then_some(("retry-after", "1"));
    PreparedAnswer::of_error(status, &body, header)
}
