//! Options and summary of a collector.

use std::io;
use std::time::Duration;

use tracer_insight::text::counted;
use tracer_runs::import::ImportError;
use tracer_sdk::format::TraceId;
use tracer_sdk::settings::Settings;

use super::identity::RunIdentity;

/// Quiet time after the end of a root that completes its run.
const QUIET: Duration = Duration::from_secs(3);
/// Silence of a run without a root that makes it interrupted.
const SILENCE: Duration = Duration::from_secs(30);

/// Runs that spans and logs become.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum TraceRuns {
    /// Each trace, or conversation of a coding agent, is a run of its own.
    #[default]
    RunPerTrace,
    /// Everything belongs to this run, which [`RunCollector::end_run`](super::RunCollector::end_run) ends.
    OneRun(RunIdentity),
}

/// Options of a collector.
///
/// ```
/// use tracer_capture::runs::{CollectorOptions, RunCollector};
/// use tracer_sdk::settings::Settings;
///
/// let folder = tempfile::tempdir()?;
/// let mut options = CollectorOptions::new(&Settings::with_data_dir(folder.path()));
/// options.keep_all = true;
/// let collector = RunCollector::open(options)?;
/// assert_eq!(collector.close().spans, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CollectorOptions {
    /// The data directory, redaction and limits.
    pub settings: Settings,
    /// Runs that spans become.
    pub into: TraceRuns,
    /// Keeps traces without a model call, a tool call or an agent, too.
    pub keep_all: bool,
    /// Keeps shapes, sizes, names and tokens, but no texts.
    pub without_content: bool,
    /// Continues what an earlier process left unfinished, unless another one does.
    pub resume_unfinished: bool,
    /// Quiet time after the end of a root that completes its run: 3 s.
    pub quiet: Duration,
    /// Silence of a run without a root that makes it interrupted: 30 s. Spans wait as long for the name of their session.
    pub silence: Duration,
    /// Most traces that are kept open at once; the others are read again when more of them arrives.
    pub max_open_traces: usize,
    /// Most spans of one trace; more are rejected.
    pub max_spans_of_trace: usize,
}

impl CollectorOptions {
    /// A run per trace in the data directory of these settings.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            into: TraceRuns::default(),
            keep_all: false,
            without_content: false,
            resume_unfinished: false,
            quiet: QUIET,
            silence: SILENCE,
            max_open_traces: 1024,
            max_spans_of_trace: 1_000_000,
        }
    }
}

/// Summary of a collector's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectorSummary {
    /// Runs that were begun, in that order; the first 10,000.
    pub runs: Vec<TraceId>,
    /// Number of runs that were begun.
    pub started_runs: u64,
    /// Number of runs that were completed.
    pub completed_runs: u64,
    /// Spans that were written; those made of log records are among them.
    pub spans: u64,
    /// Spans that had arrived before.
    pub duplicates: u64,
    /// Spans with the ID of another one, which stays.
    pub differing: u64,
    /// Spans and log records that can never be taken.
    pub rejected: u64,
    /// Values that were not as OTLP writes them, and were repaired or left out.
    pub repaired: u64,
    /// Log records that say nothing about an agent.
    pub ignored_logs: u64,
    /// Log records of coding agents that name neither a session nor a trace, which were not kept.
    pub logs_without_session: u64,
    /// Traces without a model call, a tool call or an agent, which were not kept.
    pub ignored_traces: u64,
    /// Spans that their own program records into this data directory.
    pub recorded_elsewhere: u64,
    /// Reason of the last failure outside a request, such as one to complete a run.
    pub last_error: Option<String>,
}

impl CollectorSummary {
    /// Sentences about what was received and is not stored as it was sent.
    ///
    /// ```
    /// use tracer_capture::runs::CollectorSummary;
    ///
    /// let mut summary = CollectorSummary::default();
    /// assert!(summary.notes().is_empty());
    /// summary.repaired = 2;
    /// assert_eq!(summary.notes(), ["2 received values repaired or left out: not as OTLP writes them"]);
    /// ```
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        [
            (
                self.repaired,
                "received value",
                "repaired or left out: not as OTLP writes them",
            ),
            (
                self.differing,
                "received span",
                "left out: duplicate IDs of spans that differ from them",
            ),
            (
                self.logs_without_session,
                "log record",
                "of coding agents left out: without a session and a trace",
            ),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, noun, what)| format!("{} {what}", counted(count, noun)))
        .collect()
    }
}

/// Why a collector could not begin or end its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A run could not be written.
    #[error("the run cannot be written: {0}")]
    Run(#[from] ImportError),
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    Io(#[from] io::Error),
}
