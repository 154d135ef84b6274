//! [`StepDetail`]: everything that is recorded of a step, in titled sections that each surface lays out its own way.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::{Map, Value};
use tracer_sdk::format::{ErrorPayload, Payload, Record, SpanRecord, Usage, names};
use tracer_sdk::prices::CallCost;

use crate::conversation::{Conversation, Message, unwrapped};
use crate::step_summary::StepSummary;
use crate::steps::Step;
use crate::value_summary::label;
use crate::{cost, step_remarks, step_summary, text, units};

/// The numbers of steps by the IDs of their records.
pub type StepNumbers = HashMap<String, usize>;

/// A step in full.
#[derive(Debug)]
pub struct StepDetail<'a> {
    /// See [`facts`].
    pub facts: Vec<String>,
    /// Sections for input, output, error and user attributes; none of them empty.
    pub sections: Vec<StepSection<'a>>,
}

/// A part of a step under a title.
#[derive(Debug)]
pub struct StepSection<'a> {
    /// Its title, one word.
    pub title: &'static str,
    /// Content of the section.
    pub content: SectionContent<'a>,
}

/// The content of a section.
#[derive(Debug)]
pub enum SectionContent<'a> {
    /// Messages of a conversation.
    Messages(Vec<Message>),
    /// A value of any shape.
    Value(Cow<'a, Value>),
    /// Lines of text.
    Text(String),
    /// A failure: its type, its message and its stack.
    Failure(&'a ErrorPayload),
}

impl<'a> StepDetail<'a> {
    /// The detail of a step, with the attributes of its span where it is known. `evidence` has the numbers of the steps that
    /// a loop warning rests on, see [`evidence_numbers`].
    pub fn new(step: &Step<'a>, span: Option<&SpanRecord>, evidence: &StepNumbers) -> Self {
        let record = step.record;
        let conversation = Conversation::from_payload(&record.payload);
        let mut detail = Self {
            facts: facts(record, conversation.as_ref(), step.cost),
            sections: Vec::new(),
        };
        match &record.payload {
            Payload::LlmCall { .. } => {
                let (prompt, answer) = conversation
                    .map(|conversation| (conversation.prompt, conversation.answer))
                    .unwrap_or_default();
                detail.push("Prompt", SectionContent::Messages(prompt));
                detail.push("Answer", SectionContent::Messages(answer));
            }
            Payload::ToolCall { args, result, .. } => {
                detail.push_value("Arguments", args);
                detail.push_value("Result", result);
            }
            Payload::StateUpdate { state, diff } => {
                detail.push_value("State", state);
                detail.push_value("Changes", diff.as_ref().unwrap_or(&Value::Null));
            }
            Payload::LoopWarning {
                pattern,
                evidence_event_ids,
                ..
            } => {
                let warning = StepSummary::from_payload(&record.payload).input;
                let evidence = evidence_words(evidence_event_ids, evidence);
                let lines = format!("{warning}\npattern: {pattern}\nevidence: {evidence}");
                detail.push("Warning", SectionContent::Text(lines));
            }
            Payload::Unknown { .. }
            | Payload::Error(_)
            | Payload::RunStart { .. }
            | Payload::RunEnd { .. } => {}
        }
        if let Some(failure) = step_summary::failure(&record.payload) {
            detail.push("Error", SectionContent::Failure(failure));
        }
        let mut meta = record.meta.clone();
        meta.retain(|key, _| ![FIRST_CHUNK_MS, ATTEMPT, CALL_NUMBER].contains(&key.as_str()));
        detail.push_fields("Metadata", meta);
        match (span, &record.payload) {
            (Some(span), _) => detail.push_fields("Attributes", without_failure(&span.attributes)),
            (None, Payload::Unknown { attributes, .. }) => {
                detail.push_fields("Attributes", without_failure(attributes));
            }
            _ => {}
        }
        detail
    }

    fn push(&mut self, title: &'static str, content: SectionContent<'a>) {
        if !matches!(&content, SectionContent::Messages(messages) if messages.is_empty()) {
            self.sections.push(StepSection { title, content });
        }
    }

    fn push_value(&mut self, title: &'static str, value: &'a Value) {
        if !value.is_null() {
            self.push(title, SectionContent::Value(Cow::Borrowed(unwrapped(value))));
        }
    }

    fn push_fields(&mut self, title: &'static str, fields: Map<String, Value>) {
        if !fields.is_empty() {
            self.push(title, SectionContent::Value(Cow::Owned(Value::Object(fields))));
        }
    }
}

/// The facts of a step in words: of a model call the model, its provider and settings, why it stopped, its tokens and their
/// cost; then its remarks and attempts.
pub fn facts(record: &Record, conversation: Option<&Conversation>, cost: Option<CallCost>) -> Vec<String> {
    let named = |name: &str, value: &str| Some(format!("{name} {}", label(value)));
    let known = match &record.payload {
        Payload::LlmCall {
            model,
            provider,
            response_model,
            temperature,
            usage,
            ..
        } => {
            let other_model = response_model.as_ref().filter(|answered| *answered != model);
            let finish_reason = conversation.and_then(|conversation| conversation.finish_reason.as_ref());
            vec![
                named("model", model),
                other_model.and_then(|answered| named("answered by", answered)),
                named("provider", provider).filter(|_| !provider.is_empty()),
                temperature.as_ref().map(|value| format!("temperature {value}")),
                finish_reason.and_then(|reason| named("stopped for", reason)),
                token_words(usage).or_else(|| no_tokens(&record.meta, &record.payload)),
                further_tokens(&record.meta),
                cost_words(cost, usage),
                first_chunk(&record.meta).map(|first| format!("first chunk after {first}")),
            ]
        }
        Payload::Unknown { .. } => record
            .usage()
            .map(|usage| vec![token_words(usage), cost_words(cost, usage)])
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    let attempt = attempt(&record.meta).map(|attempt| format!("attempt {attempt}"));
    known
        .into_iter()
        .flatten()
        .chain(step_remarks::remarks(&record.meta))
        .chain(attempt)
        .collect()
}

/// Keys of a call's metadata that are facts of the step.
const FIRST_CHUNK_MS: &str = "time_to_first_chunk_ms";
const ATTEMPT: &str = "attempt";
const CALL_NUMBER: &str = "call_number";

/// Time to the first chunk of a model's answer, `120 ms`, by the metadata of its record.
fn first_chunk(meta: &Map<String, Value>) -> Option<String> {
    let milliseconds = meta.get(FIRST_CHUNK_MS)?.as_f64()?;
    let first = Duration::try_from_secs_f64(milliseconds / 1_000.0).ok()?;
    Some(units::duration(u64::try_from(first.as_micros()).ok()?))
}

/// The numbers of a model call's usage that have no count and no price here, by the metadata of its record: `7 moon_tokens, not
/// priced`.
fn further_tokens(meta: &Map<String, Value>) -> Option<String> {
    let further = meta.get("usage_further")?.as_object()?.iter();
    let words: Vec<String> = further
        .filter_map(|(name, number)| Some(format!("{} {}", number.as_u64()?, label(name))))
        .collect();
    (!words.is_empty()).then(|| format!("{}, not priced", words.join(", ")))
}

/// Which attempt a call is, from 1, by the metadata of its record.
pub fn attempt(meta: &Map<String, Value>) -> Option<u64> {
    meta.get(ATTEMPT)?.as_u64()
}

/// Which of the calls of models it is that its run kept, from 1, by the metadata of its record: what `tracer fork --at` takes.
pub fn call_number(meta: &Map<String, Value>) -> Option<u64> {
    meta.get(CALL_NUMBER)?.as_u64()
}

/// All attributes but the texts that are in the section of the error.
fn without_failure(attributes: &Map<String, Value>) -> Map<String, Value> {
    let is_failure = |name: &str| names::ERROR_MESSAGE.is(name) || names::ERROR_STACK.is(name);
    let others = attributes.iter().filter(|(name, _)| !is_failure(name));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn token_words(usage: &Usage) -> Option<String> {
    let words = match (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) {
        (Some(prompt), Some(completion), _) => {
            let [prompt, completion] = [prompt, completion].map(units::grouped);
            format!("{prompt} tokens in, {completion} out")
        }
        (_, _, total) => text::counted(total?, "token"),
    };
    Some(match step_summary::token_shares(usage) {
        Some(shares) => format!("{words} ({shares})"),
        None => words,
    })
}

/// A sentence for a stream that ended well and brought no tokens; a chat completion, which a provider's answer with its
/// `choices` is, can be asked for them.
fn no_tokens(meta: &Map<String, Value>, payload: &Payload) -> Option<String> {
    let Payload::LlmCall { response, .. } = payload else {
        return None;
    };
    let lacks_them = meta.contains_key(FIRST_CHUNK_MS) && step_summary::failure(payload).is_none();
    lacks_them.then(|| {
        let advice = if response.get("choices").is_some() {
            "; stream_options.include_usage asks for them"
        } else {
            ""
        };
        format!("tokens not known: the stream brought none{advice}")
    })
}

/// Cost of a call, in words; `None` where neither cost nor tokens are known.
fn cost_words(cost: Option<CallCost>, usage: &Usage) -> Option<String> {
    let cost = cost?;
    (cost.priced.is_ok() || cost.is_replayed || step_summary::tokens(usage).is_some())
        .then(|| cost::of_call_in_full(cost))
}

/// The numbers of the steps that loop warnings rest on, where these are among `steps`.
pub fn evidence_numbers(steps: &[Step<'_>]) -> StepNumbers {
    let wanted: HashSet<&str> = steps
        .iter()
        .filter_map(|step| match &step.record.payload {
            Payload::LoopWarning {
                evidence_event_ids, ..
            } => Some(evidence_event_ids),
            _ => None,
        })
        .flatten()
        .map(String::as_str)
        .collect();
    steps
        .iter()
        .filter(|step| wanted.contains(step.record.event_id.as_str()))
        .map(|step| (step.record.event_id.clone(), step.number))
        .collect()
}

/// The steps that a loop warning rests on, `#4–#6`, and how many of them are not in the run.
pub fn evidence_words(ids: &[String], numbers: &StepNumbers) -> String {
    let mut known: Vec<usize> = ids.iter().filter_map(|id| numbers.get(id).copied()).collect();
    known.sort_unstable();
    match (known.is_empty(), ids.len() - known.len()) {
        (true, _) => "its evidence is not in this run".to_owned(),
        (false, 0) => text::step_ranges(&known),
        (false, missing) => format!("{}, and {missing} not in this run", text::step_ranges(&known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, llm, loop_warning, span_id, tool};
    use crate::steps::steps;
    use serde_json::json;

    fn titles(detail: &StepDetail<'_>) -> Vec<&'static str> {
        detail.sections.iter().map(|section| section.title).collect()
    }

    #[test]
    fn sections_hold_what_was_recorded_and_none_is_empty() {
        let sample = Sample::new()
            .step(tool("search", &json!({"q": 1}), &Value::Null))
            .step(failed_tool("send", &json!({}), error("Timeout", "no answer")))
            .step(llm("Hello", "Good day", Usage::new(4, 2)));
        let sources = sample.sources();
        let details: Vec<_> = steps(&sources, None)
            .iter()
            .map(|step| {
                let detail = StepDetail::new(step, None, &StepNumbers::new());
                (titles(&detail), detail.facts.join(", "))
            })
            .collect();
        assert_eq!(
            details,
            [
                (vec!["Arguments"], String::new()),
                (vec!["Arguments", "Error"], String::new()),
                (
                    vec!["Prompt", "Answer"],
                    "model demo-model, provider local, 4 tokens in, 2 out".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn evidence_names_what_is_not_in_the_run() {
        let call = || tool("search_kb", &json!({}), &json!({}));
        let sample = Sample::new()
            .step(call())
            .step(call())
            .step(loop_warning(&[1, 2, 9]));
        let sources = sample.sources();
        let numbers = evidence_numbers(&steps(&sources, None));
        let ids = [1, 2, 9].map(span_id);
        assert_eq!(evidence_words(&ids, &numbers), "#1–#2, and 1 not in this run");
        assert_eq!(
            evidence_words(&ids, &StepNumbers::new()),
            "its evidence is not in this run"
        );
    }
}
