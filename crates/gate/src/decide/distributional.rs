//! The trials' values against the extremes of the baseline's sample (gate, *Distributional*).

use tracer_insight::metric_words::{self, percent};
use tracer_insight::profile::Bounds;
use tracer_insight::text::counted;

use super::plan::{Planner, refused};
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words, count, words};
use super::statistical;
use crate::policy::{Check, Distributional, PolicyMistake};
use crate::statistics::{
    IntervalMethod, RateInterval, chance_of_exceeding, minimum_baseline_trials, minimum_trials,
};
use crate::{
    AllowedRange, CheckMode, CheckResult, Direction, DistributionalEvidence, Evidence, Report, Verdict,
};

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
fn allowed(rule: &Distributional) -> AllowedRange {
    AllowedRange::at_most(1.0 - rule.coverage)
}

/// The verdict on this many trials beyond the bound.
fn verdict(
    rule: &Distributional,
    method: IntervalMethod,
    beyond: u32,
    trials: u32,
    baseline_trials: u32,
) -> Verdict {
    let interval = RateInterval::of(method, beyond, trials, rule.confidence);
    let verdict = interval.map_or(Verdict::Inconclusive, |interval| interval.verdict(allowed(rule)));
    // The bound is itself a draw: an unchanged agent exceeds a low one often. The exact rule takes that into account.
    let is_chance = chance_of_exceeding(beyond, trials, baseline_trials) > 1.0 - rule.confidence;
    if verdict == Verdict::Fail && method == IntervalMethod::Exact && is_chance {
        return Verdict::Inconclusive;
    }
    verdict
}

/// Checks if a value lies beyond the bound for certain; `None` when its bounds leave it open.
fn certainly_beyond(rule: &Distributional, bound: f64, value: Bounds) -> Option<bool> {
    let [least, most] = [value.least, value.most].map(|end| is_beyond(rule, bound, end));
    (least == most).then_some(least)
}

impl Judge for Distributional {
    fn plan(
        &self,
        check: &Check,
        sample: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let Some(sample) = sample else {
            return if check.ignored {
                Ok(None)
            } else {
                Err(planner.needs_sample(check, "is distributional"))
            };
        };
        let needed = minimum_baseline_trials(self.coverage);
        let is_large_enough = usize::try_from(needed).is_ok_and(|needed| sample.len() >= needed);
        if self.mode.is_none() && !is_large_enough {
            let has = counted(sample.len() as u64, "run");
            let notice = format!("reported only, because the baseline has {has} and {needed} are needed");
            planner.notice(check, notice);
        }
        if check.ignored || self.mode == Some(CheckMode::ReportOnly) {
            return Ok(Some(CheckMode::ReportOnly));
        }
        if !is_large_enough {
            if self.mode.is_none() {
                return Ok(Some(CheckMode::ReportOnly));
            }
            let has = sample.len();
            return Err(refused(
                check,
                format!("needs a baseline of {needed} runs, and this one has {has}"),
            )
            .hint("make a larger baseline, demand less coverage, or set mode: report_only"));
        }
        // One trial is judged by the bound itself; several by how many of them lie beyond.
        if planner.policy.trials > 1 {
            let least = minimum_trials(planner.policy.decision, allowed(self), self.confidence);
            planner.refuse_unreachable(check, least, "or a single trial, ")?;
        }
        Ok(Some(CheckMode::Gating))
    }

    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision> {
        let sample = trials.sample?;
        let bound = bound(self, sample)?;
        let values = trials.values.iter();
        let are_beyond: Vec<Option<bool>> = values
            .map(|value| value.and_then(|value| certainly_beyond(self, bound, value)))
            .collect();
        let count_of = |wanted| count(are_beyond.iter().filter(|found| **found == wanted).count());
        let [beyond, within] = [Some(true), Some(false)].map(count_of);
        let (all, baseline_trials) = (count(are_beyond.len()), count(sample.len()));
        let verdict = match *are_beyond {
            [None] => Verdict::Inconclusive,
            [Some(true)] => Verdict::Fail,
            [Some(false)] => Verdict::Pass,
            _ => match verdict(self, trials.method, beyond, all, baseline_trials) {
                Verdict::Pass if beyond + within < all => Verdict::Inconclusive,
                verdict => verdict,
            },
        };
        let rate = || {
            statistical::evidence(
                trials.method,
                [beyond, within],
                all,
                allowed(self),
                self.confidence,
            )
        };
        Some(Decision {
            verdict,
            outcomes: are_beyond.iter().map(|found| *found == Some(false)).collect(),
            evidence: Evidence::Distributional(DistributionalEvidence {
                coverage: self.coverage,
                baseline_trials,
                min_baseline_trials: minimum_baseline_trials(self.coverage),
                bound,
                values: trials.exact().collect(),
                rate: (all != 1).then(rate),
            }),
            unknown: trials.inexact(),
        })
    }

    fn must_fail(&self, trials: &JudgedTrials<'_>, left: u32) -> bool {
        let Some((bound, sample)) = trials
            .sample
            .and_then(|sample| Some((bound(self, sample)?, sample)))
        else {
            return false;
        };
        let possible = trials.possible(left);
        let is_certain = |value: &&Bounds| certainly_beyond(self, bound, **value) == Some(true);
        let beyond = count(possible.iter().filter(is_certain).count());
        let all = count(possible.len());
        verdict(self, trials.method, beyond, all, count(sample.len())) == Verdict::Fail
    }
}

impl Describe for DistributionalEvidence {
    fn describe(&self, check: &CheckResult, _: &Report) -> Words {
        let value = |number| metric_words::value(&check.name, number);
        let side = if check.direction == Some(Direction::Lower) {
            "at least"
        } else {
            "at most"
        };
        let bound = format!("{side} {}", value(Some(self.bound)));
        let Some(rate) = &self.rate else {
            let trials = counted(self.baseline_trials.into(), "trial");
            let observed = self.values.first().copied().flatten();
            return words(
                check,
                format!("{bound} (of {trials} in the baseline)"),
                value(observed),
            );
        };
        let allowed = format!(
            "{bound} in at least {} of trials (baseline of {})",
            percent(self.coverage),
            self.baseline_trials
        );
        words(check, allowed, rate.seen("beyond"))
    }
}
