//! Properties that must hold in every trial (gate, *Invariants*).

use std::sync::Arc;

use super::plan::Planner;
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words};
use crate::invariants::Invariant;
use crate::policy::{Check, PolicyMistake};
use crate::{CheckMode, CheckResult, Evidence, InvariantEvidence, Report, ReportedTrial, Verdict};
use tracer_insight::marked_text::MarkedText;

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
        }),
        unknown: trials.undecided(),
    }
}

impl Describe for InvariantEvidence {
    fn describe(&self, check: &CheckResult, report: &Report) -> Words {
        let against: Vec<u32> = check.violating_trials().collect();
        let all = report.trials.len() as u64;
        let told = |number: u32| report.trials.iter().find(|trial| trial.trial == number);
        let (words, reason) = match against.as_slice() {
            [] if check.unknown_trials.is_empty() => {
                let remark = report.trials.iter().find_map(|trial| finding(check, trial));
                (kept(all), remark)
            }
            [] => {
                let mut unknown = check.unknown_trials.iter().filter_map(|number| told(*number));
                let reason = unknown.clone().find_map(|trial| finding(check, trial));
                // Spans that are missing are told of beside the check.
                let failed = || {
                    unknown
                        .find(|trial| trial.missing_spans.is_none())
                        .and_then(failure)
                };
                ("not known whether it was kept".to_owned(), reason.or_else(failed))
            }
            [first, ..] => {
                let trial = told(*first);
                let reason = trial.and_then(|trial| failure(trial).or_else(|| finding(check, trial)));
                (broken(against.len(), all), reason)
            }
        };
        let seen = MarkedText::own(words);
        let seen = match reason {
            Some(reason) => seen.with(": ").and(reason),
            None => seen,
        };
        (MarkedText::value(self.description.clone()), seen, against)
    }
}

/// The words of a failed trial.
fn failure(trial: &ReportedTrial) -> Option<MarkedText> {
    let failure = trial.failure.as_ref()?;
    Some(MarkedText::value(failure.to_string()))
}

/// The words of a finding.
fn finding(check: &CheckResult, trial: &ReportedTrial) -> Option<MarkedText> {
    let reason = &trial.findings.get(&check.name)?.reason;
    (!reason.is_empty()).then(|| reason.clone())
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
