//! `compare_runs`: the differences of two runs in numbers, tools, models and calls.

use tracer_catalog::{FactsStore, RunLease};
use tracer_insight::comparison::words::{self, CallRow};
use tracer_insight::comparison::{Call, CallPair, Comparison, Side};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::metric_words;
use tracer_insight::profile::RunProfile;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::text;
use tracer_runs::{RunReader, Strictness};

use crate::arguments::CompareRuns;
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budget, in tokens.
pub(crate) const BUDGET: usize = 2_000;
/// Changed calls whose arguments are compared.
const MAX_COMPARED_CALLS: usize = 200;
const MAX_NAME_BYTES: usize = 60;
const MAX_VALUE_BYTES: usize = 60;
/// Tools and models that are named of each kind of change.
const MAX_NAMES: usize = 10;

pub(crate) fn answer(store: &FactsStore, asked: &CompareRuns) -> Result<String, ToolError> {
    let mut before = ComparedRun::open(store, Some(&asked.before))?;
    let mut after = ComparedRun::open(store, asked.after.as_deref())?;
    let mut comparison = Comparison::of_runs(&before.profile, &after.profile);
    comparison.look_up_differences(
        &mut before.run.records,
        &mut after.run.records,
        MAX_COMPARED_CALLS,
    )?;
    let page = AnswerPage::new(asked.budget.tokens(BUDGET));
    page.list_from(asked.cursor.as_deref(), &lines(&comparison), String::clone)
}

struct ComparedRun {
    /// Keeps its files where they are.
    _lease: RunLease,
    run: RunReader,
    profile: RunProfile,
}

impl ComparedRun {
    /// Reads a run strictly: the differences of a damaged one are unknown.
    fn open(store: &FactsStore, wanted: Option<&str>) -> Result<Self, ToolError> {
        let lease = selection::one(store, wanted)?;
        let directory = &lease.directory;
        let invalid = |problem: String| ToolError::NotComparable {
            run: directory.trace_id.to_string(),
            problem,
        };
        let run = RunReader::open(&directory.path, Strictness::Strict)
            .map_err(|error| invalid(error.to_string()))?;
        let meta = run.require_meta().map_err(|error| invalid(error.to_string()))?;
        let profile = RunProfile::read(meta, run.records.clone())?.priced(store.prices());
        Ok(Self {
            run,
            profile,
            _lease: lease,
        })
    }
}

fn lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![
        side("before", &comparison.before),
        side("after", &comparison.after),
        words::summary(comparison),
    ];
    for change in words::relevant_metrics(comparison).filter(|change| change.is_changed()) {
        let metric = change.metric.as_str();
        let value = |value| metric_words::value(metric, value);
        let label = MarkedText::own("")
            .with_content(metric_words::label(metric), MAX_NAME_BYTES)
            .marked();
        let difference = metric_words::change(metric, change.before, change.after);
        lines.push(format!(
            "{label}: {} → {} {difference}",
            value(change.before),
            value(change.after)
        ));
    }
    let (tools, models) = (&comparison.tools, &comparison.models);
    for (words, names) in [
        (words::NEW_TOOL, &tools.added),
        (words::REMOVED_TOOL, &tools.removed),
        (words::NEW_MODEL, &models.added),
        (words::REMOVED_MODEL, &models.removed),
    ] {
        let named = names.iter().take(MAX_NAMES);
        lines.extend(named.map(|name| MarkedText::own(words).with_content(name, MAX_NAME_BYTES).marked()));
        let others = names.len().saturating_sub(MAX_NAMES);
        if others > 0 {
            lines.push(format!("{words}{others} more"));
        }
    }
    if tools.is_reordered {
        lines.push(words::REORDERED_TOOLS.to_owned());
    }
    for row in words::call_rows(comparison.calls.pairs()) {
        match row {
            CallRow::Unchanged(count) => lines.push(format!("… {} the same", text::counted(count, "call"))),
            CallRow::Calls { first, last, count } => add_calls(&first, &last, count, &mut lines),
        }
    }
    lines
}

/// `before bc519f… ⟦support-agent⟧ failed`
fn side(word: &str, side: &Side) -> String {
    let name = side.run_name.as_deref().unwrap_or(UNNAMED);
    MarkedText::own(format!("{word} {} ", side.run_id))
        .with_content(name, MAX_NAME_BYTES)
        .with(format!(" {}", side.run_status.as_str()))
        .marked()
}

/// `changed #3 → #3 tool ⟦search_kb⟧`, then a line for each field that differs.
fn add_calls(first: &CallPair<'_>, last: &CallPair<'_>, count: u64, lines: &mut Vec<String>) {
    let before = words::step_range(first.before, last.before);
    let after = words::step_range(first.after, last.after);
    let (call, other) = words::named_calls(first);
    let mut line = MarkedText::own(format!("{} {before} → {after} ", first.change.as_str())).and(named(call));
    if let Some(other) = other {
        line = line.with(" → ").and(named(other));
    }
    if count > 1 {
        line = line.with(format!(" ×{count}"));
    }
    for remark in words::remarks(first) {
        line = line.with(format!(", {remark}"));
    }
    lines.push(line.marked());
    let (differences, more) = words::short_differences(first.differences);
    for [path, before, after] in differences {
        let line = MarkedText::own("  ")
            .with_content(&path, MAX_NAME_BYTES)
            .with(": ")
            .with_content(&before, MAX_VALUE_BYTES)
            .with(" → ")
            .with_content(&after, MAX_VALUE_BYTES);
        lines.push(line.marked());
    }
    if more > 0 {
        lines.push(format!("  … and {}", text::counted(more, "more difference")));
    }
}

fn named(call: Call<'_>) -> MarkedText {
    let kind = tracer_insight::step_kind::StepKind::from(call.event_type).as_str();
    MarkedText::own(format!("{kind} ")).with_content(call.name, MAX_NAME_BYTES)
}
