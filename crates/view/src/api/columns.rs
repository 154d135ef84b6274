//! `GET /api/runs/{id}/columns`: the rows of a run, as columns of numbers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response};
use super::super::run::columns::encode;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

const CONTENT_TYPE: &str = "application/octet-stream";

/// The columns of a run: of every row, of those at the beginning of its log, or of those that changed since an offset of it.
pub(crate) async fn columns(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if query.flag("beginning")? {
        let encoded = viewer.read(move |viewer| viewer.runs().with_beginning(id.0, |run| Ok(encode(run, 0))));
        return Ok(bytes_response(CONTENT_TYPE, encoded.await?));
    }
    let since = query.number("since")?;
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let first = since.map_or(0, |offset| run.first_change(offset));
        Ok(bytes_response(CONTENT_TYPE, encode(run, first)))
    });
    answer.await
}
