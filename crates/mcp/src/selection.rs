//! The runs of a request: one by its ID or name, or all that a query selects.

use tracer_catalog::query::RunQuery;
use tracer_catalog::{FactsStore, RunChoice, RunLease, RunSink, RunStream};
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

/// All runs one after the other: there may be more than memory holds.
pub(crate) fn stream(store: &FactsStore, with_details: bool) -> Result<RunStream, ToolError> {
    Ok(store
        .survey(with_details)?
        .stream(&CancelToken::default(), |_| ())?)
}

/// Adds the runs that match to a sink: by their facts, and where these leave it open, by their steps.
pub(crate) fn fold<Sink: RunSink>(
    runs: &mut RunStream,
    query: &RunQuery,
    with_trials: bool,
    begin: impl Fn() -> Sink + Sync,
) -> Result<Sink, ToolError> {
    let choice = RunChoice {
        query,
        now: now(),
        with_trials,
        also: &|_| true,
    };
    Ok(runs.fold(&choice, begin, &CancelToken::default(), |_| ())?)
}
