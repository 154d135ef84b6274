//! Table of the metrics of a policy: their kinds, and the keys of each kind.

use crate::CheckKind as Kind;
use tracer_insight::profile::{METRICS, Metric};

/// The rate of successful trials.
pub(super) const RATE: &str = "task_pass_rate";

/// Properties of one trial; every numeric [`Metric`] is a metric of a policy, too.
pub(super) const INVARIANTS: [&str; 7] = [
    "stop_condition_reached",
    "forbidden_tools",
    "required_tools",
    "no_loops",
    "no_guardrails",
    "no_new_tools",
    "still_called",
];

/// The kinds that a metric can have; none where there is no such metric.
pub(super) fn kinds_of(metric: &str) -> &'static [Kind] {
    if INVARIANTS.contains(&metric) {
        &[Kind::Invariant]
    } else if metric == RATE {
        &[Kind::Statistical]
    } else if Metric::from_name(metric).is_some() {
        &[Kind::Measured, Kind::Distributional]
    } else {
        &[]
    }
}

/// The names of all metrics, for a hint.
pub(super) fn names() -> Vec<String> {
    let numbers = METRICS.iter().map(|metric| metric.name.to_owned());
    let invariants = INVARIANTS.iter().map(ToString::to_string);
    let others = [RATE.to_owned(), "tool_calls.<tool>".to_owned()];
    invariants.chain(numbers).chain(others).collect()
}

/// The required and the optional keys of a kind, without `kind`.
pub(super) const fn keys_of(metric: &str, kind: Kind) -> (&'static [&'static str], &'static [&'static str]) {
    match (kind, metric.as_bytes()) {
        (Kind::Invariant, b"forbidden_tools") => (&["none_of"], &[]),
        (Kind::Invariant, b"required_tools") => (&["all_of"], &[]),
        (Kind::Invariant, b"no_new_tools" | b"still_called") => (&[], &["allow"]),
        (Kind::Invariant, b"no_loops") => (&[], &["require", "shape"]),
        (Kind::Invariant, _) => (&[], &["require"]),
        (Kind::Measured, _) => (&["direction"], &["tolerance", "limit", "aggregate"]),
        (Kind::Distributional, _) => (&["direction"], &["coverage", "confidence", "mode"]),
        (Kind::Statistical, _) => (
            &["direction", "threshold"],
            &["confidence", "mode", "success_predicate"],
        ),
    }
}

#[test]
fn the_page_of_the_policy_names_every_metric() {
    let page = include_str!("../../../../docs/policy.md");
    for name in names() {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}
