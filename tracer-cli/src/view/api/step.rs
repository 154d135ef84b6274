//! `GET /api/runs/{id}/steps/{event_id}`: everything about one step.

use axum::extract::State;
use axum::response::Response;

use super::super::answer::ApiError;
use super::super::viewer::Viewer;
use super::request::{LastSegment, RunId};

/// Tells a step.
pub(in super::super) async fn step(
    State(_viewer): State<Viewer>,
    _id: RunId,
    _event: LastSegment,
) -> Result<Response, ApiError> {
    Err(ApiError::internal())
}
