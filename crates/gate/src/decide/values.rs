//! The values of one metric over the trials; what is not known stays so.

use crate::Trial;
use tracer_insight::profile::{Bounds, Metric, RunProfile};

/// The run of a trial, if it can be judged: one that has no end tells nothing.
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

/// How many of something there are, as reports count.
pub(super) fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
