//! The steps that tell how a run went, read from its log.

use tracer_sdk::read::RecordError;

use super::open_run::OpenRun;
use tracer_insight::key_steps;
use tracer_insight::steps::StepSource;

impl OpenRun {
    /// The telling steps, in the order of time.
    pub(crate) fn key_steps(&self) -> Result<Vec<StepSource>, RecordError> {
        let numbers = key_steps::numbers(self.timeline.steps(), |wanted| {
            let mut numbers: Vec<usize> = self
                .rows_of(wanted)
                .iter()
                .map(|row| row.number as usize)
                .collect();
            numbers.sort_unstable();
            numbers
        });
        self.steps(numbers)
    }

    /// The steps with these numbers.
    pub(crate) fn steps(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<StepSource>, RecordError> {
        let mut sources = Vec::new();
        for number in numbers {
            let Some(row) = self
                .timeline
                .row_of_step(number)
                .and_then(|row| self.timeline.get(row))
            else {
                continue;
            };
            let Some(read) = self.read_row(row)? else { continue };
            sources.push(match &read.span {
                None if read.in_flight => StepSource::begun(number, read.record),
                span => StepSource::read(number, read.record, span.as_ref()),
            });
        }
        Ok(sources)
    }
}
