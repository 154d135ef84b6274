//! [`CallBudget`]: the limits of a recording, and the calls that wait for room within them.

mod ledger;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use tracer_insight::text::counted;
use tracer_insight::units;
use tracer_providers::{ModelApi, error_body};
use tracer_sdk::format::Usage;
use tracer_sdk::guardrails::{Guardrail, GuardrailExceeded};
use tracer_sdk::prices::Prices;

pub use self::ledger::BudgetLimits;
use self::ledger::{Admission, BudgetLedger, Spend};
use crate::exchange::{NO_RETRY, PreparedAnswer};

/// *Bad Request*: no client tries it again, Codex included, which does so with other statuses.
const REFUSED_STATUS: u16 = 400;

/// Terminal of a recording with a budget: it shows what has to be known at once, and decides when a limit is reached. Threads
/// of the proxy call it, and may be blocked.
pub trait BudgetOperator: fmt::Debug + Send + Sync + 'static {
    /// Shows a notice.
    fn notify(&self, notice: &str);

    /// Decides if the limit is raised by the amount that was given for it.
    fn raises(&self, exceeded: &GuardrailExceeded) -> bool;
}

/// The limits of a recording, shared by all its conversations.
#[derive(Debug)]
pub struct CallBudget {
    ledger: Mutex<BudgetLedger>,
    prices: Prices,
    operator: Arc<dyn BudgetOperator>,
    started: Instant,
    settled: Notify,
    /// Held while the operator decides.
    question: Mutex<()>,
    report: Mutex<BudgetReport>,
}

/// Facts for the end of the recording.
#[derive(Debug, Default)]
struct BudgetReport {
    unpriced_models: BTreeSet<String>,
    refused: u64,
    counted_by_size: u64,
}

/// A call that asks for a place within the limits.
#[derive(Debug)]
pub(super) struct BudgetRequest {
    pub(super) provider: &'static str,
    pub(super) model: String,
    /// `false` of a request that is no model call.
    pub(super) is_model_call: bool,
    /// The most that it may use.
    pub(super) most: Usage,
}

/// Tokens that a call used.
#[derive(Debug)]
pub(super) struct BudgetUsage<'a> {
    pub(super) tokens: Usage,
    /// The model that answered.
    pub(super) model: Option<&'a str>,
    /// True where the provider did not count them all.
    pub(super) is_estimate: bool,
}

/// The place of an admitted call within the limits; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Arc<CallBudget>,
    request: BudgetRequest,
    reserved: Spend,
    spent: Spend,
}

impl CallBudget {
    /// A budget whose time begins now.
    #[must_use]
    pub fn new(limits: BudgetLimits, prices: Prices, operator: Arc<dyn BudgetOperator>) -> Self {
        Self {
            ledger: Mutex::new(BudgetLedger::new(limits)),
            prices,
            operator,
            started: Instant::now(),
            settled: Notify::new(),
            question: Mutex::default(),
            report: Mutex::default(),
        }
    }

    /// The limit that stopped the recording.
    #[must_use]
    pub fn stopped_by(&self) -> Option<GuardrailExceeded> {
        self.ledger.lock().stopped().cloned()
    }

    /// Waits until a call may be made.
    pub(super) async fn admit(
        self: Arc<Self>,
        request: BudgetRequest,
    ) -> Result<Reservation, GuardrailExceeded> {
        let BudgetRequest { provider, model, .. } = &request;
        if self.prices.find(provider, model, units::now()).is_err() {
            self.name_unpriced(model);
        }
        let reserve = self.spend(provider, model, None, &request.most);
        let calls = u64::from(request.is_model_call);
        let reserved = loop {
            let settled = self.settled.notified();
            let elapsed = self.started.elapsed();
            let admission = self.ledger.lock().admit(calls, reserve, elapsed);
            match admission {
                Admission::Admitted(reserved) => break reserved,
                Admission::Wait => settled.await,
                Admission::Exceeded(exceeded) => {
                    let budget = Arc::clone(&self);
                    let asking = spawn_blocking(move || budget.raise_or_stop(calls));
                    // The proxy may have ended meanwhile.
                    if let Err(stopped) = asking.await.unwrap_or(Err(exceeded)) {
                        self.report.lock().refused += 1;
                        return Err(stopped);
                    }
                }
            }
        };
        Ok(Reservation {
            budget: self,
            request,
            reserved,
            spent: Spend::default(),
        })
    }

    /// Asks the operator about a limit that is still reached; the recording stops at one that is not raised, as that of time
    /// never is.
    fn raise_or_stop(&self, calls: u64) -> Result<(), GuardrailExceeded> {
        // The answer to the question about another call may be the answer for this one.
        let _one_at_a_time = self.question.lock();
        let (exceeded, stopped) = {
            let ledger = self.ledger.lock();
            let exceeded = ledger.exceeded(calls, self.started.elapsed());
            (exceeded, ledger.stopped().cloned())
        };
        let Some(exceeded) = exceeded else { return Ok(()) };
        let is_raisable = stopped.is_none() && exceeded.guardrail != Guardrail::MaxDuration;
        if is_raisable && self.operator.raises(&exceeded) {
            self.ledger.lock().raise(exceeded.guardrail);
            return Ok(());
        }
        self.ledger.lock().stop(exceeded.clone());
        // Calls that wait for room get none.
        self.settled.notify_waiters();
        Err(stopped.unwrap_or(exceeded))
    }

    /// The time that is left; zero when it is over, `None` without a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let limit = self.ledger.lock().limits().time?;
        Some(limit.saturating_sub(self.started.elapsed()))
    }

    /// Stops the recording when its time is over, without a question: the command waits with this thread, deaf to Ctrl-C.
    pub(crate) fn stop_at_time(&self) {
        let mut ledger = self.ledger.lock();
        if let Some(exceeded) = ledger.over_time(self.started.elapsed()) {
            ledger.stop(exceeded);
        }
        drop(ledger);
        // Calls that wait for room get none.
        self.settled.notify_waiters();
    }

    fn spend(&self, provider: &str, model: &str, answered: Option<&str>, usage: &Usage) -> Spend {
        let cost = self
            .prices
            .call_cost(provider, model, answered, usage, Some(units::now()));
        let parts = usage.prompt_tokens.unwrap_or(0) + usage.completion_tokens.unwrap_or(0);
        Spend {
            tokens: usage.total_tokens.unwrap_or(parts),
            cost: cost.priced.unwrap_or_default(),
            unpriced: u64::from(cost.usd().is_err()),
        }
    }

    /// Says once of a model that its cost is not known.
    fn name_unpriced(&self, model: &str) {
        let limits = self.ledger.lock().limits().clone();
        if limits.cost.is_none() || !self.report.lock().unpriced_models.insert(model.to_owned()) {
            return;
        }
        let how = if limits.tokens.is_some() {
            "counted by tokens"
        } else {
            "--max-cost does not limit its calls; add --max-tokens, or set its price under [prices] in the settings"
        };
        self.operator
            .notify(&format!("cost not known for {model}: {how}"));
    }

    /// Notes for the user at the end, a sentence each; `past` calls of the run did not come through the proxy.
    #[must_use]
    pub(crate) fn notes(&self, past: u64) -> Vec<String> {
        let report = self.report.lock();
        let ledger = self.ledger.lock();
        let stopped = ledger.stopped().map(|exceeded| {
            let refused = match report.refused {
                0 => String::new(),
                refused => format!("; {} refused", counted(refused, "call")),
            };
            format!(
                "{exceeded}{refused}; raise the limit with {}",
                option(exceeded.guardrail)
            )
        });
        let used_up = ledger.exceeded(0, Duration::ZERO).filter(|_| stopped.is_none());
        let used_up = used_up.map(|exceeded| {
            format!(
                "the last calls used up {}: {} of {}; none was refused",
                option(exceeded.guardrail),
                exceeded.actual,
                exceeded.threshold
            )
        });
        let by_size = (report.counted_by_size > 0).then(|| {
            let calls = counted(report.counted_by_size, "model call");
            format!("{calls} did not report all tokens: counted by the size of the texts, or by what the request allows")
        });
        let is_missed = past > 0 && *ledger.limits() != BudgetLimits::default();
        let missed = is_missed.then(|| {
            let calls = counted(past, "model call");
            format!("{calls} went past the proxy: the limits did not count them")
        });
        let stopped = stopped.into_iter().chain(used_up);
        stopped.chain(by_size).chain(missed).collect()
    }
}

/// The option that sets a limit.
fn option(guardrail: Guardrail) -> &'static str {
    match guardrail {
        Guardrail::MaxCost => "--max-cost",
        Guardrail::MaxTokens => "--max-tokens",
        Guardrail::MaxDuration => "--max-time",
        _ => "--max-calls",
    }
}

impl Reservation {
    /// Counts what the call used; without it a call has used nothing.
    pub(super) fn settle(mut self, used: &BudgetUsage<'_>) {
        self.budget.report.lock().counted_by_size += u64::from(used.is_estimate);
        let BudgetRequest { provider, model, .. } = &self.request;
        self.spent = self.budget.spend(provider, model, used.model, &used.tokens);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.ledger.lock().settle(self.reserved, self.spent);
        self.budget.settled.notify_waiters();
    }
}

/// The answer to a call that is not made, in the form of its API.
pub(super) fn refusal(api: ModelApi, exceeded: &GuardrailExceeded) -> PreparedAnswer {
    let message = format!(
        "tracer record: {exceeded}. This call was not sent to the provider, and no other will be: stop here, or record again \
         with a higher {}",
        option(exceeded.guardrail)
    );
    let body = error_body(Some(api), REFUSED_STATUS, "budget_exceeded", &message);
    PreparedAnswer::of_error(REFUSED_STATUS, &body, Some(NO_RETRY))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::exchange::ExchangeEnd;
    use crate::proxy::exchange::{Exchange, ModelCall};
    use crate::proxy::run_groups::tests::exchange;
    use crate::tests::gzip;

    fn asking(request: &Value) -> Exchange {
        Exchange {
            request: request.to_string().into_bytes().into(),
            ..exchange(0, &Value::Null, &Value::Null)
        }
    }

    /// The tokens of the prompt and of the answer that a request reserves.
    fn reserved(exchange: &Exchange) -> (u64, u64) {
        let most = exchange.budget_request(ModelApi::ChatCompletions).most;
        (most.prompt_tokens.unwrap(), most.completion_tokens.unwrap())
    }

    #[test]
    fn a_compressed_request_reserves_as_much() {
        let mut asked = asking(&json!({"model": "m", "max_tokens": 7, "input": "a".repeat(10_000)}));
        let plain = reserved(&asked);
        assert!(plain.0 > 5_000 && plain.1 == 7, "{plain:?}");
        let packed = gzip(&asked.request);
        asked.request_encoding = "gzip".to_owned();
        asked.request = packed.into();
        assert_eq!(reserved(&asked), plain);
        asked.request_encoding = "unknown".to_owned();
        assert_eq!(reserved(&asked).0, asked.request.len() as u64 * 10);
    }

    #[test]
    fn a_request_reserves_what_it_refers_to_and_each_answer() {
        let body = json!({"previous_response_id": null, "conversation": "conv_1", "n": 3, "max_tokens": 7});
        assert_eq!(reserved(&asking(&body)), (32_768, 21));
        let body = json!({"previous_response_id": null, "max_tokens": 7});
        assert!(reserved(&asking(&body)).0 < 100);
    }

    #[test]
    fn an_answer_in_the_background_counts_as_what_it_may_use() {
        let mut asked = asking(&json!({"model": "m", "background": true, "max_output_tokens": 900}));
        asked.response = br#"{"id": "resp_1", "status": "queued", "usage": null}"#.to_vec();
        let call = ModelCall::read(&asked, ModelApi::Responses);
        let used = call.used(&asked, ModelApi::Responses).unwrap();
        assert_eq!(
            (used.tokens.completion_tokens, used.is_estimate),
            (Some(900), true)
        );
    }

    #[test]
    fn a_stream_that_is_left_counts_what_came() {
        let usage = json!({"input_tokens": 50, "output_tokens": 1});
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage});
        let text = json!({"type": "text_delta", "text": "a".repeat(4_000)});
        let events = [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": text}),
        ];
        let mut asked = asking(&json!({"model": "m", "stream": true}));
        asked.response = events
            .iter()
            .flat_map(|event| {
                format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).into_bytes()
            })
            .collect();
        asked.content_type = "text/event-stream".to_owned();
        asked.end = ExchangeEnd::ClientGone;
        let call = ModelCall::read(&asked, ModelApi::Messages);
        let used = call.used(&asked, ModelApi::Messages).unwrap();
        assert!(
            used.is_estimate && used.tokens.completion_tokens >= Some(1_000),
            "{used:?}"
        );
        assert_eq!(
            (used.tokens.prompt_tokens, used.tokens.total_tokens),
            (Some(50), None)
        );
    }
}
