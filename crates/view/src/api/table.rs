//! `GET /api/table`: the runs as the page lists them: their metadata, their status, and a preview of their
//! first spans.

use std::collections::HashSet;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_sdk::format::{Counts, RecordedStatus, SPEC_VERSION, TraceId};
use tracer_sdk::read::RunSummary;

use super::super::answer::{ApiError, json_response};
use super::super::viewer::Viewer;
use super::known_runs::Known;
use super::list::listed;
use super::request::{Query, trace_id};
use tracer_insight::run_preview::RunPreview;
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units::run_duration as duration;

/// Runs in one request for details.
const MAX_IDS: usize = 200;
/// Runs that come with a preview of their spans when the page opens.
const FIRST_PREVIEWS: usize = 60;

/// The runs, newest first.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Table {
    /// The version of the trace format.
    #[cfg_attr(test, schemars(schema_with = "tracer_insight::schema::spec_version"))]
    spec_version: &'static str,
    /// Where the runs are, for people.
    data_dir: String,
    /// `table` of the stream: changes when a run does.
    version: String,
    runs: Vec<TableRow>,
}

/// A run in the table.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TableRow {
    trace_id: TraceId,
    run_name: Option<String>,
    /// The status: `running`, `interrupted`, `failed`, `loop`, `ok`, `damaged`.
    standing: &'static str,
    status: Option<RecordedStatus>,
    started_at: Option<String>,
    ended_at: Option<String>,
    duration_ms: Option<u64>,
    /// How long it took, in microseconds.
    duration_us: Option<u64>,
    counts: Option<Counts>,
    /// What is wrong with its metadata or its log; null when nothing is.
    problem: Option<String>,
    /// A preview of its spans; null for a run that was not read yet: ask for it with `ids`.
    details: Option<RunPreview>,
}

/// The table as the page of all runs begins with.
pub(crate) fn first(viewer: &Viewer) -> Result<Table, ApiError> {
    let runs = listed(viewer)?;
    let wanted: HashSet<TraceId> = runs
        .iter()
        .take(FIRST_PREVIEWS)
        .map(|run| run.directory.trace_id)
        .collect();
    Ok(table(viewer, &runs, &wanted))
}

fn table(viewer: &Viewer, runs: &[RunSummary], wanted: &HashSet<TraceId>) -> Table {
    Table {
        spec_version: SPEC_VERSION,
        version: Known::of(runs).version(),
        data_dir: shown(&viewer.runs().store().runs_dir()),
        runs: runs
            .iter()
            .map(|run| row(viewer, run, wanted.contains(&run.directory.trace_id)))
            .collect(),
    }
}

/// A run in the table; `look` says that its spans are to be looked at.
pub(crate) fn row(viewer: &Viewer, run: &RunSummary, look: bool) -> TableRow {
    let standing = run.status();
    let meta = run.meta.as_ref().ok();
    let details = if look {
        viewer.previews().get_or_read(run)
    } else {
        viewer.previews().get(run)
    };
    TableRow {
        trace_id: run.directory.trace_id,
        run_name: meta.and_then(|meta| meta.run_name.clone()),
        standing: standing.as_str(),
        status: meta.map(|meta| meta.status),
        started_at: meta.map(|meta| meta.started_at.text().to_owned()),
        ended_at: meta.and_then(|meta| Some(meta.ended_at.as_ref()?.text().to_owned())),
        duration_ms: meta.and_then(|meta| meta.duration_ms),
        duration_us: meta.and_then(duration),
        counts: meta.map(|meta| meta.counts),
        problem: run.problems().first().map(ToString::to_string),
        details,
    }
}

/// All runs, or those with the given IDs, of which the spans are looked at too.
pub(crate) async fn table_of(viewer: Viewer, ids: Option<Vec<TraceId>>) -> Result<Table, ApiError> {
    viewer
        .read(move |viewer| match ids {
            None => Ok(table(viewer, &listed(viewer)?, &HashSet::new())),
            Some(ids) => {
                let runs: Vec<RunSummary> = ids
                    .iter()
                    // A run that is gone meanwhile is left out.
                    .filter_map(|id| Some(viewer.runs().directory(*id).ok()?.read_summary()))
                    .collect();
                Ok(table(viewer, &runs, &ids.into_iter().collect()))
            }
        })
        .await
}

/// The table.
pub(crate) async fn get(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let ids = query
        .get("ids")
        .map(|ids| ids.split(',').map(trace_id).collect::<Result<Vec<_>, _>>())
        .transpose()?;
    if ids.as_ref().is_some_and(|ids| ids.len() > MAX_IDS) {
        let message = format!("`ids` holds at most {MAX_IDS} trace IDs");
        return Err(ApiError::bad_request("invalid_parameter", message));
    }
    Ok(json_response(&table_of(viewer, ids).await?))
}
