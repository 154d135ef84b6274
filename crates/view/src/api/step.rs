//! `GET /api/runs/{id}/steps/{event_id}`: everything about one step; `…/values/{part}`: a part of it that is large; `…/curl`: its request.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use tracer_capture::cassette::Cassette;
use tracer_insight::conversation::Conversation;
use tracer_insight::step_detail::call_number;
use tracer_sdk::format::SPEC_VERSION;

use super::super::answer::{ApiError, bytes_response, json_response, json_text, not_modified, with_version};
use super::super::inspect::{StepPart, inspect, media_text, part_of, raw};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::{Query, Segments};

/// A step by the ID of its record.
pub(crate) async fn step(
    State(viewer): State<Viewer>,
    path: Segments,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = path.run()?;
    let event_id = path.at(1).to_owned();
    let against: Option<u32> = query.number("against")?;
    let read = viewer.read(move |viewer| {
        viewer.runs().with(id, |run| {
            answer(
                run,
                row_of(run, &event_id)?,
                against.map(|row| row as usize),
                &headers,
            )
        })
    });
    read.await
}

/// A step by its row.
pub(crate) async fn step_at(
    State(viewer): State<Viewer>,
    path: Segments,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = path.run()?;
    let row: u32 = query.number("row")?.ok_or_else(|| {
        ApiError::bad_request(
            "invalid_parameter",
            "`row` has to be given: the number of a row, from 0",
        )
    })?;
    let read = viewer.read(move |viewer| {
        viewer
            .runs()
            .with(id, |run| answer(run, row as usize, None, &headers))
    });
    read.await
}

/// A whole part of a step.
pub(crate) async fn value(State(viewer): State<Viewer>, path: Segments) -> Result<Response, ApiError> {
    let id = path.run()?;
    let event_id = path.at(1).to_owned();
    let missing = || ApiError::not_found("no_such_value", "the step has no such part");
    let part = StepPart::named(path.at(2)).ok_or_else(missing)?;
    let read = viewer.read(move |viewer| {
        viewer.runs().with(id, |run| {
            let row = run
                .steps
                .timeline
                .get(row_of(run, &event_id)?)
                .ok_or_else(no_such_step)?;
            if part == StepPart::Raw {
                let line = raw(run, row)?.ok_or_else(missing)?;
                return Ok(bytes_response("text/plain; charset=utf-8", line));
            }
            let read = run
                .steps
                .read_row(row)
                .map_err(ApiError::unreadable)?
                .ok_or_else(missing)?;
            let value = part_of(&read, part).ok_or_else(missing)?;
            Ok(bytes_response("application/json", json_text(&value)?))
        })
    });
    read.await
}

/// The Base64 text of a picture or a sound in a model call.
pub(crate) async fn media(State(viewer): State<Viewer>, path: Segments) -> Result<Response, ApiError> {
    let id = path.run()?;
    let (event_id, key) = (path.at(1).to_owned(), path.at(2).to_owned());
    let read = viewer.read(move |viewer| {
        viewer.runs().with(id, |run| {
            let row = run
                .steps
                .timeline
                .get(row_of(run, &event_id)?)
                .ok_or_else(no_such_step)?;
            let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
            let call = read.and_then(|read| Conversation::from_payload(&read.record.payload));
            let text = call.and_then(|call| media_text(&call, &key));
            let text =
                text.ok_or_else(|| ApiError::not_found("no_such_value", "the step has no such media"))?;
            Ok(bytes_response("text/plain; charset=utf-8", text))
        })
    });
    read.await
}

const NOT_KEPT: &str =
    "the request of this call was not kept; `tracer record -- COMMAND` keeps the requests of its command";

/// The request of a model call as a `curl` command.
#[derive(Serialize)]
struct CurlAnswer {
    /// The version of the trace format.
    spec_version: &'static str,
    /// Null where the request was not kept.
    command: Option<String>,
    /// Variables of the environment that the command takes, and redacted values; or why there is none.
    note: String,
}

/// The request of a model call that the run kept, as a command for a shell.
pub(crate) async fn curl(State(viewer): State<Viewer>, path: Segments) -> Result<Response, ApiError> {
    let id = path.run()?;
    let event_id = path.at(1).to_owned();
    let read = viewer.read(move |viewer| {
        let (directory, call) = viewer.runs().with(id, |run| {
            let number = row_of(run, &event_id)?;
            let row = run.steps.timeline.get(number).ok_or_else(no_such_step)?;
            let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
            let call = read.and_then(|read| call_number(&read.record.meta));
            Ok((run.steps.directory.path.clone(), call))
        })?;
        let kept = Cassette::of_run(&directory).map_err(ApiError::unreadable)?;
        let (command, note) = match kept.zip(call).map(|(kept, call)| kept.curl_of_call(call)) {
            Some(Ok(curl)) => (Some(curl.command), curl.note),
            Some(Err(error)) => (None, error.to_string()),
            None => (None, NOT_KEPT.to_owned()),
        };
        Ok(json_response(&CurlAnswer {
            spec_version: SPEC_VERSION,
            command,
            note,
        }))
    });
    read.await
}

fn answer(
    run: &OpenRun,
    number: usize,
    against: Option<usize>,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let version = run.version();
    if let Some(response) = not_modified(headers, &version) {
        return Ok(response);
    }
    let row = run.steps.timeline.get(number).ok_or_else(no_such_step)?;
    let against = against.and_then(|row| run.steps.timeline.get(row));
    Ok(with_version(
        json_response(&inspect(run, number, row, against)?),
        &version,
    ))
}

fn row_of(run: &OpenRun, event_id: &str) -> Result<usize, ApiError> {
    run.steps.row_of(event_id).ok_or_else(no_such_step)
}

fn no_such_step() -> ApiError {
    ApiError::not_found("no_such_step", "the run has no such step")
}
