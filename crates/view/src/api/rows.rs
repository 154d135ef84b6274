//! `GET /api/runs/{id}/rows`: what some rows of a run say.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;

use super::super::answer::{ApiError, json_response};
use super::super::run::open_run::OpenRun;
use super::super::run::row::RowText;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// Rows in one answer.
const MAX_ROWS: usize = 500;
/// Rows where the request names no number.
const DEFAULT_ROWS: usize = 200;

/// Rows of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
pub(crate) struct Rows {
    /// The version of the run that they are rows of.
    version: String,
    /// Number of rows of the run.
    row_count: usize,
    rows: Vec<RowText>,
}

/// The rows from a number on.
pub(crate) fn of(run: &OpenRun, from: usize, limit: usize) -> Result<Rows, ApiError> {
    let rows = run.steps.timeline.rows.iter().enumerate().skip(from).take(limit);
    let rows: Result<Vec<RowText>, _> = rows.map(|(number, row)| run.row_text(number, row)).collect();
    Ok(Rows {
        version: run.version(),
        row_count: run.steps.timeline.rows.len(),
        rows: rows.map_err(ApiError::unreadable)?,
    })
}

/// Answers with rows.
pub(crate) async fn rows(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = query.from()?;
    let limit = query.limit("limit", DEFAULT_ROWS, MAX_ROWS)?;
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let part = of(run, from, limit)?;
        Ok(json_response(&part))
    });
    answer.await
}
