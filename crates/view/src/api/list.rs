//! `GET /api/runs`: the metadata of the runs, newest first (decisions, section 12).

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tracer_catalog::query::{QueryError, RunQuery};
use tracer_catalog::{ListedRun, ReadingProgress};
use tracer_insight::units;
use tracer_runs::{NamePattern, RunFilter, RunStatus, RunSummary, StoreError};
use tracer_sdk::format::TraceId;

use super::super::answer::{ApiError, json_response};
use super::super::known_facts::{Facts, unreadable};
use super::super::viewer::Viewer;
use super::request::{Query, trace_id};
use tracer_insight::run_entry::{DamagedRun, RunEntry};

/// Runs in one answer.
const MAX_RUNS: usize = 10_000;

/// The runs.
#[derive(Serialize)]
pub(crate) struct RunsAnswer<'a> {
    /// The metadata of the runs, newest first; a run that cannot be read is among the damaged ones.
    runs: Vec<RunEntry<'a>>,
    /// The runs that cannot be read, newest first. Both lists together hold at most `limit` runs.
    damaged: Vec<DamagedRun<'a>>,
    /// The `cursor` of the runs that follow; null when these are the last.
    next: Option<String>,
}

/// Lists the runs.
pub(crate) async fn runs(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let limit = query.limit("limit", MAX_RUNS, MAX_RUNS)?;
    let filter = RunFilter {
        statuses: query.get("status").map(statuses).transpose()?.unwrap_or_default(),
        name: query
            .get("q")
            .filter(|name| !name.is_empty())
            .map(NamePattern::new),
    };
    let cursor = query.get("cursor").map(trace_id).transpose()?;
    let wanted = query
        .get("query")
        .filter(|text| !text.is_empty())
        .map(run_query)
        .transpose()?;
    let answer = viewer.read(move |viewer| {
        let mut listed = listed(viewer)?;
        if let Some(wanted) = &wanted {
            let matching = matching(viewer, wanted)?;
            listed.retain(|run| matching.contains(&run.directory.trace_id));
        }
        let behind = match cursor {
            None => 0,
            Some(last) => {
                let place = listed.iter().position(|run| run.directory.trace_id == last);
                place.ok_or_else(|| {
                    ApiError::not_found(
                        "no_such_cursor",
                        "the run of the cursor is gone; begin again without it",
                    )
                })? + 1
            }
        };
        let mut passing = listed
            .iter()
            .skip(behind)
            .filter(|run| filter.passes(run))
            .peekable();
        let given: Vec<&RunSummary> = passing.by_ref().take(limit).collect();
        let last = given.last().map(|run| run.directory.trace_id.to_string());
        let known = details(viewer, &given)?;
        Ok(json_response(&RunsAnswer {
            runs: given.iter().filter_map(|run| entry(run, &known)).collect(),
            damaged: given.iter().filter_map(|run| DamagedRun::of(run)).collect(),
            next: passing.peek().and(last),
        }))
    });
    answer.await
}

/// A query over all runs; one that cannot be read is refused with what is wrong with it.
pub(super) fn run_query(text: &str) -> Result<RunQuery, ApiError> {
    text.parse()
        .map_err(|error: QueryError| ApiError::bad_request("invalid_query", error.to_string()))
}

/// A run with what its spans say, where that is known; nothing for a damaged one.
fn entry<'a>(run: &'a RunSummary, known: &'a HashMap<TraceId, ListedRun>) -> Option<RunEntry<'a>> {
    match known.get(&run.directory.trace_id) {
        Some(known) => known.entry(run, known.origin()),
        None => RunEntry::of(run),
    }
}

/// List entries of some runs, by their spans; empty while the runs are read for the first time.
fn details(viewer: &Viewer, runs: &[&RunSummary]) -> Result<HashMap<TraceId, ListedRun>, ApiError> {
    let wanted: Vec<TraceId> = runs.iter().map(|run| run.directory.trace_id).collect();
    let known = viewer.facts().ask(|facts| {
        let Facts::All(known) = facts.now()? else {
            return Ok(Vec::new());
        };
        let known = facts.open(&known)?.runs(&wanted);
        known.map_err(|error| facts.unreadable(&error))
    })?;
    Ok(known
        .into_iter()
        .map(|run| (run.directory.trace_id, run))
        .collect())
}

/// The runs that match a query.
fn matching(viewer: &Viewer, query: &RunQuery) -> Result<HashSet<TraceId>, ApiError> {
    let ids = viewer.facts().ask(|facts| {
        let known = match facts.now()? {
            Facts::All(known) => known,
            Facts::Reading(progress) => return Err(reading_error(progress)),
        };
        let runs = facts.open(&known)?;
        let selection = facts.select(&known, &runs, query, units::now())?;
        runs.ids(&selection).map_err(|error| facts.unreadable(&error))
    })?;
    Ok(ids.into_iter().collect())
}

/// Nothing can be said of all runs before they were read once.
pub(super) fn reading_error(progress: ReadingProgress) -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "reading",
        format!(
            "the runs are read for the first time, {} of {}: ask again",
            progress.read_runs, progress.runs
        ),
    )
}

/// All runs, their logs checked; none where nothing has been recorded yet.
pub(crate) fn listed(viewer: &Viewer) -> Result<Vec<RunSummary>, ApiError> {
    if viewer.facts().store().team().is_some() {
        let directories = viewer.facts().ask(|facts| {
            let Facts::All(known) = facts.now()? else {
                return Ok(Vec::new());
            };
            let runs = facts.open(&known)?;
            let all = facts.select(&known, &runs, &RunQuery::default(), units::now())?;
            runs.directories(&all).map_err(|error| facts.unreadable(&error))
        })?;
        return Ok(viewer.facts().store().summaries(directories));
    }
    let listed = viewer.runs().store().list();
    match listed.inspect(|runs| RunSummary::check_all_logs(runs)) {
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        listed => listed.map_err(|error| unreadable(&error)),
    }
}

pub(super) fn statuses(text: &str) -> Result<Vec<RunStatus>, ApiError> {
    text.split(',')
        .map(|word| {
            RunStatus::from_word(word).ok_or_else(|| {
                let words = RunStatus::ALL
                    .map(|state| format!("`{}`", state.as_str()))
                    .join(", ");
                let message = format!("`status` holds words with commas between: {words}");
                ApiError::bad_request("invalid_parameter", message)
            })
        })
        .collect()
}
