//! `GET /api/runs/{id}/transcript`: the run as a conversation, or its states alone, a part at a time.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use tracer_insight::conversation::{Turn, TurnReader, earlier_messages};
use tracer_insight::step_summary::StepSummary;
use tracer_sdk::format::{EventType, Payload};

use super::super::answer::{ApiError, json_response};
use super::super::inspect::{
    ErrorDetails, MessageAnswer, ShownValue, StateDetails, StepAddress, StepPart, error, messages, state,
};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary;
use tracer_insight::steps::{self, StepSource};

/// Steps in a part, at most.
const MAX_STEPS: usize = 200;
/// Steps in a part, where the request names no number.
const DEFAULT_STEPS: usize = 50;
/// Steps before a part that are read for what is new in it; agents repeat what came last.
const STEPS_BEFORE: usize = 40;

/// A part of a conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Transcript {
    version: String,
    /// Number of turns of the whole list.
    turn_count: usize,
    turns: Vec<TurnAnswer>,
    /// The `from` of the part that follows; null when this is the last.
    next: Option<usize>,
}

/// A step of a conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TurnAnswer {
    row: Option<usize>,
    number: usize,
    event_id: String,
    kind: StepKind,
    name: String,
    failed: bool,
    in_flight: bool,
    /// From the start of the run, in microseconds.
    offset_us: Option<u64>,
    /// In microseconds.
    duration_us: Option<u64>,
    /// The line in the place of the messages that an earlier step has.
    note: Option<String>,
    /// The messages of the prompt that are new.
    messages: Vec<MessageAnswer>,
    /// The answer of a model.
    response: Vec<MessageAnswer>,
    /// The arguments of a tool.
    arguments: Option<ShownValue>,
    /// The result of a tool.
    result: Option<ShownValue>,
    /// The summary of any other step; the number of attempts of a call with several.
    gist: Option<String>,
    error: Option<ErrorDetails>,
    /// A state and its changes, in a list of states.
    state: Option<StateDetails>,
}

/// Answers with a part of the conversation.
pub(crate) async fn transcript(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = query.from()?;
    let limit = query.limit("limit", DEFAULT_STEPS, MAX_STEPS)?;
    let of = match query.get("kind") {
        None => conversation,
        Some("state") => states,
        Some(_) => return Err(ApiError::bad_request("invalid_parameter", "`kind` is `state`")),
    };
    let answer = viewer.answer_of_run(id.0, headers, move |run| {
        let part = of(run, from, limit)?;
        Ok(json_response(&part))
    });
    answer.await
}

/// The states from a number on, counted from 0.
fn states(run: &OpenRun, from: usize, limit: usize) -> Result<Transcript, ApiError> {
    let numbers = run
        .steps
        .numbers(|event_type, _| event_type == EventType::StateUpdate);
    let wanted = numbers.iter().copied().skip(from).take(limit);
    let sources = run.steps.read_steps(wanted).map_err(ApiError::unreadable)?;
    let mut turns = TurnReader::default();
    let turns = sources.iter().map(|source| {
        let turn = turn(run, source, &mut turns);
        let state = state(run, source.number, &source.record.payload, &address(run, source))?;
        Ok(TurnAnswer {
            state,
            gist: None,
            ..turn
        })
    });
    let end = from.saturating_add(limit);
    Ok(Transcript {
        version: run.version(),
        turns: turns.collect::<Result<_, ApiError>>()?,
        turn_count: numbers.len(),
        next: (end < numbers.len()).then_some(end),
    })
}

/// The steps from a number on, counted from 0.
fn conversation(run: &OpenRun, from: usize, limit: usize) -> Result<Transcript, ApiError> {
    let step_count = run.steps.timeline.step_count();
    let first = from.min(step_count) + 1;
    let end = first.saturating_add(limit).min(step_count + 1);
    let mut turns = TurnReader::default();
    let before = run
        .steps
        .read_steps(first.saturating_sub(STEPS_BEFORE).max(1)..first)
        .map_err(ApiError::unreadable)?;
    for source in &before {
        turns.read(&source.record.payload);
    }
    let sources = run.steps.read_steps(first..end).map_err(ApiError::unreadable)?;
    Ok(Transcript {
        version: run.version(),
        turn_count: step_count,
        turns: sources
            .iter()
            .map(|source| turn(run, source, &mut turns))
            .collect(),
        next: (end <= step_count).then_some(end - 1),
    })
}

fn address(run: &OpenRun, source: &StepSource) -> StepAddress {
    StepAddress {
        run_id: run.steps.directory.trace_id,
        event_id: source.record.event_id.clone(),
    }
}

fn turn(run: &OpenRun, source: &StepSource, turns: &mut TurnReader) -> TurnAnswer {
    let record = &source.record;
    let place = address(run, source);
    let own = steps::steps(std::slice::from_ref(source), run.steps.started());
    let mut answer = TurnAnswer {
        row: run.steps.timeline.row_of_step(source.number),
        number: source.number,
        event_id: record.event_id.clone(),
        kind: StepKind::from(record.event_type()),
        name: steps::name(record),
        failed: step_summary::failed(record),
        in_flight: source.in_flight,
        offset_us: own.first().and_then(|step| step.offset),
        duration_us: source.duration,
        note: None,
        messages: Vec::new(),
        response: Vec::new(),
        arguments: None,
        result: None,
        gist: None,
        error: error(&record.payload),
        state: None,
    };
    let row = answer.row.and_then(|row| run.steps.timeline.get(row));
    let attempts = || row.and_then(|row| run.steps.attempt_words(row));
    match (turns.read(&record.payload), &record.payload) {
        (
            Turn::Model {
                earlier,
                new,
                answer: said,
            },
            _,
        ) => {
            answer.gist = attempts();
            answer.note = earlier_messages(earlier);
            answer.messages = messages(&new, StepPart::Prompt, &place);
            answer.response = messages(&said, StepPart::Response, &place);
        }
        (Turn::Tool, Payload::ToolCall { args, result, .. }) => {
            answer.gist = attempts();
            answer.arguments = ShownValue::of(args, StepPart::Arguments, &place);
            answer.result = ShownValue::of(result, StepPart::Result, &place);
        }
        _ if record.event_type() == EventType::Error => {}
        _ => answer.gist = Some(StepSummary::from_payload(&record.payload).fitted(usize::MAX)),
    }
    answer
}
