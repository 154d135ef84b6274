//! Changes against the baseline, once for all trials: each change with how many trials have it.

use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::SUMMARY_METRICS;
use crate::statistics::{Aggregate, aggregate};
use crate::words::phrase::Phrase;
use crate::{Baseline, CountedDiff, Report, ReportedTrial, Verdict};
use tracer_insight::comparison::words as comparison;
use tracer_insight::metric_words;
use tracer_insight::profile::Metric;
use tracer_insight::text;

/// The key of the summary that differs by chance alone.
const DURATION: &str = "duration_ms";

/// The changes: tools first, then models and endings, then numbers.
pub fn change_phrases(report: &Report) -> Vec<Phrase> {
    changes_of(report, |_| true)
}

/// The changes without how long it took.
#[cfg(feature = "testing")]
pub(crate) fn change_phrases_without_time(report: &Report) -> Vec<Phrase> {
    changes_of(report, |key| key != DURATION)
}

fn changes_of(report: &Report, is_wanted: impl Fn(&str) -> bool) -> Vec<Phrase> {
    let diffs: Vec<&CountedDiff> = report
        .trials
        .iter()
        .filter_map(|trial| trial.baseline_diff.as_ref())
        .collect();
    if diffs.is_empty() {
        return Vec::new();
    }
    let mut reported = tools(&diffs);
    for (what, names) in [
        (
            comparison::NEW_MODEL,
            named(&diffs, |diff| &diff.model_changes.added),
        ),
        (
            comparison::REMOVED_MODEL,
            named(&diffs, |diff| &diff.model_changes.removed),
        ),
    ] {
        reported.extend(each(what, &names, diffs.len()));
    }
    reported.extend(endings(&diffs));
    reported.extend(guardrails(&diffs));
    reported.extend(
        SUMMARY_METRICS
            .iter()
            .filter(|(key, _)| is_wanted(key))
            .filter_map(|(key, metric)| number(key, metric, report)),
    );
    reported
}

/// How many things changed in a trial, time not counted; empty without a baseline.
pub fn count(trial: &ReportedTrial) -> String {
    let Some(diff) = &trial.baseline_diff else {
        return String::new();
    };
    let numbers = diff
        .summary_diff
        .keys()
        .filter(|key| key.as_str() != DURATION && key.as_str() != "status");
    let count = numbers.count()
        + diff.new_tools.len()
        + diff.removed_tools.len()
        + diff.repeated_tools.len()
        + usize::from(diff.reordered_tools)
        + diff.model_changes.added.len()
        + diff.model_changes.removed.len()
        + usize::from(diff.guardrail_event_diff.is_some())
        + usize::from(diff.terminal_status_diff.is_some());
    count.to_string()
}

fn tools(diffs: &[&CountedDiff]) -> Vec<Phrase> {
    let mut reported = each(
        comparison::NEW_TOOL,
        &named(diffs, |diff| &diff.new_tools),
        diffs.len(),
    );
    reported.extend(each(
        comparison::REMOVED_TOOL,
        &named(diffs, |diff| &diff.removed_tools),
        diffs.len(),
    ));
    // Of each tool the most that any trial calls it.
    let mut repeated: BTreeMap<&str, (u64, u64, usize)> = BTreeMap::new();
    for (tool, [before, now]) in diffs.iter().flat_map(|diff| &diff.repeated_tools) {
        let known = repeated.entry(tool).or_insert((*before, *now, 0));
        *known = (known.0, known.1.max(*now), known.2 + 1);
    }
    reported.extend(repeated.into_iter().map(|(tool, (before, now, trials))| {
        let times = format!(" up to {}", comparison::times_called(before, now));
        Phrase::words("calls ")
            .and_value(tool)
            .and(times + &in_trials(trials, diffs.len()))
    }));
    let reordered = diffs.iter().filter(|diff| diff.reordered_tools).count();
    if reordered > 0 {
        reported.push(Phrase::words(
            comparison::REORDERED_TOOLS.to_owned() + &in_trials(reordered, diffs.len()),
        ));
    }
    reported
}

fn endings(diffs: &[&CountedDiff]) -> Vec<Phrase> {
    let mut endings: BTreeMap<[&str; 2], usize> = BTreeMap::new();
    for [now, before] in diffs.iter().filter_map(|diff| diff.terminal_status_diff.as_ref()) {
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

fn guardrails(diffs: &[&CountedDiff]) -> Option<Phrase> {
    let changed: Vec<[u64; 2]> = diffs
        .iter()
        .filter_map(|diff| diff.guardrail_event_diff)
        .collect();
    let [now, before] = changed.iter().max()?;
    Some(Phrase::words(format!(
        "is stopped by up to {} (was {before}){}",
        text::counted(*now, "guardrail"),
        in_trials(changed.len(), diffs.len())
    )))
}

/// A number that differs from the baseline: the median of the trials beside the baseline's.
fn number(key: &str, metric: &str, report: &Report) -> Option<Phrase> {
    let before = report.trials.iter().find_map(|trial| {
        let [_, before] = trial.baseline_diff.as_ref()?.summary_diff.get(key)?;
        Some(before.as_f64())
    })?;
    let mut values: Vec<f64> = Vec::new();
    let mut unknown = 0;
    for trial in report.trials.iter().filter(|trial| trial.baseline_diff.is_some()) {
        match trial.metric_values.get(metric).copied().flatten() {
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
        metric_words::label(metric),
        metric_words::value(metric, before),
        metric_words::value(metric, after),
        not_gated(metric, report)
    )))
}

/// What a passed gate says of a number that moved and that no check asked about; how long a run took differs by chance alone.
fn not_gated(metric: &str, report: &Report) -> String {
    let is_gated = report
        .aggregate_results
        .iter()
        .any(|check| check.check_name == metric);
    if is_gated || report.verdict != Verdict::Pass || metric == Metric::LatencyMs.to_string() {
        return String::new();
    }
    format!("; not gated: add `{metric}`")
}

/// How many trials have each name.
fn named<'a>(
    diffs: &[&'a CountedDiff],
    names: impl Fn(&'a CountedDiff) -> &'a Vec<String>,
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
    let (before, after) = (all_tools(old), all_tools(new));
    let mut reported: Vec<Phrase> = Vec::new();
    for (what, tools) in [
        (comparison::NEW_TOOL, after.difference(&before)),
        (comparison::REMOVED_TOOL, before.difference(&after)),
    ] {
        let phrases = tools.take(MAX_TOOLS);
        reported.extend(phrases.map(|tool| Phrase::words(what).and_value(*tool)));
    }
    for metric in &Metric::RECORDED {
        let name = metric.to_string();
        let of = |baseline: &Baseline| aggregate(&baseline.sample(metric)?, Aggregate::Median);
        let (before, after) = (of(old), of(new));
        if before.is_none() && metric.is_newer() {
            // Baselines of earlier versions do not know it.
            continue;
        }
        let change = metric_words::change(&name, before, after);
        if !change.is_empty() {
            reported.push(Phrase::words(format!(
                "{}: {} → {}, {change}",
                metric_words::label(&name),
                metric_words::value(&name, before),
                metric_words::value(&name, after)
            )));
        }
    }
    if old.trials() != new.trials() {
        reported.push(Phrase::words(format!(
            "runs: {} → {}",
            old.trials(),
            new.trials()
        )));
    }
    reported
}

/// The tools of all runs of a baseline.
fn all_tools(baseline: &Baseline) -> BTreeSet<&str> {
    let sampled = baseline.trial_sample.iter();
    let sampled = sampled.flat_map(|sample| sample.signatures.values().flat_map(|way| &way.tool_path));
    sampled.chain(&baseline.tool_path).map(String::as_str).collect()
}
