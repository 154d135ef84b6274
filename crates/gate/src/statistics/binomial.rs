//! The binomial distribution: how many of a number of trials succeed.

use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

/// The chance that exactly `successes` of `trials` succeed.
pub(super) fn exactly(successes: u32, trials: u32, rate: f64) -> f64 {
    let failures = trials - successes;
    // At the ends the logarithm below has no value.
    if rate <= 0.0 {
        return if successes == 0 { 1.0 } else { 0.0 };
    }
    if rate >= 1.0 {
        return if failures == 0 { 1.0 } else { 0.0 };
    }
    let ways = ln_binomial(u64::from(trials), u64::from(successes));
    (ways + f64::from(successes) * rate.ln() + f64::from(failures) * (-rate).ln_1p()).exp()
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
