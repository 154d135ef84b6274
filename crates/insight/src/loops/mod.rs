//! The evidence of a loop warning: the repetitions before and after it, how they compare, and their cost.

mod words;

use std::collections::HashMap;

use serde_json::Value;
use tracer_runs::{Likeness, branches, compare_repetitions, first_loop};
use tracer_sdk::format::{EventType, Payload, Record, Usage};

use crate::steps::Step;

pub use words::{LoopFact, card_lines};

/// A pattern that a run repeated.
#[derive(Debug)]
pub struct Loop<'a> {
    /// The warning.
    pub warning: &'a Step<'a>,
    /// The steps of each repetition, in the order of time: those of the evidence first, then those after it, whatever
    /// lies between them.
    pub repetitions: Vec<Vec<&'a Step<'a>>>,
    /// The number of repetitions that the warning was given for.
    pub in_evidence: usize,
    /// Records of the evidence that are not in the run.
    pub missing: usize,
    /// Likeness of the repetitions behind the warning; those that are known to differ are no loop.
    pub likeness: Likeness,
    /// The step after the last repetition.
    pub next: Option<&'a Step<'a>>,
}

/// The cost of repeating, from the second repetition on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopCost {
    /// Steps.
    pub steps: u64,
    /// Tokens of the model calls among them.
    pub tokens: Usage,
    /// Microseconds in which at least one of them was in flight.
    pub time: Option<u64>,
}

impl Loop<'_> {
    /// The cost of repeating.
    pub fn cost(&self) -> LoopCost {
        let mut cost = LoopCost::default();
        let (mut time, mut reached) = (0, 0);
        for repetition in self.repetitions.iter().skip(1) {
            for step in repetition {
                cost.steps += 1;
                if let Payload::LlmCall { usage, .. } = &step.record.payload {
                    cost.tokens.add(usage);
                }
            }
            let start = repetition.iter().filter_map(|step| step.offset).min();
            let end = repetition
                .iter()
                .filter_map(|step| Some(step.offset? + step.duration.unwrap_or(0)))
                .max();
            if let Some((start, end)) = start.zip(end) {
                time += end.saturating_sub(start.max(reached));
                reached = end.max(reached);
            }
        }
        cost.time = (time > 0).then_some(time);
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
    let records: Vec<&Record> = in_time.iter().map(|step| step.record).collect();
    let order = StepOrder {
        branches: in_time
            .iter()
            .zip(branches(&records))
            .map(|(step, branch)| (step.number, branch))
            .collect(),
        in_time: &in_time,
    };
    let mut loops: Vec<Loop<'a>> = in_time
        .iter()
        .copied()
        .filter(is_warning)
        .map(|warning| around(warning, &order, &by_id))
        .collect();
    if !loops.iter().any(|found| found.likeness.is_loop()) {
        // A run that comes to a loop in shapes that were warned of is not warned again.
        let later = first_loop(&records).and_then(|(numbers, length)| {
            let steps: Vec<&Step<'_>> = numbers
                .iter()
                .filter_map(|number| in_time.get(*number).copied())
                .collect();
            let last = steps.last()?.number;
            let warned = loops.iter().rposition(|found| found.warning.number <= last + 1)?;
            Some((warned, steps, length))
        });
        if let Some((warned, steps, length)) = later
            && let Some(found) = loops.get_mut(warned)
        {
            *found = repeated(found.warning, &steps, length, &order);
        }
    }
    loops
}

/// The steps of a run in the order of time, each with its branch.
struct StepOrder<'o, 'a> {
    in_time: &'o [&'a Step<'a>],
    /// By the number of the step.
    branches: HashMap<usize, u64>,
}

impl<'a> StepOrder<'_, 'a> {
    /// The steps behind `last` in its branch that can be part of a loop, or end one.
    fn behind(&self, last: Option<&&Step<'_>>) -> impl Iterator<Item = &'a Step<'a>> {
        let number = last.map_or(usize::MAX, |step| step.number);
        let branch = self.branches.get(&number);
        self.in_time.iter().copied().filter(move |step| {
            step.number > number && self.branches.get(&step.number) == branch && is_watched(step)
        })
    }
}

fn around<'a>(
    warning: &'a Step<'a>,
    order: &StepOrder<'_, 'a>,
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
            likeness: Likeness::Unknown,
            next: None,
        };
    };
    let mut evidence: Vec<&Step<'_>> = evidence_event_ids
        .iter()
        .filter_map(|id| by_id.get(id.as_str()).copied())
        .collect();
    evidence.sort_by_key(|step| step.number);
    let length = pattern_length.and_then(|length| usize::try_from(length).ok());
    let claimed = usize::try_from(*repetitions).unwrap_or(1).max(1);
    let length = length.unwrap_or(evidence.len() / claimed).max(1);
    let missing = evidence_event_ids.len() - evidence.len();
    let mut found = repeated(warning, &evidence, length, order);
    if missing > 0 {
        // A record that is not there cannot be compared.
        found.likeness = Likeness::Unknown;
    }
    Loop { missing, ..found }
}

/// The repetitions of a block of `length` steps, and those that follow.
fn repeated<'a>(
    warning: &'a Step<'a>,
    evidence: &[&'a Step<'a>],
    length: usize,
    order: &StepOrder<'_, 'a>,
) -> Loop<'a> {
    let mut found: Vec<Vec<&Step<'_>>> = evidence.chunks(length).map(<[_]>::to_vec).collect();
    let in_evidence = found.len();
    let records: Vec<&Record> = evidence.iter().map(|step| step.record).collect();
    let branch_of = |step: &&Step<'_>| order.branches.get(&step.number);
    let likeness = if evidence
        .iter()
        .any(|step| branch_of(step) != evidence.first().and_then(branch_of))
    {
        // Agents at the same time that each made the call once.
        Likeness::Differs
    } else {
        compare_repetitions(&records, length)
    };
    if let Some(first) = found.first().cloned().filter(|_| likeness.is_loop()) {
        let with_tools = first
            .iter()
            .any(|step| step.record.event_type() == EventType::ToolCall);
        let mut again = Vec::new();
        for step in order.behind(evidence.last()) {
            let expected = first.get(again.len());
            if expected.is_some_and(|expected| is_like(step, expected, with_tools)) {
                again.push(step);
            }
            if again.len() == first.len() {
                found.push(std::mem::take(&mut again));
            }
        }
    }
    let next = order
        .behind(found.last().and_then(|repetition| repetition.last()))
        .next();
    Loop {
        warning,
        repetitions: found,
        in_evidence,
        missing: 0,
        likeness,
        next,
    }
}

/// Returns whether a step can be part of a loop, or end one.
fn is_watched(step: &Step<'_>) -> bool {
    matches!(
        step.record.event_type(),
        EventType::LlmCall | EventType::ToolCall | EventType::StateUpdate | EventType::Error
    )
}

/// Returns whether a step has the same input as another. In a block with a tool call, model calls match by model:
/// prompts grow.
fn is_like(step: &Step<'_>, other: &Step<'_>, with_tools: bool) -> bool {
    let is_of_the_kind = step.record.event_type() == other.record.event_type() && step.name() == other.name();
    // An attempt is no call of its own.
    is_of_the_kind
        && step.attempt_of.is_none()
        && match step.record.event_type() {
            EventType::LlmCall if with_tools => true,
            EventType::LlmCall | EventType::ToolCall => {
                compare_repetitions(&[step.record, other.record], 1).is_loop()
            }
            _ => true,
        }
}

/// The input of a step, for comparing.
fn input(payload: &Payload) -> &Value {
    match payload {
        Payload::LlmCall { prompt, .. } => prompt,
        Payload::ToolCall { args, .. } => args,
        Payload::StateUpdate { state, .. } => state,
        _ => &Value::Null,
    }
}

/// The output of a step, for comparing.
fn output(payload: &Payload) -> &Value {
    match payload {
        Payload::LlmCall { response, .. } => response,
        Payload::ToolCall { result, .. } => result,
        _ => &Value::Null,
    }
}
