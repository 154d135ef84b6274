//! One trial of a gate, as its runner hands it in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Finding;
use tracer_insight::process_exit::ProcessExit;
use tracer_insight::profile::{Bounds, Metric, MetricUnit, RunProfile};

/// One trial: a process that should have left one completed run (gate, *Trials*; gate, *Evidence*).
///
/// ```
/// use tracer_gate::{ProcessExit, Trial};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let mut trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
/// trial.exit = Some(ProcessExit::Code(0));
/// assert!(trial.is_sound());
/// ```
#[derive(Debug, Clone)]
pub struct Trial {
    /// Its number, from 1.
    pub number: u32,
    /// The run that it left, as text: of a malformed run the name of its directory.
    pub trace_id: Option<String>,
    /// The label of that run.
    pub run_name: Option<String>,
    /// End of the process; `None` without one, as for a stored run.
    pub exit: Option<ProcessExit>,
    /// Duration of the process in milliseconds.
    pub wall_time_ms: Option<u64>,
    /// Why it does not count; `None` for a trial that does.
    pub failure: Option<TrialFailure>,
    /// Profile of the run; `None` without a readable run.
    pub metrics: Option<RunProfile>,
    /// The findings of the checks of content, by the names of the checks.
    pub findings: BTreeMap<String, Finding>,
    /// The last lines that the process wrote to standard error, redacted.
    pub stderr_tail: String,
}

impl Trial {
    /// A trial that left this run; one that has not ended fails it.
    ///
    /// ```
    /// use tracer_gate::Trial;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let trial = Trial::of_run(3, RunProfile::new(&run.meta, run.records));
    /// assert_eq!((trial.number, trial.trace_id), (3, Some(run.meta.trace_id.to_string())));
    /// ```
    #[must_use]
    pub fn of_run(number: u32, metrics: RunProfile) -> Self {
        let unfinished = !metrics.status.is_completed();
        Self {
            number,
            trace_id: Some(metrics.trace_id.to_string()),
            run_name: metrics.run_name.clone(),
            exit: None,
            wall_time_ms: None,
            failure: unfinished.then(|| TrialFailure::new(FailureReason::UnfinishedTrace)),
            metrics: Some(metrics),
            findings: BTreeMap::new(),
            stderr_tail: String::new(),
        }
    }

    /// A trial that left nothing to judge.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, Trial, TrialFailure};
    ///
    /// let trial = Trial::failed(1, TrialFailure::new(FailureReason::NoTrace));
    /// assert!(!trial.is_sound());
    /// ```
    #[must_use]
    pub fn failed(number: u32, failure: TrialFailure) -> Self {
        Self {
            number,
            trace_id: None,
            run_name: None,
            exit: None,
            wall_time_ms: None,
            failure: Some(failure),
            metrics: None,
            findings: BTreeMap::new(),
            stderr_tail: String::new(),
        }
    }

    /// Makes the trial one that does not count, unless it is one already.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, Trial, TrialFailure};
    ///
    /// let mut trial = Trial::failed(1, TrialFailure::new(FailureReason::Timeout));
    /// trial.fail(TrialFailure::new(FailureReason::NoTrace));
    /// assert_eq!(trial.failure.unwrap().reason, FailureReason::Timeout);
    /// ```
    pub fn fail(&mut self, failure: TrialFailure) {
        self.failure.get_or_insert(failure);
    }

    /// The trial with the findings of a policy in its run, and their scores as metrics.
    #[must_use]
    pub fn with_findings(mut self, findings: BTreeMap<String, Finding>) -> Self {
        if let Some(run) = &mut self.metrics {
            let scores = findings.iter().filter_map(|(name, finding)| {
                let label = name.find('.').and_then(|dot| name.get(dot..)).unwrap_or_default();
                Some((format!("score{label}"), finding.score?))
            });
            run.scores = scores.collect();
        }
        self.findings = findings;
        self
    }

    /// Marks the trial *truncated*: only violations count.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, Trial, TrialFailure};
    ///
    /// let mut trial = Trial::failed(1, TrialFailure::new(FailureReason::ProcessFailed));
    /// trial.cut_short("call 4 was not answered");
    /// assert_eq!(trial.failure.unwrap().to_string(), "it was cut short: call 4 was not answered");
    /// ```
    pub fn cut_short(&mut self, reason: &str) {
        self.failure = Some(TrialFailure::new(FailureReason::CutShort).with(reason));
        if let Some(metrics) = &mut self.metrics {
            metrics.lose_spans(reason);
        }
    }

    /// Checks if it was [cut short](Self::cut_short).
    ///
    /// ```
    /// use tracer_gate::{FailureReason, Trial, TrialFailure};
    ///
    /// assert!(!Trial::failed(1, TrialFailure::new(FailureReason::Timeout)).is_cut_short());
    /// ```
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| failure.reason == FailureReason::CutShort)
    }

    /// Between which numbers a metric lies; `None` when that is unknown. A run that claims to have been longer than
    /// its process has no duration that is known.
    #[must_use]
    pub(crate) fn bounds(&self, metric: &Metric) -> Option<Bounds> {
        let run = self.metrics.as_ref()?;
        if metric.unit() == MetricUnit::Milliseconds && self.outlived_by().is_some() {
            return None;
        }
        run.bounds(metric)
    }

    /// The duration of the run and that of its process, where the run is longer than the process was.
    pub(crate) fn outlived_by(&self) -> Option<(u64, u64)> {
        /// Allowed clock skew in milliseconds.
        const TOLERANCE_MS: u64 = 50;
        let (run, process) = self.metrics.as_ref()?.latency_ms.zip(self.wall_time_ms)?;
        (run > process.saturating_add(TOLERANCE_MS)).then_some((run, process))
    }

    /// Checks if it counts: its process ended well and left exactly one completed run.
    ///
    /// ```
    /// use tracer_gate::{ProcessExit, Trial};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let mut trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
    /// trial.exit = Some(ProcessExit::Signal(9));
    /// assert!(!trial.is_sound());
    /// ```
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.failure.is_none()
            && self.exit.is_none_or(ProcessExit::is_success)
            && self
                .metrics
                .as_ref()
                .is_some_and(|metrics| metrics.status.is_completed())
    }
}

/// Why a trial does not count, and what more is known.
///
/// ```
/// use tracer_gate::{FailureReason, TrialFailure};
///
/// let failure = TrialFailure::new(FailureReason::SeveralTraces).with("found 2");
/// assert_eq!(failure.to_string(), "it left several traces: found 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialFailure {
    /// Why.
    pub reason: FailureReason,
    /// Details; empty when there are none.
    pub detail: String,
}

impl TrialFailure {
    /// A failure without details.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, TrialFailure};
    ///
    /// assert_eq!(TrialFailure::new(FailureReason::NoTrace).to_string(), "it left no trace");
    /// ```
    #[must_use]
    pub const fn new(reason: FailureReason) -> Self {
        Self {
            reason,
            detail: String::new(),
        }
    }

    /// The same with what more is known.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, TrialFailure};
    ///
    /// let failure = TrialFailure::new(FailureReason::Timeout).with("after 600 s");
    /// assert_eq!(failure.detail, "after 600 s");
    /// ```
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }
}

impl std::fmt::Display for TrialFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.reason.sentence())?;
        if self.detail.is_empty() {
            return Ok(());
        }
        write!(formatter, ": {}", self.detail)
    }
}

/// Why a trial does not count.
///
/// ```
/// use tracer_gate::FailureReason;
///
/// assert_eq!(serde_json::to_string(&FailureReason::NoTrace)?, r#""no_trace""#);
/// assert_eq!(FailureReason::NoTrace.sentence(), "it left no trace");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureReason {
    /// The process could not be started.
    NotStarted,
    /// The process ended with another code than 0, or by a signal.
    ProcessFailed,
    /// The process did not end in time.
    Timeout,
    /// The gate was interrupted.
    Interrupted,
    /// There is no run.
    NoTrace,
    /// There is more than one run.
    SeveralTraces,
    /// The run has no end.
    UnfinishedTrace,
    /// The run cannot be read, or is not valid.
    MalformedTrace,
    /// The run is not a new one: another trial's, or one that was there before.
    NotIndependent,
    /// It was truncated: what it needed was not there.
    CutShort,
}

impl FailureReason {
    /// The reason as a sentence about the trial.
    ///
    /// ```
    /// use tracer_gate::FailureReason;
    ///
    /// assert_eq!(FailureReason::Timeout.sentence(), "it did not end in time");
    /// ```
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotStarted => "it could not be started",
            Self::ProcessFailed => "its process failed",
            Self::Timeout => "it did not end in time",
            Self::Interrupted => "it was interrupted",
            Self::NoTrace => "it left no trace",
            Self::SeveralTraces => "it left several traces",
            Self::UnfinishedTrace => "its trace has no end",
            Self::MalformedTrace => "its trace is not valid",
            Self::NotIndependent => "its trace is not its own",
            Self::CutShort => "it was cut short",
        }
    }
}
