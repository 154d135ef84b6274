//! How often a rule is right and wrong, computed exactly.

use super::binomial::exactly;
use super::{IntervalMethod, RateInterval, StatisticsError, Target};
use crate::Verdict;

/// How likely each verdict is when the true rate is known.
///
/// ```
/// use tracer_gate::statistics::{IntervalMethod, Target, operating_characteristic};
///
/// let nine_of_ten = Target::AtLeast(0.9);
/// let wilson = operating_characteristic(IntervalMethod::Wilson, nine_of_ten, 0.95, 25, 0.9).unwrap();
/// assert!((wilson.fail - 0.098).abs() < 1e-3); // an agent that is just good enough fails in 98 of 1,000 gates
/// let exact = operating_characteristic(IntervalMethod::Exact, nine_of_ten, 0.95, 29, 0.9).unwrap();
/// assert!(exact.fail < 0.05 && exact.pass < 0.05);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OperatingCharacteristic {
    /// The chance of PASS.
    pub pass: f64,
    /// The chance of FAIL.
    pub fail: f64,
    /// The chance of INCONCLUSIVE.
    pub inconclusive: f64,
}

/// How likely each verdict on `target` is after `trials` trials of an agent that succeeds at `true_rate`.
///
/// ```
/// use tracer_gate::statistics::{IntervalMethod, Target, operating_characteristic};
///
/// let sure = operating_characteristic(IntervalMethod::Wilson, Target::AtLeast(0.9), 0.95, 25, 1.0).unwrap();
/// assert_eq!((sure.pass, sure.fail), (1.0, 0.0));
/// ```
pub fn operating_characteristic(
    method: IntervalMethod,
    target: Target,
    confidence: f64,
    trials: u32,
    true_rate: f64,
) -> Result<OperatingCharacteristic, StatisticsError> {
    let mut chances = OperatingCharacteristic::default();
    for successes in 0..=trials {
        let verdict = RateInterval::of(method, successes, trials, confidence)?.verdict(target);
        let chance = match verdict {
            Verdict::Pass => &mut chances.pass,
            Verdict::Fail => &mut chances.fail,
            Verdict::Inconclusive => &mut chances.inconclusive,
        };
        *chance += exactly(successes, trials, true_rate);
    }
    Ok(chances)
}
