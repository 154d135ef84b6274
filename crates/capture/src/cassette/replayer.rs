//! Answers to requests from a cassette, and the requests that it could not answer.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracer_insight::digest::sha256_hex;
use tracer_insight::text::counted;

use super::file::Cassette;
use super::keeping::Scrubbing;
use super::normalise::Place;
use super::pool::{Miss, Pool};
use crate::exchange::{IncomingRequest, RequestDecision, Responder};

/// Misses that are kept; more are counted.
const MAX_MISSES: usize = 100;

/// Handling of a request that no recorded exchange answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMiss {
    /// It is answered with an error, and the replay fails.
    #[default]
    Fail,
    /// It is forwarded to the provider, and so is every later one of its conversation.
    Live,
    /// It is forwarded to the provider; the answer is appended to the cassette.
    Record,
}

/// Options of a replay.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// Handling of a request that no recorded exchange answers.
    pub on_miss: OnMiss,
    /// Requests must come in the recorded order.
    pub is_ordered: bool,
}

/// Answers the requests of a program from a cassette.
#[derive(Debug)]
pub struct Replayer {
    on_miss: OnMiss,
    scrubbing: Scrubbing,
    pool: Pool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Outcome of the requests so far.
    outcome: ReplayOutcome,
    /// Conversations that went on with the provider.
    live: HashSet<String>,
}

/// Outcome of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayOutcome {
    /// The cassette.
    pub cassette: PathBuf,
    /// Calls of models in the cassette.
    pub recorded: u64,
    /// Calls of models that were answered from it.
    pub served: u64,
    /// Requests that it did not answer; the first hundred.
    pub misses: Vec<Miss>,
    /// Number of requests that it did not answer.
    pub missed: u64,
    /// Requests that went on to a provider.
    pub live: u64,
    /// The numbers of the recorded calls that were never asked.
    pub unused: Vec<u64>,
}

impl Replayer {
    /// Answers from this cassette.
    #[must_use]
    pub fn new(cassette: Arc<Cassette>, scrubbing: Scrubbing, options: ReplayOptions) -> Self {
        let calls = cassette
            .exchanges
            .iter()
            .filter(|exchange| exchange.api.is_some());
        let outcome = ReplayOutcome {
            cassette: cassette.path.clone(),
            recorded: calls.count() as u64,
            ..ReplayOutcome::default()
        };
        Self {
            on_miss: options.on_miss,
            scrubbing,
            pool: Pool::new(cassette, options.is_ordered),
            state: Mutex::new(State {
                outcome,
                ..State::default()
            }),
        }
    }

    /// Outcome of the requests so far.
    #[must_use]
    pub fn outcome(&self) -> ReplayOutcome {
        ReplayOutcome {
            unused: self.pool.unused(),
            ..self.state.lock().outcome.clone()
        }
    }

    pub(super) fn cassette_providers(&self) -> Vec<String> {
        self.pool.cassette().providers()
    }

    /// Sends a request on to the provider.
    fn pass_on(&self) -> RequestDecision {
        self.state.lock().outcome.live += 1;
        RequestDecision::PassOn
    }
}

impl Responder for Replayer {
    fn respond(&self, request: &IncomingRequest<'_>) -> RequestDecision {
        let body = self.scrubbing.request(request.body);
        let conversation = (self.on_miss == OnMiss::Live).then(|| conversation(body.as_ref()));
        if conversation
            .as_ref()
            .is_some_and(|conversation| self.state.lock().live.contains(conversation))
        {
            return self.pass_on();
        }
        let place = Place::of(request);
        let normal = self.pool.normalise(place, body.as_ref());
        let unanswered = match self.pool.take(&normal) {
            Ok(exchange) => {
                self.state.lock().outcome.served += u64::from(request.api.is_some());
                return RequestDecision::Answer(exchange.answer());
            }
            Err(unanswered) => unanswered,
        };
        if self.on_miss != OnMiss::Fail {
            self.state.lock().live.extend(conversation);
            return self.pass_on();
        }
        let miss = self.pool.miss(&unanswered, &normal, place, body.as_ref());
        let answer = miss.answer("tracer replay", request.api);
        let outcome = &mut self.state.lock().outcome;
        outcome.missed += 1;
        if outcome.misses.len() < MAX_MISSES {
            outcome.misses.push(miss);
        }
        RequestDecision::Answer(answer)
    }
}

/// Digest of a conversation's beginning, which all its requests share.
fn conversation(request: Option<&Value>) -> String {
    let Some(body) = request else {
        return String::new();
    };
    let system = ["system", "instructions", "systemInstruction"]
        .iter()
        .find_map(|key| body.get(*key));
    let messages = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(*key)?.as_array());
    let beginning: Vec<&Value> = messages.into_iter().flatten().take(2).collect();
    let is_of_user = |message: &&&Value| message["role"].as_str() != Some("assistant");
    let beginning: Vec<&&Value> = beginning.iter().take_while(is_of_user).collect();
    sha256_hex(format!("{system:?}{beginning:?}").as_bytes())
}

impl ReplayOutcome {
    /// Returns whether every request was answered as it was recorded, and every recorded call was used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missed == 0 && self.unused.is_empty()
    }

    /// Used part of the cassette: `9 of 9 recorded calls used`.
    #[must_use]
    pub fn coverage(&self) -> String {
        let used = self.recorded.saturating_sub(self.unused.len() as u64);
        format!("{used} of {} used", counted(self.recorded, "recorded call"))
    }

    /// The recorded calls that were never asked, in a sentence; `None` when there is none.
    #[must_use]
    pub fn unused_sentence(&self) -> Option<String> {
        let numbers: Vec<usize> = self
            .unused
            .iter()
            .filter_map(|number| usize::try_from(*number).ok())
            .collect();
        let calls = tracer_insight::text::step_ranges(&numbers).replace('#', "");
        match numbers.len() {
            0 => None,
            1 => Some(format!("recorded call {calls} was never asked")),
            _ => Some(format!("recorded calls {calls} were never asked")),
        }
    }
}
