//! From two runs, or a baseline and a run, to what differs.

use std::collections::{BTreeMap, BTreeSet};

use super::super::metrics::as_float;
use super::super::{Baseline, Metric, RunMetrics, Signature};
use super::align::align;
use super::{
    AlignedCalls, CallList, Comparison, MetricChange, NameChanges, RepeatedTool, Side, SideKind, ToolChanges,
    TypeCount,
};
use crate::format::EventType;

/// The rows of [`MetricChange`] that are findings and no metrics.
const GUARDRAIL_STOPS: &str = "guardrail_stops";
const REPEATED_CALLS: &str = "repeated_calls";

impl Comparison {
    /// Compares two runs.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Comparison, RunMetrics};
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunMetrics::of(&run.meta, run.records());
    /// assert!(Comparison::of_runs(&metrics, &metrics).is_same);
    /// ```
    #[must_use]
    pub fn of_runs(before: &RunMetrics, after: &RunMetrics) -> Self {
        let metrics = Metric::RECORDED
            .iter()
            .map(|metric| change(metric, before.value(metric), after));
        let found = |name: &str, before: u64, after: u64| MetricChange {
            metric: name.to_owned(),
            before: Some(as_float(before)),
            after: Some(as_float(after)),
        };
        let findings = [
            found(
                GUARDRAIL_STOPS,
                before.guardrail_stops.len() as u64,
                after.guardrail_stops.len() as u64,
            ),
            found(REPEATED_CALLS, before.repeated_calls(), after.repeated_calls()),
        ];
        let side = side_of(before);
        let metrics = metrics.chain(findings).collect();
        let calls = AlignedCalls::new(before.calls.clone(), after.calls.clone());
        build(
            side,
            metrics,
            &[&before.signature],
            &before.signature,
            calls,
            after,
        )
    }

    /// Compares a run with what is usual. Numbers are compared with the medians of the baseline's sample, tools and
    /// models with all of its runs; single calls with the run of the sample that went the same way as this one, or else
    /// with its first run.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, Comparison, RunMetrics};
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunMetrics::of(&run.meta, run.records());
    /// let baseline = Baseline::of_run(&metrics, "2026-01-01T00:00:00.000Z");
    /// assert!(Comparison::with_baseline(&baseline, &metrics).is_same);
    /// ```
    #[must_use]
    pub fn with_baseline(baseline: &Baseline, after: &RunMetrics) -> Self {
        let first = baseline.first_signature();
        let sample = baseline.trial_sample.as_ref();
        let all: Vec<&Signature> = sample
            .map(|sample| sample.signatures.values().collect())
            .unwrap_or_default();
        let all = if all.is_empty() { vec![&first] } else { all };
        let reference = all
            .iter()
            .copied()
            .find(|known| **known == after.signature)
            .unwrap_or(&first);
        let mut metrics: Vec<MetricChange> = Metric::RECORDED
            .iter()
            .map(|metric| {
                let median = baseline.sample(metric).and_then(|values| median(&values));
                change(metric, median, after)
            })
            .collect();
        let stops = baseline
            .guardrail_events
            .as_ref()
            .map(|events| as_float(events.len() as u64));
        let loops = baseline
            .x_tracer
            .as_ref()
            .and_then(|provenance| provenance.repeated_calls);
        let loops = loops.map(as_float);
        let findings = [
            (GUARDRAIL_STOPS, stops, after.guardrail_stops.len() as u64),
            (REPEATED_CALLS, loops, after.repeated_calls()),
        ];
        for (name, before, found) in findings {
            // Of what a baseline does not know only what there is now can be told.
            if before.is_some() || found > 0 {
                metrics.push(MetricChange {
                    metric: name.to_owned(),
                    before,
                    after: Some(as_float(found)),
                });
            }
        }
        let side = Side {
            kind: SideKind::Baseline,
            run_id: baseline.source_run_id.clone(),
            run_name: baseline.source_run_name.clone(),
            status: reference.final_status.clone(),
            models: reference.llm_models_used.clone(),
            tool_calls: reference.tool_call_sequence.clone(),
            is_sequence_known: baseline.tool_call_sequence.is_some(),
        };
        let (before, is_whole) = calls_of(reference);
        let now = if is_whole {
            after.calls.clone()
        } else {
            after.calls.tools()
        };
        build(
            side,
            metrics,
            &all,
            reference,
            AlignedCalls::new(before, now),
            after,
        )
    }
}

fn change(metric: &Metric, before: Option<f64>, after: &RunMetrics) -> MetricChange {
    MetricChange {
        metric: metric.to_string(),
        before,
        after: after.value(metric),
    }
}

fn side_of(run: &RunMetrics) -> Side {
    Side {
        kind: SideKind::Run,
        run_id: run.trace_id.to_string(),
        run_name: run.run_name.clone(),
        status: run.status.as_str().to_owned(),
        models: run.signature.llm_models_used.clone(),
        tool_calls: run.signature.tool_call_sequence.clone(),
        is_sequence_known: true,
    }
}

/// `usual` are the ways that the side before went, at least one; `reference` is the one of them whose calls are compared.
fn build(
    before: Side,
    metrics: Vec<MetricChange>,
    usual: &[&Signature],
    reference: &Signature,
    calls: AlignedCalls,
    after: &RunMetrics,
) -> Comparison {
    let now = &after.signature;
    let tools = tool_changes(usual, now, before.is_sequence_known.then_some(&calls));
    let models = names(usual, now, |signature| &signature.llm_models_used);
    let is_same = before.status == now.final_status
        && tools == ToolChanges::default()
        && models == NameChanges::default()
        && (reference.event_type_sequence == now.event_type_sequence
            || reference.event_type_sequence.is_empty())
        && metrics
            .iter()
            .all(|change| !change.is_changed() || is_no_behaviour(change))
        && calls.pairs().all(|pair| pair.change == super::CallChange::Same);
    Comparison {
        after: side_of(after),
        is_same,
        metrics,
        records: type_counts(reference, now),
        tools,
        models,
        calls,
        before,
    }
}

/// How long it took is no behaviour; and of loops that an old baseline does not tell the calls themselves are compared.
fn is_no_behaviour(change: &MetricChange) -> bool {
    change.metric == Metric::LatencyMs.to_string()
        || change.before.is_none() && change.metric == REPEATED_CALLS
}

/// The calls that a signature tells of, and whether these are all of them or only the tool calls.
fn calls_of(signature: &Signature) -> (CallList, bool) {
    let types = &signature.event_type_sequence;
    let is_whole = signature.count_of(EventType::ToolCall) == signature.tool_call_sequence.len() as u64;
    if !is_whole {
        let tools = signature.tool_call_sequence.iter();
        return (
            CallList::of_names(tools.map(|tool| (EventType::ToolCall, tool.as_str(), None))),
            false,
        );
    }
    let model = match signature.llm_models_used.as_slice() {
        [model] => model.as_str(),
        _ => "",
    };
    let mut tools = signature.tool_call_sequence.iter();
    let steps = types
        .iter()
        .filter(|word| !matches!(word.as_ref(), "RUN_START" | "RUN_END"))
        .zip(1..);
    let calls = steps.filter_map(|(word, step)| match word.as_ref() {
        "TOOL_CALL" => Some((EventType::ToolCall, tools.next()?.as_str(), Some(step))),
        "LLM_CALL" => Some((EventType::LlmCall, model, Some(step))),
        _ => None,
    });
    (CallList::of_names(calls), true)
}

fn tool_changes(usual: &[&Signature], now: &Signature, sequence: Option<&AlignedCalls>) -> ToolChanges {
    let names = names(usual, now, |signature| &signature.tool_path);
    let repeated = now.tool_call_counts.iter().filter_map(|(tool, after)| {
        let counts = usual
            .iter()
            .map(|signature| signature.tool_call_counts.get(tool).copied());
        let before = counts.flatten().max().unwrap_or(0);
        // Of a tool that an old baseline names without a count, it is not known how often it was called.
        let is_known = before > 0 || names.added.contains(tool);
        (*after > 1 && *after > before && is_known).then(|| RepeatedTool {
            tool: tool.clone(),
            before,
            after: *after,
        })
    });
    ToolChanges {
        repeated: repeated.collect(),
        is_reordered: sequence.is_some_and(is_reordered),
        added: names.added,
        removed: names.removed,
    }
}

/// Names that none of the usual runs has, and names that all of them have and this one has not.
fn names(usual: &[&Signature], now: &Signature, of: impl Fn(&Signature) -> &Vec<String>) -> NameChanges {
    let sets: Vec<BTreeSet<&String>> = usual
        .iter()
        .map(|signature| of(signature).iter().collect())
        .collect();
    let current: BTreeSet<&String> = of(now).iter().collect();
    let is_new = |name: &&&String| !sets.iter().any(|set| set.contains(**name));
    let is_gone = |name: &&&String| sets.iter().all(|set| set.contains(**name)) && !current.contains(**name);
    NameChanges {
        added: current
            .iter()
            .filter(is_new)
            .map(|name| (*name).clone())
            .collect(),
        removed: sets
            .iter()
            .take(1)
            .flatten()
            .filter(is_gone)
            .map(|name| (*name).clone())
            .collect(),
    }
}

/// Whether a tool is both missing in one place and new in another when the tools are aligned by their names.
fn is_reordered(calls: &AlignedCalls) -> bool {
    // Against a baseline without them, model calls are left out already.
    let (before, after) = (calls.before.tools(), calls.after.tools());
    let steps = align(&before, &after);
    let missing: BTreeSet<&str> = steps
        .iter()
        .filter(|(_, right)| right.is_none())
        .filter_map(|(left, _)| before.get((*left)?).map(|call| call.name))
        .collect();
    steps
        .iter()
        .filter(|(left, _)| left.is_none())
        .filter_map(|(_, right)| after.get((*right)?))
        .any(|call| missing.contains(call.name))
}

fn type_counts(before: &Signature, after: &Signature) -> Vec<TypeCount> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for word in &before.event_type_sequence {
        counts.entry(word).or_default().0 += 1;
    }
    for word in &after.event_type_sequence {
        counts.entry(word).or_default().1 += 1;
    }
    counts
        .into_iter()
        .map(|(event_type, (before, after))| TypeCount {
            event_type: event_type.to_owned(),
            before,
            after,
        })
        .collect()
}

/// The middle value, or the mean of the two in the middle.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted
        .get(sorted.len() / 2 - 1)
        .map(|lower| f64::midpoint(*lower, upper))
}
