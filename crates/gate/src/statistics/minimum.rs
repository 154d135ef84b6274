//! How many trials are needed before PASS is possible at all (the contract of the gate, section 7.4).

use super::interval::normal_quantile;
use super::{IntervalMethod, RateInterval, Target};

/// More trials than this nobody makes; a demand that needs more counts as impossible.
const MOST_TRIALS: u32 = 100_000;

/// The least number of trials with which PASS can be reached; `None` when none can, or none that anybody would make.
///
/// ```
/// use tracer_gate::statistics::{IntervalMethod, Target, minimum_trials};
///
/// let wilson = |target| minimum_trials(IntervalMethod::Wilson, target, 0.95);
/// assert_eq!(wilson(Target::AtMost(0.05)), Some(52));
/// assert_eq!(wilson(Target::Within { lower: 0.2, upper: 0.8 }), Some(6));
/// assert_eq!(wilson(Target::AtLeast(1.0)), None); // nothing ever shows certainty
/// assert_eq!(wilson(Target::Within { lower: 0.9, upper: 0.9 }), None);
/// ```
#[must_use]
pub fn minimum_trials(method: IntervalMethod, target: Target, confidence: f64) -> Option<u32> {
    match target {
        Target::AtLeast(rate) => all_alike(method, rate, confidence),
        Target::AtMost(rate) => all_alike(method, 1.0 - rate, confidence),
        // A range that is open at one end asks no more than its other end does.
        Target::Within { lower, upper } if upper >= 1.0 => all_alike(method, lower, confidence),
        Target::Within { lower, upper } if lower <= 0.0 => all_alike(method, 1.0 - upper, confidence),
        Target::Within { lower, upper } => within(method, lower, upper, confidence),
    }
}

/// How many successes without a failure show a rate of at least `rate`.
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
    if trials > f64::from(MOST_TRIALS) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and MOST_TRIALS"
    )]
    let trials = trials as u32;
    Some(trials)
}

/// The least number of trials of which some number of successes shows a rate in the range.
///
/// For each number of trials only the fewest successes that show the lower end need to be looked at, and with one more
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

/// An exact interval costs more to compute, and a range that needs so many trials is no demand that anybody makes.
const fn most_trials(method: IntervalMethod) -> u32 {
    match method {
        IntervalMethod::Wilson => MOST_TRIALS,
        IntervalMethod::Exact => 2_000,
    }
}
