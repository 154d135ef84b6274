//! `GET /api/runs/{id}/search`: the rows that fit a query, a part of the run at a time.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_catalog::query::{QueryError, StepQuery};

use super::super::answer::{ApiError, json_response};
use super::super::search::find;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// Hits in one answer.
const MAX_HITS: usize = 10_000;
/// Hits where the request names no number.
const DEFAULT_HITS: usize = 1_000;

/// Rows that were found.
#[derive(Serialize)]
pub(crate) struct SearchAnswer {
    /// The version of the run that the rows are of.
    version: String,
    /// The rows, sorted. Those of the parts that follow may lie between them.
    hits: Vec<usize>,
    /// The `after` of the part that follows; null when the whole run was looked through.
    next: Option<u64>,
    /// True once the whole run was searched.
    done: bool,
}

/// Looks for rows.
pub(crate) async fn search(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
) -> Result<Response, ApiError> {
    let wanted = step_query(query.get("q").unwrap_or_default())?;
    let after = query.number("after")?.unwrap_or(0);
    let limit = query.limit("limit", DEFAULT_HITS, MAX_HITS)?;
    let read = viewer.read(move |viewer| {
        viewer.runs().with(id.0, |run| {
            let found = find(run, &wanted, after, limit)?;
            Ok(SearchAnswer {
                version: run.version(),
                hits: found.hits,
                next: found.next,
                done: found.done,
            })
        })
    });
    Ok(json_response(&read.await?))
}

/// A query for steps of one run.
pub(super) fn step_query(text: &str) -> Result<StepQuery, ApiError> {
    text.parse()
        .map_err(|problem: QueryError| ApiError::bad_request("invalid_query", problem.to_string()))
}
