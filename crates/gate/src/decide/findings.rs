//! Findings of the invariants in each trial.

use std::collections::BTreeMap;

use tracer_insight::profile::RunProfile;

use super::plan::Planned;
use crate::invariants::Invariant;
use crate::policy::{OnReplayMiss, Policy, Rule};
use crate::{Baseline, Finding, Trial};
use tracer_insight::marked_text::MarkedText;

/// The findings of the invariants.
pub(super) struct Findings {
    /// For each trial, the finding of each invariant by the name of its check.
    pub(super) by_trial: Vec<BTreeMap<String, Finding>>,
    /// For each trial, whether it counts and keeps every invariant that is not ignored.
    pub(super) successes: Vec<Option<bool>>,
}

impl Findings {
    pub(super) fn new(
        policy: &Policy,
        baseline: Option<&Baseline>,
        checks: &[Planned<'_>],
        trials: &[Trial],
    ) -> Self {
        let of_trial = |trial: &Trial| {
            let findings = checks.iter().filter_map(|planned| match &planned.check.rule {
                Rule::Invariant(rule) => Some((
                    planned.name().to_owned(),
                    finding((planned.name(), &**rule), policy, baseline, trial),
                )),
                _ => None,
            });
            findings.collect()
        };
        let by_trial: Vec<BTreeMap<String, Finding>> = trials.iter().map(of_trial).collect();
        let counts = |name: &str| policy.check(name).is_some_and(|check| !check.ignored);
        let successes = trials.iter().zip(&by_trial).map(|(trial, findings)| {
            let counting = findings.iter().filter(|(name, _)| counts(name));
            counting
                .map(|(_, finding)| finding.outcome)
                .chain([counts_at_all(policy, trial)])
                .reduce(both)
                .flatten()
        });
        Self {
            successes: successes.collect(),
            by_trial,
        }
    }

    /// The outcomes of one invariant, one for each trial; an outcome that is missing is a violation.
    pub(super) fn of(&self, name: &str) -> Vec<Option<bool>> {
        let outcome = |trial: &BTreeMap<String, Finding>| {
            trial.get(name).map_or(Some(false), |finding| finding.outcome)
        };
        self.by_trial.iter().map(outcome).collect()
    }
}

fn finding(
    (name, rule): (&str, &dyn Invariant),
    policy: &Policy,
    baseline: Option<&Baseline>,
    trial: &Trial,
) -> Finding {
    let is_excused = is_excused(policy, trial);
    match judged_run(trial) {
        // How it would have ended is not known.
        _ if is_excused && rule.is_about_the_end() => Finding::default(),
        None if is_excused => Finding::default(),
        // A trial without a run that can be judged keeps nothing; its failure says why.
        None => Finding::broken(MarkedText::default()),
        // Content that was not read shows nothing.
        Some(_) if rule.needs_content() => trial.findings.get(name).cloned().unwrap_or_default(),
        Some(run) => rule.finding(run, baseline),
    }
}

/// Checks if a trial counts; `None` where it was cut short.
pub(super) fn counts_at_all(policy: &Policy, trial: &Trial) -> Option<bool> {
    (!is_excused(policy, trial)).then(|| trial.is_sound())
}

/// Both outcomes together: a violation outweighs what is not known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), other) => other,
        (None, _) => None,
    }
}

/// Checks if a truncated trial counts for its violations only.
pub(super) fn is_excused(policy: &Policy, trial: &Trial) -> bool {
    trial.is_cut_short() && policy.on_replay_miss == OnReplayMiss::Inconclusive
}

/// The run of a trial, if it can be judged: one without an end cannot be judged.
pub(super) fn judged_run(trial: &Trial) -> Option<&RunProfile> {
    trial
        .metrics
        .as_ref()
        .filter(|metrics| metrics.status.is_completed())
}
