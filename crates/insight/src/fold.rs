//! Repeats of a step, folded into one row that says how many there were and whether they came out the same.

use serde_json::Value;
use tracer_sdk::format::Payload;

use crate::step_summary;
use crate::steps::{ATTEMPT_OF, Step};
use crate::value_summary;

/// Repeats that are folded into one row: it is shorter and says more.
const MIN_FOLDED: usize = 2;

/// One row of a run.
#[derive(Debug, Clone)]
pub enum StepRow<'a> {
    /// A step.
    Step(&'a Step<'a>),
    /// The steps after the last one that put the same question again.
    Repeats(RepeatedSteps<'a>),
}

/// Steps that put the same question as the one before them, or failed attempts at the call behind them.
#[derive(Debug, Clone)]
pub struct RepeatedSteps<'a> {
    /// The repeating steps, at least two, in the order of time.
    pub steps: &'a [Step<'a>],
    /// Set when each of them has the outcome of the first.
    pub same_outcome: bool,
    /// Set for attempts at a call that follows; holds its number, where it is among the steps.
    pub attempts_at: Option<Option<usize>>,
}

impl RepeatedSteps<'_> {
    /// Their duration together, in microseconds.
    pub fn duration(&self) -> Option<u64> {
        self.steps
            .iter()
            .filter_map(|step| step.duration)
            .reduce(u64::saturating_add)
    }

    /// Their common traits, in words.
    pub fn description(&self) -> String {
        if let Some(call) = self.attempts_at {
            let failure = self
                .steps
                .last()
                .and_then(|step| step_summary::failure(&step.record.payload));
            let failure = failure.map_or_else(String::new, |failure| {
                format!(": {}", value_summary::label(&failure.error_type))
            });
            return match call {
                Some(call) => format!("failed attempts at #{call}{failure}"),
                None => format!("failed attempts{failure}"),
            };
        }
        let question = match self.steps.first().map(|step| &step.record.payload) {
            Some(
                Payload::ToolCall {
                    args: Value::Null, ..
                }
                | Payload::LlmCall {
                    prompt: Value::Null, ..
                },
            ) => {
                return "the same call again".to_owned();
            }
            Some(Payload::ToolCall { .. }) => "identical arguments",
            Some(Payload::LlmCall { .. }) => "identical prompt",
            _ => return "the same again".to_owned(),
        };
        let outcome = match (self.same_outcome, self.steps.iter().any(Step::failed)) {
            (true, true) => "same failure",
            (true, false) if !self.steps.iter().any(has_result) => return question.to_owned(),
            (true, false) => "identical results",
            (false, true) => "different results, failures among them",
            (false, false) => "different results",
        };
        format!("{question}, {outcome}")
    }
}

/// The rows of a run: every step, or the fold that it is in.
pub fn fold_repeats<'a>(steps: &'a [Step<'a>]) -> Vec<StepRow<'a>> {
    let mut rows = Vec::new();
    let mut rest = steps;
    while let Some((first, after)) = rest.split_first() {
        let attempts = leading_attempts(rest);
        if attempts >= MIN_FOLDED {
            let (folded, after) = rest.split_at(attempts);
            rows.push(StepRow::Repeats(RepeatedSteps {
                steps: folded,
                same_outcome: folded.iter().all(|step| has_same_outcome(first, step)),
                attempts_at: first.attempt_of,
            }));
            rest = after;
            continue;
        }
        rows.push(StepRow::Step(first));
        let repeats = if first.attempt_of.is_some() {
            0
        } else {
            let repeats = after.iter().take_while(|step| asks_the_same(first, step));
            repeats.take_while(|step| step.attempt_words().is_none()).count()
        };
        rest = after;
        if repeats >= MIN_FOLDED {
            let (folded, after) = after.split_at(repeats);
            rows.push(StepRow::Repeats(RepeatedSteps {
                steps: folded,
                same_outcome: folded.iter().all(|step| has_same_outcome(first, step)),
                attempts_at: None,
            }));
            rest = after;
        }
    }
    rows
}

/// Number of first steps that are attempts at one call.
fn leading_attempts(steps: &[Step<'_>]) -> usize {
    let Some((first, after)) = steps
        .split_first()
        .filter(|(first, _)| first.attempt_of.is_some())
    else {
        return 0;
    };
    let is_too = |step: &&Step<'_>| {
        step.attempt_of.is_some()
            && step.record.meta.get(ATTEMPT_OF) == first.record.meta.get(ATTEMPT_OF)
            && asks_the_same(first, step)
    };
    1 + after.iter().take_while(is_too).count()
}

/// Both are siblings, nothing is nested in either, and both put the same question.
fn asks_the_same(first: &Step<'_>, other: &Step<'_>) -> bool {
    if first.in_flight
        || other.in_flight
        || first.has_children
        || other.has_children
        || first.record.parent_id != other.record.parent_id
    {
        return false;
    }
    match (&first.record.payload, &other.record.payload) {
        (
            Payload::ToolCall { tool_name, args, .. },
            Payload::ToolCall {
                tool_name: other_name,
                args: other_args,
                ..
            },
        ) => tool_name == other_name && args == other_args,
        (
            Payload::LlmCall { model, prompt, .. },
            Payload::LlmCall {
                model: other_model,
                prompt: other_prompt,
                ..
            },
        ) => model == other_model && prompt == other_prompt,
        (Payload::StateUpdate { .. }, Payload::StateUpdate { .. })
        | (Payload::Error(_), Payload::Error(_)) => first.record.payload == other.record.payload,
        _ => false,
    }
}

fn has_same_outcome(first: &Step<'_>, other: &Step<'_>) -> bool {
    let is_same = first.record.outcome() == other.record.outcome();
    let (first, other) = (&first.record.payload, &other.record.payload);
    let failure = |payload| step_summary::failure(payload).map(|error| (&error.error_type, &error.message));
    is_same && failure(first) == failure(other) && result(first) == result(other)
}

fn has_result(step: &Step<'_>) -> bool {
    result(&step.record.payload).is_some_and(|result| !result.is_null())
}

fn result(payload: &Payload) -> Option<&Value> {
    match payload {
        Payload::ToolCall { result, .. } => Some(result),
        Payload::LlmCall { response, .. } => Some(response),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, tool};
    use crate::steps;
    use serde_json::json;

    fn folded(sample: &Sample) -> Vec<String> {
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        fold_repeats(&steps)
            .iter()
            .map(|row| match row {
                StepRow::Step(step) => step.name(),
                StepRow::Repeats(repeats) => format!("×{} {}", repeats.steps.len(), repeats.description()),
            })
            .collect()
    }

    #[test]
    fn a_question_put_three_times_is_folded_and_counted() {
        let ask = || tool("search", &json!({"q": "refund"}), &json!("none"));
        let sample =
            Sample::new()
                .step(ask())
                .step(ask())
                .step(ask())
                .step(tool("send", &json!({}), &json!("ok")));
        assert_eq!(
            folded(&sample),
            ["search", "×2 identical arguments, identical results", "send"]
        );
    }

    #[test]
    fn results_that_nobody_recorded_are_not_identical() {
        let ask = || tool("search", &json!({"q": "refund"}), &json!(null));
        let sample = Sample::new().step(ask()).step(ask()).step(ask());
        assert_eq!(folded(&sample), ["search", "×2 identical arguments"]);
    }

    #[test]
    fn two_of_a_kind_are_both_shown() {
        let ask = || tool("search", &json!({"q": "refund"}), &json!("none"));
        assert_eq!(
            folded(&Sample::new().step(ask()).step(ask())),
            ["search", "search"]
        );
    }

    #[test]
    fn other_arguments_are_another_question_and_other_results_are_shown() {
        let ask = |query: &str, result: u8| tool("search", &json!({"q": query}), &json!({"hits": result}));
        let sample = Sample::new()
            .step(ask("refund", 1))
            .step(ask("refund", 1))
            .step(ask("refund", 2))
            .step(ask("policy", 2));
        assert_eq!(
            folded(&sample),
            ["search", "×2 identical arguments, different results", "search"]
        );
    }

    #[test]
    fn attempts_are_folded_before_the_call_that_they_are_at_which_says_how_many_there_were() {
        let ask = || tool("search", &json!({"q": "refund"}), &json!("none"));
        let failed = || failed_tool("search", &json!({"q": "refund"}), error("RateLimited", "429"));
        let retried = |failures: usize| {
            let attempts = (0..failures).fold(Sample::new(), |sample, _| sample.step(failed()));
            attempts.step(ask())
        };
        assert_eq!(
            folded(&retried(2)),
            ["×2 failed attempts at #3: RateLimited", "search"]
        );
        assert_eq!(folded(&retried(1)), ["search", "search"]);
        let sample = retried(2);
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        let attempts: Vec<Option<String>> = steps.iter().map(Step::attempt_words).collect();
        let expected = ["attempt at #3", "attempt at #3", "3 attempts"];
        assert_eq!(attempts, expected.map(|words| Some(words.to_owned())));
        assert_eq!(
            folded(&Sample::new().step(failed()).step(failed())),
            ["search", "search"]
        );
        assert_eq!(
            folded(&retried(0).step(ask()).step(ask())),
            ["search", "×2 identical arguments, identical results"]
        );
    }
}
