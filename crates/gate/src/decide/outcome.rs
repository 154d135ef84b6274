//! Outcomes of single trials, their values, and the decision that a rule makes of them.

use tracer_insight::profile::{Bounds, Metric, RunProfile};

use crate::policy::{OnReplayMiss, Policy};
use crate::{Evidence, Trial, Verdict};

/// Outcome of an invariant, or of all of them, in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialOutcome {
    /// It kept it.
    Kept,
    /// It broke it.
    Broken,
    /// The trial does not hold enough evidence.
    Unknown,
}

impl TrialOutcome {
    pub(super) const fn of(is_kept: bool) -> Self {
        if is_kept { Self::Kept } else { Self::Broken }
    }

    /// As a judgement has it.
    pub(super) const fn known(self) -> Option<bool> {
        match self {
            Self::Kept => Some(true),
            Self::Broken => Some(false),
            Self::Unknown => None,
        }
    }
}

/// Number of outcomes of a kind.
pub(super) fn count_of(outcomes: &[TrialOutcome], kind: TrialOutcome) -> u32 {
    count(outcomes.iter().filter(|outcome| **outcome == kind).count())
}

/// Decision of a rule about the trials.
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    /// For each trial, whether it was good; empty for a number of the whole sample.
    pub(super) outcomes: Vec<bool>,
    pub(super) evidence: Evidence,
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

/// Between which numbers a metric lies, for each trial; `None` where nothing is known of it.
pub(super) fn values(trials: &[Trial], metric: &Metric) -> Vec<Option<Bounds>> {
    let value = |trial: &Trial| {
        judged_run(trial)?;
        trial.bounds(metric)
    };
    trials.iter().map(value).collect()
}

/// The numbers of the trials of which the value is not known.
pub(super) fn unknown_trials(trials: &[Trial], values: &[Option<Bounds>]) -> Vec<u32> {
    let is_unknown = |value: &Option<Bounds>| value.and_then(Bounds::exact).is_none();
    let unknown = trials.iter().zip(values).filter(|(_, value)| is_unknown(value));
    unknown.map(|(trial, _)| trial.number).collect()
}

/// A number as reports count.
pub(super) fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
