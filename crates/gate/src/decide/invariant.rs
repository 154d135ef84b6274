//! Properties that must hold in every trial (gate, *Invariants*).

use std::sync::Arc;

use super::outcomes::judged_run;
use super::plan::Planner;
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words};
use crate::invariants::{self, Invariant, InvariantSpec};
use crate::phrase::Phrase;
use crate::policy::{Check, PolicyMistake};
use crate::{
    Baseline, CheckMode, CheckResult, Evidence, InvariantEvidence, Report, ReportedTrial, Trial, TrialTools,
    Verdict,
};

impl Judge for Arc<dyn Invariant> {
    fn plan(
        &self,
        check: &Check,
        _: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        if self.needs_baseline() && planner.baseline.is_none() && !check.ignored {
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
        (**self).can_fail()
    }

    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision> {
        Some(decision(trials, self.description()))
    }

    fn must_fail(&self, trials: &JudgedTrials<'_>, _: u32) -> bool {
        trials.outcomes.contains(&Some(false))
    }
}

/// The tools by which a trial breaks an invariant.
pub(super) fn tools_against(
    rule: &dyn Invariant,
    trial: &Trial,
    baseline: Option<&Baseline>,
) -> Option<TrialTools> {
    let tools = rule.tools_against(judged_run(trial)?, baseline);
    let trial = trial.number;
    (!tools.is_empty()).then_some(TrialTools { trial, tools })
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
        // `agent_process` is none of them.
        let spec = invariants::find(&check.name);
        let seen = match against.first() {
            None if check.unknown_trials.is_empty() => {
                Phrase::words(kept(all)).followed_by(spec.map(|spec| (spec.kept)(report)).unwrap_or_default())
            }
            None => {
                let is_unknown = |trial: &&ReportedTrial| check.unknown_trials.contains(&trial.trial);
                let unknown: Vec<&ReportedTrial> = report.trials.iter().filter(is_unknown).collect();
                Phrase::words("not known whether it was kept")
                    .followed_by(spec.map(|spec| (spec.unknown)(&unknown)).unwrap_or_default())
                    .followed_by(
                        unknown
                            .iter()
                            .find_map(|trial| finding(check, trial))
                            .map_or_else(Phrase::default, |reason| Phrase::words(": ").followed_by(reason)),
                    )
            }
            Some(first) => {
                let trial = report.trials.iter().find(|trial| trial.trial == *first);
                let how = trial
                    .map(|trial| self.how_broken(spec, check, trial))
                    .unwrap_or_default();
                let broken = Phrase::words(broken(against.len(), all));
                if how.is_empty() {
                    broken
                } else {
                    broken.and(": ").followed_by(how)
                }
            }
        };
        (Phrase::value(self.description.clone()), seen, against)
    }
}

impl InvariantEvidence {
    /// Explains how a trial broke the invariant.
    fn how_broken(&self, spec: Option<&InvariantSpec>, check: &CheckResult, trial: &ReportedTrial) -> Phrase {
        if let Some(failure) = &trial.failure {
            return Phrase::value(failure.to_string());
        }
        if let Some(reason) = finding(check, trial) {
            return reason;
        }
        let tools = self.tools.iter().find(|broken| broken.trial == trial.trial);
        let tools = tools.map_or(&[][..], |broken| &broken.tools);
        spec.map(|spec| (spec.broken)(trial, tools)).unwrap_or_default()
    }
}

/// The reason of a finding on content.
fn finding(check: &CheckResult, trial: &ReportedTrial) -> Option<Phrase> {
    let reason = &trial.findings.get(&check.name)?.reason;
    (!reason.is_empty()).then(|| Phrase::value(reason.as_str()))
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
