//! [`OpenRun`]: a run that is open, and is brought up to date when its files change.

use std::io;
use std::sync::OnceLock;

use tracer_insight::indexed_steps::{IndexedSteps, RowSource, TimelineRow};
use tracer_insight::run_head::{RunHead, guess_remark};
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Problem, RunMeta, Timestamp};
use tracer_sdk::prices::Prices;
use tracer_sdk::read::RunDirectory;

use super::super::answer::ApiError;
use super::super::work;
use super::problems::RunProblems;
use super::stamp::RunStamp;

/// An opened run.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) directory: RunDirectory,
    pub(crate) meta: Result<RunMeta, Vec<Problem>>,
    pub(crate) status: RunStatus,
    pub(crate) steps: IndexedSteps,
    /// The URL of the bucket that it was read from; `None` of a run of this machine.
    pub(crate) origin: Option<String>,
    stamp: RunStamp,
    problems: OnceLock<RunProblems>,
}

impl OpenRun {
    /// Opens the run in a directory. Its calls have the costs of these prices.
    pub(crate) fn open(directory: RunDirectory, prices: Prices) -> io::Result<Self> {
        // Stamped before it is read: a change in between is found the next time.
        let stamp = RunStamp::of(&directory.path);
        let summary = directory.clone().read_summary();
        let status = summary.status();
        let steps = IndexedSteps::open(&directory, status.is_open(), prices)?;
        Ok(Self {
            steps,
            origin: None,
            directory,
            meta: summary.meta,
            status,
            stamp,
            problems: OnceLock::new(),
        })
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
        let stamp = RunStamp::of(&self.directory.path);
        stamp == self.stamp
            && (!self.status.is_open() || self.directory.clone().read_summary().status() == self.status)
    }

    /// Reads the changes; `false` when the log is another one: the run has to be opened anew.
    pub(crate) fn update(&mut self) -> io::Result<bool> {
        let stamp = RunStamp::of(&self.directory.path);
        let summary = self.directory.clone().read_summary();
        let status = summary.status();
        if !self.steps.update(&self.directory, status.is_open())? {
            return Ok(false);
        }
        self.stamp = stamp;
        self.status = status;
        self.meta = summary.meta;
        self.problems = OnceLock::new();
        Ok(true)
    }

    /// The start of the run: of its root, else of its metadata.
    pub(crate) fn started(&self) -> Option<Timestamp> {
        let recorded = || self.meta.as_ref().ok().map(|meta| meta.started_at.instant());
        self.steps.root_start().or_else(recorded)
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
        self.meta.as_ref().ok()?.run_name.as_deref()
    }

    /// The run as a whole.
    ///
    /// # Errors
    ///
    /// The request was cancelled.
    pub(crate) fn head(&self) -> Result<RunHead, ApiError> {
        let problems = self.problems()?;
        let mut head = RunHead::of_meta(self.meta.as_ref().ok(), self.status);
        head.remarks
            .extend(guess_remark(self.steps.index.guessed_places()));
        Ok(RunHead {
            started: self.started(),
            tags: self.steps.read_tags().map_err(ApiError::unreadable)?,
            totals: self.steps.totals(),
            cut_tail: problems.cut_tail,
            problems: problems.listed.clone(),
            more_problems: problems.more,
            ..head
        })
    }

    /// The problems of the run.
    ///
    /// # Errors
    ///
    /// The request was cancelled.
    pub(crate) fn problems(&self) -> Result<&RunProblems, ApiError> {
        if let Some(problems) = self.problems.get() {
            return Ok(problems);
        }
        let meta = self.meta.as_ref().ok();
        let problems = RunProblems::find(&self.directory.path, meta, self.status, &self.steps.index);
        if work::is_cancelled() {
            return Err(ApiError::internal());
        }
        Ok(self.problems.get_or_init(|| problems))
    }

    /// Size of the log in bytes.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.stamp.log_bytes()
    }

    /// A text that changes when the run does.
    pub(crate) fn version(&self) -> String {
        self.stamp
            .version(&(self.status.as_str(), self.directory.trace_id))
    }
}
