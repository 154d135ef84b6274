//! `get_run`, `get_step` and `explain_failure`: one run as insight composes it for a model.

use tracer_catalog::FactsStore;
use tracer_insight::outline::{self, FurtherDetail, StepCursor};

use crate::arguments::{GetStep, OneRun};
use crate::error::ToolError;
use crate::selection;

/// The usual budgets, in tokens.
pub(crate) const RUN_BUDGET: usize = 2_000;
pub(crate) const STEP_BUDGET: usize = 2_000;
pub(crate) const FAILURE_BUDGET: usize = 800;

pub(crate) fn outline(store: &FactsStore, asked: &OneRun) -> Result<String, ToolError> {
    let (lease, run) = selection::opened(store, asked.run_id.as_deref())?;
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
