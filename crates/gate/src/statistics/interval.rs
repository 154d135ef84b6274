//! Confidence intervals for a rate, and the verdict that they give on a target.

use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc_inv;

use crate::{AllowedRange, Verdict};

tracer_sdk::words! {
    /// The interval behind a verdict on a rate: `decision` of a policy (gate, *Statistical*).
    ///
    /// ```
    /// use tracer_gate::statistics::IntervalMethod;
    ///
    /// assert_eq!(IntervalMethod::default(), IntervalMethod::Wilson);
    /// assert_eq!(IntervalMethod::Exact.as_str(), "exact");
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum IntervalMethod in tracer_gate::statistics {
        /// Wilson's one-sided score interval: short, and wrong more often than it says at small samples.
        #[default]
        Wilson = "wilson",
        /// Clopper and Pearson's one-sided interval: never wrong more often than it says.
        Exact = "exact",
    }
}

/// Between which rates the true rate lies; each bound by itself holds with the confidence that was asked for.
///
/// ```
/// use tracer_gate::statistics::{IntervalMethod, RateInterval};
/// use tracer_gate::{AllowedRange, Verdict};
///
/// let wilson = RateInterval::of(IntervalMethod::Wilson, 25, 25, 0.95).unwrap();
/// assert!((wilson.lower - 0.9023).abs() < 1e-4);
/// assert_eq!(wilson.verdict(AllowedRange::at_least(0.9)), Verdict::Pass);
///
/// let exact = RateInterval::of(IntervalMethod::Exact, 25, 25, 0.95).unwrap();
/// assert_eq!(exact.verdict(AllowedRange::at_least(0.9)), Verdict::Inconclusive);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RateInterval {
    /// The rate is at least this.
    pub lower: f64,
    /// The rate is at most this.
    pub upper: f64,
}

/// Numbers that no interval can be made of.
///
/// ```
/// use tracer_gate::statistics::{IntervalMethod, RateInterval, StatisticsError};
///
/// let error = RateInterval::of(IntervalMethod::Wilson, 4, 3, 0.95).unwrap_err();
/// assert_eq!(error, StatisticsError::CountOutOfRange);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// No trial, or more successes than trials.
    #[error("there must be at least one trial, and no more successes than trials")]
    CountOutOfRange,
    /// The confidence is not more than 0 and less than 1.
    #[error("the confidence must be more than 0 and less than 1")]
    FractionOpen,
}

impl RateInterval {
    /// The bounds by a method, with a confidence between 0 and 1 for each.
    ///
    /// ```
    /// use tracer_gate::statistics::{IntervalMethod, RateInterval};
    ///
    /// let one_of_one = RateInterval::of(IntervalMethod::Exact, 1, 1, 0.95).unwrap();
    /// assert!((one_of_one.lower - 0.05).abs() < 1e-12);
    /// assert_eq!(one_of_one.upper, 1.0);
    /// ```
    pub fn of(
        method: IntervalMethod,
        successes: u32,
        trials: u32,
        confidence: f64,
    ) -> Result<Self, StatisticsError> {
        if trials == 0 || successes > trials {
            return Err(StatisticsError::CountOutOfRange);
        }
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(StatisticsError::FractionOpen);
        }
        Ok(match method {
            IntervalMethod::Wilson => wilson(successes, trials, normal_quantile(confidence)),
            IntervalMethod::Exact => clopper_pearson(successes, trials, 1.0 - confidence),
        })
    }

    /// The verdict of the bounds on a demand.
    ///
    /// PASS when they show that it is met, FAIL when they show that it is not.
    ///
    /// ```
    /// use tracer_gate::statistics::RateInterval;
    /// use tracer_gate::{AllowedRange, Verdict};
    ///
    /// let interval = RateInterval { lower: 0.6, upper: 0.8 };
    /// assert_eq!(interval.verdict(AllowedRange::at_most(0.9)), Verdict::Pass);
    /// assert_eq!(interval.verdict(AllowedRange::at_least(0.9)), Verdict::Fail);
    /// assert_eq!(interval.verdict(AllowedRange::within(0.7, 0.9)), Verdict::Inconclusive);
    /// ```
    #[must_use]
    pub fn verdict(&self, allowed: AllowedRange) -> Verdict {
        let AllowedRange { lower, upper } = allowed;
        let met =
            lower.is_none_or(|lower| self.lower >= lower) && upper.is_none_or(|upper| self.upper <= upper);
        let missed =
            lower.is_some_and(|lower| self.upper < lower) || upper.is_some_and(|upper| self.lower > upper);
        match (met, missed) {
            (true, _) => Verdict::Pass,
            (false, true) => Verdict::Fail,
            (false, false) => Verdict::Inconclusive,
        }
    }
}

/// The value that a standard normal variable stays below with this chance.
pub(super) fn normal_quantile(chance: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * chance)
}

/// Wilson's score interval.
fn wilson(successes: u32, trials: u32, z: f64) -> RateInterval {
    let n = f64::from(trials);
    let rate = f64::from(successes) / n;
    let z_squared = z * z;
    let denominator = 1.0 + z_squared / n;
    let centre = (rate + z_squared / (2.0 * n)) / denominator;
    let variance = rate * (1.0 - rate) / n + z_squared / (4.0 * n * n);
    let margin = z * variance.sqrt() / denominator;
    RateInterval {
        lower: (centre - margin).max(0.0),
        upper: (centre + margin).min(1.0),
    }
}

/// Clopper and Pearson's interval: the rates at which the outcome would not be surprising.
fn clopper_pearson(successes: u32, trials: u32, error: f64) -> RateInterval {
    RateInterval {
        lower: clopper_pearson_lower(successes, trials, error),
        upper: 1.0 - clopper_pearson_lower(trials - successes, trials, error),
    }
}

/// The greatest rate at which this many successes or more have a chance of at most `error`.
fn clopper_pearson_lower(successes: u32, trials: u32, error: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    if successes == trials {
        return error.powf(f64::from(trials).recip());
    }
    // Halving rather than a quantile function: it always ends, and what is left of doubt is on the safe side.
    let (mut surprising, mut likely) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(surprising, likely);
        if middle <= surprising || middle >= likely {
            return surprising;
        }
        if at_least(successes, trials, middle) <= error {
            surprising = middle;
        } else {
            likely = middle;
        }
    }
}

/// The chance that at least `successes` of `trials` succeed.
pub(super) fn at_least(successes: u32, trials: u32, rate: f64) -> f64 {
    if successes == 0 || rate >= 1.0 {
        return 1.0;
    }
    if successes > trials || rate <= 0.0 {
        return 0.0;
    }
    beta_reg(f64::from(successes), f64::from(trials - successes + 1), rate)
}
