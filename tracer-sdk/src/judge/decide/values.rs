//! The values of one metric over the trials; what is not known stays so.

use crate::judge::{Metric, RunMetrics, Trial};

/// The run of a trial, if it can be judged: one that has no end tells nothing.
pub(super) fn judged_run(trial: &Trial) -> Option<&RunMetrics> {
    trial
        .metrics
        .as_ref()
        .filter(|metrics| metrics.status.is_completed())
}

/// The values of a metric, one for each trial.
pub(super) fn values(trials: &[Trial], metric: &Metric) -> Vec<Option<f64>> {
    let value = |trial| judged_run(trial)?.value(metric);
    trials.iter().map(value).collect()
}

/// The numbers of the trials of which the value is not known.
pub(super) fn unknown_trials(trials: &[Trial], values: &[Option<f64>]) -> Vec<u32> {
    let unknown = trials.iter().zip(values).filter(|(_, value)| value.is_none());
    unknown.map(|(trial, _)| trial.number).collect()
}

/// How many of something there are, as reports count.
pub(super) fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
