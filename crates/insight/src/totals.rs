//! [`Totals`]: how many steps of each kind a run has, and their tokens.

use tracer_sdk::format::{EventType, Outcome, Usage};
use tracer_sdk::prices::CostSum;

use crate::step_kind::StepKind;
use crate::steps::Step;
use crate::{cost, step_summary, text, units};

/// The sums over the steps of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All steps.
    pub steps: u64,
    /// Model calls.
    pub llm_calls: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Model and tool calls that failed.
    pub failed_calls: u64,
    /// Model and tool calls whose end was not seen.
    pub unknown_calls: u64,
    /// Tool calls that were asked for and never ran; none where the run is too long to know.
    pub not_run_calls: u64,
    /// Calls that have begun and not ended.
    pub in_flight: u64,
    /// Errors that were recorded for themselves.
    pub errors: u64,
    /// Loop warnings.
    pub loop_warnings: u64,
    /// The tokens of all model calls, and of other requests to models, where they are reported.
    pub tokens: Usage,
    /// Cost of these calls, where their prices are known.
    pub cost: CostSum,
}

impl Totals {
    /// The sums over these steps.
    pub fn of(steps: &[Step<'_>]) -> Self {
        let mut totals = Self::default();
        for step in steps {
            totals.count(step.record.event_type(), step.outcome());
            totals.in_flight += u64::from(step.in_flight);
            if let Some(usage) = step.record.usage() {
                totals.tokens.add(usage);
            }
            totals.cost.extend(step.cost);
        }
        totals
    }

    /// Counts a step; its tokens, and that it is in flight, are the caller's to add.
    pub fn count(&mut self, event_type: EventType, outcome: Outcome) {
        self.steps += 1;
        match event_type {
            EventType::LlmCall => self.llm_calls += 1,
            EventType::ToolCall => self.tool_calls += 1,
            EventType::Error => self.errors += 1,
            EventType::LoopWarning => self.loop_warnings += 1,
            _ => {}
        }
        let is_call = StepKind::from(event_type).is_call();
        self.failed_calls += u64::from(is_call && outcome.is_failure());
        self.unknown_calls += u64::from(is_call && outcome == Outcome::Unknown);
    }

    /// `11 steps`, `1 model call`, `7 tool calls`, `1 failed call (handled)`, `447 tokens (412 in, 35 out)`, `$0.12`,
    /// `1 loop warning`.
    ///
    /// In a run that `ended_ok`, a failed call without an error that was recorded for it was handled. In one that is free of
    /// loops, what was warned of was judged to be none: it is not said.
    pub fn words(&self, ended_ok: bool, is_free_of_loops: bool) -> Vec<String> {
        let mut words = vec![
            text::counted(self.steps, "step"),
            text::counted(self.llm_calls, "model call"),
            text::counted(self.tool_calls, "tool call"),
        ];
        let is_handled = ended_ok && self.failed_calls > 0 && self.errors == 0;
        if self.failed_calls > 0 {
            let handled = if is_handled { " (handled)" } else { "" };
            words.push(text::counted(self.failed_calls, "failed call") + handled);
        }
        if self.unknown_calls > 0 {
            words.push(text::counted(self.unknown_calls, "call") + " of unknown outcome");
        }
        if self.not_run_calls > 0 {
            words.push(text::counted(self.not_run_calls, "call") + " asked for, not run");
        }
        if self.in_flight > 0 {
            words.push(format!("{} in flight", self.in_flight));
        }
        if let Some(total) = self.tokens.total_tokens {
            let total = text::counted(total, "token");
            words.push(match (self.tokens.prompt_tokens, self.tokens.completion_tokens) {
                (Some(prompt), Some(completion)) => {
                    let shares = step_summary::token_shares(&self.tokens);
                    let shares = shares.map(|shares| format!(", {shares}")).unwrap_or_default();
                    let (prompt, completion) = (units::grouped(prompt), units::grouped(completion));
                    format!("{total} ({prompt} in, {completion} out{shares})")
                }
                _ => total,
            });
        }
        if self.cost.has_known() || self.cost.replayed > 0 {
            words.extend(cost::words(&self.cost));
        }
        if self.errors > 0 {
            words.push(text::counted(self.errors, "error"));
        }
        if self.loop_warnings > 0 && !is_free_of_loops {
            words.push(text::counted(self.loop_warnings, "loop warning"));
        }
        words
    }
}
