//! `list_runs`: the runs that match a query, the newest first.

use tracer_facts::query::RunQuery;
use tracer_facts::{FactsStore, ListedRun, RunColumn};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::text;

use crate::arguments::ListRuns;
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budget, in tokens.
pub(crate) const BUDGET: usize = 2_000;
const MAX_NAME_BYTES: usize = 60;
const MAX_SUBTITLE_BYTES: usize = 120;
const COLUMNS: [RunColumn; 7] = [
    RunColumn::Status,
    RunColumn::Started,
    RunColumn::Duration,
    RunColumn::Steps,
    RunColumn::Failures,
    RunColumn::Tokens,
    RunColumn::Cost,
];

pub(crate) fn answer(store: &FactsStore, asked: &ListRuns) -> Result<String, ToolError> {
    let query: RunQuery = asked.query.parse()?;
    let all = selection::all(store, asked.trials, query.needs_details())?;
    let of_all = text::counted(all.len() as u64, "run");
    let mut runs = selection::matching(all, &query);
    let mut page = AnswerPage::new(asked.budget.tokens(BUDGET));
    let heading = if query.is_empty() {
        of_all
    } else {
        format!("{} of {of_all} match", runs.len())
    };
    let _ = page.add(&format!("{heading}, the newest first:"));
    let first = match &asked.cursor {
        None => 0,
        // The last run of the page before, which may be gone by now.
        Some(last) => {
            let is_last = |run: &ListedRun| run.directory.trace_id.to_string() == *last;
            runs.iter().position(is_last).ok_or(ToolError::Cursor)? + 1
        }
    };
    let mut last = None;
    for run in runs.get_mut(first..).unwrap_or_default() {
        store.read_details([&mut *run]);
        if !page.add(&line(run)) {
            return Ok(page.finish(last));
        }
        last = Some(run.directory.trace_id.to_string());
    }
    Ok(page.finish(None))
}

/// `bc519f… ⟦support-agent⟧ failed, 2026-11-21 01:14:27 UTC, 880 ms, 11 steps, 412→35 tokens, $0.0021 ⟦Timeout: no answer⟧`
fn line(run: &ListedRun) -> String {
    let facts = &run.facts;
    let name = facts.name.as_deref().unwrap_or(UNNAMED);
    let waits = facts.is_waiting.then(|| "waiting for a person".to_owned());
    let words: Vec<String> = COLUMNS
        .iter()
        .filter_map(|column| column.words(run))
        .chain(waits)
        .collect();
    let line = MarkedText::own(format!("{} ", run.directory.trace_id))
        .with_content(name, MAX_NAME_BYTES)
        .with(format!(" {}", words.join(", ")));
    let subtitle = run
        .details
        .as_ref()
        .and_then(|details| details.subtitle.as_deref());
    match subtitle.or(facts.problem.as_deref()) {
        Some(subtitle) => line.with(" ").with_content(subtitle, MAX_SUBTITLE_BYTES).marked(),
        None => line.marked(),
    }
}
