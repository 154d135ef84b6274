//! What a row says: its record, read from the log, and the gist of that.

use serde::Serialize;
use serde_json::Value;
use tracer_sdk::format::{EventType, Record, SpanRecord};
use tracer_sdk::read::{RecordError, spans_to_events};

use super::attempts::Attempts;
use super::open_run::OpenRun;
use super::timeline::{Row, Source};
use tracer_insight::step_kind::StepKind;
use tracer_insight::{in_flight, step_summary, steps, text};

/// Characters of a failure in a row.
const MAX_FAILURE_CHARACTERS: usize = 300;

/// The text of one row.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RowText {
    /// The row, from 0.
    row: usize,
    /// The ID of its record.
    event_id: String,
    /// What it tells about.
    kind: StepKind,
    /// What it is called.
    name: String,
    /// What went in and what came out.
    gist: GistText,
    /// How it failed.
    failure: Option<String>,
    /// Whether it has begun and not ended.
    in_flight: bool,
}

/// What went into a step and what came out of it, in one line each.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GistText {
    /// What went in; all there is, of a step that has no result.
    input: String,
    /// What came out.
    output: Option<String>,
}

/// A record with its span, when it has one of its own.
pub(crate) struct ReadRow {
    pub(crate) record: Record,
    pub(crate) span: Option<SpanRecord>,
    pub(crate) in_flight: bool,
}

impl OpenRun {
    /// Reads the record of a row; `None` for the run itself while its root is not there.
    pub(crate) fn read_row(&self, row: &Row) -> Result<Option<ReadRow>, RecordError> {
        match row.source {
            Source::Run => Ok(None),
            Source::Span(position) => {
                let Some(span) = self.index.read_span(position as usize)? else {
                    return Ok(None);
                };
                let id = span.span_id.to_string();
                let records = spans_to_events(std::slice::from_ref(&span));
                let mut record = records.into_iter().find(|record| record.event_id == id);
                if let Some(record) = &mut record {
                    self.mark_attempt(row, record);
                }
                let in_flight = span.end_time.is_none();
                Ok(record.map(|record| ReadRow {
                    record,
                    span: Some(span),
                    in_flight,
                }))
            }
            Source::Surfaced(number) => {
                let Some(surfaced) = self.surfaced.get(number as usize) else {
                    return Ok(None);
                };
                let Some(root) = self.index.read_span(surfaced.span)? else {
                    return Ok(None);
                };
                let id = surfaced_id(&root.span_id.to_string(), surfaced.number);
                let records = spans_to_events(std::slice::from_ref(&root));
                let record = records.into_iter().find(|record| record.event_id == id);
                Ok(record.map(|record| ReadRow {
                    record,
                    span: None,
                    in_flight: false,
                }))
            }
            Source::InFlight(number) => Ok(self.in_flight.get(number as usize).map(|started| ReadRow {
                record: in_flight::record(self.directory.trace_id, started),
                span: None,
                in_flight: true,
            })),
        }
    }

    /// Says of an attempt which call it is at, as the projection of the whole run does.
    fn mark_attempt(&self, row: &Row, record: &mut Record) {
        let Some(Attempts::At(call)) = self.attempts(row) else {
            return;
        };
        let call = self.timeline.row_of_step(call);
        let call = call
            .and_then(|row| self.timeline.get(row))
            .and_then(|row| self.event_id(row));
        if let Some(call) = call {
            record
                .meta
                .entry(steps::ATTEMPT_OF)
                .or_insert(Value::String(call));
        }
    }

    /// `3 attempts`, or `attempt at #3`; `None` of what is neither.
    pub(crate) fn attempts_told(&self, row: &Row) -> Option<String> {
        match self.attempts(row)? {
            Attempts::At(call) => Some(steps::attempt_at(Some(call))),
            Attempts::Call(attempts) => steps::attempts(attempts),
        }
    }

    /// The ID of a row's record, without reading it.
    pub(crate) fn event_id(&self, row: &Row) -> Option<String> {
        match row.source {
            Source::Run => None,
            Source::Span(position) => Some(self.index.span(position as usize)?.span_id.to_string()),
            Source::Surfaced(number) => {
                let surfaced = self.surfaced.get(number as usize)?;
                let root = self.index.span(surfaced.span)?;
                Some(surfaced_id(&root.span_id.to_string(), surfaced.number))
            }
            Source::InFlight(number) => Some(self.in_flight.get(number as usize)?.span_id.to_string()),
        }
    }

    /// The row of a record.
    pub(crate) fn row_of(&self, event_id: &str) -> Option<usize> {
        if event_id == RUN_ROW {
            let first = self.timeline.get(0)?;
            return (first.source == Source::Run).then_some(0);
        }
        if let Ok(span_id) = event_id.parse() {
            if let Some(row) = self
                .index
                .find(span_id)
                .and_then(|span| self.timeline.row_of_span(span))
            {
                return Some(row);
            }
            let place = self
                .in_flight
                .iter()
                .position(|started| started.span_id == span_id)?;
            let source = Source::InFlight(u32::try_from(place).ok()?);
            return self.timeline.rows.iter().position(|row| row.source == source);
        }
        let (root, number) = event_id.split_once('.')?;
        let root = self.index.find(root.parse().ok()?)?;
        if number == "end" {
            return self.timeline.row_of_span(root);
        }
        let number: u32 = number.parse().ok()?;
        let place = self
            .surfaced
            .iter()
            .position(|surfaced| surfaced.span == root && surfaced.number.checked_sub(1) == Some(number))?;
        let source = Source::Surfaced(u32::try_from(place).ok()?);
        self.timeline.rows.iter().position(|row| row.source == source)
    }

    /// What a row says.
    pub(crate) fn row_text(&self, number: usize, row: &Row) -> Result<RowText, RecordError> {
        let Some(read) = self.read_row(row)? else {
            return Ok(RowText {
                row: number,
                event_id: RUN_ROW.to_owned(),
                kind: StepKind::Run,
                name: step_summary::word(self.name().unwrap_or("(unnamed)")),
                gist: GistText {
                    input: String::new(),
                    output: None,
                },
                failure: None,
                in_flight: self.standing.is_open(),
            });
        };
        let payload = &read.record.payload;
        let told = match read.record.event_type() {
            EventType::RunStart => step_summary::Gist::default(),
            _ => step_summary::of(payload).after(self.attempts_told(row)),
        };
        let failure = step_summary::failure(payload).map(|error| {
            text::one_line(
                &format!("{}: {}", error.error_type, error.message),
                MAX_FAILURE_CHARACTERS,
            )
        });
        Ok(RowText {
            row: number,
            kind: StepKind::from(read.record.event_type()),
            name: steps::name(&read.record),
            event_id: read.record.event_id,
            gist: GistText {
                input: told.before,
                output: told.after,
            },
            failure,
            in_flight: read.in_flight,
        })
    }
}

/// ID of the row for a run whose root has not ended.
pub(crate) const RUN_ROW: &str = "run";

/// The ID of a record that a root gives besides its own (decisions, section 3).
fn surfaced_id(root: &str, number: u32) -> String {
    format!("{root}.{}", number.saturating_sub(1))
}
