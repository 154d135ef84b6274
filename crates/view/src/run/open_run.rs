//! [`OpenRun`]: a run that is open, and is brought up to date when its files change.

use std::io;

use tracer_insight::run_steps::{RowSource, RunSteps, TimelineRow};
use tracer_runs::RunDirectory;
use tracer_sdk::prices::Prices;

use super::stamp::RunStamp;

/// An opened run.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) steps: RunSteps,
    /// The URL of the bucket that it was read from; `None` of a run of this machine.
    pub(crate) origin: Option<String>,
    stamp: RunStamp,
}

impl OpenRun {
    /// Opens the run in a directory. Its calls have the costs of these prices.
    pub(crate) fn open(directory: RunDirectory, prices: Prices) -> Self {
        Self {
            // Stamped before it is read: a change in between is found the next time.
            stamp: RunStamp::of(&directory.path),
            steps: RunSteps::open(directory, prices),
            origin: None,
        }
    }

    /// The same of a run that was read from the bucket with this URL, if it is one.
    pub(crate) fn read_from(self, origin: Option<&str>) -> Self {
        Self {
            origin: origin.map(str::to_owned),
            ..self
        }
    }

    /// The files are as they were when they were read last, and so is the process.
    pub(crate) fn is_current(&self) -> bool {
        let directory = &self.steps.directory;
        let status = self.steps.status;
        RunStamp::of(&directory.path) == self.stamp
            && (!status.is_open() || directory.clone().read_summary().status() == status)
    }

    /// Reads the changes; `false` when the log is another one: the run has to be opened anew.
    pub(crate) fn update(&mut self) -> io::Result<bool> {
        let stamp = RunStamp::of(&self.steps.directory.path);
        let is_same = self.steps.update()?;
        if is_same {
            self.stamp = stamp;
        }
        Ok(is_same)
    }

    /// Where the index has the span that a row comes from; `None` for a row that is not in the log yet.
    pub(crate) fn position_of(&self, row: &TimelineRow) -> Option<usize> {
        match row.source {
            RowSource::Span(position) => Some(position as usize),
            RowSource::Promoted(number) => Some(self.steps.promoted.get(number as usize)?.span),
            RowSource::Run | RowSource::InFlight(_) => None,
        }
    }

    /// The run's name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.steps.meta.as_ref().ok()?.run_name.as_deref()
    }

    /// Size of the log in bytes.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.stamp.log_bytes()
    }

    /// A text that changes when the run does.
    pub(crate) fn version(&self) -> String {
        self.stamp
            .version(&(self.steps.status.as_str(), self.steps.directory.trace_id))
    }
}
