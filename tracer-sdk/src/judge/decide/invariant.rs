//! Properties that must hold in every trial (the contract of the gate, sections 3.2 and 7.1).

use std::collections::BTreeSet;

use crate::format::RunStatus;
use crate::judge::policy::Invariant;
use crate::judge::{Baseline, RunMetrics};

/// Whether a run keeps an invariant.
pub(super) fn holds(invariant: &Invariant, run: &RunMetrics, baseline: Option<&Baseline>) -> bool {
    match invariant {
        Invariant::StopConditionReached(required) => (run.status == RunStatus::Ok) == *required,
        Invariant::ForbiddenTools(_) | Invariant::KnownTools | Invariant::RequiredTools(_) => {
            tools_against(invariant, run, baseline).is_empty()
        }
        Invariant::NoLoops => !run.has_loops(),
        Invariant::NoGuardrails => run.guardrail_stops.is_empty(),
    }
}

/// The tools by which a run breaks an invariant: called and not allowed, or required and not called.
pub(super) fn tools_against<'a>(
    invariant: &'a Invariant,
    run: &'a RunMetrics,
    baseline: Option<&Baseline>,
) -> Vec<&'a String> {
    let called = &run.signature.tool_path;
    match invariant {
        Invariant::ForbiddenTools(forbidden) => {
            forbidden.iter().filter(|tool| called.contains(tool)).collect()
        }
        Invariant::KnownTools => {
            let known = baseline.map(known_tools).unwrap_or_default();
            let is_new = |tool: &&String| !known.contains(tool.as_str());
            called.iter().filter(is_new).collect()
        }
        Invariant::RequiredTools(required) => required.iter().filter(|tool| !called.contains(tool)).collect(),
        Invariant::StopConditionReached(_) | Invariant::NoLoops | Invariant::NoGuardrails => Vec::new(),
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
