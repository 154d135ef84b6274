//! One number of the sample against a tolerance or a limit (gate, *Measured*).

use tracer_insight::metric_words;
use tracer_insight::profile::{Bounds, Metric, MetricUnit};
use tracer_insight::text::{self, counted};

use super::plan::{NOTICE_THRESHOLD, Planner, UnknownNoise};
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words};
use crate::policy::{Aggregate, Check, Measured, PolicyMistake};
use crate::statistics::{Noise, aggregate, chance_beyond, min_sample_size};
use crate::{
    AllowedRange, CheckMode, CheckResult, Direction, Evidence, MeasuredEvidence, Report, SampleRange, Verdict,
};
use tracer_insight::marked_text::MarkedText;

/// The bounds: the baseline's with the tolerance, and the limits; the stricter one of each side.
fn allowed(rule: &Measured, baseline: Option<&[f64]>) -> AllowedRange {
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
        lower: stricter(around(-1.0).filter(|_| has_lower), rule.limit.lower, f64::max),
        upper: stricter(around(1.0).filter(|_| has_upper), rule.limit.upper, f64::min),
    }
}

/// Checks if the aggregate of all possible values is out of bounds.
fn must_fail(rule: &Measured, allowed: AllowedRange, values: &[Bounds]) -> bool {
    let (least, most) = extremes(rule, values);
    least.is_some_and(|least| allowed.is_below(least)) || most.is_some_and(|most| allowed.is_above(most))
}

/// Checks if the aggregate of all possible values is within bounds.
fn must_pass(rule: &Measured, allowed: AllowedRange, values: &[Bounds]) -> bool {
    let (least, most) = extremes(rule, values);
    least.is_some_and(|least| !allowed.is_above(least)) && most.is_some_and(|most| !allowed.is_below(most))
}

/// The least and the most that the aggregate can be: each aggregate grows with every value.
fn extremes(rule: &Measured, values: &[Bounds]) -> (Option<f64>, Option<f64>) {
    let of = |end: fn(&Bounds) -> f64| {
        let values: Vec<f64> = values.iter().map(end).collect();
        aggregate(&values, rule.aggregate)
    };
    (of(|value| value.least), of(|value| value.most))
}

impl Judge for Measured {
    fn plan(
        &self,
        check: &Check,
        sample: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let Some(sample) = sample else {
            let has_limit = self.limit != AllowedRange::default();
            if self.tolerance.is_some() && planner.baseline.is_some() {
                let skipped = if has_limit {
                    "its tolerance is not applied"
                } else {
                    "it is not checked"
                };
                planner.notice(check, format!("the baseline has no values of it, so {skipped}"));
            }
            // A built-in policy has a tolerance for every number, known or not.
            return match (has_limit, check.position.is_none() || check.ignored) {
                (true, _) => Ok(Some(CheckMode::Gating)),
                (false, true) => Ok(None),
                (false, false) => Err(planner.needs_sample(check, "has a tolerance and no limit")),
            };
        };
        if self.tolerance.is_some() && !check.ignored {
            let trials = planner.policy.trials;
            let Noise { estimate, at_most } = false_alarms(self, sample, trials);
            if estimate > NOTICE_THRESHOLD {
                let notice = format!(
                    "an agent that did not change fails this check in about {:.0} of 100 gates, as far as the baseline's \
                     {} tell, and in at most {:.0}; more trials or a wider tolerance make that rarer",
                    estimate * 100.0,
                    counted(sample.len() as u64, "run"),
                    at_most * 100.0,
                );
                planner.notice(check, notice);
            } else if at_most > NOTICE_THRESHOLD {
                planner.unknown_noise.push(UnknownNoise {
                    check: check.name.clone(),
                    runs: sample.len(),
                    at_most,
                    needed: min_sample_size(NOTICE_THRESHOLD, trials, self.aggregate),
                });
            }
        }
        Ok(Some(CheckMode::Gating))
    }

    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision> {
        let allowed = allowed(self, trials.sample);
        let known: Vec<f64> = trials.exact().flatten().collect();
        let is_exact = known.len() == trials.values.len();
        let possible = trials.possible(0);
        let verdict = if must_fail(self, allowed, &possible) {
            Verdict::Fail
        } else if trials.values.iter().all(Option::is_some) && must_pass(self, allowed, &possible) {
            Verdict::Pass
        } else {
            // Also where an unknown value could not change the rest: missing is not zero.
            Verdict::Inconclusive
        };
        Some(Decision {
            verdict,
            outcomes: Vec::new(),
            evidence: Evidence::Measured(MeasuredEvidence {
                aggregate: self.aggregate.as_str().to_owned(),
                observed: aggregate(&known, self.aggregate).filter(|_| is_exact),
                baseline: trials.sample.and_then(|sample| aggregate(sample, self.aggregate)),
                allowed,
                sample: range(&known),
            }),
            unknown: trials.inexact(),
        })
    }

    fn must_fail(&self, trials: &JudgedTrials<'_>, left: u32) -> bool {
        must_fail(self, allowed(self, trials.sample), &trials.possible(left))
    }
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
    let too_much = chance_beyond(sample, trials, rule.aggregate, |value| allowed.is_below(value));
    let too_little = chance_beyond(sample, trials, rule.aggregate, |value| allowed.is_above(value));
    match rule.direction {
        Direction::Upper => too_much,
        Direction::Lower => too_little,
        Direction::Both => too_much.or(too_little),
    }
}

impl Describe for MeasuredEvidence {
    fn describe(&self, check: &CheckResult, report: &Report) -> Words {
        let name = check.name.as_str();
        let value = |number: f64| metric_words::value(name, Some(number));
        let mut allowed = self.allowed.words(value);
        if let Some(baseline) = self.baseline {
            allowed = format!("{allowed} (baseline {})", value(baseline));
        }
        let mut seen = metric_words::value(name, self.observed);
        if let Some(sample) = self.sample
            && report.trials.len() > 1
        {
            let aggregate = text::one_line(&self.aggregate, 20);
            let range = format!("{} to {}", value(sample.min), value(sample.max));
            seen = match self.observed {
                None => format!("{seen} (as far as known {range})"),
                Some(_) if sample.min.total_cmp(&sample.max).is_eq() => format!("{seen} in all trials"),
                Some(_) => format!("{seen} ({aggregate}; {range})"),
            };
        }
        if self.observed.is_none()
            && Metric::from_name(name).is_some_and(|metric| metric.unit() == MetricUnit::Dollars)
        {
            let unpriced = report.trials.iter().map(|trial| trial.unpriced_calls);
            match unpriced.fold(0, u64::saturating_add) {
                0 => {}
                1 => seen.push_str("; 1 model call has no known price"),
                calls => seen = format!("{seen}; {calls} model calls have no known price"),
            }
        }
        let is_outside = |number: f64| self.allowed.is_below(number) || self.allowed.is_above(number);
        let against = report
            .trials
            .iter()
            .filter(|trial| {
                let value = trial.metrics.get(name).copied().flatten();
                value.is_some_and(is_outside)
            })
            .map(|trial| trial.trial)
            .collect();
        (MarkedText::own(allowed), MarkedText::own(seen), against)
    }
}
