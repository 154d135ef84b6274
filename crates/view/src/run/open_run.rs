//! [`OpenRun`]: a run that is open, and is brought up to date when its files change.

use std::io;

use tracer_insight::run_steps::{RowSource, RunSteps, TimelineRow};
use tracer_runs::RunDirectory;
use tracer_sdk::format::EventType;
use tracer_sdk::prices::Prices;

use super::stamp::RunStamp;

/// Bytes of a log that are read in a hundredth of a second.
const BEGINNING_BYTES: u64 = 1024 * 1024;

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

    /// The beginning of the run in a directory.
    pub(crate) fn read_beginning(directory: RunDirectory, prices: Prices) -> Self {
        Self {
            stamp: RunStamp::of(&directory.path),
            steps: RunSteps::read_beginning(directory, prices, BEGINNING_BYTES),
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

    /// Reads the changes; `false` when the log is another one: the run has to be opened again.
    pub(crate) fn update(&mut self) -> io::Result<bool> {
        let stamp = RunStamp::of(&self.steps.directory.path);
        let is_same = self.steps.update()?;
        if is_same {
            self.stamp = stamp;
        }
        Ok(is_same)
    }

    /// The place in the index of the span of a row; `None` for a row that is not in the log yet.
    pub(crate) fn position_of(&self, row: &TimelineRow) -> Option<usize> {
        match row.source {
            RowSource::Span(position) => Some(position as usize),
            RowSource::Promoted(number) => Some(self.steps.promoted.get(number as usize)?.span),
            RowSource::Run | RowSource::InFlight(_) => None,
        }
    }

    /// The first row that may differ from what it was when the log had been read up to `offset`; calls in flight count as changed.
    pub(crate) fn first_change(&self, offset: u64) -> usize {
        let is_new = |row: &TimelineRow| {
            let position = self.position_of(row);
            let span = position.and_then(|position| self.steps.index.span(position));
            matches!(row.source, RowSource::InFlight(_)) || span.is_some_and(|span| span.offset >= offset)
        };
        let rows = &self.steps.timeline.rows;
        let is_warning = |row: &TimelineRow| {
            let header = self.steps.header(row);
            header.is_some_and(|(event_type, _)| event_type == EventType::LoopWarning)
        };
        // A report of a call that is known changes its rows; a loop warning marks rows before it; only a clock that was set back
        // moves rows.
        let index = &self.steps.index;
        let added = (0..index.len()).rev().map_while(|position| index.span(position));
        let mut added = added.take_while(|span| span.offset >= offset);
        if offset > index.bytes_read()
            || added.any(|span| span.is_joined || span.is_leftover)
            || rows.iter().any(|row| is_new(row) && is_warning(row))
            || self.was_any_moved(is_new)
        {
            return 0;
        }
        rows.iter().position(is_new).unwrap_or(rows.len())
    }

    /// True if a known row is now further down: in a new row which comes after it in time, or is nested
    /// in one that does.
    fn was_any_moved(&self, is_new: impl Fn(&TimelineRow) -> bool) -> bool {
        // Of each row: the last in time of it and what it is nested in, and the same of the nearest new row that it is in.
        let mut lasts: Vec<(u32, u32)> = Vec::with_capacity(self.steps.timeline.rows.len());
        for row in &self.steps.timeline.rows {
            let above = row.parent as usize;
            let (last_above, under_new) = lasts.get(above).copied().unwrap_or_default();
            let is_in_new = self.steps.timeline.get(above).is_some_and(&is_new);
            let under_new = if is_in_new { last_above } else { under_new };
            if under_new > row.number && !is_new(row) {
                return true;
            }
            lasts.push((last_above.max(row.number), under_new));
        }
        false
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
