//! How often a tolerance fails an agent that did not change.

use super::aggregate::nearest_rank;
use super::binomial::at_least;
use crate::judge::policy::Aggregate;

/// The chance that the aggregate of `trials` runs lies beyond a bound, when the runs are like those of `sample`.
///
/// For the median of an even number of trials this is the most that the chance can be.
pub(in crate::judge) fn chance_beyond(
    sample: &[f64],
    trials: u32,
    by: Aggregate,
    beyond: impl Fn(f64) -> bool,
) -> f64 {
    let (Ok(runs), Ok(count)) = (u32::try_from(sample.len()), usize::try_from(trials)) else {
        return 0.0;
    };
    let outside = sample.iter().filter(|value| beyond(**value)).count();
    let outside = u32::try_from(outside).unwrap_or(runs);
    if runs == 0 || outside == 0 || trials == 0 {
        return 0.0;
    }
    // So many of the trials must lie beyond before their aggregate does.
    let needed = match by {
        Aggregate::Median => trials.div_ceil(2),
        Aggregate::Max => 1,
        Aggregate::P90 => trials - u32::try_from(nearest_rank(count)).unwrap_or(0),
    };
    at_least(needed, trials, f64::from(outside) / f64::from(runs))
}
