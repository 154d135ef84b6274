//! [`StepFilter`]: steps by kind, by failure, by a text in them.

use serde_json::Value;
use tracer_sdk::format::{EventType, Payload, Record};

use crate::step_kind::StepKind;
use crate::step_summary;

/// Criteria for steps; without any, every step passes.
#[derive(Debug, Clone, Default)]
pub struct StepFilter {
    kinds: Vec<StepKind>,
    only_failures: bool,
    /// In lower case.
    text: Option<String>,
    /// The numbers of those that may pass, sorted; `None` for any.
    numbers: Option<Vec<usize>>,
}

impl StepFilter {
    /// Steps of one of `kinds` (none means any), failed ones only, with `text` anywhere in them (case does not count).
    pub fn new(kinds: &[StepKind], only_failures: bool, text: Option<&str>) -> Self {
        Self {
            kinds: kinds.to_vec(),
            only_failures,
            text: text.map(str::to_lowercase),
            numbers: None,
        }
    }

    /// The same of these steps alone, by their numbers.
    #[must_use]
    pub fn among(mut self, mut numbers: Vec<usize>) -> Self {
        numbers.sort_unstable();
        self.numbers = Some(numbers);
        self
    }

    /// Checks the number of a step.
    pub(crate) fn passes_number(&self, number: usize) -> bool {
        let numbers = self.numbers.as_ref();
        numbers.is_none_or(|numbers| numbers.binary_search(&number).is_ok())
    }

    /// Has no criteria: every step passes.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && !self.only_failures && self.text.is_none() && self.numbers.is_none()
    }

    /// Has a criterion for which a step has to be read.
    pub fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Checks a step by its header alone, without reading it.
    pub(crate) fn passes_header(&self, event_type: EventType, failed: bool) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind_of_step(event_type)))
            && (!self.only_failures || failed)
    }

    /// Checks a step.
    pub fn passes(&self, record: &Record) -> bool {
        self.passes_header(record.event_type(), step_summary::failed(record))
            && self.text.as_deref().is_none_or(|text| {
                says(&record.name, text)
                    || payload_holds(&record.payload, text)
                    || record.meta.values().any(|value| holds(value, text))
            })
    }
}

/// The kind of what is a step: only a damaged run has a second root among its steps, and that groups others.
fn kind_of_step(event_type: EventType) -> StepKind {
    match StepKind::from(event_type) {
        StepKind::Run => StepKind::Span,
        kind => kind,
    }
}

fn says(said: &str, text: &str) -> bool {
    said.to_lowercase().contains(text)
}

fn payload_holds(payload: &Payload, text: &str) -> bool {
    let failure = step_summary::failure(payload).is_some_and(|error| {
        says(&error.error_type, text)
            || says(&error.message, text)
            || error.stack.as_deref().is_some_and(|stack| says(stack, text))
    });
    failure
        || match payload {
            Payload::LlmCall {
                model,
                prompt,
                response,
                provider,
                ..
            } => says(model, text) || says(provider, text) || holds(prompt, text) || holds(response, text),
            Payload::ToolCall {
                tool_name,
                args,
                result,
                ..
            } => says(tool_name, text) || holds(args, text) || holds(result, text),
            Payload::StateUpdate { state, diff } => {
                holds(state, text) || diff.as_ref().is_some_and(|diff| holds(diff, text))
            }
            Payload::LoopWarning { pattern, .. } => says(pattern, text),
            Payload::Unknown { attributes, .. } => attributes
                .iter()
                .any(|(name, value)| says(name, text) || holds(value, text)),
            Payload::RunStart { .. } | Payload::RunEnd { .. } | Payload::Error(_) => false,
        }
}

/// Finds a text, given in lower case, anywhere in a value, whatever its case there.
///
/// ```
/// use serde_json::json;
/// use tracer_insight::step_filter::value_contains;
///
/// assert!(value_contains(&json!({"query": ["Refund policy"]}), "refund"));
/// ```
#[must_use]
pub fn value_contains(value: &Value, text: &str) -> bool {
    holds(value, text)
}

/// Finds a text anywhere in a value: in a string, a number, or a field's name.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => says(string, text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(map) => map
            .iter()
            .any(|(name, field)| says(name, text) || holds(field, text)),
        Value::Number(number) => number.to_string().contains(text),
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, llm, tool};
    use serde_json::json;
    use tracer_sdk::format::Usage;

    fn passing(filter: &StepFilter) -> Vec<usize> {
        let sample = Sample::new()
            .step(tool(
                "search",
                &json!({"query": "Refund\npolicy", "page": 17}),
                &json!([]),
            ))
            .step(failed_tool(
                "refund_api",
                &json!({}),
                error("TimeoutError", "no answer"),
            ))
            .step(llm("Draft a reply", "Dear Ada", Usage::default()));
        let sources = sample.sources();
        let passing = sources.iter().filter(|source| filter.passes(&source.record));
        passing.map(|source| source.number).collect()
    }

    #[test]
    fn steps_pass_by_kind_by_failure_and_by_a_text_anywhere_in_them() {
        let text = |text| StepFilter::new(&[], false, Some(text));
        assert_eq!(passing(&StepFilter::default()), [1, 2, 3]);
        assert_eq!(
            passing(&StepFilter::new(&[StepKind::Llm, StepKind::State], false, None)),
            [3]
        );
        assert_eq!(passing(&StepFilter::new(&[], true, None)), [2]);
        assert_eq!(passing(&text("refund")), [1, 2]);
        assert_eq!(passing(&text("refund\npolicy")), [1]);
        assert_eq!(passing(&text("17")), [1]);
        assert_eq!(passing(&text("TIMEOUT")), [2]);
        assert_eq!(
            passing(&StepFilter::new(&[StepKind::Tool], false, Some("ada"))),
            [0; 0]
        );
    }
}
