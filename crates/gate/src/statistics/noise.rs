//! Samples of measured values: their aggregates, and how often chance alone moves these beyond a bound.

use serde::{Deserialize, Serialize};

use super::interval::{IntervalMethod, RateInterval, at_least};

tracer_sdk::words! {
    /// The statistic that reduces a sample to one number.
    ///
    /// ```
    /// use tracer_gate::policy::Aggregate;
    ///
    /// assert_eq!(Aggregate::P90.as_str(), "p90");
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Aggregate in tracer_gate::policy {
        /// The middle value, or the mean of the two middle ones.
        #[default]
        Median = "median",
        /// The largest value.
        Max = "max",
        /// The smallest value that at least nine tenths of the sample do not exceed.
        P90 = "p90",
    }
}

/// The aggregate of values; `None` of no values.
pub(crate) fn aggregate(values: &[f64], by: Aggregate) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    match by {
        Aggregate::Median => {
            let (low, high) = (sorted.get(last / 2)?, sorted.get(sorted.len() / 2)?);
            // The plain mean, not `midpoint`: an infinite value represents an unknown one.
            Some(if last % 2 == 0 { *low } else { (low + high) / 2.0 })
        }
        Aggregate::Max => sorted.get(last).copied(),
        Aggregate::P90 => sorted.get(nearest_rank(sorted.len())).copied(),
    }
}

/// The index of the smallest of `count` values that nine tenths do not exceed.
fn nearest_rank(count: usize) -> usize {
    // In whole numbers: 0.9 · 10 is 9, not a little more.
    (count * 9).div_ceil(10).saturating_sub(1)
}

/// Confidence of the upper end.
const CONFIDENCE: f64 = 0.95;

/// Probability of an event in a gate, estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    /// When the runs of the sample are all that the agent can do.
    pub(crate) estimate: f64,
    /// Not more than this, with a confidence of 95 %: a small sample shows little of what the agent can do.
    pub(crate) at_most: f64,
}

impl Noise {
    /// The probability of either of two events.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            estimate: (self.estimate + other.estimate).min(1.0),
            at_most: (self.at_most + other.at_most).min(1.0),
        }
    }
}

/// The chance that the aggregate of `trials` runs lies beyond a bound, when the runs are like those of `sample`.
///
/// For the median of an even number of trials this is the most that the chance can be.
pub(crate) fn chance_beyond(
    sample: &[f64],
    trials: u32,
    by: Aggregate,
    beyond: impl Fn(f64) -> bool,
) -> Noise {
    let outside = sample.iter().filter(|value| beyond(**value)).count();
    match (u32::try_from(outside), u32::try_from(sample.len())) {
        (Ok(outside), Ok(runs)) => noise(outside, runs, trials, by),
        _ => Noise {
            estimate: 0.0,
            at_most: 1.0,
        },
    }
}

/// The same from the number of runs of a sample that lie beyond.
pub(crate) fn noise(outside: u32, runs: u32, trials: u32, by: Aggregate) -> Noise {
    // Of nothing everything can be.
    let most =
        RateInterval::of(IntervalMethod::Exact, outside, runs, CONFIDENCE).map_or(1.0, |rate| rate.upper);
    let seen = if runs == 0 {
        0.0
    } else {
        f64::from(outside) / f64::from(runs)
    };
    let chance = |rate: f64| match needed(trials, by) {
        0 => 0.0,
        needed => at_least(needed, trials, rate),
    };
    Noise {
        estimate: chance(seen),
        at_most: chance(most),
    }
}

/// Smallest sample in which an event of none of the runs is shown to happen in at most this share of gates; `None` when
/// no practical sample is large enough.
pub(crate) fn min_sample_size(share: f64, trials: u32, by: Aggregate) -> Option<u32> {
    const MAX_RUNS: u32 = 10_000;
    // The upper end sinks with the number of runs.
    let tells = |runs: u32| noise(0, runs, trials, by).at_most <= share;
    let (mut fewer, mut enough) = (0, MAX_RUNS);
    if !tells(enough) {
        return None;
    }
    while enough - fewer > 1 {
        let middle = fewer + (enough - fewer) / 2;
        if tells(middle) {
            enough = middle;
        } else {
            fewer = middle;
        }
    }
    Some(enough)
}

/// This many of the trials must lie beyond before their aggregate does.
fn needed(trials: u32, by: Aggregate) -> u32 {
    match by {
        Aggregate::Median => trials.div_ceil(2),
        Aggregate::Max => trials.min(1),
        Aggregate::P90 => {
            let rank =
                usize::try_from(trials).map_or(0, |count| if count == 0 { 0 } else { nearest_rank(count) });
            trials - u32::try_from(rank).unwrap_or(0)
        }
    }
}
