//! The share of successful trials against a threshold (gate-contract, section 7.4).

use std::ops::RangeInclusive;

use super::outcome::{TrialOutcome, count, count_of};
use crate::policy::Statistical;
use crate::statistics::{IntervalMethod, RateInterval, RateTarget};
use crate::{ConfidenceBounds, DecisionRule, StatisticalEvidence, Threshold, Verdict};

/// The rule as a report names it.
pub(super) const fn decision_rule(method: IntervalMethod) -> DecisionRule {
    match method {
        IntervalMethod::Wilson => DecisionRule::WilsonOneSided,
        IntervalMethod::Exact => DecisionRule::ExactOneSided,
    }
}

/// A share; zero of nothing.
pub(super) fn rate(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        0.0
    } else {
        f64::from(part) / f64::from(whole)
    }
}

/// The verdict on a number of successes.
fn verdict(rule: &Statistical, method: IntervalMethod, successes: u32, trials: u32) -> Verdict {
    match RateInterval::of(method, successes, trials, rule.confidence) {
        Ok(interval) => interval.verdict(rule.target),
        Err(_) => Verdict::Inconclusive,
    }
}

/// What any of these numbers of successes say; nothing certain where they say different things.
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

/// What the trials' outcomes say, and what that rests on.
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
        observed_rate: rate(successes, trials),
        threshold: match rule.target {
            RateTarget::AtLeast(rate) | RateTarget::AtMost(rate) => Threshold::One(rate),
            RateTarget::Within { lower, upper } => Threshold::Range { lower, upper },
        },
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
