//! [`RowText`]: the texts of a row, read from the log.

use serde::Serialize;
use tracer_insight::run_head::display_name;
use tracer_insight::run_steps::{RUN_ROW, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary::StepSummary;
use tracer_insight::{cost, step_summary, steps, text};
use tracer_runs::RecordError;
use tracer_sdk::format::EventType;

use super::open_run::OpenRun;

/// Characters of a failure that are sent.
const MAX_FAILURE_CHARS: usize = 300;

/// The text of one row.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RowText {
    /// The row, from 0.
    row: usize,
    /// The ID of its record.
    event_id: String,
    /// Its kind.
    kind: StepKind,
    /// Its name.
    name: String,
    /// Summaries of input and output.
    gist: StepSummary,
    /// Its tokens in and out: `412→35`; null where neither is known.
    tokens: Option<String>,
    /// Its cost, in words: `$0.0021`; null where that is not known.
    cost: Option<String>,
    /// Its failure.
    failure: Option<String>,
    /// Set when it has begun and not ended.
    in_flight: bool,
}

impl OpenRun {
    /// Reads the texts of a row.
    pub(crate) fn row_text(&self, number: usize, row: &TimelineRow) -> Result<RowText, RecordError> {
        let Some(read) = self.steps.read_row(row)? else {
            return Ok(RowText {
                row: number,
                event_id: RUN_ROW.to_owned(),
                kind: StepKind::Run,
                name: display_name(self.name()),
                gist: StepSummary::default(),
                tokens: None,
                cost: None,
                failure: None,
                in_flight: self.steps.status.is_open(),
            });
        };
        let payload = &read.record.payload;
        let summary = match read.record.event_type() {
            EventType::RunStart => StepSummary::default(),
            _ => StepSummary::from_record(&read.record, read.in_flight)
                .preceded_by(self.steps.attempt_words(row)),
        };
        let summary = match self.steps.state_before(row)? {
            Some(before) => summary.changed_since(&before, payload),
            None => summary,
        };
        let failure = step_summary::failure(payload).map(|error| {
            text::one_line(
                &format!("{}: {}", error.error_type, error.message),
                MAX_FAILURE_CHARS,
            )
        });
        Ok(RowText {
            row: number,
            tokens: read.record.usage().and_then(step_summary::tokens),
            cost: self.steps.cost(&read.record).and_then(cost::of_call),
            kind: StepKind::from(read.record.event_type()),
            name: steps::name(&read.record),
            event_id: read.record.event_id,
            gist: summary,
            failure,
            in_flight: read.in_flight,
        })
    }
}
