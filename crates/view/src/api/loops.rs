//! The evidence of a run's loops: what was repeated, where, what differed, and what it cost.

use serde::Serialize;
use tracer_sdk::format::Payload;

use super::super::run::open_run::OpenRun;
use tracer_insight::loops;
use tracer_insight::steps::Step;
use tracer_insight::{loop_card, step_summary};

/// A loop.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoopReport {
    /// The record of the warning.
    event_id: String,
    row: Option<usize>,
    number: usize,
    /// What was repeated: `search ×5`.
    title: String,
    /// The signatures of the repeated block.
    pattern: String,
    /// `repeated_call` or `cycle`; null in runs of the older format.
    kind: Option<String>,
    /// Whether it is a loop: what the calls asked is not known to differ.
    is_loop: bool,
    /// Why it counts as a loop though that is not known, or does not; null for calls that ask the same.
    judged: Option<&'static str>,
    /// How often the block was repeated, those after the warning included.
    repetitions: usize,
    /// The records that were repeated.
    evidence: Vec<Evidence>,
    /// How many records of the evidence are not in this run.
    missing: usize,
    cost: Cost,
    /// What the repetitions have in common and in what they differ, each with a label.
    differences: Vec<Fact>,
    /// What came after the last repetition.
    next: Option<Evidence>,
}

/// A record that was repeated.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Evidence {
    event_id: String,
    row: Option<usize>,
    number: usize,
    name: String,
    /// Whether the warning rests on it; otherwise it came after the warning.
    in_warning: bool,
}

/// What the repetitions cost, from the first repeat on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Cost {
    steps: u64,
    /// In microseconds.
    duration_us: Option<u64>,
    tokens: Option<u64>,
}

/// A labelled fact.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Fact {
    label: String,
    text: String,
}

impl LoopReport {
    /// The record of the warning.
    pub(crate) fn event_id(&self) -> &str {
        &self.event_id
    }
}

/// The loops of a run.
pub(crate) fn of(run: &OpenRun, steps: &[Step<'_>]) -> Vec<LoopReport> {
    loops::find(steps)
        .iter()
        .filter_map(|found| {
            let Payload::LoopWarning {
                pattern,
                pattern_type,
                repetitions,
                ..
            } = &found.warning.record.payload
            else {
                return None;
            };
            let told = |step: &Step<'_>, in_warning: bool| Evidence {
                event_id: step.record.event_id.clone(),
                row: run.timeline.row_of_step(step.number),
                number: step.number,
                name: step.name(),
                in_warning,
            };
            let cost = found.cost();
            let evidence = found
                .repetitions
                .iter()
                .enumerate()
                .flat_map(|(number, repetition)| {
                    repetition
                        .iter()
                        .map(move |step| (step, number < found.in_evidence))
                });
            Some(LoopReport {
                event_id: found.warning.record.event_id.clone(),
                row: run.timeline.row_of_step(found.warning.number),
                number: found.warning.number,
                title: loop_card::title(found),
                pattern: step_summary::word(pattern),
                kind: pattern_type.as_deref().map(step_summary::word),
                is_loop: found.likeness.is_loop(),
                judged: loop_card::judged(found),
                repetitions: found
                    .repetitions
                    .len()
                    .max(usize::try_from(*repetitions).unwrap_or(0)),
                evidence: evidence
                    .map(|(step, in_warning)| told(step, in_warning))
                    .collect(),
                missing: found.missing,
                cost: Cost {
                    steps: cost.steps,
                    duration_us: cost.time,
                    tokens: cost.tokens.total_tokens,
                },
                differences: loop_card::compared(found)
                    .into_iter()
                    .map(|(label, text)| Fact {
                        label: label.to_owned(),
                        text,
                    })
                    .collect(),
                next: found.next.map(|step| told(step, false)),
            })
        })
        .collect()
}
