//! `get_run`, `get_step` and `explain_failure`: one run as insight composes it for a model.

use tracer_catalog::FactsStore;
use tracer_insight::context_bill::ContextBill;
use tracer_insight::outline::{self, FurtherDetail, StepCursor};

use crate::arguments::{GetRun, GetStep, OneRun};
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budgets, in tokens.
pub(crate) const RUN_BUDGET: usize = 2_000;
pub(crate) const STEP_BUDGET: usize = 2_000;
pub(crate) const FAILURE_BUDGET: usize = 800;

pub(crate) fn outline(store: &FactsStore, asked: &GetRun) -> Result<String, ToolError> {
    let (lease, run) = selection::opened(store, asked.run_id.as_deref())?;
    if asked.context {
        let bill = ContextBill::of_run(&run)?;
        let mut page = AnswerPage::new(asked.budget.tokens(RUN_BUDGET));
        let of_blocks = bill.blocks.iter().map(|block| block.words().marked());
        let lines = std::iter::once(bill.summary.clone())
            .chain(bill.notes.iter().cloned())
            .chain(of_blocks);
        // The cheapest blocks are left out where there is no room.
        lines.take_while(|line| page.add(line)).for_each(drop);
        return Ok(page.finish(None));
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
