//! What changes when one baseline takes the place of another, in phrases.

use std::collections::BTreeSet;

use crate::Baseline;
use tracer_insight::profile::Metric;

use crate::words::changes::median;
use crate::words::phrase::Phrase;
use tracer_insight::comparison::words as comparison;
use tracer_insight::metric_words;

/// More tools are not told one by one.
const MOST_TOOLS: usize = 50;

/// The changes: tools, then numbers by their medians.
pub fn told(old: &Baseline, new: &Baseline) -> Vec<Phrase> {
    let (before, after) = (tools(old), tools(new));
    let mut told: Vec<Phrase> = Vec::new();
    for (what, tools) in [
        (comparison::NEW_TOOL, after.difference(&before)),
        (comparison::REMOVED_TOOL, before.difference(&after)),
    ] {
        let phrases = tools.take(MOST_TOOLS);
        told.extend(phrases.map(|tool| Phrase::words(what).and_value(*tool)));
    }
    for metric in &Metric::RECORDED {
        let name = metric.to_string();
        let of = |baseline: &Baseline| baseline.sample(metric).and_then(|mut values| median(&mut values));
        let (before, after) = (of(old), of(new));
        let change = metric_words::change(&name, before, after);
        if !change.is_empty() {
            told.push(Phrase::words(format!(
                "{}: {} → {}, {change}",
                metric_words::label(&name),
                metric_words::value(&name, before),
                metric_words::value(&name, after)
            )));
        }
    }
    if old.trials() != new.trials() {
        told.push(Phrase::words(format!(
            "runs: {} → {}",
            old.trials(),
            new.trials()
        )));
    }
    told
}

/// The tools of all runs of a baseline.
fn tools(baseline: &Baseline) -> BTreeSet<&str> {
    let sampled = baseline.trial_sample.iter();
    let sampled = sampled.flat_map(|sample| sample.signatures.values().flat_map(|way| &way.tool_path));
    sampled.chain(&baseline.tool_path).map(String::as_str).collect()
}
