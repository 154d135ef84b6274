//! The share of successful trials against a threshold (gate, *Statistical*).

use std::ops::RangeInclusive;

use tracer_insight::metric_words::percent;

use super::plan::Planner;
use super::rule::{Decision, Describe, Judge, JudgedTrials, Words, count, words};
use crate::policy::{Check, PolicyMistake, Statistical};
use crate::statistics::{IntervalMethod, RateInterval, minimum_trials};
use crate::{AllowedRange, CheckMode, CheckResult, Evidence, Report, StatisticalEvidence, Verdict};

/// The verdict on a number of successes.
fn verdict(rule: &Statistical, method: IntervalMethod, successes: u32, trials: u32) -> Verdict {
    match RateInterval::of(method, successes, trials, rule.confidence) {
        Ok(interval) => interval.verdict(rule.allowed),
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

/// The evidence of a rate; without a trial it may be any.
pub(super) fn evidence(
    method: IntervalMethod,
    [successes, failures]: [u32; 2],
    trials: u32,
    allowed: AllowedRange,
    confidence: f64,
) -> StatisticalEvidence {
    let interval = RateInterval::of(method, successes, trials, confidence);
    let anything = RateInterval {
        lower: 0.0,
        upper: 1.0,
    };
    StatisticalEvidence {
        successes,
        failures,
        allowed,
        confidence,
        confidence_bounds: interval.unwrap_or(anything),
    }
}

impl Judge for Statistical {
    fn plan(
        &self,
        check: &Check,
        _: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let trials = planner.policy.trials;
        let least = minimum_trials(planner.policy.decision, self.allowed, self.confidence);
        let is_reachable = least.is_some_and(|least| trials >= least);
        match self.mode {
            Some(CheckMode::Gating) if !check.ignored => planner.refuse_unreachable(check, least, "")?,
            None if !check.ignored && is_reachable => {}
            None if !check.ignored => {
                let least = least.map_or_else(|| "more than 100,000".to_owned(), |least| least.to_string());
                let notice =
                    format!("reported only, because {trials} trials cannot reach PASS; {least} are needed");
                planner.notice(check, notice);
                return Ok(Some(CheckMode::ReportOnly));
            }
            _ => return Ok(Some(CheckMode::ReportOnly)),
        }
        Ok(Some(CheckMode::Gating))
    }

    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision> {
        let all = count(trials.outcomes.len());
        let [successes, failures, unknown] = [Some(true), Some(false), None].map(|kind| trials.count(kind));
        let rate = evidence(
            trials.method,
            [successes, failures],
            all,
            self.allowed,
            self.confidence,
        );
        Some(Decision {
            verdict: verdict_between(self, trials.method, successes..=successes + unknown, all),
            outcomes: trials.kept(),
            evidence: Evidence::Statistical(rate),
            unknown: trials.undecided(),
        })
    }

    fn must_fail(&self, trials: &JudgedTrials<'_>, left: u32) -> bool {
        let all = count(trials.outcomes.len()).saturating_add(left);
        let successes = trials.count(Some(true));
        let open = left + trials.count(None);
        // A trial that does not succeed fails the gate by itself, unless what it violates is left to the rate.
        let least_more = if trials.is_rate_free { 0 } else { open };
        let successes = successes + least_more..=successes + open;
        verdict_between(self, trials.method, successes, all) == Verdict::Fail
    }
}

impl StatisticalEvidence {
    /// `2 of 3 succeeded: between 20 % and 99 %`
    pub(super) fn seen(&self, verb: &str) -> String {
        format!(
            "{} of {} {verb}: between {} and {}",
            self.successes,
            self.successes.saturating_add(self.failures),
            percent(self.confidence_bounds.lower),
            percent(self.confidence_bounds.upper)
        )
    }
}

impl Describe for StatisticalEvidence {
    fn describe(&self, check: &CheckResult, _: &Report) -> Words {
        let allowed = format!(
            "{} of trials, shown with {} confidence",
            self.allowed.words(percent),
            percent(self.confidence)
        );
        words(check, allowed, self.seen("succeeded"))
    }
}
