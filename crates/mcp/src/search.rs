//! `search_runs`: the steps that a query is about, in the runs that it selects, the newest first.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracer_catalog::query::{RunQuery, StepQuery};
use tracer_catalog::{FactsStore, ListedRun, RunCatalog, SearchOrder, SortedHits, StepHit, StepSearch};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::units::{self, now};
use tracer_runs::CancelToken;
use tracer_sdk::format::TraceId;

use crate::arguments::SearchRuns;
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budget, in tokens.
pub(crate) const BUDGET: usize = 2_000;
/// Runs that are searched at a time: of those behind the end of the page nothing is wanted.
const RUNS_AT_ONCE: usize = 64;
/// Hits of one run in a page.
const MAX_HITS: usize = 400;
const MAX_NAME_BYTES: usize = 60;
const MAX_EXCERPT_BYTES: usize = 240;

pub(crate) fn answer(store: &FactsStore, asked: &SearchRuns) -> Result<String, ToolError> {
    let query: RunQuery = asked.query.parse()?;
    let test = StepQuery::of_runs(&query);
    if test.is_empty() {
        return Err(ToolError::NoStepCondition);
    }
    let runs = selection::all(store)?;
    let candidates = runs.candidates(&query, asked.trials, now())?;
    if let Some(order) = asked.sort {
        return sorted(store, asked, &runs, &candidates, &test, order);
    }
    let (first, after_step) = match &asked.cursor {
        None => (0, 0),
        Some(cursor) => place(cursor, &candidates)?,
    };
    let mut page = AnswerPage::new(asked.budget.tokens(BUDGET));
    let mut last: Option<String> = None;
    let rest = candidates.get(first..).unwrap_or_default();
    for (number, chunk) in rest.chunks(RUNS_AT_ONCE).enumerate() {
        let limit = if number == 0 {
            MAX_HITS + after_step
        } else {
            MAX_HITS
        };
        let wanted = StepSearch {
            test: &test,
            limit,
            order: None,
            prices: store.prices(),
        };
        let mut found = BTreeMap::new();
        runs.search(chunk, &wanted, &CancelToken::default(), |at, run, hits| {
            if !hits.hits.is_empty() {
                found.insert(at, (run.clone(), hits));
            }
        })?;
        for (at, (run, found)) in &found {
            let skipped = if number == 0 && *at == 0 { after_step } else { 0 };
            let mut is_named = false;
            for hit in found.hits.iter().filter(|hit| hit.step > skipped) {
                let heading = if is_named {
                    String::new()
                } else {
                    run_line(run) + "\n"
                };
                if !page.add(&(heading + &hit_line(hit))) {
                    return Ok(page.finish(last));
                }
                is_named = true;
                last = Some(format!("{}.{}", run.directory.trace_id, hit.step));
            }
            if found.more {
                return Ok(page.finish(last));
            }
        }
    }
    if last.is_none() {
        let none = if asked.cursor.is_some() {
            "no further step matches"
        } else {
            "no step matches"
        };
        let _ = page.add(none);
    }
    Ok(page.finish(None))
}

/// The hits of all runs from the largest number to the smallest, each with its run; the cursor is the place of the next one.
fn sorted(
    store: &FactsStore,
    asked: &SearchRuns,
    runs: &RunCatalog,
    candidates: &[TraceId],
    test: &StepQuery,
    order: SearchOrder,
) -> Result<String, ToolError> {
    let wanted = StepSearch {
        test,
        limit: MAX_HITS,
        order: Some(order),
        prices: store.prices(),
    };
    let mut hits = SortedHits::default();
    runs.search(candidates, &wanted, &CancelToken::default(), |at, run, found| {
        if !found.hits.is_empty() {
            hits.add(at, &Arc::new(run.clone()), found, MAX_HITS);
        }
    })?;
    let (hits, _) = hits.finish(MAX_HITS);
    let mut page = AnswerPage::new(asked.budget.tokens(BUDGET));
    if hits.is_empty() {
        let _ = page.add("no step with such a number matches");
    }
    page.list_from(asked.cursor.as_deref(), &hits, |(run, hit)| {
        format!("{}\n{}", run_line(run), hit_line(hit))
    })
}

/// The run and the step behind which a page begins.
fn place(cursor: &str, candidates: &[TraceId]) -> Result<(usize, usize), ToolError> {
    let (run, step) = cursor.split_once('.').ok_or(ToolError::Cursor)?;
    let first = candidates
        .iter()
        .position(|id| id.to_string() == run)
        .ok_or(ToolError::Cursor)?;
    Ok((first, step.parse().map_err(|_| ToolError::Cursor)?))
}

fn run_line(run: &ListedRun) -> String {
    let name = run.row.name.as_deref().unwrap_or(UNNAMED);
    let started = run
        .started()
        .map(|started| format!(", {}", units::moment(started)));
    MarkedText::own(format!("run {} ", run.directory.trace_id))
        .with_content(name, MAX_NAME_BYTES)
        .with(format!(" {}{}", run.status.as_str(), started.unwrap_or_default()))
        .marked()
}

fn hit_line(hit: &StepHit) -> String {
    let failed = if hit.failed { " failed" } else { "" };
    let number = hit.number.map(|number| format!(" {}", number.words()));
    MarkedText::own(format!("  #{} {} ", hit.step, hit.kind.as_str()))
        .with_content(&hit.name, MAX_NAME_BYTES)
        .with(format!("{failed}{}: ", number.unwrap_or_default()))
        .with_content(&hit.excerpt, MAX_EXCERPT_BYTES)
        .marked()
}
