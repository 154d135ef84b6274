//! The runs that a question is about: one by its ID or name, or all that a query selects.

use tracer_facts::query::RunQuery;
use tracer_facts::{FactsStore, ListedRun, RunLease, matching_runs};
use tracer_insight::run_steps::RunSteps;
use tracer_insight::units::now;
use tracer_sdk::read::CancelToken;

use crate::error::ToolError;

/// The run that an argument names, its files here; the newest without one.
pub(crate) fn one(store: &FactsStore, wanted: Option<&str>) -> Result<RunLease, ToolError> {
    let directory = store.select(wanted)?;
    Ok(store.files(&directory)?)
}

/// The same, opened; its calls have the costs of the store's prices.
pub(crate) fn opened(store: &FactsStore, wanted: Option<&str>) -> Result<(RunLease, RunSteps), ToolError> {
    let lease = one(store, wanted)?;
    let steps = RunSteps::open(&lease.directory, store.prices().clone())?;
    Ok((lease, steps))
}

/// All runs, the newest first, without the trials of gates unless these are wanted.
pub(crate) fn all(store: &FactsStore, trials: bool, with_details: bool) -> Result<Vec<ListedRun>, ToolError> {
    let mut runs = store.all(with_details)?.runs;
    runs.retain(|run| trials || !run.facts.is_trial);
    Ok(runs)
}

/// The runs that match: by their facts, and where these leave it open, by their steps.
pub(crate) fn matching(runs: Vec<ListedRun>, query: &RunQuery) -> Vec<ListedRun> {
    let matches = matching_runs(&runs, query, now(), &CancelToken::default(), |_| ());
    let with_matches = runs.into_iter().zip(matches);
    with_matches
        .filter_map(|(run, matches)| matches.then_some(run))
        .collect()
}
