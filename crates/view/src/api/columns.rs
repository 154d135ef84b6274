//! `GET /api/runs/{id}/columns`: the rows of a run, as columns of numbers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response};
use super::super::run::columns::encode;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// So many rows are asked for at most; a run has no more.
const MOST_ROWS: usize = u32::MAX as usize;

/// The columns of a run: of every row, unless it is said how many.
pub(crate) async fn columns(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = query.limit("limit", MOST_ROWS, MOST_ROWS)?;
    let told = viewer.answer_of_run(id.0, headers, move |run| {
        Ok(bytes_response("application/octet-stream", encode(run, limit)))
    });
    told.await
}
