//! From two runs, or what is usual and a run, to what differs.

use std::collections::{BTreeMap, BTreeSet};

use super::align::align;
use super::{
    AlignedCalls, CallList, Comparison, MetricChange, NameChanges, RepeatedTool, Side, SideKind, ToolChanges,
    TypeCount, UsualProfile,
};
use crate::profile::{Metric, RunProfile, as_float};
use crate::signature::Signature;
use tracer_runs::RunStatus;
use tracer_sdk::format::{EventType, RunMeta, Usage};

/// The rows of [`MetricChange`] that are findings and no metrics.
const GUARDRAIL_STOPS: &str = "guardrail_stops";
const REPEATED_CALLS: &str = "repeated_calls";
/// Reads one of the shares that are known of the tokens of a call.
type TokenShare = fn(&Usage) -> Option<u64>;

/// The rows that say more of the tokens: from a cache, put into one, for reasoning.
const TOKEN_SHARES: [(&str, TokenShare); 3] = [
    ("cached_tokens", |tokens| tokens.cache_read_tokens),
    ("cache_write_tokens", |tokens| tokens.cache_write_tokens),
    ("reasoning_tokens", |tokens| tokens.reasoning_tokens),
];

impl Comparison {
    /// Compares two runs.
    ///
    /// ```
    /// use tracer_insight::comparison::Comparison;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// assert!(Comparison::of_runs(&metrics, &metrics).is_same);
    /// ```
    #[must_use]
    pub fn of_runs(before: &RunProfile, after: &RunProfile) -> Self {
        let metrics = Metric::recorded().map(|metric| change(&metric, before.value(&metric), after));
        let stops = before.guardrail_stops.len() as u64;
        let findings = findings(stops, before.repeated_calls(), after);
        let side = side_of(before);
        let metrics = metrics.chain(token_shares(before, after)).chain(findings);
        let metrics = metrics.collect();
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

    /// Notes that the run of now was forked from the one before, if its metadata says so.
    ///
    /// ```
    /// use tracer_insight::comparison::{Comparison, words};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let profile = RunProfile::new(&run.meta, run.records);
    /// let mut comparison = Comparison::of_runs(&profile, &profile);
    /// let mut fork = run.meta.clone();
    /// fork.additional.insert("fork".to_owned(), serde_json::json!({"run": run.meta.trace_id, "at": 2}));
    /// comparison.note_fork(&fork);
    /// assert!(words::summary(&comparison).starts_with("Forked at call 2. "));
    /// ```
    pub fn note_fork(&mut self, after: &RunMeta) {
        let origin = after.fork();
        self.fork = origin.filter(|origin| origin.run.to_string() == self.before.run_id);
    }

    /// Compares a run with what is usual. Numbers are compared with those of the profile, tools and models with all of
    /// its signatures; single calls with the signature that is this run's too, or else with the first.
    ///
    /// ```
    /// use tracer_insight::comparison::{Comparison, UsualProfile};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let run = RunProfile::new(&run.meta, run.records);
    /// let usual = UsualProfile::new(run.trace_id.to_string(), run.signature.clone());
    /// assert!(Comparison::with_usual(&usual, &run).tools.added.is_empty());
    /// ```
    #[must_use]
    pub fn with_usual(usual: &UsualProfile, after: &RunProfile) -> Self {
        let signatures: Vec<&Signature> = if usual.signatures.is_empty() {
            vec![&usual.first]
        } else {
            usual.signatures.iter().collect()
        };
        let same = signatures
            .iter()
            .find(|signature| ***signature == after.signature);
        let reference = same.copied().unwrap_or(&usual.first);
        let metrics = Metric::recorded()
            .map(|metric| change(&metric, usual.values.get(&metric.to_string()).copied(), after));
        let metrics = metrics.chain(findings(usual.guardrail_stops, usual.repeated_calls, after));
        let metrics = metrics.collect();
        let side = Side {
            kind: SideKind::Baseline,
            run_id: usual.run_id.clone(),
            run_name: usual.run_name.clone(),
            status: reference.status.clone(),
            run_status: match RunStatus::from_word(&reference.status) {
                Some(RunStatus::Ok) if usual.repeated_calls > 0 => RunStatus::Looped,
                status => status.unwrap_or(RunStatus::Failed),
            },
            models: reference.models.clone(),
            tool_calls: reference.tools.clone(),
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
            &signatures,
            reference,
            AlignedCalls::new(before, now),
            after,
        )
    }
}

fn change(metric: &Metric, before: Option<f64>, after: &RunProfile) -> MetricChange {
    MetricChange {
        metric: metric.to_string(),
        before,
        after: after.value(metric),
    }
}

/// The rows that are no metrics.
fn findings(
    guardrail_stops: u64,
    repeated_calls: u64,
    after: &RunProfile,
) -> impl Iterator<Item = MetricChange> {
    let rows = [
        (
            GUARDRAIL_STOPS,
            guardrail_stops,
            after.guardrail_stops.len() as u64,
        ),
        (REPEATED_CALLS, repeated_calls, after.repeated_calls()),
    ];
    rows.into_iter().map(|(name, before, now)| MetricChange {
        metric: name.to_owned(),
        before: Some(as_float(before)),
        after: Some(as_float(now)),
    })
}

/// The token counts by kind, where one of the runs had any tokens of that kind.
fn token_shares<'a>(
    before: &'a RunProfile,
    after: &'a RunProfile,
) -> impl Iterator<Item = MetricChange> + use<'a> {
    TOKEN_SHARES.iter().filter_map(|(name, share)| {
        let sides = [share(&before.tokens), share(&after.tokens)];
        let has_any = sides.iter().flatten().any(|tokens| *tokens > 0);
        let [before, after] = sides.map(|tokens| tokens.map(as_float));
        has_any.then(|| MetricChange {
            metric: (*name).to_owned(),
            before,
            after,
        })
    })
}

fn side_of(run: &RunProfile) -> Side {
    Side {
        kind: SideKind::Run,
        run_id: run.trace_id.to_string(),
        run_name: run.run_name.clone(),
        status: run.status.as_str().to_owned(),
        run_status: run.run_status,
        models: run.signature.models.clone(),
        tool_calls: run.signature.tools.clone(),
    }
}

/// `usual` are the ways that the side before went, at least one; `reference` is the one of them whose calls are compared.
fn build(
    before: Side,
    metrics: Vec<MetricChange>,
    usual: &[&Signature],
    reference: &Signature,
    calls: AlignedCalls,
    after: &RunProfile,
) -> Comparison {
    let now = &after.signature;
    let tools = tool_changes(usual, now, &calls);
    let models = names(usual, now, |signature| &signature.models);
    let is_same = before.status == now.status
        && tools == ToolChanges::default()
        && models == NameChanges::default()
        && reference.events == now.events
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
        fork: None,
        calls,
        before,
    }
}

/// Returns whether a metric says nothing about behaviour: the duration; the cost, which follows from prices and tokens;
/// and the kinds of tokens, whose sum is compared.
fn is_no_behaviour(change: &MetricChange) -> bool {
    Metric::from_name(&change.metric).is_some_and(|metric| !metric.unit().is_behaviour())
        || TOKEN_SHARES.iter().any(|(name, _)| change.metric == *name)
}

/// The calls that a signature has, and whether these are all of them or only the tool calls.
fn calls_of(signature: &Signature) -> (CallList, bool) {
    let types = &signature.events;
    let is_whole = signature.count_of(EventType::ToolCall) == signature.tools.len() as u64;
    if !is_whole {
        let tools = signature.tools.iter();
        return (
            CallList::of_names(tools.map(|tool| (EventType::ToolCall, tool.as_str(), None))),
            false,
        );
    }
    let model = match signature.models.as_slice() {
        [model] => model.as_str(),
        _ => "",
    };
    let mut tools = signature.tools.iter();
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

fn tool_changes(usual: &[&Signature], now: &Signature, calls: &AlignedCalls) -> ToolChanges {
    let names = names(usual, now, |signature| &signature.tools);
    let usual: Vec<_> = usual.iter().map(|signature| signature.tool_counts()).collect();
    let repeated = now.tool_counts().into_iter().filter_map(|(tool, after)| {
        let before = usual.iter().filter_map(|counts| counts.get(tool).copied());
        let before = before.max().unwrap_or(0);
        (after > 1 && after > before).then(|| RepeatedTool {
            tool: tool.to_owned(),
            before,
            after,
        })
    });
    ToolChanges {
        repeated: repeated.collect(),
        is_reordered: is_reordered(calls),
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

/// Returns whether a tool is both missing in one place and new in another when the tools are aligned by their names.
fn is_reordered(calls: &AlignedCalls) -> bool {
    let (before, after) = (tools_in_sets(&calls.before), tools_in_sets(&calls.after));
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

/// The tools that were called, those of one answer sorted by name, since the order within an answer carries no meaning.
/// Against a baseline without model calls these are left out already, and its answers are not known.
fn tools_in_sets(calls: &CallList) -> CallList {
    let mut names: Vec<&str> = Vec::new();
    // Index of the first tool of the last answer.
    let mut answered = None;
    let sort = |names: &mut Vec<&str>, answered: Option<usize>| {
        if let Some(of_answer) = answered.and_then(|first| names.get_mut(first..)) {
            of_answer.sort_unstable();
        }
    };
    for call in calls.iter() {
        if call.event_type == EventType::ToolCall {
            names.push(call.name);
        } else {
            sort(&mut names, answered);
            answered = Some(names.len());
        }
    }
    sort(&mut names, answered);
    CallList::of_names(names.into_iter().map(|name| (EventType::ToolCall, name, None)))
}

fn type_counts(before: &Signature, after: &Signature) -> Vec<TypeCount> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for word in &before.events {
        counts.entry(word).or_default().0 += 1;
    }
    for word in &after.events {
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
