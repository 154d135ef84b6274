//! `GET /api/runs/{id}/states`: the states of the agent and what changed from one to the next.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_sdk::format::{EventType, SPEC_VERSION, Timestamp};

use super::super::answer::{ApiError, json_response};
use super::super::inspect::{StateDetails, StepAddress, state};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};

/// States in one answer.
const MAX_STATES: usize = 200;

/// States of a run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
pub(crate) struct States {
    /// The version of the trace format.
    #[cfg_attr(test, schemars(schema_with = "tracer_insight::schema::spec_version"))]
    spec_version: &'static str,
    /// How many states the run has.
    state_count: usize,
    states: Vec<StateAnswer>,
    /// The `from` of the states that follow; null when these are the last.
    next: Option<usize>,
}

/// A state.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StateAnswer {
    row: Option<usize>,
    number: usize,
    event_id: String,
    /// From the start of the run, in microseconds.
    offset_us: Option<i64>,
    state: StateDetails,
}

/// Answers with states.
pub(crate) async fn states(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
) -> Result<Response, ApiError> {
    let from = query.from()?;
    let limit = query.limit("limit", MAX_STATES, MAX_STATES)?;
    let read = viewer.read(move |viewer| viewer.runs().with(id.0, |run| of(run, from, limit)));
    Ok(json_response(&read.await?))
}

fn of(run: &OpenRun, from: usize, limit: usize) -> Result<States, ApiError> {
    let mut rows = run
        .steps
        .rows_of(|event_type, _| event_type == EventType::StateUpdate);
    rows.sort_by_key(|row| row.number);
    let mut states = Vec::new();
    for row in rows.iter().skip(from).take(limit) {
        let Some(read) = run.steps.read_row(row).map_err(ApiError::unreadable)? else {
            continue;
        };
        let number = row.number as usize;
        let place = StepAddress {
            run_id: run.steps.directory.trace_id,
            event_id: read.record.event_id.clone(),
        };
        let Some(state) = state(run, number, &read.record.payload, &place)? else {
            continue;
        };
        let start: Option<Timestamp> = read.record.ts.parse().ok();
        states.push(StateAnswer {
            row: run.steps.timeline.row_of_step(number),
            number,
            event_id: read.record.event_id,
            offset_us: start
                .zip(run.steps.started())
                .map(|(start, started)| start.microseconds_since(started)),
            state,
        });
    }
    let end = from.saturating_add(limit);
    Ok(States {
        spec_version: SPEC_VERSION,
        state_count: rows.len(),
        states,
        next: (end < rows.len()).then_some(end),
    })
}
