//! `GET /api/runs/{id}/steps/{event_id}`: everything about one step; `…/values/{part}`: a part of it that is large; `…/curl`: its request; `…/text`: it
//! as a text for a model.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use tracer_capture::cassette::Cassette;
use tracer_insight::conversation::Conversation;
use tracer_insight::outline::{self, FurtherDetail, StepCursor, TokenBudget};
use tracer_insight::run_steps::TimelineRow;
use tracer_insight::step_detail::call_number;

use super::super::answer::{ApiError, bytes_response, json_response, json_value};
use super::super::inspect::{StepPart, inspect, media_text, part_of, raw};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::{Query, Segments};

/// Characters of a run's ID in a command.
const SHORT_ID: usize = 8;
/// Length of a step's text for a model.
const TEXT_BUDGET: TokenBudget = TokenBudget::MAX;

/// A step by the ID of its record, or by its row.
pub(crate) async fn step(
    State(viewer): State<Viewer>,
    path: Segments,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let against: Option<u32> = query.number("against")?;
    let answer = of_step(
        &viewer,
        &path,
        query.number("row")?,
        headers,
        move |run, number, row| {
            let against = against.and_then(|row| run.steps.timeline.get(row as usize));
            Ok(json_response(&inspect(run, number, row, against)?))
        },
    );
    answer.await
}

/// A whole part of a step.
pub(crate) async fn value(
    State(viewer): State<Viewer>,
    path: Segments,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let missing = || ApiError::not_found("no_such_value", "the step has no such part");
    let part = StepPart::named(path.at(2)).ok_or_else(missing)?;
    let answer = of_step(&viewer, &path, None, headers, move |run, _, row| {
        if part == StepPart::Raw {
            let line = raw(run, row)?.ok_or_else(missing)?;
            return Ok(bytes_response("text/plain; charset=utf-8", line));
        }
        let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
        let value = read.and_then(|read| part_of(&read, part)).ok_or_else(missing)?;
        Ok(json_value(&value))
    });
    answer.await
}

/// The Base64 text of a picture or a sound in a model call.
pub(crate) async fn media(
    State(viewer): State<Viewer>,
    path: Segments,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = path.at(2).to_owned();
    let answer = of_step(&viewer, &path, None, headers, move |run, _, row| {
        let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
        let call = read.and_then(|read| Conversation::from_payload(&read.record.payload));
        let text = call
            .and_then(|call| media_text(&call, &key))
            .ok_or_else(|| ApiError::not_found("no_such_value", "the step has no such media"))?;
        Ok(bytes_response("text/plain; charset=utf-8", text))
    });
    answer.await
}

/// The step as a text for a model, as `tracer show --for-llm` prints it.
pub(crate) async fn text(
    State(viewer): State<Viewer>,
    path: Segments,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let short = path.at(0).get(..SHORT_ID).unwrap_or_default().to_owned();
    let further = FurtherDetail::by_command(&viewer.command().show(&short), &short);
    let answer = of_step(&viewer, &path, None, headers, move |run, _, row| {
        let begin = (row.number as usize, StepCursor::default());
        let text =
            outline::of_step(&run.steps, begin, TEXT_BUDGET, &further).map_err(ApiError::unreadable)?;
        let text = text
            .and_then(Result::ok)
            .ok_or_else(|| ApiError::not_found("no_such_value", "the run itself is no step"))?;
        Ok(bytes_response("text/plain; charset=utf-8", text))
    });
    answer.await
}

const NOT_KEPT: &str =
    "the request of this call was not kept; `tracer record -- COMMAND` keeps the requests of its command";

/// The request of a model call as a `curl` command.
#[derive(Serialize)]
struct CurlAnswer {
    /// Null where the request was not kept.
    command: Option<String>,
    /// Variables of the environment that the command takes, and redacted values; or why there is none.
    note: String,
}

/// The request of a model call that the run kept, as a command for a shell.
pub(crate) async fn curl(State(viewer): State<Viewer>, path: Segments) -> Result<Response, ApiError> {
    // Kept calls are no part of the version of the run.
    let answer = of_step(&viewer, &path, None, HeaderMap::new(), |run, _, row| {
        let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
        let call = read.and_then(|read| call_number(&read.record.meta));
        let kept = Cassette::of_run(&run.steps.directory.path).map_err(ApiError::unreadable)?;
        let (command, note) = match kept.zip(call).map(|(kept, call)| kept.curl_of_call(call)) {
            Some(Ok(curl)) => (Some(curl.command), curl.note),
            Some(Err(error)) => (None, error.to_string()),
            None => (None, NOT_KEPT.to_owned()),
        };
        Ok(json_response(&CurlAnswer { command, note }))
    });
    answer.await
}

/// Answers a request about a step, which the path names by the ID of its record; otherwise it is that of a row.
async fn of_step(
    viewer: &Viewer,
    path: &Segments,
    row: Option<u32>,
    headers: HeaderMap,
    respond: impl FnOnce(&OpenRun, usize, &TimelineRow) -> Result<Response, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let event_id = path.at(1).to_owned();
    let answer = viewer.answer_of_run(path.run()?, headers, move |run| {
        let missing = || ApiError::not_found("no_such_step", "the run has no such step");
        let number = match row {
            Some(row) if event_id.is_empty() => row as usize,
            None if event_id.is_empty() => {
                return Err(ApiError::bad_request(
                    "invalid_parameter",
                    "`row` has to be given: the number of a row, from 0",
                ));
            }
            _ => run.steps.row_of(&event_id).ok_or_else(missing)?,
        };
        respond(run, number, run.steps.timeline.get(number).ok_or_else(missing)?)
    });
    answer.await
}
