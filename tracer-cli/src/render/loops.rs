//! What a loop warning rests on: the repetitions themselves, those that came after the warning, and what they cost.

use std::collections::HashMap;

use serde_json::Value;
use tracer_sdk::format::{EventType, Payload, Usage};

use super::steps::Step;
use super::totals;

/// A pattern that a run repeated.
#[derive(Debug)]
pub struct Loop<'a> {
    /// The warning.
    pub warning: &'a Step<'a>,
    /// The steps of each repetition, in the order of time: those of the evidence first, then those after it.
    pub repetitions: Vec<Vec<&'a Step<'a>>>,
    /// How many of these the warning was given for.
    pub in_evidence: usize,
    /// How many records of the evidence are not in the run.
    pub missing: usize,
    /// What the run did next.
    pub next: Option<&'a Step<'a>>,
}

/// What repeating cost, from the second repetition on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps.
    pub steps: u64,
    /// Tokens of the model calls among them.
    pub tokens: Usage,
    /// Microseconds from the start of the first of them to the end of the last.
    pub time: Option<u64>,
}

impl Loop<'_> {
    /// What repeating cost.
    pub fn cost(&self) -> Cost {
        let repeated: Vec<&Step<'_>> = self.repetitions.iter().skip(1).flatten().copied().collect();
        let mut cost = Cost::default();
        for step in &repeated {
            cost.steps += 1;
            if let Payload::LlmCall { usage, .. } = &step.record.payload {
                totals::add(&mut cost.tokens, usage);
            }
        }
        let start = repeated.iter().filter_map(|step| step.offset).min();
        let end = repeated
            .iter()
            .filter_map(|step| Some(step.offset? + step.duration.unwrap_or(0)))
            .max();
        cost.time = start
            .zip(end)
            .map(|(start, end)| end - start)
            .filter(|time| *time > 0);
        cost
    }
}

/// The loops that the run was warned about.
pub fn find<'a>(steps: &'a [Step<'a>]) -> Vec<Loop<'a>> {
    let is_warning = |step: &&Step<'_>| step.record.event_type() == EventType::LoopWarning;
    if !steps.iter().any(|step| is_warning(&step)) {
        return Vec::new();
    }
    let mut in_time: Vec<&Step<'_>> = steps.iter().collect();
    in_time.sort_by_key(|step| step.number);
    let by_id: HashMap<&str, &Step<'_>> = steps
        .iter()
        .map(|step| (step.record.event_id.as_str(), step))
        .collect();
    in_time
        .iter()
        .copied()
        .filter(is_warning)
        .map(|warning| around(warning, &in_time, &by_id))
        .collect()
}

fn around<'a>(
    warning: &'a Step<'a>,
    in_time: &[&'a Step<'a>],
    by_id: &HashMap<&str, &'a Step<'a>>,
) -> Loop<'a> {
    let Payload::LoopWarning {
        pattern_length,
        repetitions,
        evidence_event_ids,
        ..
    } = &warning.record.payload
    else {
        return Loop {
            warning,
            repetitions: Vec::new(),
            in_evidence: 0,
            missing: 0,
            next: None,
        };
    };
    let mut evidence: Vec<&Step<'_>> = evidence_event_ids
        .iter()
        .filter_map(|id| by_id.get(id.as_str()).copied())
        .collect();
    evidence.sort_by_key(|step| step.number);
    let told = pattern_length.and_then(|length| usize::try_from(length).ok());
    let claimed = usize::try_from(*repetitions).unwrap_or(1).max(1);
    let length = told.unwrap_or(evidence.len() / claimed).max(1);
    let missing = evidence_event_ids.len() - evidence.len();
    let mut found: Vec<Vec<&Step<'_>>> = evidence.chunks(length).map(<[_]>::to_vec).collect();
    let in_evidence = found.len();
    let last = evidence.last().map(|step| step.number);
    let mut after = in_time
        .iter()
        .copied()
        .filter(|step| last.is_some_and(|last| step.number > last) && is_watched(step))
        .peekable();
    if let Some(first) = found.first().cloned() {
        loop {
            let mut ahead = after.clone();
            let again: Vec<&Step<'_>> = first
                .iter()
                .map_while(|expected| ahead.next_if(|step| is_like(step, expected)))
                .collect();
            if again.len() < first.len() {
                break;
            }
            found.push(again);
            after = ahead;
        }
    }
    Loop {
        warning,
        repetitions: found,
        in_evidence,
        missing,
        next: after.next(),
    }
}

/// What a loop is made of, and what may end one.
fn is_watched(step: &Step<'_>) -> bool {
    matches!(
        step.record.event_type(),
        EventType::LlmCall | EventType::ToolCall | EventType::StateUpdate | EventType::Error
    )
}

fn is_like(step: &Step<'_>, other: &Step<'_>) -> bool {
    step.record.event_type() == other.record.event_type() && step.name() == other.name()
}

/// What went into a step, for comparing.
pub fn input(payload: &Payload) -> &Value {
    match payload {
        Payload::LlmCall { prompt, .. } => prompt,
        Payload::ToolCall { args, .. } => args,
        Payload::StateUpdate { state, .. } => state,
        _ => &Value::Null,
    }
}

/// What came out of a step, for comparing.
pub fn output(payload: &Payload) -> &Value {
    match payload {
        Payload::LlmCall { response, .. } => response,
        Payload::ToolCall { result, .. } => result,
        _ => &Value::Null,
    }
}
