//! `GET /api/runs/{id}/columns`: every row of a run, as columns of numbers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response, not_modified, with_version};
use super::super::run::columns::encode;
use super::super::viewer::Viewer;
use super::request::RunId;

/// The columns of a run.
pub(in super::super) async fn columns(
    State(viewer): State<Viewer>,
    id: RunId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let read = viewer.read(move |viewer| {
        viewer.runs().with(id.0, |run| {
            let version = run.version();
            if let Some(response) = not_modified(&headers, &version) {
                return Ok(response);
            }
            Ok(with_version(
                bytes_response("application/octet-stream", encode(run)),
                &version,
            ))
        })
    });
    read.await
}
