//! `get_run`, `get_step`, `explain_failure` and `explain_value`: one run as insight composes it for a model.

use tracer_catalog::FactsStore;
use tracer_insight::context_bill::ContextBill;
use tracer_insight::lineage::Lineage;
use tracer_insight::outline::{self, FurtherDetail, StepCursor};

use crate::arguments::{ExplainValue, GetRun, GetStep, OneRun};
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budgets, in tokens.
pub(crate) const RUN_BUDGET: usize = 2_000;
pub(crate) const STEP_BUDGET: usize = 2_000;
pub(crate) const FAILURE_BUDGET: usize = 800;
pub(crate) const VALUE_BUDGET: usize = 500;

pub(crate) fn outline(store: &FactsStore, asked: &GetRun) -> Result<String, ToolError> {
    let (lease, run) = selection::opened(store, asked.run_id.as_deref())?;
    if asked.context {
        let bill = ContextBill::of_run(&run)?;
        let page = AnswerPage::new(asked.budget.tokens(RUN_BUDGET));
        let of_blocks = bill.blocks.iter().map(|block| block.words().marked());
        let lines = std::iter::once(bill.summary.clone())
            .chain(bill.notes.iter().cloned())
            .chain(of_blocks);
        // The cheapest blocks are left out where there is no room.
        return Ok(page.with_all(lines, "more line"));
    }
    let further = FurtherDetail::Tools(lease.directory.trace_id.to_string());
    let budget = asked.budget.tokens(RUN_BUDGET);
    Ok(outline::of_run(&run, budget, &further)?)
}

pub(crate) fn failure(store: &FactsStore, asked: &OneRun) -> Result<String, ToolError> {
    let (lease, run) = selection::opened(store, asked.run_id.as_deref())?;
    let further = FurtherDetail::Tools(lease.directory.trace_id.to_string());
    let budget = asked.budget.tokens(FAILURE_BUDGET);
    Ok(outline::of_failure(&run, budget, &further)?)
}

pub(crate) fn value(store: &FactsStore, asked: &ExplainValue) -> Result<String, ToolError> {
    let (_lease, run) = selection::opened(store, asked.run_id.as_deref())?;
    let no_step = || ToolError::NoStep {
        number: asked.step.unwrap_or_default(),
        count: run.len(),
    };
    let lineage = Lineage::of_run(&run, &asked.value, asked.step)?.ok_or_else(no_step)?;
    let page = AnswerPage::new(asked.budget.tokens(VALUE_BUDGET));
    let places = [
        ("source: ", &lineage.sources),
        ("candidate: ", &lineage.candidates),
    ];
    let places = places.into_iter().flat_map(|(role, places)| {
        let words =
            |place: &tracer_insight::lineage::ValuePlace| format!("{role}{}", place.marked_words().marked());
        places.iter().map(words).collect::<Vec<_>>()
    });
    let lines = std::iter::once(lineage.words().marked()).chain(places);
    Ok(page.with_all(lines, "more place"))
}

pub(crate) fn step(store: &FactsStore, asked: &GetStep) -> Result<String, ToolError> {
    let (lease, run) = selection::opened(store, asked.run_id.as_deref())?;
    let further = FurtherDetail::Tools(lease.directory.trace_id.to_string());
    let cursor = asked
        .cursor
        .as_deref()
        .map(str::parse::<StepCursor>)
        .transpose()?;
    let place = (asked.step, cursor.unwrap_or_default());
    let budget = asked.budget.tokens(STEP_BUDGET);
    let found = outline::of_step(&run, place, budget, &further)?;
    let no_step = || ToolError::NoStep {
        number: asked.step,
        count: run.len(),
    };
    Ok(found.ok_or_else(no_step)??)
}
