//! `GET /api/runs/{id}/columns`: the rows of a run, as columns of numbers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response};
use super::super::run::columns::encode;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// Rows in one answer; a run has no more.
const MAX_ROWS: usize = u32::MAX as usize;

/// The columns of a run: of every row, of the first ones, or of those that changed since an offset of its log.
pub(crate) async fn columns(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = query.limit("limit", MAX_ROWS, MAX_ROWS)?;
    let since = query.number("since")?;
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let rows = run.steps.timeline.rows.len();
        let first = since.map_or(0, |offset| run.first_change(offset));
        let wanted = first..first.saturating_add(limit).min(rows);
        Ok(bytes_response("application/octet-stream", encode(run, wanted)))
    });
    answer.await
}
