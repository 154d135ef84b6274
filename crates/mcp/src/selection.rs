//! The runs of a request: one by its ID or name, or all that a query selects.

use tracer_catalog::query::RunQuery;
use tracer_catalog::{FactsStore, RunCatalog, RunLease, SelectedRuns};
use tracer_insight::run_steps::RunSteps;
use tracer_insight::units::now;
use tracer_runs::CancelToken;

use crate::error::ToolError;

/// The run that an argument names, its files here; the newest without one.
pub(crate) fn one(store: &FactsStore, wanted: Option<&str>) -> Result<RunLease, ToolError> {
    let directory = store.select(wanted)?;
    Ok(store.files(&directory)?)
}

/// The run that an argument names, opened; its calls have the costs of the store's prices.
pub(crate) fn opened(store: &FactsStore, wanted: Option<&str>) -> Result<(RunLease, RunSteps), ToolError> {
    let lease = one(store, wanted)?;
    let steps = RunSteps::open_readable(&lease.directory, store.prices().clone())?;
    Ok((lease, steps))
}

/// All runs, in a database: there may be more than memory holds.
pub(crate) fn all(store: &FactsStore) -> Result<RunCatalog, ToolError> {
    let runs = store.survey()?.open(&CancelToken::default(), |_| ())?;
    match runs.unread_bucket {
        Some(error) => Err(error.into()),
        None => Ok(runs),
    }
}

/// The runs that match: by their facts, and where these leave it open, by their steps.
pub(crate) fn matching(
    runs: &RunCatalog,
    query: &RunQuery,
    with_trials: bool,
) -> Result<SelectedRuns, ToolError> {
    Ok(runs.select(query, with_trials, now(), &CancelToken::default(), |_| ())?)
}
