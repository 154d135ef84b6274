//! The trials' values against the extremes of the baseline's sample (gate-contract, section 7.3).

use super::outcome::{Decision, count};
use crate::policy::Distributional;
use crate::statistics::{
    IntervalMethod, RateInterval, RateTarget, chance_of_exceeding, minimum_baseline_trials,
};
use crate::{ConfidenceBounds, Direction, DistributionalEvidence, Evidence, StatisticalEvidence, Verdict};
use tracer_insight::profile::Bounds;

/// The most extreme value of a baseline; `None` of no values.
fn bound(rule: &Distributional, sample: &[f64]) -> Option<f64> {
    let values = sample.iter().copied();
    if rule.direction == Direction::Lower {
        values.min_by(f64::total_cmp)
    } else {
        values.max_by(f64::total_cmp)
    }
}

/// Checks if a value lies beyond the bound; on it is fine.
fn is_beyond(rule: &Distributional, bound: f64, value: f64) -> bool {
    if rule.direction == Direction::Lower {
        value < bound
    } else {
        value > bound
    }
}

/// The allowed share of trials beyond the bound.
pub(super) fn target(rule: &Distributional) -> RateTarget {
    RateTarget::AtMost(1.0 - rule.coverage)
}

/// The verdict on this many trials beyond the bound.
fn verdict(
    rule: &Distributional,
    method: IntervalMethod,
    beyond: u32,
    trials: u32,
    baseline_trials: u32,
) -> (Verdict, RateInterval) {
    let everything = RateInterval {
        lower: 0.0,
        upper: 1.0,
    };
    let interval = RateInterval::of(method, beyond, trials, rule.confidence).unwrap_or(everything);
    let verdict = interval.verdict(target(rule));
    // The bound is itself a draw: an unchanged agent exceeds a low one often. The exact rule takes that into account.
    let is_chance = chance_of_exceeding(beyond, trials, baseline_trials) > 1.0 - rule.confidence;
    if verdict == Verdict::Fail && method == IntervalMethod::Exact && is_chance {
        return (Verdict::Inconclusive, interval);
    }
    (verdict, interval)
}

/// Checks if a value lies beyond the bound for certain; `None` when its bounds leave it open.
fn certainly_beyond(rule: &Distributional, bound: f64, value: Bounds) -> Option<bool> {
    let [least, most] = [value.least, value.most].map(|end| is_beyond(rule, bound, end));
    (least == most).then_some(least)
}

/// Checks if the check fails for all possible values, in `trials` trials.
pub(super) fn must_fail(
    rule: &Distributional,
    method: IntervalMethod,
    sample: &[f64],
    possible: &[Bounds],
    trials: u32,
) -> bool {
    let Some(bound) = bound(rule, sample) else {
        return false;
    };
    let is_certain = |value: &&Bounds| certainly_beyond(rule, bound, **value) == Some(true);
    let beyond = count(possible.iter().filter(is_certain).count());
    verdict(rule, method, beyond, trials, count(sample.len())).0 == Verdict::Fail
}

/// Decides on the trials' values; `None` without a baseline's sample.
pub(super) fn decide(
    rule: &Distributional,
    method: IntervalMethod,
    values: &[Option<Bounds>],
    sample: &[f64],
) -> Option<Decision> {
    let bound = bound(rule, sample)?;
    let outcome = |value: &Option<Bounds>| value.and_then(|value| certainly_beyond(rule, bound, value));
    let are_beyond: Vec<Option<bool>> = values.iter().map(outcome).collect();
    let outcomes = are_beyond
        .iter()
        .map(|is_beyond| *is_beyond == Some(false))
        .collect();
    let exact = |value: &Option<Bounds>| value.and_then(Bounds::exact);
    let baseline_trials = count(sample.len());
    let evidence = |rate| {
        Evidence::Distributional(DistributionalEvidence {
            coverage: rule.coverage,
            baseline_trials,
            min_baseline_trials: minimum_baseline_trials(rule.coverage),
            bound,
            values: values.iter().map(exact).collect(),
            rate,
        })
    };
    if let [is_beyond] = *are_beyond {
        return Some(Decision {
            verdict: match is_beyond {
                None => Verdict::Inconclusive,
                Some(true) => Verdict::Fail,
                Some(false) => Verdict::Pass,
            },
            outcomes,
            evidence: evidence(None),
        });
    }

    let count_of = |wanted| {
        count(
            are_beyond
                .iter()
                .filter(|is_beyond| **is_beyond == Some(wanted))
                .count(),
        )
    };
    let (beyond, within, trials) = (count_of(true), count_of(false), count(values.len()));
    let (mut verdict, interval) = verdict(rule, method, beyond, trials, baseline_trials);
    if verdict != Verdict::Fail && beyond + within < trials {
        verdict = Verdict::Inconclusive;
    }
    Some(Decision {
        verdict,
        outcomes,
        evidence: evidence(Some(StatisticalEvidence {
            successes: beyond,
            failures: within,
            allowed: super::statistical::allowed(target(rule)),
            confidence: rule.confidence,
            confidence_bounds: ConfidenceBounds {
                lower: interval.lower,
                upper: interval.upper,
            },
        })),
    })
}
