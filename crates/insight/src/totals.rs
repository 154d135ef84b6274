//! What the steps of a run come to: how many there are of each kind, and their tokens.

use tracer_sdk::format::{EventType, Payload, Usage};

use crate::steps::Step;
use crate::text;

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
    /// Calls that have begun and not ended.
    pub in_flight: u64,
    /// Errors that were recorded for themselves.
    pub errors: u64,
    /// Loop warnings.
    pub loop_warnings: u64,
    /// The tokens of all model calls, as far as these say.
    pub tokens: Usage,
}

impl Totals {
    /// The sums over these steps.
    pub fn of(steps: &[Step<'_>]) -> Self {
        let mut totals = Self::default();
        for step in steps {
            totals.steps += 1;
            totals.failed_calls += u64::from(step.is_call() && step.failed());
            totals.in_flight += u64::from(step.in_flight);
            match &step.record.payload {
                Payload::LlmCall { usage, .. } => {
                    totals.llm_calls += 1;
                    add(&mut totals.tokens, usage);
                }
                payload => match payload.event_type() {
                    EventType::ToolCall => totals.tool_calls += 1,
                    EventType::Error => totals.errors += 1,
                    EventType::LoopWarning => totals.loop_warnings += 1,
                    _ => {}
                },
            }
        }
        totals
    }

    /// Adds the sums over other steps.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.llm_calls += other.llm_calls;
        self.tool_calls += other.tool_calls;
        self.failed_calls += other.failed_calls;
        self.in_flight += other.in_flight;
        self.errors += other.errors;
        self.loop_warnings += other.loop_warnings;
        add(&mut self.tokens, &other.tokens);
    }

    /// `11 steps`, `1 model call`, `7 tool calls`, `447 tokens (412 in, 35 out)`, `0 errors`, `1 loop warning`.
    pub fn told(&self) -> Vec<String> {
        let mut told = vec![
            text::counted(self.steps, "step"),
            text::counted(self.llm_calls, "model call"),
            text::counted(self.tool_calls, "tool call"),
        ];
        if self.failed_calls > 0 {
            told.push(text::counted(self.failed_calls, "failed call"));
        }
        if self.in_flight > 0 {
            told.push(format!("{} in flight", self.in_flight));
        }
        if let Some(total) = self.tokens.total_tokens {
            let total = text::counted(total, "token");
            told.push(match (self.tokens.prompt_tokens, self.tokens.completion_tokens) {
                (Some(prompt), Some(completion)) => format!("{total} ({prompt} in, {completion} out)"),
                _ => total,
            });
        }
        told.push(text::counted(self.errors, "error"));
        if self.loop_warnings > 0 {
            told.push(text::counted(self.loop_warnings, "loop warning"));
        }
        told
    }
}

/// Adds what a model call used, as far as it says.
pub fn add(tokens: &mut Usage, usage: &Usage) {
    let side = |sum: &mut Option<u64>, part: Option<u64>| {
        if let Some(part) = part {
            *sum = Some(sum.unwrap_or(0).saturating_add(part));
        }
    };
    side(&mut tokens.prompt_tokens, usage.prompt_tokens);
    side(&mut tokens.completion_tokens, usage.completion_tokens);
    side(&mut tokens.total_tokens, usage.total_tokens);
}
