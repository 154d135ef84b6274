//! [`BudgetLedger`]: what the calls of a recording have used and may still use together.

use std::time::Duration;

use tracer_sdk::format::Usd;
use tracer_sdk::guardrails::{Amount, Guardrail, GuardrailExceeded};

/// Limits of a recording; without a value there is no limit.
///
/// ```
/// use tracer_capture::proxy::BudgetLimits;
///
/// let limits = BudgetLimits { calls: Some(80), ..BudgetLimits::default() };
/// assert_eq!((limits.calls, limits.tokens), (Some(80), None));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Cost of the calls.
    pub cost: Option<Usd>,
    /// Number of model calls, failed ones included.
    pub calls: Option<u64>,
    /// Tokens of the calls, of prompts and of answers.
    pub tokens: Option<u64>,
    /// Time since the recording began.
    pub time: Option<Duration>,
}

/// Tokens and cost of a call, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spend {
    pub(super) tokens: u64,
    pub(super) cost: Usd,
    /// Calls whose cost is not known, or not all of it.
    pub(super) unpriced: u64,
}

impl Spend {
    const fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }

    /// The larger one of each amount.
    fn max(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            cost: self.cost.max(other.cost),
            unpriced: self.unpriced,
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
            unpriced: self.unpriced.saturating_sub(other.unpriced),
        }
    }
}

/// Answer to a call that asks whether it may be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may; its place, which takes this, is taken until it is settled.
    Admitted(Spend),
    /// Together with the calls on their way it could cross a limit: one of them has to be settled first.
    Wait,
    /// A limit is reached.
    Exceeded(GuardrailExceeded),
}

/// Account of the calls against their limits.
///
/// A call past the limit of calls is never admitted. Of cost and tokens a call is taken to need at most what it reserves, which is
/// no less than the largest call so far used; one that reserves more than is left is made alone, so that the limit is exceeded by
/// no more than that call.
#[derive(Debug, Default)]
pub(super) struct BudgetLedger {
    /// As they were given: a raised limit grows by as much.
    given: BudgetLimits,
    limits: BudgetLimits,
    calls: u64,
    spent: Spend,
    reserved: Spend,
    /// The most that a call has used.
    largest: Spend,
    in_flight: u64,
    stopped: Option<GuardrailExceeded>,
}

impl BudgetLedger {
    pub(super) fn new(limits: BudgetLimits) -> Self {
        Self {
            given: limits.clone(),
            limits,
            ..Self::default()
        }
    }

    /// Asks for a call that needs at most `reserve`; `calls` is 1, or 0 of a request that is no model call.
    pub(super) fn admit(&mut self, calls: u64, reserve: Spend, elapsed: Duration) -> Admission {
        if let Some(exceeded) = self.exceeded(calls, elapsed) {
            return Admission::Exceeded(exceeded);
        }
        let reserve = reserve.max(self.largest);
        let total = self.spent.plus(self.reserved).plus(reserve);
        let is_above = self.limits.tokens.is_some_and(|limit| total.tokens > limit)
            || self.limits.cost.is_some_and(|limit| total.cost > limit);
        if is_above && self.in_flight > 0 {
            return Admission::Wait;
        }
        self.calls += calls;
        self.reserved = self.reserved.plus(reserve);
        self.in_flight += 1;
        Admission::Admitted(reserve)
    }

    /// Replaces what a call reserved by what it used.
    pub(super) fn settle(&mut self, reserved: Spend, spent: Spend) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.reserved = self.reserved.minus(reserved);
        self.spent = self.spent.plus(spent);
        self.largest = self.largest.max(spent);
    }

    /// The limit that keeps further calls from being made: the one that stopped the recording, or else the first that is
    /// reached.
    pub(super) fn exceeded(&self, calls: u64, elapsed: Duration) -> Option<GuardrailExceeded> {
        if self.stopped.is_some() {
            return self.stopped.clone();
        }
        let BudgetLimits {
            cost,
            calls: most,
            tokens,
            ..
        } = self.limits;
        let wanted = self.calls.saturating_add(calls);
        let count = |limit, actual| (Amount::Count(limit), Amount::Count(actual));
        let of_calls = most
            .filter(|limit| wanted > *limit)
            .map(|limit| (Guardrail::MaxLlmCalls, count(limit, wanted)));
        let of_cost = cost.filter(|limit| self.spent.cost >= *limit).map(|limit| {
            let amounts = (Amount::Cost(limit), Amount::Cost(self.spent.cost));
            (Guardrail::MaxCost, amounts)
        });
        let of_tokens = tokens
            .filter(|limit| self.spent.tokens >= *limit)
            .map(|limit| (Guardrail::MaxTokens, count(limit, self.spent.tokens)));
        let Some((guardrail, (threshold, actual))) = of_calls.or(of_cost).or(of_tokens) else {
            return self.over_time(elapsed);
        };
        let mut exceeded = GuardrailExceeded::new(guardrail, threshold, actual);
        if guardrail == Guardrail::MaxCost {
            exceeded.unpriced_calls = self.spent.unpriced;
        }
        Some(exceeded)
    }

    /// The limit of time, when it is reached.
    pub(super) fn over_time(&self, elapsed: Duration) -> Option<GuardrailExceeded> {
        let limit = self.limits.time.filter(|limit| elapsed >= *limit)?;
        // To the millisecond, for people.
        let elapsed = Duration::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
        let (threshold, actual) = (Amount::Duration(limit), Amount::Duration(elapsed));
        Some(GuardrailExceeded::new(Guardrail::MaxDuration, threshold, actual))
    }

    /// Raises a limit, of calls, tokens or cost, by the amount that was given for it.
    pub(super) fn raise(&mut self, guardrail: Guardrail) {
        let (limits, given) = (&mut self.limits, &self.given);
        let sum = |limit: Option<u64>, more: Option<u64>| Some(limit?.saturating_add(more?));
        match guardrail {
            Guardrail::MaxLlmCalls => limits.calls = sum(limits.calls, given.calls),
            Guardrail::MaxTokens => limits.tokens = sum(limits.tokens, given.tokens),
            _ => {
                limits.cost = limits
                    .cost
                    .map(|limit| limit.saturating_add(given.cost.unwrap_or_default()));
            }
        }
    }

    /// Refuses every further call for this reason.
    pub(super) fn stop(&mut self, exceeded: GuardrailExceeded) {
        self.stopped.get_or_insert(exceeded);
    }

    /// The limit that stopped the recording.
    pub(super) fn stopped(&self) -> Option<&GuardrailExceeded> {
        self.stopped.as_ref()
    }

    pub(super) fn limits(&self) -> &BudgetLimits {
        &self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ledger(cents: Option<u64>, calls: Option<u64>, tokens: Option<u64>) -> BudgetLedger {
        BudgetLedger::new(BudgetLimits {
            cost: cents.map(Usd::from_cents),
            calls,
            tokens,
            time: None,
        })
    }

    fn spend(tokens: u64, cents: u64) -> Spend {
        Spend {
            tokens,
            cost: Usd::from_cents(cents),
            unpriced: 0,
        }
    }

    fn admitted(ledger: &mut BudgetLedger, calls: u64, reserve: Spend) -> Option<Spend> {
        match ledger.admit(calls, reserve, Duration::ZERO) {
            Admission::Admitted(reserved) => Some(reserved),
            _ => None,
        }
    }

    fn exceeded_by(ledger: &mut BudgetLedger) -> Option<String> {
        match ledger.admit(1, Spend::default(), Duration::ZERO) {
            Admission::Exceeded(exceeded) => Some(exceeded.to_string()),
            _ => None,
        }
    }

    #[test]
    fn a_call_past_the_limit_is_refused_while_all_are_on_their_way() {
        let mut ledger = ledger(None, Some(2), None);
        for _ in 0..2 {
            assert_eq!(admitted(&mut ledger, 1, spend(9, 9)), Some(spend(9, 9)));
        }
        // A request that is no model call does not count.
        assert_eq!(admitted(&mut ledger, 0, spend(9, 9)), Some(spend(9, 9)));
        let refused = exceeded_by(&mut ledger).unwrap();
        assert_eq!(
            refused,
            "the run was stopped by max_llm_calls: 3 model calls, and 2 are allowed"
        );
    }

    #[test]
    fn a_call_that_may_cross_the_limit_is_made_alone() {
        let mut ledger = ledger(Some(100), None, None);
        assert_eq!(admitted(&mut ledger, 1, spend(0, 60)), Some(spend(0, 60)));
        assert_eq!(ledger.admit(1, spend(0, 60), Duration::ZERO), Admission::Wait);
        ledger.settle(spend(0, 60), spend(0, 50));
        assert_eq!(admitted(&mut ledger, 1, spend(0, 900)), Some(spend(0, 900)));
        assert_eq!(ledger.admit(1, spend(0, 1), Duration::ZERO), Admission::Wait);
        ledger.settle(
            spend(0, 900),
            Spend {
                unpriced: 1,
                ..spend(0, 55)
            },
        );
        assert_eq!(
            exceeded_by(&mut ledger).unwrap(),
            "the run was stopped by max_cost_usd: it has cost at least $1.05 (1 model call has no known price), and $1.00 is \
             the limit"
        );
    }

    #[test]
    fn a_call_reserves_what_the_largest_used() {
        let mut ledger = ledger(None, None, Some(100));
        let first = admitted(&mut ledger, 1, spend(10, 0)).unwrap();
        ledger.settle(first, spend(40, 0));
        assert_eq!(admitted(&mut ledger, 1, spend(10, 0)), Some(spend(40, 0)));
        assert_eq!(ledger.admit(1, spend(10, 0), Duration::ZERO), Admission::Wait);
        ledger.settle(spend(40, 0), spend(20, 0));
        assert_eq!(ledger.reserved, Spend::default());
    }

    #[test]
    fn a_raised_limit_grows_by_what_was_given() {
        let mut ledger = ledger(None, None, Some(1_000));
        ledger.settle(Spend::default(), spend(1_500, 0));
        ledger.raise(Guardrail::MaxTokens);
        assert_eq!(exceeded_by(&mut ledger), None);
        ledger.settle(Spend::default(), spend(500, 0));
        let refused = exceeded_by(&mut ledger).unwrap();
        assert!(
            refused.contains("it has used 2000 tokens, and 2000 is the limit"),
            "{refused}"
        );
    }

    #[test]
    fn a_stopped_recording_stays_stopped() {
        let mut ledger = ledger(None, Some(1), None);
        let limit = Amount::Duration(Duration::from_secs(1));
        ledger.stop(GuardrailExceeded::new(Guardrail::MaxDuration, limit, limit));
        ledger.raise(Guardrail::MaxDuration);
        assert!(exceeded_by(&mut ledger).unwrap().contains("max_duration_s"));
    }

    proptest! {
        /// Whatever calls come and end in whatever order: the limit is exceeded by one call at most.
        #[test]
        fn the_limit_is_exceeded_by_one_call_at_most(
            calls in proptest::collection::vec((1_u64..50, 0_u64..=100, any::<bool>()), 1..60),
            limit in 1_u64..200,
        ) {
            let mut ledger = ledger(None, None, Some(limit));
            let mut on_their_way: Vec<(Spend, u64)> = Vec::new();
            let (mut spent, mut largest) = (0, 0);
            for (reserve, percent, ends_one) in calls {
                if let Some(reserved) = admitted(&mut ledger, 1, spend(reserve, 0)) {
                    on_their_way.push((reserved, reserve * percent / 100));
                }
                if ends_one && !on_their_way.is_empty() {
                    let (reserved, used) = on_their_way.remove(0);
                    ledger.settle(reserved, spend(used, 0));
                    spent += used;
                    largest = largest.max(used);
                }
            }
            for (reserved, used) in on_their_way {
                ledger.settle(reserved, spend(used, 0));
                spent += used;
                largest = largest.max(used);
            }
            prop_assert!(spent <= limit + largest, "{spent} of {limit}, largest call {largest}");
            prop_assert_eq!(ledger.reserved, Spend::default());
        }
    }
}
