//! `list_runs`: the runs that match a query, the newest first.

use tracer_catalog::query::RunQuery;
use tracer_catalog::{FactsStore, ListedRun, RunColumn, RunOrder};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::text;

use crate::arguments::ListRuns;
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budget, in tokens.
pub(crate) const BUDGET: usize = 2_000;
/// Runs of a page: more than the largest budget has room for.
const MAX_RUNS: usize = 1_500;
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
    let runs = selection::all(store)?;
    let everything = selection::matching(&runs, &RunQuery::default(), asked.trials)?;
    let of_all = text::counted(runs.count(&everything)? as u64, "run");
    let found = selection::matching(&runs, &query, asked.trials)?;
    let heading = if query.is_empty() {
        of_all
    } else {
        format!("{} of {of_all} match", runs.count(&found)?)
    };
    let following = match &asked.cursor {
        None => found,
        // The last run of the page before, which may be gone by now.
        Some(cursor) => {
            let id = cursor.parse().map_err(|_| ToolError::Cursor)?;
            found.after(&runs.run(id)?.ok_or(ToolError::Cursor)?)
        }
    };
    let listed = runs.page(&following, RunOrder::default(), 0, MAX_RUNS + 1)?;
    let mut page = AnswerPage::new(asked.budget.tokens(BUDGET));
    let _ = page.add(&format!("{heading}, the newest first:"));
    let mut last = None;
    for run in listed.iter().take(MAX_RUNS) {
        if !page.add(&line(run)) {
            return Ok(page.finish(last));
        }
        last = Some(run.directory.trace_id.to_string());
    }
    Ok(page.finish(last.filter(|_| listed.len() > MAX_RUNS)))
}

/// `bc519f… ⟦support-agent⟧ failed, 2026-11-21 01:14:27 UTC, 880 ms, 11 steps, 412→35 tokens, $0.0021 ⟦Timeout: no answer⟧`
fn line(run: &ListedRun) -> String {
    let facts = &run.row;
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
    match facts.subtitle.as_deref().or(facts.problem.as_deref()) {
        Some(subtitle) => line.with(" ").with_content(subtitle, MAX_SUBTITLE_BYTES).marked(),
        None => line.marked(),
    }
}
