//! Outcomes of the invariants in each trial.

use std::collections::BTreeMap;

use super::invariant;
use super::outcome::{TrialOutcome, is_excused, judged_run};
use super::plan::Planned;
use crate::policy::{Invariant, Policy, Rule};
use crate::{Baseline, Trial};

/// The outcomes of the invariants, trial by trial.
pub(super) struct Outcomes {
    /// For each trial, each invariant's outcome by the name of its check.
    pub(super) by_trial: Vec<BTreeMap<String, TrialOutcome>>,
    /// For each trial, whether it counts and keeps every invariant that is not ignored.
    pub(super) successes: Vec<TrialOutcome>,
    /// A trial can fail without failing the gate.
    pub(super) is_rate_free: bool,
}

impl Outcomes {
    pub(super) fn new(
        policy: &Policy,
        baseline: Option<&Baseline>,
        checks: &[Planned<'_>],
        trials: &[Trial],
    ) -> Self {
        let outcomes = |trial: &Trial| {
            let run = judged_run(trial);
            let outcome = |planned: &Planned<'_>| match &planned.check.rule {
                // How it would have ended is not known.
                Rule::Invariant(Invariant::StopConditionReached(_)) if is_excused(policy, trial) => {
                    Some(TrialOutcome::Unknown)
                }
                Rule::Invariant(_) if run.is_none() && is_excused(policy, trial) => {
                    Some(TrialOutcome::Unknown)
                }
                // A trial without a run that can be judged keeps nothing.
                Rule::Invariant(rule) => Some(run.map_or(TrialOutcome::Broken, |run| {
                    invariant::outcome(rule, run, baseline)
                })),
                _ => None,
            };
            let named = |planned| Some((Planned::name(planned).to_owned(), outcome(planned)?));
            checks.iter().filter_map(named).collect()
        };
        let by_trial: Vec<BTreeMap<String, TrialOutcome>> = trials.iter().map(outcomes).collect();
        let counts = |name: &str| policy.check(name).is_some_and(|check| !check.ignored);
        let successes = trials.iter().zip(&by_trial).map(|(trial, outcomes)| {
            let mut counting = outcomes
                .iter()
                .filter(|(name, _)| counts(name))
                .map(|(_, outcome)| *outcome);
            let start = match (trial.is_sound(), is_excused(policy, trial)) {
                (true, _) => TrialOutcome::Kept,
                (false, true) => TrialOutcome::Unknown,
                (false, false) => return TrialOutcome::Broken,
            };
            counting
                .try_fold(start, |all, outcome| match outcome {
                    TrialOutcome::Kept => Ok(all),
                    TrialOutcome::Unknown => Ok(TrialOutcome::Unknown),
                    TrialOutcome::Broken => Err(TrialOutcome::Broken),
                })
                .unwrap_or_else(|broken| broken)
        });
        Self {
            successes: successes.collect(),
            is_rate_free: !policy.judged_by_rate.is_empty(),
            by_trial,
        }
    }

    /// The outcomes of one invariant, one for each trial; an outcome that is missing is a violation.
    pub(super) fn of(&self, planned: &Planned<'_>) -> Vec<TrialOutcome> {
        let outcome = |trial: &BTreeMap<String, TrialOutcome>| {
            trial.get(planned.name()).copied().unwrap_or(TrialOutcome::Broken)
        };
        self.by_trial.iter().map(outcome).collect()
    }
}
