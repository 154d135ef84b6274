//! Changes against the baseline, once for all trials: each change with how many trials have it.

use std::collections::BTreeMap;

use crate::statistics::{Aggregate, aggregate};
use crate::{Baseline, BaselineChanges, Report, ReportedTrial, Verdict};
use tracer_insight::comparison::words as comparison;
use tracer_insight::marked_text::MarkedText;
use tracer_insight::metric_words;
use tracer_insight::profile::{METRICS, Metric, MetricSpec, MetricUnit};
use tracer_insight::text;

/// The changes: tools first, then models and endings, then numbers.
pub fn change_phrases(report: &Report) -> Vec<MarkedText> {
    let mut reported = change_phrases_without_time(report);
    let timed = METRICS
        .iter()
        .filter(|metric| metric.unit == MetricUnit::Milliseconds);
    reported.extend(timed.filter_map(|metric| number(metric, report)));
    reported
}

/// The changes without how long it took, which differs by chance alone.
pub(crate) fn change_phrases_without_time(report: &Report) -> Vec<MarkedText> {
    let diffs: Vec<&BaselineChanges> = report
        .trials
        .iter()
        .filter_map(|trial| trial.changes.as_ref())
        .collect();
    if diffs.is_empty() {
        return Vec::new();
    }
    let mut counted: BTreeMap<(ChangeRank, MarkedText), usize> = BTreeMap::new();
    for change in diffs.iter().flat_map(|diff| named(diff)) {
        *counted.entry(change).or_default() += 1;
    }
    let counted = counted.into_iter();
    let counted = counted.map(|((rank, phrase), trials)| (rank, phrase.with(in_trials(trials, diffs.len()))));
    let mut named: Vec<(ChangeRank, MarkedText)> = counted.chain(repeated(&diffs)).collect();
    named.sort_by_key(|(rank, _)| *rank);
    let mut reported: Vec<MarkedText> = named.into_iter().map(|(_, phrase)| phrase).collect();
    reported.extend(FINDINGS.iter().filter_map(|finding| worst(finding, &diffs)));
    reported.extend(untimed().filter_map(|metric| number(metric, report)));
    reported
}

/// Number of changes in a trial, without time; empty without a baseline.
pub fn count(trial: &ReportedTrial) -> String {
    let Some(diff) = &trial.changes else {
        return String::new();
    };
    let shown = untimed().map(|metric| metric.name);
    let shown = shown.chain(FINDINGS.iter().map(|[metric, ..]| *metric));
    let numbers = shown.filter(|metric| diff.metric(metric).is_some());
    let count = numbers.count() + named(diff).len() + diff.tools.repeated.len();
    count.to_string()
}

/// The metrics but time.
fn untimed() -> impl Iterator<Item = &'static MetricSpec> {
    METRICS
        .iter()
        .filter(|metric| metric.unit != MetricUnit::Milliseconds)
}

/// The place of a kind of change among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChangeRank {
    NewTool,
    RemovedTool,
    RepeatedTool,
    Order,
    NewModel,
    RemovedModel,
    Ending,
}

/// The changes of a trial that have names: tools, their order, models, the ending.
fn named(diff: &BaselineChanges) -> Vec<(ChangeRank, MarkedText)> {
    let (tools, models) = (&diff.tools, &diff.models);
    let mut changes = Vec::new();
    for (rank, what, names) in [
        (ChangeRank::NewTool, comparison::NEW_TOOL, &tools.added),
        (ChangeRank::RemovedTool, comparison::REMOVED_TOOL, &tools.removed),
        (ChangeRank::NewModel, comparison::NEW_MODEL, &models.added),
        (
            ChangeRank::RemovedModel,
            comparison::REMOVED_MODEL,
            &models.removed,
        ),
    ] {
        changes.extend(
            names
                .iter()
                .map(|name| (rank, MarkedText::own(what).with_value(name))),
        );
    }
    if tools.is_reordered {
        changes.push((ChangeRank::Order, MarkedText::own(comparison::REORDERED_TOOLS)));
    }
    if let Some([before, now]) = &diff.status {
        let ends = MarkedText::own("ends ").with_value(now);
        changes.push((
            ChangeRank::Ending,
            ends.with(" (was ").with_value(before).with(")"),
        ));
    }
    changes
}

/// The tools that are called more often: of each the most that any trial calls it.
fn repeated(diffs: &[&BaselineChanges]) -> Vec<(ChangeRank, MarkedText)> {
    let mut repeated: BTreeMap<&str, (u64, u64, usize)> = BTreeMap::new();
    for change in diffs.iter().flat_map(|diff| &diff.tools.repeated) {
        let known = repeated
            .entry(&change.tool)
            .or_insert((change.before, change.after, 0));
        *known = (known.0, known.1.max(change.after), known.2 + 1);
    }
    let phrases = repeated.into_iter().map(|(tool, (before, now, trials))| {
        let times = format!(" up to {}", comparison::times_called(before, now));
        let phrase = MarkedText::own("calls ").with_value(tool);
        (
            ChangeRank::RepeatedTool,
            phrase.with(times + &in_trials(trials, diffs.len())),
        )
    });
    phrases.collect()
}

/// The findings of a comparison that are no metrics: the verb, and what is counted.
const FINDINGS: [[&str; 3]; 2] = [
    ["guardrail_stops", "is stopped by", "guardrail"],
    ["repeated_calls", "repeats", "call"],
];

fn worst([metric, verb, counted]: &[&str; 3], diffs: &[&BaselineChanges]) -> Option<MarkedText> {
    let changed: Vec<[f64; 2]> = diffs
        .iter()
        .filter_map(|diff| diff.metric(metric))
        .filter_map(|change| Some([change.after?, change.before?]))
        .collect();
    let [now, before] = changed
        .iter()
        .max_by(|left, right| left[0].total_cmp(&right[0]))?
        .map(metric_words::plain);
    let plural = if now == "1" { "" } else { "s" };
    Some(MarkedText::own(format!(
        "{verb} up to {now} {counted}{plural} (was {before}){}",
        in_trials(changed.len(), diffs.len())
    )))
}

/// A number that differs from the baseline: the median of the trials and the baseline's.
fn number(spec: &MetricSpec, report: &Report) -> Option<MarkedText> {
    let metric = spec.name;
    let before = report.trials.iter().find_map(|trial| {
        let change = trial.changes.as_ref()?.metric(metric)?;
        Some(change.before)
    })?;
    let mut values: Vec<f64> = Vec::new();
    let mut unknown = 0;
    for trial in report.trials.iter().filter(|trial| trial.changes.is_some()) {
        match trial.metrics.get(metric).copied().flatten() {
            Some(value) => values.push(value),
            None => unknown += 1,
        }
    }
    let after = aggregate(&values, Aggregate::Median);
    let of = if values.len() > 1 { ", the median" } else { "" };
    let moved = moved(spec, before, after, of)?;
    let unknown = match unknown {
        0 => String::new(),
        number => format!(", unknown in {}", text::counted(number, "trial")),
    };
    let advice = not_gated(spec, report);
    Some(MarkedText::own(format!("{moved}{unknown}{advice}")))
}

/// `steps: 4 → 6, +50 %`; nothing where both are the same.
fn moved(spec: &MetricSpec, before: Option<f64>, after: Option<f64>, of: &str) -> Option<String> {
    let change = metric_words::change(spec.name, before, after);
    let value = |value| metric_words::value(spec.name, value);
    (!change.is_empty()).then(|| {
        format!(
            "{}: {} → {}{of}, {change}",
            spec.label,
            value(before),
            value(after)
        )
    })
}

/// Advice of a passed gate about a changed number without a check; time differs by chance alone.
fn not_gated(metric: &MetricSpec, report: &Report) -> String {
    let is_gated = report.checks.iter().any(|check| check.name == metric.name);
    if is_gated || report.verdict != Verdict::Pass || metric.unit == MetricUnit::Milliseconds {
        return String::new();
    }
    format!("; not gated: add `{}`", metric.name)
}

/// Nothing for one trial of one: there is nothing to distinguish.
fn in_trials(trials: usize, all: usize) -> String {
    match (trials, all) {
        (_, 1) => String::new(),
        (trials, all) if trials == all => format!(", in all {all} trials"),
        (trials, all) => format!(", in {trials} of {all} trials"),
    }
}

/// More tools are left out.
const MAX_TOOLS: usize = 50;

/// The changes: tools, then numbers by their medians.
pub fn replacement_phrases(old: &Baseline, new: &Baseline) -> Vec<MarkedText> {
    let (before, after) = (old.tools(), new.tools());
    let mut reported: Vec<MarkedText> = Vec::new();
    for (what, tools) in [
        (comparison::NEW_TOOL, after.difference(&before)),
        (comparison::REMOVED_TOOL, before.difference(&after)),
    ] {
        let phrases = tools.take(MAX_TOOLS);
        reported.extend(phrases.map(|tool| MarkedText::own(what).with_value(*tool)));
    }
    for spec in METRICS {
        let metric = Metric::Recorded(spec);
        let median = |baseline: &Baseline| aggregate(&baseline.sample(&metric)?, Aggregate::Median);
        reported.extend(moved(spec, median(old), median(new), "").map(MarkedText::own));
    }
    let runs = [old, new].map(|baseline| baseline.trials.len());
    if runs[0] != runs[1] {
        reported.push(MarkedText::own(format!("runs: {} → {}", runs[0], runs[1])));
    }
    reported
}
