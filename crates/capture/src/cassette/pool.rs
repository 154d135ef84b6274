//! [`Pool`]: which recorded exchange answers a request. Equal requests are answered first in, first out; what was used is
//! gone, so that a loop of retries shows up; and a miss says what comes nearest.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tracer_insight::text::counted;

use super::compare::{Difference, DifferenceOrigin, RequestComparison, compare};
use super::digests::AgentDigests;
use super::file::Cassette;
use super::normalise::{NormalRequest, Place, RequestKey};
use super::recorded::{RecordedExchange, RecordedRequest};
use crate::exchange::{AnswerChunk, PreparedAnswer};
use crate::model_api::ModelApi;

/// How many recorded requests are compared with one that none matches.
const MAX_COMPARED: usize = 500;

/// How strictly requests are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching {
    /// Only what is equal matches; otherwise also what differs in long numbers and names of days alone.
    pub is_strict: bool,
    /// Requests must come in the recorded order.
    pub is_ordered: bool,
}

impl Default for Matching {
    fn default() -> Self {
        Self {
            is_strict: true,
            is_ordered: false,
        }
    }
}

/// The exchanges of a cassette that wait for their requests.
#[derive(Debug)]
pub struct Pool {
    cassette: Arc<Cassette>,
    requests: Vec<NormalRequest>,
    by_key: HashMap<RequestKey, VecDeque<usize>>,
    by_loose: HashMap<RequestKey, VecDeque<usize>>,
    uses: Vec<u64>,
    matching: Matching,
    /// Calls of models that were asked for.
    calls: u64,
    /// What the recorded agent asked with.
    digests: AgentDigests,
}

/// What a pool has for a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolLookup {
    /// A recorded exchange.
    Hit {
        /// Its position in the cassette.
        position: usize,
        /// Whether it matched only because numbers and dates were masked.
        is_loose: bool,
    },
    /// None.
    Miss(Box<Miss>),
}

/// A request that no recorded exchange answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Miss {
    /// Which call of a model it is, from 1.
    pub call: u64,
    /// The API's name, or the method and the path.
    pub api: String,
    /// The model that was asked.
    pub model: Option<String>,
    /// The cassette.
    pub cassette: PathBuf,
    /// Why.
    pub reason: MissReason,
    /// The recorded call that comes nearest: its number, in how many places it differs, and the first of them.
    pub nearest: Option<Nearest>,
    /// What of the agent is not as the cassette's head has it, a phrase each: `the system prompt`.
    pub changes: Vec<String>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissReason {
    /// No recorded request is equal.
    NotRecorded,
    /// All recorded exchanges with this request were used; how many there are.
    UsedUp(u64),
    /// It is the request of a later call, and the order is demanded: the call that comes next.
    OutOfOrder(u64),
    /// The exchange was recorded without its content.
    WithoutContent(u64),
}

/// The recorded call that comes nearest to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nearest {
    /// Its number.
    pub number: u64,
    /// In how many places it differs.
    pub places: usize,
    /// The first of them.
    pub difference: Difference,
}

impl Pool {
    /// All exchanges of a cassette.
    #[must_use]
    pub fn new(cassette: Arc<Cassette>, matching: Matching) -> Self {
        let rules = &cassette.head.rules;
        let requests: Vec<NormalRequest> = cassette
            .exchanges
            .iter()
            .map(|exchange| NormalRequest::recorded(exchange, rules))
            .collect();
        let mut by_key: HashMap<RequestKey, VecDeque<usize>> = HashMap::new();
        let mut by_loose: HashMap<RequestKey, VecDeque<usize>> = HashMap::new();
        for (position, request) in requests.iter().enumerate() {
            by_key.entry(request.key).or_default().push_back(position);
            by_loose.entry(request.loose).or_default().push_back(position);
        }
        let digests = match &cassette.head.digests {
            none if none.is_empty() => {
                let pairs = requests.iter().zip(&cassette.exchanges);
                let calls = pairs.filter(|(_, exchange)| exchange.api.is_some());
                calls.fold(AgentDigests::default(), |mut all, (request, exchange)| {
                    all.add(&AgentDigests::of_request(request, exchange.model()));
                    all
                })
            }
            digests => digests.clone(),
        };
        Self {
            digests,
            uses: vec![0; requests.len()],
            requests,
            by_key,
            by_loose,
            matching,
            cassette,
            calls: 0,
        }
    }

    /// The cassette.
    #[must_use]
    pub fn cassette(&self) -> &Arc<Cassette> {
        &self.cassette
    }

    /// The exchange at a position that [`PoolLookup::Hit`] gives.
    #[must_use]
    pub fn exchange(&self, position: usize) -> Option<&RecordedExchange> {
        self.cassette.exchanges.get(position)
    }

    /// How many calls of models were asked for.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// The numbers of the recorded calls of models that were never asked.
    #[must_use]
    pub fn unused(&self) -> Vec<u64> {
        let pairs = self.cassette.exchanges.iter().zip(&self.uses);
        pairs
            .filter(|(exchange, uses)| **uses == 0 && exchange.api.is_some())
            .map(|(exchange, _)| exchange.number)
            .collect()
    }

    /// Takes the exchange that answers a request, whose body is redacted as the recorded ones are.
    pub(super) fn take(&mut self, place: Place<'_>, body: &RecordedRequest) -> PoolLookup {
        if place.api.is_some() {
            self.calls += 1;
        }
        let request = NormalRequest::new(place, body, &self.cassette.head.rules);
        let exact = self.free(&self.by_key, &request.key);
        let found = match exact {
            Some(position) => Some((position, false)),
            None if self.matching.is_strict => None,
            None => self
                .free(&self.by_loose, &request.loose)
                .map(|position| (position, true)),
        };
        let Some((position, is_loose)) = found else {
            return PoolLookup::Miss(Box::new(self.miss(&request, place, body)));
        };
        let exchange = self.cassette.exchanges.get(position);
        let number = exchange.map_or(0, |exchange| exchange.number);
        if exchange.is_some_and(|exchange| exchange.response.is_cut) {
            let miss = self.miss_of(place, body, MissReason::WithoutContent(number), None);
            return PoolLookup::Miss(Box::new(miss));
        }
        if self.matching.is_ordered
            && let Some(next) = self.next_in_order()
            && next < position
            && exchange.is_some_and(|exchange| exchange.api.is_some())
        {
            let next = self
                .cassette
                .exchanges
                .get(next)
                .map_or(0, |exchange| exchange.number);
            let miss = self.miss_of(place, body, MissReason::OutOfOrder(next), None);
            return PoolLookup::Miss(Box::new(miss));
        }
        if let Some(uses) = self.uses.get_mut(position) {
            *uses += 1;
        }
        PoolLookup::Hit { position, is_loose }
    }

    /// Takes the first exchange of this API that is not used, whatever its request.
    pub(super) fn take_next(&mut self, api: Option<ModelApi>) -> Option<usize> {
        let mut pairs = self.cassette.exchanges.iter().zip(&self.uses);
        let position = pairs
            .position(|(exchange, uses)| *uses == 0 && exchange.api == api && !exchange.response.is_cut)?;
        if let Some(uses) = self.uses.get_mut(position) {
            *uses += 1;
        }
        Some(position)
    }

    /// The first exchange with this key that is not used, or else the last one that may be used again: what is asked until
    /// it is there is answered in the order recorded, and then as it was at the end.
    fn free(&self, index: &HashMap<RequestKey, VecDeque<usize>>, key: &RequestKey) -> Option<usize> {
        let positions = index.get(key)?;
        let is_unused = |position: &&usize| self.uses.get(**position) == Some(&0);
        let repeats = |position: &&usize| self.exchange(**position).is_some_and(|exchange| exchange.repeats);
        let unused = positions.iter().find(is_unused);
        unused.or_else(|| positions.iter().rfind(repeats)).copied()
    }

    /// The first call of a model that is not used.
    fn next_in_order(&self) -> Option<usize> {
        let mut pairs = self.cassette.exchanges.iter().zip(&self.uses);
        pairs.position(|(exchange, uses)| *uses == 0 && exchange.api.is_some())
    }

    fn miss(&self, request: &NormalRequest, place: Place<'_>, body: &RecordedRequest) -> Miss {
        if let Some(equal) = self.by_key.get(&request.key) {
            return self.miss_of(place, body, MissReason::UsedUp(equal.len() as u64), None);
        }
        let mut miss = self.miss_of(place, body, MissReason::NotRecorded, self.nearest(request));
        if place.api.is_some() {
            let now = AgentDigests::of_request(request, miss.model.as_deref());
            miss.changes = self.digests.changes(&now);
        }
        miss
    }

    fn miss_of(
        &self,
        place: Place<'_>,
        body: &RecordedRequest,
        reason: MissReason,
        nearest: Option<Nearest>,
    ) -> Miss {
        let in_body = match body {
            RecordedRequest::Json(body) => body.get("model").and_then(serde_json::Value::as_str),
            _ => None,
        };
        let model = in_body.or_else(|| place.api?.model_in_path(place.path));
        Miss {
            call: self.calls,
            api: place.api.map_or_else(
                || format!("{} {}", place.method, place.path),
                |api| api.name().to_owned(),
            ),
            model: model.map(str::to_owned),
            cassette: self.cassette.path.clone(),
            reason,
            nearest,
            changes: Vec::new(),
        }
    }

    /// Of the same API: with the longest common beginning of messages, then with the fewest differences, then unused.
    fn nearest(&self, request: &NormalRequest) -> Option<Nearest> {
        let candidates = self
            .requests
            .iter()
            .enumerate()
            .filter(|(_, other)| other.api == request.api);
        let compared = candidates
            .take(MAX_COMPARED)
            .map(|(position, other)| (position, compare(other, request)));
        let (position, RequestComparison { count, first, .. }) =
            compared.min_by_key(|(position, comparison)| {
                let uses = self.uses.get(*position).copied().unwrap_or_default();
                (usize::MAX - comparison.common_messages, comparison.count, uses)
            })?;
        let mut difference = first?;
        if let DifferenceOrigin::ToolResult {
            call_id: Some(id),
            call,
            ..
        } = &mut difference.origin
        {
            let asking = self
                .cassette
                .exchanges
                .iter()
                .find(|exchange| exchange.answer_contains(id));
            *call = asking.map(|exchange| exchange.number);
        }
        Some(Nearest {
            number: self.exchange(position)?.number,
            places: count,
            difference,
        })
    }
}

impl fmt::Display for Miss {
    /// In several lines; the first says what, the others what comes nearest.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cassette = self.cassette.display();
        let what = match &self.model {
            Some(model) => format!("{}, {model}", self.api),
            None => self.api.clone(),
        };
        write!(formatter, "call {} ({what}) ", self.call)?;
        match &self.reason {
            MissReason::NotRecorded => write!(formatter, "is not in {cassette}")?,
            MissReason::UsedUp(count) => write!(
                formatter,
                "was recorded {} in {cassette}, and is asked again",
                match count {
                    1 => "once".to_owned(),
                    count => counted(*count, "time"),
                }
            )?,
            MissReason::OutOfOrder(next) => write!(
                formatter,
                "comes too early: recorded call {next} of {cassette} is next"
            )?,
            MissReason::WithoutContent(number) => {
                write!(
                    formatter,
                    "was recorded without its content, as call {number} of {cassette}"
                )?;
            }
        }
        let Some(Nearest {
            number,
            places,
            difference,
        }) = &self.nearest
        else {
            return Ok(());
        };
        let Difference {
            path,
            origin,
            recorded,
            now,
        } = difference;
        write!(
            formatter,
            "\n  nearest  recorded call {number}, differs in {}\n  at       {path} ({origin})",
            counted(*places as u64, "place")
        )?;
        for (sign, text) in [('-', recorded), ('+', now)] {
            if let Some(text) = text {
                write!(formatter, "\n  {sign} {text}")?;
            }
        }
        match origin {
            DifferenceOrigin::ToolResult { .. } => formatter.write_str("\n  the tool answered differently"),
            DifferenceOrigin::SystemPrompt => formatter.write_str("\n  the system prompt changed"),
            DifferenceOrigin::ToolDefinition(_) => {
                formatter.write_str("\n  the tools that the model is offered changed")
            }
            DifferenceOrigin::Model => formatter.write_str("\n  another model is asked"),
            _ => Ok(()),
        }
    }
}

impl Miss {
    /// The error that the client of a missed request gets from this command. It says not to try again.
    pub(super) fn answer(&self, command: &str, api: Option<ModelApi>) -> PreparedAnswer {
        PreparedAnswer {
            status: MISS_STATUS,
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("x-should-retry".to_owned(), "false".to_owned()),
            ],
            chunks: vec![AnswerChunk {
                wait: Duration::ZERO,
                bytes: Bytes::from(self.body(command, api).to_string()),
            }],
            ..PreparedAnswer::default()
        }
    }

    /// The body of that answer, in the error shape of its API.
    fn body(&self, command: &str, api: Option<ModelApi>) -> serde_json::Value {
        use serde_json::json;
        let message = format!("{command}: {self}");
        match api {
            Some(ModelApi::Messages) => {
                json!({"type": "error", "error": {"type": MISS_TYPE, "message": message}})
            }
            Some(ModelApi::GenerateContent) => {
                json!({"error": {"code": MISS_STATUS, "message": message, "status": "FAILED_PRECONDITION"}})
            }
            Some(ModelApi::OllamaChat | ModelApi::OllamaGenerate) => json!({"error": message}),
            _ => {
                let path = self
                    .nearest
                    .as_ref()
                    .map(|nearest| nearest.difference.path.as_str());
                json!({"error": {"message": message, "type": MISS_TYPE, "param": path, "code": MISS_TYPE}})
            }
        }
    }
}

/// *Failed Dependency*: clients try 408, 409, 429 and 5xx again, and not this.
const MISS_STATUS: u16 = 424;
const MISS_TYPE: &str = "replay_miss";
