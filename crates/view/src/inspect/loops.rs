//! The loops of a run with their evidence, in the words of the terminal.

use serde::Serialize;

use tracer_insight::loops::{self, Loop, LoopFact};
use tracer_insight::steps::Step;

/// A loop.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoopReport {
    /// The record of the warning.
    event_id: String,
    number: usize,
    /// Repeated steps, their number of times, and what each time had in common.
    sentence: String,
    /// The records that were repeated.
    evidence: Vec<EvidenceJson>,
    /// Facts that the sentence leaves open, in the order in which they are read. Each of the steps is in `evidence` or
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
    number: usize,
    name: String,
}

impl LoopReport {
    /// The record of the warning.
    pub(crate) fn event_id(&self) -> &str {
        &self.event_id
    }
}

/// The loops among these steps.
pub(crate) fn of(steps: &[Step<'_>]) -> Vec<LoopReport> {
    loops::find(steps).iter().map(report).collect()
}

fn report(found: &Loop<'_>) -> LoopReport {
    let evidence = |step: &Step<'_>| EvidenceJson {
        event_id: step.record.event_id.clone(),
        number: step.number,
        name: step.name(),
    };
    LoopReport {
        event_id: found.warning.record.event_id.clone(),
        number: found.warning.number,
        sentence: found.sentence(),
        evidence: found
            .repetitions
            .iter()
            .flatten()
            .map(|step| evidence(step))
            .collect(),
        facts: found.further_facts(),
        next: found.next.map(evidence),
    }
}
