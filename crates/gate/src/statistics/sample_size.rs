//! Sample sizes: the trials that a verdict needs, and how likely each verdict is.

use super::interval::{IntervalMethod, RateInterval, normal_quantile};
use crate::AllowedRange;

/// Most trials of a gate; a demand that needs more counts as impossible.
const MAX_TRIALS: u32 = 100_000;

/// The least number of trials with which PASS can be reached; `None` when none can, or only more than 100,000 can.
///
/// ```
/// use tracer_gate::AllowedRange;
/// use tracer_gate::statistics::{IntervalMethod, minimum_trials};
///
/// let wilson = |target| minimum_trials(IntervalMethod::Wilson, target, 0.95);
/// assert_eq!(wilson(AllowedRange::at_most(0.05)), Some(52));
/// assert_eq!(wilson(AllowedRange::within(0.2, 0.8)), Some(6));
/// assert_eq!(wilson(AllowedRange::at_least(1.0)), None); // nothing ever shows certainty
/// assert_eq!(wilson(AllowedRange::within(0.9, 0.9)), None);
/// ```
#[must_use]
pub fn minimum_trials(method: IntervalMethod, allowed: AllowedRange, confidence: f64) -> Option<u32> {
    match (
        allowed.lower.filter(|lower| *lower > 0.0),
        allowed.upper.filter(|upper| *upper < 1.0),
    ) {
        (Some(lower), Some(upper)) => within(method, lower, upper, confidence),
        // A range that is open at one end asks no more than its other end does.
        (None, Some(upper)) => all_alike(method, 1.0 - upper, confidence),
        (lower, None) => all_alike(method, lower.unwrap_or_default(), confidence),
    }
}

/// Number of successes without a failure that show a rate of at least `rate`.
fn all_alike(method: IntervalMethod, rate: f64, confidence: f64) -> Option<u32> {
    if rate >= 1.0 {
        return None;
    }
    if rate <= 0.0 {
        return Some(1);
    }
    let trials = match method {
        IntervalMethod::Wilson => {
            let z = normal_quantile(confidence);
            rate * z * z / (1.0 - rate)
        }
        IntervalMethod::Exact => (1.0 - confidence).ln() / rate.ln(),
    };
    let trials = trials.ceil().max(1.0);
    if trials > f64::from(MAX_TRIALS) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and MAX_TRIALS"
    )]
    let trials = trials as u32;
    Some(trials)
}

/// The least number of trials with a number of successes that shows a rate in the range.
///
/// For each number of trials only the fewest successes that show the lower end need to be tried, and with one more
/// trial that number stays or grows by one: so the search takes one step for each number of trials.
fn within(method: IntervalMethod, lower: f64, upper: f64, confidence: f64) -> Option<u32> {
    if lower >= upper {
        return None;
    }
    let mut successes = 0;
    for trials in 1..=most_trials(method) {
        let interval = |successes| RateInterval::of(method, successes, trials, confidence).ok();
        let mut shown = interval(successes)?;
        while shown.lower < lower && successes < trials {
            successes += 1;
            shown = interval(successes)?;
        }
        if shown.lower >= lower && shown.upper <= upper {
            return Some(trials);
        }
    }
    None
}

/// Most trials for a range by the exact interval, which costs more to compute.
const fn most_trials(method: IntervalMethod) -> u32 {
    match method {
        IntervalMethod::Wilson => MAX_TRIALS,
        IntervalMethod::Exact => 2_000,
    }
}

/// Number of runs of a baseline whose extreme value covers a share of all runs.
///
/// Computed in doubles, as the contract has it: 0.9 needs 10.
///
/// ```
/// use tracer_gate::statistics::minimum_baseline_trials;
///
/// assert_eq!(minimum_baseline_trials(0.95), 19);
/// assert_eq!(minimum_baseline_trials(0.90), 10);
/// ```
#[must_use]
pub fn minimum_baseline_trials(coverage: f64) -> u32 {
    let needed = (1.0 / (1.0 - coverage)).ceil() - 1.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates"
    )]
    let needed = needed.max(1.0) as u32;
    needed
}

/// The chance that at least `exceeding` of `candidates` runs lie beyond every one of `baseline` runs, when all of them
/// come from the same agent.
///
/// Every order of the runs is then as likely as every other, whatever the distribution; ties make it rarer.
///
/// ```
/// use tracer_gate::statistics::chance_of_exceeding;
///
/// assert_eq!(chance_of_exceeding(1, 1, 19), 0.05);
/// assert!((chance_of_exceeding(1, 3, 19) - 3.0 / 22.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn chance_of_exceeding(exceeding: u32, candidates: u32, baseline: u32) -> f64 {
    if exceeding > candidates {
        return 0.0;
    }
    let all = f64::from(candidates) + f64::from(baseline);
    // The largest run is a candidate, and the largest of the others, and so on.
    (0..exceeding)
        .map(|above| (f64::from(candidates) - f64::from(above)) / (all - f64::from(above)))
        .product()
}
