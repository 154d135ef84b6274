//! Properties that must hold in every trial (gate-contract, sections 3.2 and 7.1).

use super::outcome::TrialOutcome;
use crate::Baseline;
use crate::policy::{Invariant, ToolGlobs};
use tracer_insight::profile::RunProfile;
use tracer_sdk::format::RecordedStatus;

/// Outcome of an invariant in a run. Missing spans leave it unknown: a forbidden call may be among them, and a demanded
/// one, too.
pub(super) fn outcome(invariant: &Invariant, run: &RunProfile, baseline: Option<&Baseline>) -> TrialOutcome {
    let unless_missing = |is_kept: bool| match &run.missing {
        Some(_) if is_kept => TrialOutcome::Unknown,
        _ => TrialOutcome::of(is_kept),
    };
    match invariant {
        // The root holds the status, and the root is there.
        Invariant::StopConditionReached(required) => {
            TrialOutcome::of((run.status == RecordedStatus::Ok) == *required)
        }
        Invariant::ForbiddenTools(_) | Invariant::KnownTools { .. } => {
            unless_missing(tools_against(invariant, run, baseline).is_empty())
        }
        Invariant::RequiredTools(_) | Invariant::StillCalled { .. } => {
            let not_called = tools_against(invariant, run, baseline).len() as u64;
            let may_be_missing = run
                .missing
                .as_ref()
                .is_some_and(|missing| missing.spans.is_none_or(|spans| spans >= not_called));
            match not_called {
                0 => TrialOutcome::Kept,
                _ if may_be_missing => TrialOutcome::Unknown,
                _ => TrialOutcome::Broken,
            }
        }
        Invariant::NoLoops { shape: true } => unless_missing(!run.has_repeated_shapes()),
        Invariant::NoLoops { shape: false } => match run.has_looped() {
            Some(looped) => unless_missing(!looped),
            None => TrialOutcome::Unknown,
        },
        Invariant::NoGuardrails => unless_missing(run.guardrail_stops.is_empty()),
    }
}

/// The tools by which a run breaks an invariant: called and not allowed, or required and not called.
pub(super) fn tools_against<'a>(
    invariant: &'a Invariant,
    run: &'a RunProfile,
    baseline: Option<&'a Baseline>,
) -> Vec<&'a String> {
    // What counts as called where that is demanded; elsewhere every reading of a span counts.
    let called = run.signature.tool_names();
    match invariant {
        Invariant::ForbiddenTools(forbidden) => {
            let is_forbidden = |tool: &&String| forbidden.contains(tool);
            run.tools_in_any_reading().filter(is_forbidden).collect()
        }
        Invariant::KnownTools { allow } => {
            let known = baseline.map(Baseline::known_tools).unwrap_or_default();
            let is_new = |tool: &&String| !known.contains(tool.as_str()) && !allow.matches(tool);
            run.tools_in_any_reading().filter(is_new).collect()
        }
        Invariant::RequiredTools(required) => required.iter().filter(|tool| !called.contains(tool)).collect(),
        Invariant::StillCalled { allow } => {
            let usual = baseline.map(Baseline::tools_of_every_run).unwrap_or_default();
            let is_left_out = |tool: &&String| !called.contains(tool) && !allow.matches(tool);
            usual.into_iter().filter(is_left_out).collect()
        }
        Invariant::StopConditionReached(_) | Invariant::NoLoops { .. } | Invariant::NoGuardrails => {
            Vec::new()
        }
    }
}

/// Checks if any run can break it.
pub(super) fn can_fail(invariant: &Invariant) -> bool {
    match invariant {
        Invariant::ForbiddenTools(tools) | Invariant::RequiredTools(tools) => !tools.is_empty(),
        Invariant::KnownTools { allow } | Invariant::StillCalled { allow } => !allow.allows_everything(),
        _ => true,
    }
}

/// The demand of an invariant in words.
pub(super) fn description(invariant: &Invariant) -> String {
    match invariant {
        Invariant::StopConditionReached(true) => "the run ends with status ok".to_owned(),
        Invariant::StopConditionReached(false) => "the run does not end with status ok".to_owned(),
        Invariant::ForbiddenTools(tools) => format!("none of these tools is called: {}", tools.join(", ")),
        Invariant::KnownTools { allow } => {
            format!("no tool is called that the baseline does not know{}", but(allow))
        }
        Invariant::RequiredTools(tools) => format!("all of these tools are called: {}", tools.join(", ")),
        Invariant::StillCalled { allow } => {
            format!(
                "every tool is called that all runs of the baseline call{}",
                but(allow)
            )
        }
        Invariant::NoLoops { shape: true } => "no shapes of calls are repeated".to_owned(),
        Invariant::NoLoops { shape: false } => "no calls are repeated in a loop".to_owned(),
        Invariant::NoGuardrails => "no guardrail stops the run".to_owned(),
    }
}

/// Which tools a check does not ask about.
fn but(allow: &ToolGlobs) -> String {
    if allow.is_empty() {
        return String::new();
    }
    format!(", but {}", allow.texts().join(", "))
}
