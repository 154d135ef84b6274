//! The rows of a report: each check with what its rule made of the trials.

use super::outcome::{Decision, TrialOutcome, count_of, is_excused, judged_run, unknown_trials, values};
use super::outcomes::Outcomes;
use super::plan::Planned;
use super::{distributional, invariant, measured, statistical};
use crate::policy::{Invariant, Policy, Rule};
use crate::{
    Baseline, CheckKind, CheckMode, CheckResult, Evidence, InvariantEvidence, Trial, TrialTools, Verdict,
};
use tracer_insight::profile::{Metric, MetricUnit};

/// Inputs of the checks of a report.
pub(super) struct CheckRows<'a> {
    pub(super) policy: &'a Policy,
    pub(super) baseline: Option<&'a Baseline>,
    pub(super) trials: &'a [Trial],
    pub(super) outcomes: &'a Outcomes,
}

impl CheckRows<'_> {
    /// The row that every gate has: whether each trial counts at all.
    pub(super) fn agent_process(&self) -> CheckResult {
        let outcomes = self.trials.iter().map(|trial| {
            if is_excused(self.policy, trial) {
                return TrialOutcome::Unknown;
            }
            TrialOutcome::of(trial.is_sound())
        });
        let outcomes: Vec<TrialOutcome> = outcomes.collect();
        let description = "the process ends well and leaves exactly one completed trace";
        let decision = invariant_decision(&outcomes, description.to_owned(), Vec::new());
        row("agent_process", CheckKind::Invariant, CheckMode::Gating, decision)
    }

    /// The row of one check; nothing when there is nothing to look at.
    pub(super) fn of(&self, planned: &Planned<'_>) -> Option<CheckResult> {
        let metric = planned.metric.as_ref();
        let values = metric
            .map(|metric| values(self.trials, metric))
            .unwrap_or_default();
        let mut unknown = unknown_trials(self.trials, &values);
        let sample = planned.sample.as_deref();
        let method = self.policy.decision;
        let mut decision = match &planned.check.rule {
            Rule::Invariant(rule) => {
                let outcomes = self.outcomes.of(planned);
                unknown = self.undecided(&outcomes);
                invariant_decision(&outcomes, invariant::description(rule), self.tools_against(rule))
            }
            Rule::Measured(rule) => {
                let (verdict, evidence) = measured::decide(rule, &values, sample);
                Decision {
                    verdict,
                    outcomes: Vec::new(),
                    evidence: Evidence::Measured(evidence),
                }
            }
            Rule::Distributional(rule) => distributional::decide(rule, method, &values, sample?)?,
            Rule::Statistical(rule) => {
                let outcomes = &self.outcomes.successes;
                unknown = self.undecided(outcomes);
                let (verdict, evidence) = statistical::decide(rule, method, outcomes);
                Decision {
                    verdict,
                    outcomes: are_kept(outcomes),
                    evidence: Evidence::Statistical(evidence),
                }
            }
        };
        if decision.verdict == Verdict::Pass && metric.is_some_and(|metric| self.is_partly_unpriced(metric)) {
            decision.verdict = Verdict::Inconclusive;
        }
        Some(CheckResult {
            direction: planned.check.rule.direction(),
            unknown_trials: unknown,
            ..row(planned.name(), planned.check.rule.kind(), planned.mode, decision)
        })
    }

    /// Checks if the metric is the cost and a call has no known price. The known part may be too much already; it never
    /// shows that the cost is low enough, even where the known trials outweigh the others.
    fn is_partly_unpriced(&self, metric: &Metric) -> bool {
        let mut runs = self.trials.iter().filter_map(judged_run);
        metric.unit() == MetricUnit::Dollars && runs.any(|run| run.cost.unpriced > 0)
    }

    /// The numbers of the trials without an outcome.
    fn undecided(&self, outcomes: &[TrialOutcome]) -> Vec<u32> {
        let undecided = self.trials.iter().zip(outcomes);
        let undecided = undecided.filter(|(_, outcome)| **outcome == TrialOutcome::Unknown);
        undecided.map(|(trial, _)| trial.number).collect()
    }

    fn tools_against(&self, invariant: &Invariant) -> Vec<TrialTools> {
        let reported = |trial: &Trial| {
            let tools = invariant::tools_against(invariant, judged_run(trial)?, self.baseline);
            (!tools.is_empty()).then(|| TrialTools {
                trial: trial.number,
                tools: tools.into_iter().cloned().collect(),
            })
        };
        self.trials.iter().filter_map(reported).collect()
    }
}

/// For each trial, whether it kept it for certain.
fn are_kept(outcomes: &[TrialOutcome]) -> Vec<bool> {
    outcomes
        .iter()
        .map(|outcome| *outcome == TrialOutcome::Kept)
        .collect()
}

fn invariant_decision(outcomes: &[TrialOutcome], description: String, tools: Vec<TrialTools>) -> Decision {
    let violations = count_of(outcomes, TrialOutcome::Broken);
    let is_known = !outcomes.is_empty() && !outcomes.contains(&TrialOutcome::Unknown);
    let verdict = match (violations, is_known) {
        (0, true) => Verdict::Pass,
        // Nothing was seen, or not enough.
        (0, false) => Verdict::Inconclusive,
        _ => Verdict::Fail,
    };
    Decision {
        verdict,
        outcomes: are_kept(outcomes),
        evidence: Evidence::Invariant(InvariantEvidence {
            violations,
            description,
            tools,
        }),
    }
}

fn row(name: &str, kind: CheckKind, mode: CheckMode, decision: Decision) -> CheckResult {
    CheckResult {
        name: name.to_owned(),
        kind,
        direction: None,
        mode,
        verdict: (mode == CheckMode::Gating).then_some(decision.verdict),
        outcomes: decision.outcomes,
        evidence: decision.evidence,
        unknown_trials: Vec::new(),
    }
}
