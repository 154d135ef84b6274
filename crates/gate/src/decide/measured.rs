//! One number of the sample against a tolerance or a limit (gate-contract, section 7.2).

use crate::policy::{Aggregate, Measured};
use crate::statistics::{Noise, aggregate, chance_beyond};
use crate::{AllowedRange, Direction, MeasuredEvidence, SampleRange, Verdict};
use tracer_insight::profile::Bounds;

/// Rounding error of doubles in a share of a baseline: 15 % of 100 is 15, and 115 is allowed.
const ROUNDING: f64 = 1e-9;

/// The bounds: the baseline's with the tolerance, and the limits; the stricter one of each side.
pub(super) fn allowed(rule: &Measured, baseline: Option<&[f64]>) -> AllowedRange {
    let usual = baseline
        .and_then(|sample| aggregate(sample, rule.aggregate))
        .zip(rule.tolerance);
    let around = |sign: f64| usual.map(|(usual, tolerance)| usual + sign * tolerance.allowance(usual));
    let stricter = |first: Option<f64>, second: Option<f64>, of: fn(f64, f64) -> f64| match (first, second) {
        (Some(first), Some(second)) => Some(of(first, second)),
        (first, second) => first.or(second),
    };
    let has_lower = rule.direction != Direction::Upper;
    let has_upper = rule.direction != Direction::Lower;
    AllowedRange {
        lower: stricter(around(-1.0).filter(|_| has_lower), rule.lower_limit, f64::max),
        upper: stricter(around(1.0).filter(|_| has_upper), rule.upper_limit, f64::min),
    }
}

fn above(allowed: AllowedRange, value: f64) -> bool {
    allowed
        .upper
        .is_some_and(|upper| value > upper + upper.abs().max(1.0) * ROUNDING)
}

fn below(allowed: AllowedRange, value: f64) -> bool {
    allowed
        .lower
        .is_some_and(|lower| value < lower - lower.abs().max(1.0) * ROUNDING)
}

/// Checks if the aggregate of all possible values is out of bounds.
pub(super) fn must_fail(rule: &Measured, allowed: AllowedRange, values: &[Bounds]) -> bool {
    let (least, most) = extremes(rule, values);
    least.is_some_and(|least| above(allowed, least)) || most.is_some_and(|most| below(allowed, most))
}

/// Checks if the aggregate of all possible values is within bounds.
fn must_pass(rule: &Measured, allowed: AllowedRange, values: &[Bounds]) -> bool {
    let (least, most) = extremes(rule, values);
    least.is_some_and(|least| !below(allowed, least)) && most.is_some_and(|most| !above(allowed, most))
}

/// The least and the most that the aggregate can be: each aggregate grows with every value.
fn extremes(rule: &Measured, values: &[Bounds]) -> (Option<f64>, Option<f64>) {
    let of = |end: fn(&Bounds) -> f64| {
        let values: Vec<f64> = values.iter().map(end).collect();
        aggregate(&values, rule.aggregate)
    };
    (of(|value| value.least), of(|value| value.most))
}

/// Decides on the trials' values.
pub(super) fn decide(
    rule: &Measured,
    values: &[Option<Bounds>],
    baseline: Option<&[f64]>,
) -> (Verdict, MeasuredEvidence) {
    let allowed = allowed(rule, baseline);
    let known: Vec<f64> = values
        .iter()
        .filter_map(|value| value.and_then(Bounds::exact))
        .collect();
    let usual = baseline.and_then(|sample| aggregate(sample, rule.aggregate));
    let observed = if known.len() == values.len() {
        aggregate(&known, rule.aggregate)
    } else {
        None
    };
    let possible: Vec<Bounds> = values
        .iter()
        .map(|value| value.unwrap_or(Bounds::ANYTHING))
        .collect();
    let verdict = if must_fail(rule, allowed, &possible) {
        Verdict::Fail
    } else if values.iter().all(Option::is_some) && must_pass(rule, allowed, &possible) {
        Verdict::Pass
    } else {
        // Also where a value of which nothing is known could not change the rest: missing is not zero.
        Verdict::Inconclusive
    };
    let evidence = MeasuredEvidence {
        aggregate: rule.aggregate.as_str().to_owned(),
        observed,
        baseline: usual,
        allowed,
        sample: range(&known),
    };
    (verdict, evidence)
}

fn range(known: &[f64]) -> Option<SampleRange> {
    Some(SampleRange {
        min: known.iter().copied().min_by(f64::total_cmp)?,
        max: aggregate(known, Aggregate::Max)?,
    })
}

/// Probability that an unchanged agent fails the check, estimated from the baseline's sample.
pub(super) fn false_alarms(rule: &Measured, sample: &[f64], trials: u32) -> Noise {
    let allowed = allowed(rule, Some(sample));
    let too_much = chance_beyond(sample, trials, rule.aggregate, |value| above(allowed, value));
    let too_little = chance_beyond(sample, trials, rule.aggregate, |value| below(allowed, value));
    match rule.direction {
        Direction::Upper => too_much,
        Direction::Lower => too_little,
        Direction::Both => too_much.or(too_little),
    }
}
