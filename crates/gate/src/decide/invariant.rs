//! Properties that must hold in every trial (gate-contract, sections 3.2 and 7.1).

use tracer_insight::profile::RunProfile;
use tracer_insight::text;
use tracer_sdk::format::RecordedStatus;

use super::outcomes::judged_run;
use super::plan::Planner;
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words};
use crate::phrase::Phrase;
use crate::policy::{Check, Invariant, PolicyMistake, ToolGlobs};
use crate::{
    Baseline, CheckMode, CheckResult, Evidence, InvariantEvidence, Report, ReportedTrial, Trial, TrialTools,
    Verdict,
};

impl Invariant {
    /// Outcome in a run. Missing spans leave it unknown: a forbidden call may be among them, and a demanded one, too.
    pub(super) fn outcome(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Option<bool> {
        let unless_missing = |is_kept: bool| (!is_kept || run.missing.is_none()).then_some(is_kept);
        match self {
            // The root holds the status, and the root is there.
            Self::StopConditionReached(required) => Some((run.status == RecordedStatus::Ok) == *required),
            Self::ForbiddenTools(_) | Self::KnownTools { .. } => {
                unless_missing(self.tools_against(run, baseline).is_empty())
            }
            Self::RequiredTools(_) | Self::StillCalled { .. } => {
                let not_called = self.tools_against(run, baseline).len() as u64;
                let may_be_missing = run
                    .missing
                    .as_ref()
                    .is_some_and(|missing| missing.spans.is_none_or(|spans| spans >= not_called));
                match not_called {
                    0 => Some(true),
                    _ if may_be_missing => None,
                    _ => Some(false),
                }
            }
            Self::NoLoops { shape: true } => unless_missing(!run.has_repeated_shapes()),
            Self::NoLoops { shape: false } => run.has_looped().and_then(|looped| unless_missing(!looped)),
            Self::NoGuardrails => unless_missing(run.guardrail_stops.is_empty()),
        }
    }

    /// The tools by which a run breaks an invariant: called and not allowed, or required and not called.
    fn tools_against<'a>(&'a self, run: &'a RunProfile, baseline: Option<&'a Baseline>) -> Vec<&'a String> {
        // Calls count where they are demanded; elsewhere every reading of a span counts.
        let called = run.signature.tool_names();
        match self {
            Self::ForbiddenTools(forbidden) => {
                let is_forbidden = |tool: &&String| forbidden.contains(tool);
                run.tools_in_any_reading().filter(is_forbidden).collect()
            }
            Self::KnownTools { allow } => {
                let known = baseline.map(Baseline::known_tools).unwrap_or_default();
                let is_new = |tool: &&String| !known.contains(tool.as_str()) && !allow.matches(tool);
                run.tools_in_any_reading().filter(is_new).collect()
            }
            Self::RequiredTools(required) => required.iter().filter(|tool| !called.contains(tool)).collect(),
            Self::StillCalled { allow } => {
                let usual = baseline.map(Baseline::tools_of_every_run).unwrap_or_default();
                let is_left_out = |tool: &&String| !called.contains(tool) && !allow.matches(tool);
                usual.into_iter().filter(is_left_out).collect()
            }
            Self::StopConditionReached(_) | Self::NoLoops { .. } | Self::NoGuardrails => Vec::new(),
        }
    }

    /// The tools by which a trial breaks it.
    pub(super) fn tools_against_trial(
        &self,
        trial: &Trial,
        baseline: Option<&Baseline>,
    ) -> Option<TrialTools> {
        let tools = self.tools_against(judged_run(trial)?, baseline);
        (!tools.is_empty()).then(|| TrialTools {
            trial: trial.number,
            tools: tools.into_iter().cloned().collect(),
        })
    }

    /// The demand of an invariant in words.
    fn description(&self) -> String {
        match self {
            Self::StopConditionReached(true) => "the run ends with status ok".to_owned(),
            Self::StopConditionReached(false) => "the run does not end with status ok".to_owned(),
            Self::ForbiddenTools(tools) => format!("none of these tools is called: {}", tools.join(", ")),
            Self::KnownTools { allow } => {
                format!("no tool is called that the baseline does not know{}", but(allow))
            }
            Self::RequiredTools(tools) => format!("all of these tools are called: {}", tools.join(", ")),
            Self::StillCalled { allow } => {
                format!(
                    "every tool is called that all runs of the baseline call{}",
                    but(allow)
                )
            }
            Self::NoLoops { shape: true } => "no shapes of calls are repeated".to_owned(),
            Self::NoLoops { shape: false } => "no calls are repeated in a loop".to_owned(),
            Self::NoGuardrails => "no guardrail stops the run".to_owned(),
        }
    }
}

impl Judge for Invariant {
    fn plan(
        &self,
        check: &Check,
        _: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let needs_baseline = matches!(self, Self::KnownTools { .. } | Self::StillCalled { .. });
        if needs_baseline && planner.baseline.is_none() && !check.ignored {
            // A policy that `init` wrote has it from the first gate on, which makes the baseline.
            planner.notice(check, "not checked, because there is no baseline yet");
            return Ok(None);
        }
        let by_rate = planner.policy.judged_by_rate.contains(&check.name);
        Ok(Some(if by_rate {
            CheckMode::ReportOnly
        } else {
            CheckMode::Gating
        }))
    }

    fn can_fail(&self) -> bool {
        match self {
            Self::ForbiddenTools(tools) | Self::RequiredTools(tools) => !tools.is_empty(),
            Self::KnownTools { allow } | Self::StillCalled { allow } => !allow.allows_everything(),
            _ => true,
        }
    }

    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision> {
        Some(decision(trials, self.description()))
    }

    fn must_fail(&self, trials: &JudgedTrials<'_>, _: u32) -> bool {
        trials.outcomes.contains(&Some(false))
    }
}

/// The decision on a property of each trial.
pub(super) fn decision(trials: &JudgedTrials<'_>, description: String) -> Decision {
    let violations = trials.count(Some(false));
    let is_known = !trials.outcomes.is_empty() && !trials.outcomes.contains(&None);
    Decision {
        verdict: match (violations, is_known) {
            (0, true) => Verdict::Pass,
            // Nothing was seen, or not enough.
            (0, false) => Verdict::Inconclusive,
            _ => Verdict::Fail,
        },
        outcomes: trials.kept(),
        evidence: Evidence::Invariant(InvariantEvidence {
            violations,
            description,
            tools: trials.tools.clone(),
        }),
        unknown: trials.undecided(),
    }
}

impl Describe for InvariantEvidence {
    fn describe(&self, check: &CheckResult, report: &Report) -> Words {
        let against: Vec<u32> = check.violating_trials().collect();
        let all = report.trials.len() as u64;
        let seen = match against.first() {
            None if check.unknown_trials.is_empty() => {
                Phrase::words(kept(all)).followed_by(harmless_warnings(check, report))
            }
            None => {
                Phrase::words("not known whether it was kept").followed_by(unknown_repeats(check, report))
            }
            Some(first) => {
                let trial = report.trials.iter().find(|trial| trial.trial == *first);
                match trial.map(|trial| how_broken(check, self, trial)) {
                    Some(how) if !how.is_empty() => {
                        Phrase::words(broken(against.len(), all) + ": ").followed_by(how)
                    }
                    _ => Phrase::words(broken(against.len(), all)),
                }
            }
        };
        (Phrase::value(self.description.clone()), seen, against)
    }
}

/// Loop warnings that fail nothing: their calls have different arguments.
fn harmless_warnings(check: &CheckResult, report: &Report) -> Phrase {
    let warnings = report.trials.iter().map(|trial| trial.harmless_warnings);
    let warnings: u64 = warnings.sum();
    if check.name != "no_loops" || warnings == 0 {
        return Phrase::default();
    }
    let warnings = text::counted(warnings, "loop warning");
    Phrase::words(format!(", {warnings} ignored: arguments differ"))
}

/// Repeated calls with unknown arguments, and what to record.
fn unknown_repeats(check: &CheckResult, report: &Report) -> Phrase {
    if check.name != "no_loops" {
        return Phrase::default();
    }
    let is_unknown = |trial: &&ReportedTrial| check.unknown_trials.contains(&trial.trial);
    let trials = || report.trials.iter().filter(is_unknown);
    let repeats = trials().find_map(|trial| trial.unknown_repeats.first());
    let hint = "record arguments or results to decide";
    match repeats {
        Some(repeats) => Phrase::words(": ")
            .and_value(repeats.pattern.join(" → "))
            .and(format!(
                " ×{}, steps {} to {}, {hint}",
                repeats.repetitions, repeats.first_step, repeats.last_step
            )),
        None if trials().any(|trial| trial.open_warnings > 0) => {
            Phrase::words(format!(": the agent wrote a loop warning, {hint}"))
        }
        None => Phrase::default(),
    }
}

/// Explains how a trial broke an invariant.
fn how_broken(check: &CheckResult, evidence: &InvariantEvidence, trial: &ReportedTrial) -> Phrase {
    let name = check.name.as_str();
    if let Some(failure) = &trial.failure {
        return Phrase::value(failure.to_string());
    }
    match name {
        "no_loops" => match trial.repeats.first() {
            Some(repeats) => Phrase::value(repeats.pattern.join(" → ")).and(format!(
                " ×{}, steps {} to {}",
                repeats.repetitions, repeats.first_step, repeats.last_step
            )),
            // The rule of shapes.
            None => Phrase::words("the agent wrote a loop warning"),
        },
        "no_guardrails" => match trial.guardrail_stops.first() {
            Some(stop) => Phrase::value(&stop.error_type),
            None => Phrase::default(),
        },
        "stop_condition_reached" => match &trial.signature {
            Some(signature) => Phrase::words("ended ").and_value(&signature.status),
            None => Phrase::default(),
        },
        _ => match evidence.tools.iter().find(|broken| broken.trial == trial.trial) {
            Some(broken) => {
                let how = if matches!(name, "required_tools" | "still_called") {
                    "no call of "
                } else {
                    "called "
                };
                Phrase::words(how).and_value(broken.tools.join(", "))
            }
            None => Phrase::default(),
        },
    }
}

fn kept(trials: u64) -> String {
    match trials {
        1 => "kept".to_owned(),
        2 => "kept in both trials".to_owned(),
        trials => format!("kept in all {trials} trials"),
    }
}

fn broken(against: usize, trials: u64) -> String {
    match trials {
        1 => "broken".to_owned(),
        trials => format!("broken in {against} of {trials} trials"),
    }
}

/// The tools that a check ignores.
fn but(allow: &ToolGlobs) -> String {
    if allow.is_empty() {
        return String::new();
    }
    format!(", but {}", allow.texts().join(", "))
}
