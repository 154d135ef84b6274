//! `GET /api/runs/{id}/context`: what the context of the run was made of, and its cost.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use tracer_insight::context_bill::ContextBill;

use super::super::answer::{ApiError, json_value};
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// Blocks of an answer, at most.
const MAX_BLOCKS: usize = 1_000;
/// Blocks of an answer, where the request names no number.
const DEFAULT_BLOCKS: usize = 40;

/// Answers with the costliest blocks and the sums of all.
pub(crate) async fn bill(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = query.limit("limit", DEFAULT_BLOCKS, MAX_BLOCKS)?;
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let bill = ContextBill::of_run(&run.steps).map_err(ApiError::unreadable)?;
        Ok(json_value(&bill.limited(limit)))
    });
    answer.await
}
