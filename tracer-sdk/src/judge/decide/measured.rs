//! One number of the sample against a tolerance or a limit (the contract of the gate, section 7.2).

use crate::judge::policy::{Aggregate, Measured};
use crate::judge::statistics::{aggregate, chance_beyond};
use crate::judge::{AllowedRange, Direction, MeasuredEvidence, SampleRange, Verdict};

/// What doubles lose when a share of a baseline is computed: 15 % of 100 is 15, and 115 is allowed.
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

/// Whether the aggregate is out of bounds whatever the values are that are not known.
///
/// Every metric counts something: none is below zero.
pub(super) fn must_fail(rule: &Measured, allowed: AllowedRange, known: &[f64], unknown: usize) -> bool {
    let with = |value: f64| {
        let mut values = known.to_vec();
        values.extend(std::iter::repeat_n(value, unknown));
        aggregate(&values, rule.aggregate)
    };
    with(0.0).is_some_and(|least| above(allowed, least))
        || with(f64::INFINITY).is_some_and(|most| below(allowed, most))
}

/// What the trials' values say, and what that rests on.
pub(super) fn decide(
    rule: &Measured,
    values: &[Option<f64>],
    baseline: Option<&[f64]>,
) -> (Verdict, MeasuredEvidence) {
    let allowed = allowed(rule, baseline);
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let unknown = values.len() - known.len();
    let usual = baseline.and_then(|sample| aggregate(sample, rule.aggregate));
    let observed = if unknown == 0 {
        aggregate(&known, rule.aggregate)
    } else {
        None
    };
    let verdict = if must_fail(rule, allowed, &known, unknown) {
        Verdict::Fail
    } else if observed.is_some() {
        Verdict::Pass
    } else {
        Verdict::Inconclusive
    };
    let evidence = MeasuredEvidence {
        aggregate: rule.aggregate.as_str().to_owned(),
        observed,
        baseline: usual,
        allowed,
        sample: range(&known),
        delta: observed.zip(usual).map(|(observed, usual)| observed - usual),
    };
    (verdict, evidence)
}

fn range(known: &[f64]) -> Option<SampleRange> {
    Some(SampleRange {
        min: known.iter().copied().min_by(f64::total_cmp)?,
        median: aggregate(known, Aggregate::Median)?,
        max: aggregate(known, Aggregate::Max)?,
    })
}

/// How likely an agent that did not change fails the check, as far as the baseline's sample tells.
pub(super) fn false_alarms(rule: &Measured, sample: &[f64], trials: u32) -> f64 {
    let allowed = allowed(rule, Some(sample));
    let too_much = chance_beyond(sample, trials, rule.aggregate, |value| above(allowed, value));
    let too_little = chance_beyond(sample, trials, rule.aggregate, |value| below(allowed, value));
    (too_much + too_little).min(1.0)
}
