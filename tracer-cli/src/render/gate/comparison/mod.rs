//! In what two runs differ, before and after, as text and as Markdown.

mod calls;
pub mod markdown;
pub mod text;

use tracer_insight::comparison::{Comparison, MetricChange, Side, SideKind};

use super::super::standing::RunStatus;

/// How many characters of an ID are told.
const ID_LENGTH: usize = 8;

/// The beginning of a run's ID.
fn short_id(side: &Side) -> String {
    side.run_id.chars().take(ID_LENGTH).collect()
}

/// How a side stands.
fn standing(side: &Side, number: impl Fn(&str) -> Option<f64>) -> RunStatus {
    let looped = number("repeated_calls").is_some_and(|count| count > 0.0);
    match side.status.as_str() {
        "ok" if looped => RunStatus::Looped,
        "ok" => RunStatus::Ok,
        "running" => RunStatus::Running,
        _ => RunStatus::Failed,
    }
}

/// How both sides stand.
fn standings(comparison: &Comparison) -> [RunStatus; 2] {
    let find = |metric: &str| comparison.metrics.iter().find(|change| change.metric == metric);
    [
        standing(&comparison.before, |metric| find(metric)?.before),
        standing(&comparison.after, |metric| find(metric)?.after),
    ]
}

/// What a side is called.
const fn kind(side: &Side) -> &'static str {
    match side.kind {
        SideKind::Run => "run",
        SideKind::Baseline => "baseline",
    }
}

/// The numbers worth a row: those that any side has, and that are not zero on both.
fn told_metrics(comparison: &Comparison) -> impl Iterator<Item = &MetricChange> {
    comparison.metrics.iter().filter(|change| {
        let nothing = |value: Option<f64>| value.is_none_or(|value| value == 0.0);
        change.is_changed() || !(nothing(change.before) && nothing(change.after))
    })
}

/// In one sentence: how many calls are the same, and what became of the others.
fn calls_sentence(comparison: &Comparison) -> String {
    if comparison.is_same {
        return "Nothing but the time differs.".to_owned();
    }
    calls::sentence(comparison.calls.pairs())
}

#[cfg(test)]
mod tests;
