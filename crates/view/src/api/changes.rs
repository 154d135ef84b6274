//! Changes of a run: renaming, deleting, restoring. Each needs the token.

use std::error::Error as _;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tracer_runs::maintenance::{self, MaintenanceError};
use tracer_sdk::format::TraceId;

use super::super::answer::{ApiError, json_response, no_such_run};
use super::super::viewer::Viewer;
use super::request::RunId;

/// Characters of a run's name.
const MAX_NAME_CHARACTERS: usize = 512;
/// Time for the body of a change to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The new name of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    /// Secrets in it are redacted, as in every name.
    run_name: String,
}

/// A run that was changed.
#[derive(Serialize)]
pub(crate) struct Changed {
    trace_id: TraceId,
    /// `renamed`, `deleted` or `restored`.
    change: &'static str,
    /// The name as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_name: Option<String>,
}

/// Renames a run.
pub(crate) async fn rename(
    State(viewer): State<Viewer>,
    id: RunId,
    request: Request,
) -> Result<Response, ApiError> {
    let body = json_body(request).await?;
    let rename: Rename = serde_json::from_slice(&body)
        .map_err(|_| ApiError::bad_request("invalid_body", "the body has to be {\"run_name\": \"…\"}"))?;
    let name = rename.run_name;
    if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARACTERS {
        let message = format!("`run_name` has to have 1 to {MAX_NAME_CHARACTERS} characters");
        return Err(ApiError::bad_request("invalid_body", message));
    }
    let change = move |viewer: &Viewer| {
        let run = viewer.runs().own_directory(id.0)?;
        let run_name = maintenance::rename_run(&run, &name, viewer.settings()).map_err(refused)?;
        Ok(changed(id.0, "renamed", Some(run_name)))
    };
    answer(&viewer, change).await
}

/// Puts a run into the trash, which is emptied when the last viewer stops.
pub(crate) async fn delete(
    State(viewer): State<Viewer>,
    id: RunId,
    request: Request,
) -> Result<Response, ApiError> {
    json_body(request).await?;
    let change = move |viewer: &Viewer| {
        let run = viewer.runs().own_directory(id.0)?;
        viewer.runs().trash().put(&run).map_err(refused)?;
        viewer.runs().close(id.0);
        Ok(changed(id.0, "deleted", None))
    };
    answer(&viewer, change).await
}

/// Takes a run out of the trash.
pub(crate) async fn restore(
    State(viewer): State<Viewer>,
    id: RunId,
    request: Request,
) -> Result<Response, ApiError> {
    json_body(request).await?;
    let change = move |viewer: &Viewer| {
        if viewer.runs().trash().restore(id.0).map_err(refused)? {
            return Ok(changed(id.0, "restored", None));
        }
        Err(no_such_run())
    };
    answer(&viewer, change).await
}

/// Makes a change and answers with it.
async fn answer(
    viewer: &Viewer,
    change: impl FnOnce(&Viewer) -> Result<Changed, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let changed = viewer.change(change).await;
    viewer.facts().look_again();
    Ok(json_response(&changed?))
}

fn changed(trace_id: TraceId, change: &'static str, run_name: Option<String>) -> Changed {
    Changed {
        trace_id,
        change,
        run_name,
    }
}

fn refused(error: MaintenanceError) -> ApiError {
    match error {
        MaintenanceError::RunDamaged { problems, .. } => ApiError::damaged(problems),
        MaintenanceError::RunActive | MaintenanceError::LivenessUnknown => ApiError::new(
            StatusCode::CONFLICT,
            "live_run",
            format!("{error}; wait until it has ended"),
        ),
        error => {
            let cause = error
                .source()
                .map_or_else(String::new, |cause| format!(": {cause}"));
            ApiError::new(StatusCode::CONFLICT, "not_changed", format!("{error}{cause}"))
        }
    }
}

/// The body of a change, which says that it is JSON: no form of a web page can send that.
async fn json_body(request: Request) -> Result<Bytes, ApiError> {
    if !is_json(request.headers()) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "json_needed",
            "a change has to have the content type application/json",
        ));
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await;
    let body = read.map_err(|_| {
        ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body did not arrive in time",
        )
    })?;
    body.map_err(|_| {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body is too large, or ended too early",
        )
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| {
        value
            .split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    })
}
