//! Properties that must hold in every trial (the contract of the gate, sections 3.2 and 7.1).

use std::collections::BTreeSet;

use crate::format::RunStatus;
use crate::judge::policy::Invariant;
use crate::judge::{Baseline, RunMetrics};

/// Whether a run keeps an invariant.
pub(super) fn holds(invariant: &Invariant, run: &RunMetrics, baseline: Option<&Baseline>) -> bool {
    let called = &run.signature.tool_path;
    match invariant {
        Invariant::StopConditionReached(required) => (run.status == RunStatus::Ok) == *required,
        Invariant::ForbiddenTools(forbidden) => !forbidden.iter().any(|tool| called.contains(tool)),
        Invariant::KnownTools => {
            let known = baseline.map(known_tools).unwrap_or_default();
            called.iter().all(|tool| known.contains(tool.as_str()))
        }
        Invariant::RequiredTools(required) => required.iter().all(|tool| called.contains(tool)),
        Invariant::NoLoops => !run.has_loops(),
        Invariant::NoGuardrails => run.guardrail_stops.is_empty(),
    }
}

/// Every tool that any run of a baseline called, not only the first one's.
fn known_tools(baseline: &Baseline) -> BTreeSet<&str> {
    let sampled = baseline
        .trial_sample
        .iter()
        .flat_map(|sample| sample.signatures.values());
    let sampled = sampled.flat_map(|signature| &signature.tool_path);
    baseline
        .tool_path
        .iter()
        .chain(sampled)
        .map(String::as_str)
        .collect()
}

/// Whether there is a run that would break it.
pub(super) fn can_fail(invariant: &Invariant) -> bool {
    match invariant {
        Invariant::ForbiddenTools(tools) | Invariant::RequiredTools(tools) => !tools.is_empty(),
        _ => true,
    }
}

/// What an invariant asks for.
pub(super) fn description(invariant: &Invariant) -> String {
    match invariant {
        Invariant::StopConditionReached(true) => "the run ends with status ok".to_owned(),
        Invariant::StopConditionReached(false) => "the run does not end with status ok".to_owned(),
        Invariant::ForbiddenTools(tools) => format!("none of these tools is called: {}", tools.join(", ")),
        Invariant::KnownTools => "no tool is called that the baseline does not know".to_owned(),
        Invariant::RequiredTools(tools) => format!("all of these tools are called: {}", tools.join(", ")),
        Invariant::NoLoops => "no calls are repeated in a loop".to_owned(),
        Invariant::NoGuardrails => "no guardrail stops the run".to_owned(),
    }
}
