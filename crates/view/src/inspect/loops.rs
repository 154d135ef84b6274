//! The loops of a run with their evidence, in the words of the terminal.

use serde::Serialize;
use tracer_sdk::format::Payload;

use super::super::run::open_run::OpenRun;
use tracer_insight::loops::{self, Loop, LoopFact};
use tracer_insight::steps::Step;
use tracer_insight::value_summary;

/// A loop.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoopReport {
    /// The record of the warning.
    event_id: String,
    row: Option<usize>,
    number: usize,
    /// The repeated block and the number of its repetitions: `search ×5`.
    title: String,
    /// The signatures of the repeated block.
    pattern: String,
    /// `repeated_call` or `cycle`; null in runs of the older format.
    kind: Option<String>,
    /// Whether it is a loop: the calls are not known to ask different things.
    is_loop: bool,
    /// The reason why it counts as a loop, or does not; null for calls that are known to ask the same.
    judged: Option<&'static str>,
    /// The number of repetitions, those after the warning included.
    repetitions: usize,
    /// The records that were repeated.
    evidence: Vec<EvidenceJson>,
    /// Records of the evidence that are not in this run.
    missing: usize,
    cost: CostJson,
    /// Everything there is to know about the loop, in the order in which it is read. Each of the steps is in `evidence` or
    /// is `next`.
    facts: Vec<LoopFact>,
    /// The step after the last repetition.
    next: Option<EvidenceJson>,
}

/// A record that was repeated.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EvidenceJson {
    event_id: String,
    row: Option<usize>,
    number: usize,
    name: String,
    /// Whether the warning rests on it; otherwise it came after the warning.
    in_warning: bool,
}

/// The cost of repeating, from the second repetition on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CostJson {
    steps: u64,
    /// In microseconds.
    duration_us: Option<u64>,
    tokens: Option<u64>,
}

impl LoopReport {
    /// The record of the warning.
    pub(crate) fn event_id(&self) -> &str {
        &self.event_id
    }
}

/// The loops of a run.
pub(crate) fn of(run: &OpenRun, steps: &[Step<'_>]) -> Vec<LoopReport> {
    let reports = loops::find(steps)
        .into_iter()
        .filter_map(|found| report(run, &found));
    reports.collect()
}

fn report(run: &OpenRun, found: &Loop<'_>) -> Option<LoopReport> {
    let Payload::LoopWarning {
        pattern,
        pattern_type,
        repetitions,
        ..
    } = &found.warning.record.payload
    else {
        return None;
    };
    let evidence = |step: &Step<'_>, in_warning: bool| EvidenceJson {
        event_id: step.record.event_id.clone(),
        row: run.steps.timeline.row_of_step(step.number),
        number: step.number,
        name: step.name(),
        in_warning,
    };
    let cost = found.cost();
    let repeated = found.repetitions.iter().enumerate();
    let repeated = repeated.flat_map(|(number, repetition)| {
        repetition
            .iter()
            .map(move |step| evidence(step, number < found.in_evidence))
    });
    let claimed = usize::try_from(*repetitions).unwrap_or(0);
    Some(LoopReport {
        event_id: found.warning.record.event_id.clone(),
        row: run.steps.timeline.row_of_step(found.warning.number),
        number: found.warning.number,
        title: found.title(),
        pattern: value_summary::label(pattern),
        kind: pattern_type.as_deref().map(value_summary::label),
        is_loop: found.likeness.is_loop(),
        judged: found.judgement(),
        repetitions: found.repetitions.len().max(claimed),
        evidence: repeated.collect(),
        missing: found.missing,
        cost: CostJson {
            steps: cost.steps,
            duration_us: cost.time,
            tokens: cost.tokens.total_tokens,
        },
        facts: found.facts(),
        next: found.next.map(|step| evidence(step, false)),
    })
}
