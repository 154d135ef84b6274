//! [`RunCosts`]: what the model calls of a run cost, for the guardrail `max_cost_usd`.

use super::warning;
use crate::guardrails::CallSpend;
use crate::prices::{CallCost, LoggedCall, Prices};
use crate::process::{OwnLock, OwnProcess};
use tracer_format::{SpanId, TraceId};

/// Maximum number of spans that report a call again and wait for the one that it counts at.
const MAX_WAITING: usize = 256;

/// The prices that a run's limit counts with, and calls whose other spans have not ended. A run without the limit has none
/// of it: its calls are not priced.
#[derive(Debug)]
pub(crate) struct RunCosts {
    prices: Prices,
    /// Data on a call from spans within it, by the ID of the span that the call counts at.
    waiting: OwnLock<Vec<(SpanId, LoggedCall)>>,
}

impl RunCosts {
    pub(crate) fn new(prices: Prices) -> Self {
        Self {
            prices,
            waiting: OwnLock::new(OwnProcess::current(), Vec::new()),
        }
    }

    /// Cost of a call that has ended, by its line; `None` where it counts at another span, `same_call`. Warns where the
    /// cost is not known: a limit that does not count everything is not to be relied on.
    pub(crate) fn spend_of(
        &self,
        run: TraceId,
        id: SpanId,
        same_call: Option<SpanId>,
        line: &[u8],
    ) -> Option<CallSpend> {
        let mut call = LoggedCall::read(line);
        if let Some(mut waiting) = self.waiting.lock() {
            while let Some(at) = waiting.iter().position(|(counted_at, _)| *counted_at == id) {
                let (_, other) = waiting.swap_remove(at);
                call = Some(match call {
                    Some(call) => call.or(other),
                    None => other,
                });
            }
            if let Some(counted_at) = same_call {
                if let Some(call) = call
                    && waiting.len() < MAX_WAITING
                {
                    waiting.push((counted_at, call));
                }
                return None;
            }
        }
        let cost = call.as_ref().map(|call| call.cost(&self.prices));
        if let (Some(call), Some(Err(unknown))) = (&call, cost.map(CallCost::usd))
            && !call.brought_nothing()
        {
            warning::warn_once(&format_args!(
                "max_cost_usd cannot count a model call of the run {run}: {unknown}; `tracer prices` shows the known prices, \
                 and [prices] in a settings file adds one"
            ));
        }
        Some(match cost.map(|cost| (cost.usd(), cost.priced)) {
            Some((Ok(usd), _)) => CallSpend::Known(usd),
            Some((Err(_), Ok(least))) => CallSpend::AtLeast(least),
            _ => CallSpend::Unknown,
        })
    }
}
