//! The page of a run that is read as it is written, whatever its size.

use std::io::Write;

use tracer_sdk::redaction::Redaction;

use super::{PageHead, write};
use crate::ExportError;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::step_detail::evidence_numbers;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::{steps, text};

/// Steps that are nested and written at a time.
const STEPS_AT_ONCE: usize = 1_000;

/// Writes the page of the steps that pass `filter`, and gives how many secrets were removed from it. `on_steps` is called
/// with the number of steps that were written since.
pub fn write_run(
    contents: &RunSteps,
    filter: &StepFilter,
    redaction: &Redaction,
    on_steps: impl Fn(u64),
    writer: &mut dyn Write,
) -> Result<u64, ExportError> {
    let numbers = contents.passing(filter, || {})?;
    let run = contents.head();
    let key_steps = contents.read_key_steps()?;
    let left_out = (numbers.len() < contents.len()).then(|| {
        let all = text::counted(contents.len() as u64, "step");
        format!("{} of {all}: what passed the filter.", numbers.len())
    });
    let key_steps = steps::steps(&key_steps, contents.started());
    let head = PageHead {
        sentence: run.sentence(&key_steps),
        evidence: evidence_numbers(&key_steps),
        id: contents.directory.trace_id.to_string(),
        run,
        left_out,
    };
    let start = contents.start()?;
    let parts = numbers.chunks(STEPS_AT_ONCE).map(|part| {
        let sources = contents.read_steps(part.iter().copied())?;
        on_steps(sources.len() as u64);
        Ok(sources)
    });
    write(head, start, parts, redaction, writer)
}
