//! `GET /api/runs/{id}/lineage`: where a value of the run came from.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use tracer_insight::lineage::Lineage;

use super::super::answer::{ApiError, json_value};
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// Answers with the origin of a value, as a step used it.
pub(crate) async fn lineage(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let step = query.number("step")?;
    let value = query.get("value").unwrap_or_default().to_owned();
    if value.trim().is_empty() {
        return Err(ApiError::bad_request(
            "invalid_parameter",
            "`value` has to be given",
        ));
    }
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let lineage = Lineage::of_run(&run.steps, &value, step).map_err(ApiError::unreadable)?;
        let no_step = || ApiError::not_found("no_such_step", "the run has no such step");
        Ok(json_value(&lineage.ok_or_else(no_step)?))
    });
    answer.await
}
