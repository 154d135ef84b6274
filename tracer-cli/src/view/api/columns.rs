//! `GET /api/runs/{id}/columns`: every row of a run, as columns of numbers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response};
use super::super::run::columns::encode;
use super::super::viewer::Viewer;
use super::request::RunId;

/// The columns of a run.
pub(in super::super) async fn columns(
    State(viewer): State<Viewer>,
    id: RunId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let told = viewer.answer_of_run(id.0, headers, |run| {
        Ok(bytes_response("application/octet-stream", encode(run)))
    });
    told.await
}
