//! Changes against the baseline, once for all trials: each change with how many trials have it.

use std::collections::BTreeMap;

use crate::phrase::Phrase;
use crate::statistics::{Aggregate, aggregate};
use crate::{Baseline, BaselineChanges, Report, ReportedTrial, Verdict};
use tracer_insight::comparison::words as comparison;
use tracer_insight::metric_words;
use tracer_insight::profile::{METRICS, Metric, MetricSpec, MetricUnit};
use tracer_insight::text;

/// The changes: tools first, then models and endings, then numbers.
pub fn change_phrases(report: &Report) -> Vec<Phrase> {
    let mut reported = change_phrases_without_time(report);
    let timed = METRICS
        .iter()
        .filter(|metric| metric.unit == MetricUnit::Milliseconds);
    reported.extend(timed.filter_map(|metric| number(metric, report)));
    reported
}

/// The changes without how long it took, which differs by chance alone.
pub(crate) fn change_phrases_without_time(report: &Report) -> Vec<Phrase> {
    let diffs: Vec<&BaselineChanges> = report
        .trials
        .iter()
        .filter_map(|trial| trial.changes.as_ref())
        .collect();
    if diffs.is_empty() {
        return Vec::new();
    }
    let mut reported = tools(&diffs);
    for (what, names) in [
        (comparison::NEW_MODEL, named(&diffs, |diff| &diff.models.added)),
        (
            comparison::REMOVED_MODEL,
            named(&diffs, |diff| &diff.models.removed),
        ),
    ] {
        reported.extend(each(what, &names, diffs.len()));
    }
    reported.extend(endings(&diffs));
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
    let count = numbers.count()
        + diff.tools.added.len()
        + diff.tools.removed.len()
        + diff.tools.repeated.len()
        + usize::from(diff.tools.is_reordered)
        + diff.models.added.len()
        + diff.models.removed.len()
        + usize::from(diff.status.is_some());
    count.to_string()
}

/// The metrics but time.
fn untimed() -> impl Iterator<Item = &'static MetricSpec> {
    METRICS
        .iter()
        .filter(|metric| metric.unit != MetricUnit::Milliseconds)
}

fn tools(diffs: &[&BaselineChanges]) -> Vec<Phrase> {
    let mut reported = each(
        comparison::NEW_TOOL,
        &named(diffs, |diff| &diff.tools.added),
        diffs.len(),
    );
    reported.extend(each(
        comparison::REMOVED_TOOL,
        &named(diffs, |diff| &diff.tools.removed),
        diffs.len(),
    ));
    // Of each tool the most that any trial calls it.
    let mut repeated: BTreeMap<&str, (u64, u64, usize)> = BTreeMap::new();
    for change in diffs.iter().flat_map(|diff| &diff.tools.repeated) {
        let known = repeated
            .entry(&change.tool)
            .or_insert((change.before, change.after, 0));
        *known = (known.0, known.1.max(change.after), known.2 + 1);
    }
    reported.extend(repeated.into_iter().map(|(tool, (before, now, trials))| {
        let times = format!(" up to {}", comparison::times_called(before, now));
        Phrase::words("calls ")
            .and_value(tool)
            .and(times + &in_trials(trials, diffs.len()))
    }));
    let reordered = diffs.iter().filter(|diff| diff.tools.is_reordered).count();
    if reordered > 0 {
        reported.push(Phrase::words(
            comparison::REORDERED_TOOLS.to_owned() + &in_trials(reordered, diffs.len()),
        ));
    }
    reported
}

fn endings(diffs: &[&BaselineChanges]) -> Vec<Phrase> {
    let mut endings: BTreeMap<[&str; 2], usize> = BTreeMap::new();
    for [before, now] in diffs.iter().filter_map(|diff| diff.status.as_ref()) {
        *endings.entry([now, before]).or_default() += 1;
    }
    let reported = endings.into_iter().map(|([now, before], trials)| {
        Phrase::words("ends ")
            .and_value(now)
            .and(" (was ")
            .and_value(before)
            .and(")".to_owned() + &in_trials(trials, diffs.len()))
    });
    reported.collect()
}

/// The findings of a comparison that are no metrics: the verb, and what is counted.
const FINDINGS: [[&str; 3]; 2] = [
    ["guardrail_stops", "is stopped by", "guardrail"],
    ["repeated_calls", "repeats", "call"],
];

fn worst([metric, verb, counted]: &[&str; 3], diffs: &[&BaselineChanges]) -> Option<Phrase> {
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
    Some(Phrase::words(format!(
        "{verb} up to {now} {counted}{plural} (was {before}){}",
        in_trials(changed.len(), diffs.len())
    )))
}

/// A number that differs from the baseline: the median of the trials and the baseline's.
fn number(spec: &MetricSpec, report: &Report) -> Option<Phrase> {
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
    let change = metric_words::change(metric, before, after);
    if change.is_empty() {
        return None;
    }
    let of = if values.len() > 1 { ", the median" } else { "" };
    let unknown = match unknown {
        0 => String::new(),
        number => format!(", unknown in {}", text::counted(number, "trial")),
    };
    Some(Phrase::words(format!(
        "{}: {} → {}{of}, {change}{unknown}{}",
        spec.label,
        metric_words::value(metric, before),
        metric_words::value(metric, after),
        not_gated(spec, report)
    )))
}

/// Advice of a passed gate about a changed number without a check; time differs by chance alone.
fn not_gated(metric: &MetricSpec, report: &Report) -> String {
    let is_gated = report.checks.iter().any(|check| check.name == metric.name);
    if is_gated || report.verdict != Verdict::Pass || metric.unit == MetricUnit::Milliseconds {
        return String::new();
    }
    format!("; not gated: add `{}`", metric.name)
}

/// Number of trials with each name.
fn named<'a>(
    diffs: &[&'a BaselineChanges],
    names: impl Fn(&'a BaselineChanges) -> &'a Vec<String>,
) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for name in diffs.iter().flat_map(|diff| names(diff)) {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    counts
}

fn each(what: &str, names: &BTreeMap<&str, usize>, all: usize) -> Vec<Phrase> {
    names
        .iter()
        .map(|(name, trials)| Phrase::words(what).and_value(*name).and(in_trials(*trials, all)))
        .collect()
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
pub fn replacement_phrases(old: &Baseline, new: &Baseline) -> Vec<Phrase> {
    let (before, after) = (old.tools(), new.tools());
    let mut reported: Vec<Phrase> = Vec::new();
    for (what, tools) in [
        (comparison::NEW_TOOL, after.difference(&before)),
        (comparison::REMOVED_TOOL, before.difference(&after)),
    ] {
        let phrases = tools.take(MAX_TOOLS);
        reported.extend(phrases.map(|tool| Phrase::words(what).and_value(*tool)));
    }
    for spec in &METRICS {
        let (name, metric) = (spec.name, Metric::Recorded(spec));
        let of = |baseline: &Baseline| aggregate(&baseline.sample(&metric)?, Aggregate::Median);
        let (before, after) = (of(old), of(new));
        let change = metric_words::change(name, before, after);
        if !change.is_empty() {
            reported.push(Phrase::words(format!(
                "{}: {} → {}, {change}",
                spec.label,
                metric_words::value(name, before),
                metric_words::value(name, after)
            )));
        }
    }
    let runs = [old, new].map(|baseline| baseline.trials.len());
    if runs[0] != runs[1] {
        reported.push(Phrase::words(format!("runs: {} → {}", runs[0], runs[1])));
    }
    reported
}
