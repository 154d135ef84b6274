//! `tracer show --follow`: shows the steps of a running run as they end, until the run ends or its process is gone.

use std::thread;
use std::time::Duration;

use tracer_insight::line::Line;
use tracer_insight::run_steps::{RowSource, RunSteps};
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::steps;
use tracer_insight::units::now;
use tracer_sdk::format::Timestamp;

use super::{OpenedRun, page};
use crate::error::CliError;
use crate::session::Session;
use crate::terminal::follow_rows;

/// Poll interval of the log.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Shows the steps of a run as they end. Only new lines of the log are read.
pub(super) fn follow(
    shown: &mut OpenedRun,
    filter: &StepFilter,
    session: &mut Session,
) -> Result<(), CliError> {
    let width = session.ui.width();
    let meta = shown.contents.meta.as_ref().ok();
    let title = follow_rows::title(meta.and_then(|meta| meta.run_name.as_deref()), &shown.short_id);
    session.ui.lines(&[title.fitted(width)])?;
    let mut ended = 0;
    while show_ended(&shown.contents, &mut ended, filter, session)? == RunStatus::Running {
        session.ui.status(&status(&shown.contents, session.ui.width()));
        thread::sleep(POLL_INTERVAL);
        let is_there = shown.contents.update().is_ok_and(|is_same_log| is_same_log);
        if !is_there || shown.contents.status == RunStatus::Damaged {
            session.ui.clear_status();
            let short_id = &shown.short_id;
            return Err(CliError::input(format!(
                "failed to follow run {short_id}: it was deleted or damaged in the meantime"
            ))
            .with_hint(session.next_step("list the runs", "list")));
        }
    }
    session.ui.clear_status();
    session.ui.lines(&[Line::new()])?;
    page::head(shown, true, session)?;
    Ok(())
}

/// Shows the steps after the first `ended` ones of the log, and gives the status of the run.
fn show_ended(
    run: &RunSteps,
    ended: &mut usize,
    filter: &StepFilter,
    session: &mut Session,
) -> Result<RunStatus, CliError> {
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    for row in run.timeline.rows.iter().filter(|row| row.number > 0) {
        let position = match row.source {
            RowSource::Span(position) => position as usize,
            // They come with their root.
            RowSource::Promoted(number) => match run.promoted.get(number as usize) {
                Some(promoted) => promoted.span,
                None => continue,
            },
            RowSource::Run | RowSource::InFlight(_) => continue,
        };
        if position >= *ended {
            numbers.push((position, row.number as usize));
        }
    }
    *ended = run.index.len();
    // In the order of their ends.
    numbers.sort_unstable();
    let sources = run.read_steps(numbers.into_iter().map(|(_, number)| number))?;
    for step in steps::steps(&sources, run.started()) {
        if filter.passes(step.record) {
            session.ui.lines(&follow_rows::lines(&step, session.ui.width()))?;
        }
    }
    session.ui.flush()?;
    Ok(run.status)
}

/// Status line.
fn status(run: &RunSteps, width: usize) -> Line {
    let now = now();
    let since = |then: Timestamp| u64::try_from(now.microseconds_since(then)).unwrap_or(0);
    let current = run.in_flight.last();
    let current = current.map(|call| (call.name.as_str(), since(call.start_time.instant())));
    let elapsed = run.started().map_or(0, since);
    follow_rows::status(elapsed, current, &run.totals()).fitted(width.saturating_sub(1))
}
