//! Stopping early: whether the trials that are left could still change the verdict (gate, section 2).

use super::outcomes::Outcomes;
use super::plan::Planned;
use super::values::{count, values};
use super::{distributional, measured, statistical};
use crate::judge::policy::Rule;
use crate::judge::statistics::IntervalMethod;
use crate::judge::{Trial, Verdict};

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
    let known = || -> Vec<f64> {
        let metric = planned.metric.as_ref();
        metric
            .map(|metric| values(trials, metric))
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect()
    };
    let all = count(trials.len()).saturating_add(left);
    let unknown = |known: &[f64]| {
        usize::try_from(all)
            .unwrap_or(usize::MAX)
            .saturating_sub(known.len())
    };
    match &planned.check.rule {
        // A violated invariant stops a gate by itself.
        Rule::Invariant(_) => false,
        Rule::Measured(rule) => {
            let known = known();
            let allowed = measured::allowed(rule, planned.sample.as_deref());
            measured::must_fail(rule, allowed, &known, unknown(&known))
        }
        Rule::Distributional(rule) => planned
            .sample
            .as_deref()
            .is_some_and(|sample| distributional::must_fail(rule, method, sample, &known(), all)),
        Rule::Statistical(rule) => {
            let successes = count(outcomes.successes.iter().filter(|success| **success).count());
            // A trial that does not succeed fails the gate by itself, unless what it violates is left to the rate.
            let least_more = if outcomes.is_rate_free { 0 } else { left };
            (least_more..=left)
                .all(|more| statistical::verdict(rule, method, successes + more, all) == Verdict::Fail)
        }
    }
}
