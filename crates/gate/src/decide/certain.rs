//! Stopping early: whether the trials that are left could still change the verdict (gate, section 2).

use super::outcomes::{Outcome, Outcomes, count_of};
use super::plan::Planned;
use super::values::{count, values};
use super::{distributional, measured, statistical};
use crate::policy::Rule;
use crate::statistics::IntervalMethod;
use crate::{Trial, Verdict};
use tracer_insight::profile::Bounds;

/// Whether a gating check fails whatever the `left` trials show.
///
/// FAIL is the only verdict that can be known early: any trial that is left could crash.
pub(super) fn must_fail(
    planned: &Planned<'_>,
    method: IntervalMethod,
    trials: &[Trial],
    outcomes: &Outcomes,
    left: u32,
) -> bool {
    let all = count(trials.len()).saturating_add(left);
    // Those of which nothing is known yet are among them.
    let possible = || -> Vec<Bounds> {
        let metric = planned.metric.as_ref();
        let values = metric.map(|metric| values(trials, metric)).unwrap_or_default();
        let known = values.into_iter().map(|value| value.unwrap_or(Bounds::ANYTHING));
        known.chain((0..left).map(|_| Bounds::ANYTHING)).collect()
    };
    match &planned.check.rule {
        // A violated invariant stops a gate by itself.
        Rule::Invariant(_) => false,
        Rule::Measured(rule) => {
            let allowed = measured::allowed(rule, planned.sample.as_deref());
            measured::must_fail(rule, allowed, &possible())
        }
        Rule::Distributional(rule) => planned
            .sample
            .as_deref()
            .is_some_and(|sample| distributional::must_fail(rule, method, sample, &possible(), all)),
        Rule::Statistical(rule) => {
            let successes = count_of(&outcomes.successes, Outcome::Kept);
            let open = left + count_of(&outcomes.successes, Outcome::Unknown);
            // A trial that does not succeed fails the gate by itself, unless what it violates is left to the rate.
            let least_more = if outcomes.is_rate_free { 0 } else { open };
            let successes = successes + least_more..=successes + open;
            statistical::verdict_between(rule, method, successes, all) == Verdict::Fail
        }
    }
}
