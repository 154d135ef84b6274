//! The share of successful trials against a threshold (gate-contract, section 7.4).

use std::ops::RangeInclusive;

use super::outcome::{TrialOutcome, count, count_of};
use crate::policy::Statistical;
use crate::statistics::{IntervalMethod, RateInterval, RateTarget};
use crate::{AllowedRange, ConfidenceBounds, StatisticalEvidence, Verdict};

/// The allowed shares.
pub(super) const fn allowed(target: RateTarget) -> AllowedRange {
    let (lower, upper) = match target {
        RateTarget::AtLeast(rate) => (Some(rate), None),
        RateTarget::AtMost(rate) => (None, Some(rate)),
        RateTarget::Within { lower, upper } => (Some(lower), Some(upper)),
    };
    AllowedRange { lower, upper }
}

/// The verdict on a number of successes.
fn verdict(rule: &Statistical, method: IntervalMethod, successes: u32, trials: u32) -> Verdict {
    match RateInterval::of(method, successes, trials, rule.confidence) {
        Ok(interval) => interval.verdict(rule.target),
        Err(_) => Verdict::Inconclusive,
    }
}

/// The verdict on all of these numbers of successes; INCONCLUSIVE where they differ.
pub(super) fn verdict_between(
    rule: &Statistical,
    method: IntervalMethod,
    mut successes: RangeInclusive<u32>,
    trials: u32,
) -> Verdict {
    let first = verdict(rule, method, *successes.start(), trials);
    if successes.all(|successes| verdict(rule, method, successes, trials) == first) {
        first
    } else {
        Verdict::Inconclusive
    }
}

/// Decides on the trials' outcomes.
pub(super) fn decide(
    rule: &Statistical,
    method: IntervalMethod,
    outcomes: &[TrialOutcome],
) -> (Verdict, StatisticalEvidence) {
    let trials = count(outcomes.len());
    let successes = count_of(outcomes, TrialOutcome::Kept);
    let unknown = count_of(outcomes, TrialOutcome::Unknown);
    // Without a trial nothing is known of the rate.
    let everything = RateInterval {
        lower: 0.0,
        upper: 1.0,
    };
    let interval = RateInterval::of(method, successes, trials, rule.confidence).unwrap_or(everything);
    let evidence = StatisticalEvidence {
        successes,
        failures: trials - successes - unknown,
        allowed: allowed(rule.target),
        confidence: rule.confidence,
        confidence_bounds: ConfidenceBounds {
            lower: interval.lower,
            upper: interval.upper,
        },
    };
    (
        verdict_between(rule, method, successes..=successes + unknown, trials),
        evidence,
    )
}
