//! The page of a run that is read as it is written, whatever its size.

use std::io::Write;

use tracer_sdk::redaction::Redaction;

use super::{Head, write};
use crate::export::ExportError;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::{steps, summary, text};

/// So many steps are nested and written at a time.
const STEPS_AT_ONCE: usize = 1_000;

/// Writes the page of the steps that pass `filter`, and gives how many secrets were taken out of it. `duration` is how
/// long the run took, or has been going on, in microseconds; `on_steps` is told how many more steps were written.
pub(crate) fn write_run(
    contents: &mut RunSteps,
    standing: RunStatus,
    duration: Option<u64>,
    filter: &StepFilter,
    redaction: &Redaction,
    on_steps: impl Fn(u64),
    writer: &mut dyn Write,
) -> Result<u64, ExportError> {
    let numbers = contents.passing(filter)?;
    let mut head = head(contents, standing, duration)?;
    if numbers.len() < contents.len() {
        let all = text::counted(contents.len() as u64, "step");
        head.left_out = Some(format!("{} of {all}: what passed the filter.", numbers.len()));
    }
    let start = contents.start()?;
    let parts = numbers.chunks(STEPS_AT_ONCE).map(|part| {
        let sources = contents.read_all(part)?;
        on_steps(sources.len() as u64);
        Ok(sources)
    });
    write(head, start, parts, redaction, writer)
}

fn head(contents: &mut RunSteps, standing: RunStatus, duration: Option<u64>) -> Result<Head, ExportError> {
    let telling = contents.telling();
    let sources = contents.read_all(&telling)?;
    let steps = steps::steps(&sources, contents.started());
    let totals = contents.totals();
    let run = &contents.run;
    let is_part = (steps.len() as u64) < totals.steps;
    let sentence = summary::sentence(
        standing,
        &steps,
        is_part.then_some(&totals),
        duration.filter(|_| standing == RunStatus::Running),
        !run.problems.is_empty(),
    );
    let meta = run.meta.as_ref();
    Ok(Head {
        name: meta.and_then(|meta| meta.run_name.clone()),
        id: run.trace_id.map(|id| id.to_string()).unwrap_or_default(),
        standing,
        sentence,
        totals: totals.told(),
        started: contents.started(),
        duration,
        problems: run.problems.clone(),
        more_problems: run.more_problems,
        left_out: None,
    })
}
