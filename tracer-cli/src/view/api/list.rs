//! `GET /api/runs`: the metadata of the runs, newest first (decisions, section 12).

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_sdk::format::{RunMeta, RunStatus, SPEC_VERSION};
use tracer_sdk::read::{ListedRun, NamePattern, StoreError};

use super::super::answer::{ApiError, json_response};
use super::super::viewer::Viewer;
use super::request::{Query, trace_id};

/// So many runs are given at once.
const MOST_RUNS: usize = 10_000;

/// The runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in super::super) struct RunsAnswer {
    /// The version of the trace format.
    #[cfg_attr(test, schemars(schema_with = "crate::schemas::spec_version"))]
    spec_version: &'static str,
    /// The metadata of the runs, newest first; a run whose metadata cannot be read is not among them.
    runs: Vec<RunMeta>,
    /// The `cursor` of the runs that follow; null when these are the last.
    next: Option<String>,
}

/// Lists the runs.
pub(in super::super) async fn runs(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let limit = query.limit("limit", MOST_RUNS, MOST_RUNS)?;
    let status = query.get("status").map(statuses).transpose()?;
    let name = query
        .get("q")
        .filter(|name| !name.is_empty())
        .map(NamePattern::new);
    let cursor = query.get("cursor").map(trace_id).transpose()?;
    let answer = viewer.read(move |viewer| {
        let listed = listed(viewer)?;
        let behind = match cursor {
            None => 0,
            Some(last) => {
                let place = listed.iter().position(|run| run.directory.trace_id == last);
                place.ok_or_else(|| {
                    ApiError::not_found(
                        "no_such_cursor",
                        "the run of the cursor is gone; begin again without it",
                    )
                })? + 1
            }
        };
        let passes = |meta: &RunMeta| {
            status.as_ref().is_none_or(|wanted| wanted.contains(&meta.status))
                && name
                    .as_ref()
                    .is_none_or(|name| name.matches(meta.run_name.as_deref().unwrap_or_default()))
        };
        let mut metas = listed
            .into_iter()
            .skip(behind)
            .filter_map(|run| run.meta.ok())
            .filter(passes)
            .peekable();
        let runs: Vec<RunMeta> = metas.by_ref().take(limit).collect();
        let last = runs.last().map(|meta| meta.trace_id.to_string());
        Ok(RunsAnswer {
            spec_version: SPEC_VERSION,
            next: metas.peek().and(last),
            runs,
        })
    });
    Ok(json_response(&answer.await?))
}

/// All runs; none where nothing has been recorded yet.
pub(in super::super) fn listed(viewer: &Viewer) -> Result<Vec<ListedRun>, ApiError> {
    match viewer.runs().store().list() {
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        listed => listed.map_err(|error| {
            ApiError::new(
                axum::http::StatusCode::INTERNAL_SERVER_ERROR,
                "unreadable_data_directory",
                error.to_string(),
            )
        }),
    }
}

fn statuses(text: &str) -> Result<Vec<RunStatus>, ApiError> {
    text.split(',')
        .map(|word| {
            RunStatus::from_word(word).ok_or_else(|| {
                ApiError::bad_request(
                    "invalid_parameter",
                    "`status` holds `running`, `ok` or `error`, with commas between",
                )
            })
        })
        .collect()
}
