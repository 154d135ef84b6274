//! The recorded exchange that answers a request, found by the key of the request.
//!
//! Equal requests are answered first in, first out; what was used is gone, so that a loop of retries shows up. Requests are made
//! ready and compared off the lock, which is held for a look-up in the index alone.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tracer_insight::text::counted;

use super::compare::{Difference, DifferenceOrigin, RequestComparison, compare};
use super::file::Cassette;
use super::normalise::{NormalRequest, Place, RequestKey};
use super::recorded::RecordedExchange;
use crate::exchange::{NO_RETRY, PreparedAnswer};
use serde_json::Value;
use tracer_providers::{ModelApi, error_body};

/// Number of recorded requests that are compared with one without a match.
const MAX_COMPARED: usize = 500;

/// The exchanges of a cassette that wait for their requests.
#[derive(Debug)]
pub(super) struct Pool {
    cassette: Arc<Cassette>,
    requests: Vec<NormalRequest>,
    by_key: HashMap<RequestKey, Vec<usize>>,
    /// Requests must come in the recorded order.
    is_ordered: bool,
    used: Mutex<Used>,
}

/// Counts of the requests so far.
#[derive(Debug)]
struct Used {
    /// Number of answers of each exchange.
    uses: Vec<u64>,
    /// Calls of models.
    calls: u64,
}

/// State of the pool when a request came that no recorded exchange answers.
#[derive(Debug)]
pub(super) struct Unanswered {
    reason: MissReason,
    call: u64,
    uses: Vec<u64>,
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
    pub(super) fn new(cassette: Arc<Cassette>, is_ordered: bool) -> Self {
        let rules = &cassette.rules;
        let requests: Vec<NormalRequest> = cassette
            .exchanges
            .iter()
            .map(|exchange| NormalRequest::recorded(exchange, rules))
            .collect();
        let mut by_key: HashMap<RequestKey, Vec<usize>> = HashMap::new();
        for (position, request) in requests.iter().enumerate() {
            by_key.entry(request.key).or_default().push(position);
        }
        let used = Used {
            uses: vec![0; requests.len()],
            calls: 0,
        };
        Self {
            requests,
            by_key,
            is_ordered,
            used: Mutex::new(used),
            cassette,
        }
    }

    /// The cassette.
    pub(super) fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// The numbers of the recorded calls of models that were never asked.
    pub(super) fn unused(&self) -> Vec<u64> {
        let used = self.used.lock();
        let pairs = self.cassette.exchanges.iter().zip(&used.uses);
        pairs
            .filter(|(exchange, uses)| **uses == 0 && exchange.api.is_some())
            .map(|(exchange, _)| exchange.number)
            .collect()
    }

    /// The form in which a request is compared; its body is redacted as the recorded ones are.
    pub(super) fn normalise(&self, place: Place<'_>, body: Option<&Value>) -> NormalRequest {
        NormalRequest::new(place, body, &self.cassette.rules)
    }

    /// Takes the exchange that answers a request: a look-up.
    pub(super) fn take(&self, request: &NormalRequest) -> Result<&RecordedExchange, Unanswered> {
        let mut used = self.used.lock();
        used.calls += u64::from(request.api.is_some());
        match self.free(&used, &request.key) {
            Ok((position, exchange)) => {
                if let Some(uses) = used.uses.get_mut(position) {
                    *uses += 1;
                }
                Ok(exchange)
            }
            Err(reason) => Err(Unanswered {
                reason,
                call: used.calls,
                uses: used.uses.clone(),
            }),
        }
    }

    /// The first unused exchange with this key, or else the last repeatable one: a polling request is answered in the
    /// recorded order, and then with the final answer.
    fn free(&self, used: &Used, key: &RequestKey) -> Result<(usize, &RecordedExchange), MissReason> {
        let Some(positions) = self.by_key.get(key) else {
            return Err(MissReason::NotRecorded);
        };
        let equal = positions
            .iter()
            .filter_map(|position| Some((*position, self.cassette.exchanges.get(*position)?)));
        let is_unused = |position: usize| used.uses.get(position) == Some(&0);
        let unused = equal.clone().filter(|(position, _)| is_unused(*position));
        // One without content hides none that has it.
        let (position, exchange) = unused
            .clone()
            .find(|(_, exchange)| !exchange.response.is_cut)
            .or_else(|| unused.clone().next())
            .or_else(|| equal.rev().find(|(_, exchange)| exchange.repeats))
            .ok_or(MissReason::UsedUp(positions.len() as u64))?;
        if exchange.response.is_cut {
            return Err(MissReason::WithoutContent(exchange.number));
        }
        if self.is_ordered && exchange.api.is_some() {
            let before = self.cassette.exchanges.iter().take(position).enumerate();
            let next = before
                .filter(|(position, exchange)| is_unused(*position) && exchange.api.is_some())
                .map(|(_, exchange)| exchange.number)
                .next();
            if let Some(next) = next {
                return Err(MissReason::OutOfOrder(next));
            }
        }
        Ok((position, exchange))
    }

    /// Describes a request without an answer, and compares it with the recorded ones.
    pub(super) fn miss(
        &self,
        unanswered: &Unanswered,
        request: &NormalRequest,
        place: Place<'_>,
        body: Option<&Value>,
    ) -> Miss {
        let in_body = body.and_then(|body| body["model"].as_str());
        let model = in_body.or_else(|| place.api?.model_in_path(place.path));
        Miss {
            call: unanswered.call,
            api: place.api.map_or_else(
                || format!("{} {}", place.method, place.path),
                |api| api.name().to_owned(),
            ),
            model: model.map(str::to_owned),
            cassette: self.cassette.path.clone(),
            reason: unanswered.reason.clone(),
            nearest: match unanswered.reason {
                MissReason::NotRecorded => self.nearest(unanswered, request),
                _ => None,
            },
        }
    }

    /// Of the same API: with the longest common beginning of messages, then with the fewest differences, then unused.
    fn nearest(&self, unanswered: &Unanswered, request: &NormalRequest) -> Option<Nearest> {
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
                let uses = unanswered.uses.get(*position).copied().unwrap_or_default();
                (usize::MAX - comparison.common_messages, comparison.count, uses)
            })?;
        let exchanges = &self.cassette.exchanges;
        let mut difference = first?;
        if let DifferenceOrigin::ToolResult {
            call_id: Some(id),
            call,
            ..
        } = &mut difference.origin
        {
            let asking = exchanges.iter().find(|exchange| exchange.answer_contains(id));
            *call = asking.map(|exchange| exchange.number);
        }
        Some(Nearest {
            number: exchanges.get(position)?.number,
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
        PreparedAnswer::of_error(MISS_STATUS, &self.body(command, api), Some(NO_RETRY))
    }

    /// The body of that answer, in the error shape of its API.
    fn body(&self, command: &str, api: Option<ModelApi>) -> Value {
        let mut body = error_body(api, MISS_STATUS, MISS_TYPE, &format!("{command}: {self}"));
        if let (Some(place), Some(nearest)) = (body.pointer_mut("/error/param"), &self.nearest) {
            *place = nearest.difference.path.as_str().into();
        }
        body
    }
}

/// *Failed Dependency*: clients try 408, 409, 429 and 5xx again, and not this.
const MISS_STATUS: u16 = 424;
const MISS_TYPE: &str = "replay_miss";
