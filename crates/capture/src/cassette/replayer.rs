//! [`Replayer`]: answers requests from a cassette, and keeps what it could not answer.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracer_insight::digest::sha256_hex;
use tracer_insight::text::counted;

use super::digests::AgentDigests;
use super::file::Cassette;
use super::keeping::Scrubbing;
use super::normalise::Place;
use super::pool::{Matching, Miss, Pool, PoolLookup};
use super::recorded::RecordedRequest;
use crate::exchange::{IncomingRequest, RequestDecision, Responder};

/// Misses that are kept; more are counted.
const MAX_MISSES: usize = 100;

/// What happens to a request that no recorded exchange answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMiss {
    /// It is answered with an error, and the replay fails.
    #[default]
    Fail,
    /// It goes on to the provider, and so does every later one of its conversation.
    Live,
    /// It goes on to the provider; what is answered is appended to the cassette.
    Record,
    /// It is answered with the next recorded answer of its API, so that one run shows everything that changed.
    Assume,
}

/// How a cassette is replayed.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// What happens to a request that no recorded exchange answers.
    pub on_miss: OnMiss,
    /// How strictly requests are matched.
    pub matching: Matching,
    /// The time between the frames of an answer, as a part of the recorded one: 0 for none.
    pub pace: f64,
}

/// Answers the requests of a program from a cassette.
pub struct Replayer {
    options: ReplayOptions,
    scrubbing: Scrubbing,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pool: Pool,
    outcome: ReplayOutcome,
    /// Conversations that went on with the provider.
    live: HashSet<String>,
    /// Which recorded exchange answered which request that matched it.
    matched: Vec<(usize, RecordedRequest)>,
}

/// What came of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayOutcome {
    /// The cassette.
    pub cassette: PathBuf,
    /// Calls of models in the cassette.
    pub recorded: u64,
    /// Calls of models that were answered from it.
    pub served: u64,
    /// The numbers of recorded calls that answered a request which differed in masked numbers and dates.
    pub loose: Vec<u64>,
    /// Requests that it did not answer; the first hundred.
    pub misses: Vec<Miss>,
    /// How many requests it did not answer.
    pub missed: u64,
    /// Requests that went on to a provider.
    pub live: u64,
    /// The numbers of the recorded calls that were never asked.
    pub unused: Vec<u64>,
    /// How many calls of models were asked for.
    pub asked: u64,
    /// What of the agent changed since the recording, a phrase each, as far as requests without an answer show it.
    pub changes: Vec<String>,
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
            options,
            scrubbing,
            state: Mutex::new(State {
                pool: Pool::new(cassette, options.matching),
                outcome,
                live: HashSet::new(),
                matched: Vec::new(),
            }),
        }
    }

    /// What came of it so far.
    #[must_use]
    pub fn outcome(&self) -> ReplayOutcome {
        let state = self.state.lock();
        ReplayOutcome {
            unused: state.pool.unused(),
            asked: state.pool.calls(),
            ..state.outcome.clone()
        }
    }

    /// The cassette with the requests as they were asked now, where they matched, and how many of them changed.
    #[must_use]
    pub fn repaired(&self) -> (Cassette, u64) {
        let state = self.state.lock();
        let mut cassette = Cassette::clone(state.pool.cassette());
        let mut changed = 0;
        for (position, request) in &state.matched {
            if let Some(exchange) = cassette
                .exchanges
                .get_mut(*position)
                .filter(|exchange| exchange.request != *request)
            {
                exchange.request = request.clone();
                changed += 1;
            }
        }
        cassette.head.digests = AgentDigests::of_exchanges(&cassette.exchanges, &cassette.head.rules);
        (cassette, changed)
    }

    pub(super) fn cassette_providers(&self) -> Vec<String> {
        self.state.lock().pool.cassette().providers()
    }
}

impl Responder for Replayer {
    fn respond(&self, request: &IncomingRequest<'_>) -> RequestDecision {
        let body = self.scrubbing.request(request.body);
        let mut state = self.state.lock();
        let conversation = conversation(&body);
        if state.live.contains(&conversation) {
            state.outcome.live += 1;
            return RequestDecision::PassOn;
        }
        let miss = match state.pool.take(Place::of(request), &body) {
            PoolLookup::Hit { position, is_loose } => {
                let Some(exchange) = state.pool.exchange(position) else {
                    return RequestDecision::PassOn;
                };
                let (answer, number) = (exchange.answer(self.options.pace), exchange.number);
                state.outcome.served += u64::from(request.api.is_some());
                if is_loose {
                    state.outcome.loose.push(number);
                }
                state.matched.push((position, body));
                return RequestDecision::Answer(answer);
            }
            PoolLookup::Miss(miss) => *miss,
        };
        for change in &miss.changes {
            if !state.outcome.changes.contains(change) {
                state.outcome.changes.push(change.clone());
            }
        }
        match self.options.on_miss {
            OnMiss::Fail | OnMiss::Assume => {
                let assumed = match self.options.on_miss {
                    OnMiss::Assume => state.pool.take_next(request.api),
                    _ => None,
                };
                let answer = match assumed.and_then(|position| state.pool.exchange(position)) {
                    Some(exchange) => exchange.answer(self.options.pace),
                    None => miss.answer("tracer replay", request.api),
                };
                state.outcome.missed += 1;
                if state.outcome.misses.len() < MAX_MISSES {
                    state.outcome.misses.push(miss);
                }
                RequestDecision::Answer(answer)
            }
            OnMiss::Live => {
                state.live.insert(conversation);
                state.outcome.live += 1;
                RequestDecision::PassOn
            }
            OnMiss::Record => {
                state.outcome.live += 1;
                RequestDecision::PassOn
            }
        }
    }
}

/// What the requests of a conversation share: how it begins.
fn conversation(request: &RecordedRequest) -> String {
    let RecordedRequest::Json(body) = request else {
        return String::new();
    };
    let system = ["system", "instructions", "systemInstruction"]
        .iter()
        .find_map(|key| body.get(*key));
    let messages = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(*key)?.as_array());
    let beginning: Vec<&Value> = messages.into_iter().flatten().take(2).collect();
    let is_of_user = |message: &&&Value| message.get("role").and_then(Value::as_str) != Some("assistant");
    let beginning: Vec<&&Value> = beginning.iter().take_while(is_of_user).collect();
    sha256_hex(format!("{system:?}{beginning:?}").as_bytes())
}

impl fmt::Debug for Replayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Replayer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl ReplayOutcome {
    /// Whether every request was answered as it was recorded, and every recorded call was asked.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missed == 0 && self.unused.is_empty()
    }

    /// How much of the cassette was asked: `9 of 9 recorded calls used`.
    #[must_use]
    pub fn coverage(&self) -> String {
        let used = self.recorded.saturating_sub(self.unused.len() as u64);
        format!("{used} of {} used", counted(self.recorded, "recorded call"))
    }

    /// What changed since the recording, in a sentence; `None` when nothing shows a change.
    #[must_use]
    pub fn change_sentence(&self) -> Option<String> {
        let differing = match self.missed {
            1 => "1 call differs".to_owned(),
            missed => format!("{missed} of {} differ", counted(self.asked.max(missed), "call")),
        };
        let changes = self.changes.join(", ");
        (!changes.is_empty()).then(|| format!("changed since the recording: {changes}; {differing}"))
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
