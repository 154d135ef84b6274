//! What each trial did to the invariants.

use std::collections::BTreeMap;

use super::invariant;
use super::outcome::{Outcome, judged_run};
use super::plan::Planned;
use crate::policy::{Policy, Rule};
use crate::{Baseline, Trial};

/// The outcomes of the invariants, trial by trial.
pub(super) struct Outcomes {
    /// For each trial, each invariant's outcome by the name of its check.
    pub(super) by_trial: Vec<BTreeMap<String, Outcome>>,
    /// For each trial, whether it counts and keeps every invariant that is not ignored.
    pub(super) successes: Vec<Outcome>,
    /// Whether a trial can fail to succeed without failing the gate.
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
                // A trial without a run that can be judged keeps nothing.
                Rule::Invariant(rule) => {
                    Some(run.map_or(Outcome::Broken, |run| invariant::outcome(rule, run, baseline)))
                }
                _ => None,
            };
            let named = |planned| Some((Planned::name(planned).to_owned(), outcome(planned)?));
            checks.iter().filter_map(named).collect()
        };
        let by_trial: Vec<BTreeMap<String, Outcome>> = trials.iter().map(outcomes).collect();
        let counts = |name: &str| policy.check(name).is_some_and(|check| !check.ignored);
        let successes = trials.iter().zip(&by_trial).map(|(trial, outcomes)| {
            let mut counting = outcomes
                .iter()
                .filter(|(name, _)| counts(name))
                .map(|(_, outcome)| *outcome);
            if !trial.is_sound() {
                return Outcome::Broken;
            }
            counting
                .try_fold(Outcome::Kept, |all, outcome| match outcome {
                    Outcome::Kept => Ok(all),
                    Outcome::Unknown => Ok(Outcome::Unknown),
                    Outcome::Broken => Err(Outcome::Broken),
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
    pub(super) fn of(&self, planned: &Planned<'_>) -> Vec<Outcome> {
        let outcome =
            |trial: &BTreeMap<String, Outcome>| trial.get(planned.name()).copied().unwrap_or(Outcome::Broken);
        self.by_trial.iter().map(outcome).collect()
    }
}
