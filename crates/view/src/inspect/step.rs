//! A step in full.

use serde::Serialize;
use serde_json::{Map, Value};
use tracer_sdk::format::names::markers;
use tracer_sdk::format::{EventType, SPANS_FILE, Timestamp};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::call::{self, ToolCallJson};
use super::cut::{ShownValue, StepAddress, StepPart};
use super::error::{ErrorDetails, error};
use super::llm::{self, LlmCallJson};
use super::loops::{self, LoopReport};
use super::state::{self, StateDetails};
use tracer_insight::conversation::Conversation;
use tracer_insight::key_steps::AROUND_A_LOOP;
use tracer_insight::run_head::display_name;
use tracer_insight::run_steps::RUN_ROW;
use tracer_insight::run_steps::{RowSource, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::{step_detail, step_summary, steps};

/// A step.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StepJson {
    /// Its row, from 0.
    row: usize,
    /// Its number, as `tracer show` counts; 0 for the run itself.
    number: u32,
    event_id: String,
    parent_id: Option<String>,
    kind: StepKind,
    name: String,
    failed: bool,
    in_flight: bool,
    /// Its outcome: `ok`, `failed`, `cancelled`, `unknown`, `waiting` or `in flight`.
    outcome: &'static str,
    start: Option<String>,
    end: Option<String>,
    /// From the start of the run, in microseconds.
    offset_us: Option<i64>,
    /// Its duration in microseconds.
    duration_us: Option<u64>,
    /// Its line in the log, from 1; null for what is not in the log yet.
    line: Option<u64>,
    /// The log, relative to the run directory.
    file: &'static str,
    llm: Option<LlmCallJson>,
    tool: Option<ToolCallJson>,
    state: Option<StateDetails>,
    error: Option<ErrorDetails>,
    #[serde(rename = "loop")]
    loop_report: Option<LoopReport>,
    /// Facts in a few words each: model, settings, tokens, cost, ratings, guardrails, decisions, hand-overs.
    facts: Vec<String>,
    /// Metadata of the user.
    meta: Map<String, Value>,
    attributes: Option<ShownValue>,
    /// The line as it is stored.
    raw: Option<ShownValue>,
    /// Number of redacted values.
    redactions: usize,
    /// Number of values that were cut when it was recorded.
    truncations: usize,
}

/// Everything about the step in a row.
///
/// The messages of a model call are compared with those of the call in the row `against`, else with those of the call before.
pub(crate) fn inspect(
    run: &OpenRun,
    number: usize,
    row: &TimelineRow,
    against: Option<&TimelineRow>,
) -> Result<StepJson, ApiError> {
    let place = StepAddress {
        run_id: run.steps.directory.trace_id,
        event_id: run.steps.event_id(row).unwrap_or_else(|| RUN_ROW.to_owned()),
    };
    let Some(read) = run.steps.read_row(row).map_err(ApiError::unreadable)? else {
        return Ok(run_in_flight(run, number));
    };
    let record = &read.record;
    let span = read.span.as_ref();
    let indexed = run
        .position_of(row)
        .and_then(|position| run.steps.index.span(position));
    let raw = raw(run, row)?;
    let occurs = |marker: &str| raw.as_ref().map_or(0, |raw| raw.matches(marker).count());
    let start: Option<Timestamp> = record.ts.parse().ok();
    let step_number = row.number as usize;
    Ok(StepJson {
        row: number,
        number: row.number,
        parent_id: record.parent_id.clone(),
        kind: StepKind::from(record.event_type()),
        name: steps::name(record),
        failed: step_summary::failed(record),
        in_flight: read.in_flight,
        outcome: steps::end_word(record, read.in_flight),
        start: Some(record.ts.clone()),
        end: span.and_then(|span| Some(span.end_time.as_ref()?.text().to_owned())),
        offset_us: start
            .zip(run.steps.started())
            .map(|(start, started)| start.microseconds_since(started)),
        duration_us: match row.source {
            RowSource::Span(_) => indexed.and_then(|span| span.duration_us),
            _ => None,
        },
        line: indexed.map(|span| span.line),
        file: SPANS_FILE,
        llm: llm::of(run, step_number, record, span, &place, against)?,
        tool: call::of(run, step_number, &record.payload, &place)?,
        state: state::of(run, step_number, &record.payload, &place)?,
        error: error(&record.payload),
        loop_report: loop_report(run, row, &record.event_id)?,
        facts: step_detail::facts(
            record,
            Conversation::from_payload(&record.payload).as_ref(),
            run.steps.cost(record),
        ),
        meta: record.meta.clone(),
        attributes: span.and_then(|span| {
            let attributes = Value::Object(span.attributes.clone());
            (!span.attributes.is_empty())
                .then(|| ShownValue::of(&attributes, StepPart::Attributes, &place))?
        }),
        redactions: occurs(markers::REDACTED),
        truncations: occurs(markers::TRUNCATED),
        raw: raw.map(|raw| ShownValue::text(&raw, StepPart::Raw, &place)),
        event_id: place.event_id,
    })
}

/// A run whose root has not ended: its metadata is all there is.
fn run_in_flight(run: &OpenRun, number: usize) -> StepJson {
    StepJson {
        row: number,
        number: 0,
        event_id: RUN_ROW.to_owned(),
        parent_id: None,
        kind: StepKind::Run,
        name: display_name(run.name()),
        failed: false,
        in_flight: true,
        outcome: "in flight",
        start: run.steps.started().map(|started| started.to_string()),
        end: None,
        offset_us: Some(0),
        duration_us: None,
        line: None,
        file: SPANS_FILE,
        llm: None,
        tool: None,
        state: None,
        error: None,
        loop_report: None,
        facts: Vec::new(),
        meta: Map::new(),
        attributes: None,
        raw: None,
        redactions: 0,
        truncations: 0,
    }
}

/// The line that a row comes from.
pub(crate) fn raw(run: &OpenRun, row: &TimelineRow) -> Result<Option<String>, ApiError> {
    let Some(position) = run.position_of(row) else {
        return Ok(None);
    };
    let line = run
        .steps
        .index
        .read_line(position)
        .map_err(ApiError::unreadable)?;
    Ok(line.map(|line| String::from_utf8_lossy(&line).into_owned()))
}

/// The evidence of a loop warning.
fn loop_report(run: &OpenRun, row: &TimelineRow, event_id: &str) -> Result<Option<LoopReport>, ApiError> {
    let is_warning = run
        .steps
        .header(row)
        .is_some_and(|(event_type, _)| event_type == EventType::LoopWarning);
    if !is_warning {
        return Ok(None);
    }
    let number = row.number as usize;
    let around = number.saturating_sub(AROUND_A_LOOP).max(1)..=number + AROUND_A_LOOP;
    let sources = run.steps.read_steps(around).map_err(ApiError::unreadable)?;
    let steps = steps::steps(&sources, run.steps.started());
    Ok(loops::of(&steps)
        .into_iter()
        .find(|report| report.event_id() == event_id))
}
