//! `tracer show --json`: the records, written as they are read, with metadata, calls in flight and problems.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use tracer_runs::{RecordError, RunReader, StartedSpan, Strictness};
use tracer_sdk::format::{Record, RecordedStatus};

use super::OpenedRun;
use crate::error::CliError;
use crate::session::Session;
use tracer_insight::json;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::StepFilter;

/// A call that has not ended, or had not when the process died.
fn call_in_flight(started: &StartedSpan) -> Value {
    json!({
        "span_id": started.span_id,
        "parent_span_id": started.parent_span_id,
        "event_type": started.event_type,
        "name": started.name,
        "start_time": started.start_time,
        "arguments": started.arguments,
    })
}

/// Writes the run; with a step or a filter, `events` has only the records that match.
pub(super) fn write(
    shown: &OpenedRun,
    step: Option<usize>,
    filter: &StepFilter,
    session: &mut Session,
) -> Result<(), CliError> {
    let mut only = None;
    if let Some(number) = step {
        let found = shown.contents.read_step(number)?;
        let (source, _) = found.ok_or_else(|| super::views::no_such_step(shown, number, session))?;
        only = Some(source.record);
    }
    let failed: RefCell<Option<RecordError>> = RefCell::new(None);
    let mut run = RunReader::open(&shown.contents.directory.path, Strictness::Lenient)
        .map_err(|invalid| super::not_shown(&shown.short_id, &invalid, session))?;
    let written = write_document(
        (&shown.contents, &mut run),
        only.as_ref(),
        filter,
        &failed,
        session.ui.output(),
    );
    if let Some(error) = failed.take() {
        return Err(error.into());
    }
    written.map_err(CliError::output)
}

fn write_document(
    (steps, run): (&RunSteps, &mut RunReader),
    only: Option<&Record>,
    filter: &StepFilter,
    failed: &RefCell<Option<RecordError>>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let status = steps.status;
    let tags: BTreeMap<&str, &str> = steps.tags.iter().collect();
    let mut document = json::Document::begin(output)?;
    // The three words of the format, and one that the files do not hold.
    let recorded = match status {
        RunStatus::Interrupted => Some(RunStatus::Interrupted.as_str()),
        _ => run.status.map(RecordedStatus::as_str),
    };
    document.field("status", &recorded)?;
    document.field("run_status", &status.as_str())?;
    document.field("tags", &tags)?;
    document.field("run", &run.meta)?;
    if let Some(record) = only {
        document.list("events", [record])?;
    } else {
        let records = run
            .records
            .by_ref()
            .map_while(|record| record.map_err(|error| *failed.borrow_mut() = Some(error)).ok())
            .filter(|record| filter.is_empty() || filter.passes(record));
        document.list("events", records)?;
    }
    document.list("in_flight", steps.in_flight.iter().map(call_in_flight))?;
    document.list("problems", &run.problems)?;
    document.end()
}
