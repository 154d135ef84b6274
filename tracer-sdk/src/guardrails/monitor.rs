//! Counts what a run does and stops it for good when a limit is crossed.

use std::time::Duration;

use tracer_format::EventType;
#[cfg(feature = "prices")]
use tracer_format::Usd;

use super::{
    Amount, DEFAULT_MIN_REPETITIONS, Guardrail, GuardrailExceeded, Guardrails, MIN_LOOP_REPETITIONS,
    StopOnLoop,
};

/// Cost of a model call that has ended.
#[cfg(feature = "prices")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallSpend {
    Known(Usd),
    /// More is charged than is known.
    AtLeast(Usd),
    /// Its model has no price, or it reports no tokens.
    Unknown,
}

/// The state of a run's guardrails.
///
/// The owner gives the time since the run started with each call, `elapsed`. When several limits are crossed at once,
/// the error names the first of: model calls, tool calls, events, cost, duration. Once one has tripped, everything
/// answers the same error, but what is recorded all the same is still counted.
///
/// Events are model calls, tool calls, state updates, loop warnings and errors that the program captured. Structural
/// spans, the run's own start and end, and the error that says that a guardrail stopped the run are none.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    limits: Guardrails,
    llm_calls: u64,
    tool_calls: u64,
    /// All events, calls included. Each number holds what is finished and what is reserved: both count.
    events: u64,
    /// Known cost of finished model calls.
    #[cfg(feature = "prices")]
    spent: Usd,
    #[cfg(feature = "prices")]
    unpriced_calls: u64,
    tripped: Option<GuardrailExceeded>,
}

impl Monitor {
    /// A run that has done nothing yet.
    #[must_use]
    pub(crate) fn new(limits: Guardrails) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Asks for a call before it is made. The one past a limit is refused, and trips it; calls in flight count, so that
    /// calls at the same time cannot overshoot. A call that is never made gives its place back with [`Monitor::cancel`].
    pub(crate) fn reserve(
        &mut self,
        event_type: EventType,
        elapsed: Duration,
    ) -> Result<(), GuardrailExceeded> {
        self.not_tripped()?;
        self.count(event_type);
        let outcome = self.check_all(event_type, elapsed);
        if outcome.is_err() {
            self.uncount(event_type);
        }
        outcome
    }

    /// A call that was reserved ended, and its record is written; its place stays taken.
    pub(crate) fn finish(&mut self, elapsed: Duration) {
        if self.tripped.is_none() {
            // A limit that it trips is kept.
            let _ = self.check_duration(elapsed);
        }
    }

    /// The call was never made: its place is free again. A call that was made and then abandoned is finished, not
    /// cancelled.
    pub(crate) fn cancel(&mut self, event_type: EventType) {
        self.uncount(event_type);
    }

    /// Something happened without being asked for before, and its record is written. The one past a limit trips it.
    pub(crate) fn record(&mut self, event_type: EventType, elapsed: Duration) {
        self.count(event_type);
        if self.tripped.is_none() {
            let _ = self.check_all(event_type, elapsed);
        }
    }

    /// A model call has cost something. It stops nothing, because it was made: the next one does not start.
    #[cfg(feature = "prices")]
    pub(crate) fn spend(&mut self, spend: CallSpend) {
        match spend {
            CallSpend::Known(cost) => self.spent = self.spent.saturating_add(cost),
            CallSpend::AtLeast(cost) => {
                self.spent = self.spent.saturating_add(cost);
                self.unpriced_calls = self.unpriced_calls.saturating_add(1);
            }
            CallSpend::Unknown => self.unpriced_calls = self.unpriced_calls.saturating_add(1),
        }
    }

    /// Checks that the run may continue: trips when no model call may start any more, or it has taken too long.
    pub(crate) fn check(&mut self, elapsed: Duration) -> Result<(), GuardrailExceeded> {
        self.not_tripped()?;
        self.check_cost()?;
        self.check_duration(elapsed)
    }

    #[cfg(feature = "prices")]
    fn check_cost(&mut self) -> Result<(), GuardrailExceeded> {
        match self.limits.max_cost_usd {
            Some(limit) if self.spent >= limit => {
                self.trip(Guardrail::MaxCost, Amount::Cost(limit), Amount::Cost(self.spent))
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(feature = "prices"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        clippy::needless_pass_by_ref_mut,
        reason = "without prices there is no such limit"
    )]
    fn check_cost(&mut self) -> Result<(), GuardrailExceeded> {
        Ok(())
    }

    fn check_duration(&mut self, elapsed: Duration) -> Result<(), GuardrailExceeded> {
        match self.limits.max_duration {
            Some(limit) if elapsed >= limit => self.trip(
                Guardrail::MaxDuration,
                Amount::Duration(limit),
                Amount::Duration(elapsed),
            ),
            _ => Ok(()),
        }
    }

    /// The run ends with a block of `shapes` that has come so often in a row, and with one of `calls` that asked the
    /// same so often. Called when the loop warning is written, and for as long as shapes repeat; before the warning
    /// itself is recorded as an event, so that the loop is named when that crosses a limit too.
    pub(crate) fn loop_found(&mut self, shapes: u64, calls: u64) {
        let repetitions = match self.limits.stop_on_loop {
            None | Some(StopOnLoop::Never) => return,
            Some(StopOnLoop::Calls) => calls,
            Some(StopOnLoop::Shape) => shapes,
        };
        let threshold = self.limits.stop_on_loop_min_repetitions;
        let threshold = threshold
            .unwrap_or(DEFAULT_MIN_REPETITIONS)
            .max(MIN_LOOP_REPETITIONS);
        if repetitions >= threshold && self.tripped.is_none() {
            let _ = self.trip(
                Guardrail::StopOnLoop,
                Amount::Count(threshold),
                Amount::Count(repetitions),
            );
        }
    }

    /// The error of the limit that was crossed; `None` while none has been.
    #[must_use]
    pub(crate) fn tripped(&self) -> Option<&GuardrailExceeded> {
        self.tripped.as_ref()
    }

    fn not_tripped(&self) -> Result<(), GuardrailExceeded> {
        self.tripped.clone().map_or(Ok(()), Err)
    }

    fn trip(
        &mut self,
        guardrail: Guardrail,
        threshold: Amount,
        actual: Amount,
    ) -> Result<(), GuardrailExceeded> {
        #[cfg(feature = "prices")]
        let unpriced_calls = match guardrail {
            Guardrail::MaxCost => self.unpriced_calls,
            _ => 0,
        };
        #[cfg(not(feature = "prices"))]
        let unpriced_calls = 0;
        let exceeded = GuardrailExceeded {
            guardrail,
            threshold,
            actual,
            unpriced_calls,
        };
        self.tripped = Some(exceeded.clone());
        Err(exceeded)
    }

    fn check_all(&mut self, event_type: EventType, elapsed: Duration) -> Result<(), GuardrailExceeded> {
        let counts = [
            (Guardrail::MaxLlmCalls, self.limits.max_llm_calls, self.llm_calls),
            (
                Guardrail::MaxToolCalls,
                self.limits.max_tool_calls,
                self.tool_calls,
            ),
            (Guardrail::MaxEvents, self.limits.max_events, self.events),
        ];
        for (guardrail, limit, count) in counts {
            if let Some(limit) = limit.filter(|limit| count > *limit) {
                return self.trip(guardrail, Amount::Count(limit), Amount::Count(count));
            }
        }
        if event_type == EventType::LlmCall {
            self.check_cost()?;
        }
        self.check_duration(elapsed)
    }

    fn count(&mut self, event_type: EventType) {
        self.events = self.events.saturating_add(1);
        if let Some(calls) = self.calls(event_type) {
            *calls = calls.saturating_add(1);
        }
    }

    fn uncount(&mut self, event_type: EventType) {
        self.events = self.events.saturating_sub(1);
        if let Some(calls) = self.calls(event_type) {
            *calls = calls.saturating_sub(1);
        }
    }

    fn calls(&mut self, event_type: EventType) -> Option<&mut u64> {
        match event_type {
            EventType::LlmCall => Some(&mut self.llm_calls),
            EventType::ToolCall => Some(&mut self.tool_calls),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
