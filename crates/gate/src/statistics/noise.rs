//! How often a tolerance fails an agent that did not change.

use super::aggregate::nearest_rank;
use super::binomial::at_least;
use super::{IntervalMethod, RateInterval};
use crate::policy::Aggregate;

/// How sure the upper end is.
const CONFIDENCE: f64 = 0.95;

/// How often something happens in a gate, as far as a sample tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    /// When the runs of the sample are all that the agent can do.
    pub(crate) estimate: f64,
    /// Not more than this, with a confidence of 95 %: a small sample shows little of what the agent can do.
    pub(crate) at_most: f64,
}

impl Noise {
    /// That either of two things happens.
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

/// The same when so many of the runs of a sample lie beyond.
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

/// How many runs a sample needs to show that something which none of them does happens in at most this share of gates;
/// `None` when no sample that anybody takes is large enough.
pub(crate) fn runs_that_tell(share: f64, trials: u32, by: Aggregate) -> Option<u32> {
    const MOST: u32 = 10_000;
    // The upper end sinks with the number of runs.
    let tells = |runs: u32| noise(0, runs, trials, by).at_most <= share;
    let (mut fewer, mut enough) = (0, MOST);
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

/// So many of the trials must lie beyond before their aggregate does.
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
