//! Is it worse? Policy, metrics, alignment, statistics, baseline, verdict and report of the gate (feature `gate`).
//!
//! Pure: nothing here opens a file of its own accord, runs a process, reads a clock or prints. Records and policies go
//! in, reports come out; running trials and showing results is the command line's.
//!
//! | question | answer |
//! |---|---|
//! | what did one run do, in numbers? | [`RunMetrics`] |
//! | in what do two runs differ? | [`Comparison`] |
//! | what is usual? | [`Baseline`] |
//! | what does a gate demand? | [`Policy`](policy::Policy) |
//! | is it met? | [`Gate`], by the [`statistics`] |
//! | what did the gate see and decide? | [`Report`] |

mod baseline;
mod compare;
mod decide;
mod digest;
mod independence;
mod metrics;
pub mod policy;
mod repeats;
mod report;
#[cfg(feature = "schema")]
mod schema;
mod signature;
pub mod statistics;

#[cfg(test)]
mod samples;

#[cfg(feature = "testing")]
pub(crate) use baseline::agent_of;
pub use baseline::{
    Acceptance, AcceptanceSource, AcceptanceVerdict, Baseline, BaselineError, BaselineErrorCode,
    BaselineSummary, EnvironmentFingerprint, PreviousBaseline, Provenance, PullRequest, TrialSample,
};
pub use compare::{
    AlignedCalls, Call, CallChange, CallList, CallPair, Comparison, CountedDiff, Difference, MetricChange,
    NameChanges, RepeatedTool, Side, SideKind, ToolChanges, ToolPathDiff, TypeCount,
};
pub use decide::{Gate, StopReason};
pub use digest::sha256_hex;
pub use independence::Independence;
pub use metrics::{Bounds, CountMismatch, GuardrailStop, Metric, MissingSpans, RepeatedCalls, RunMetrics};
pub use report::{
    AllowedRange, CheckKind, CheckMode, CheckResult, ConfidenceBounds, DecisionRule, Direction,
    DistributionalEvidence, Evidence, FailureReason, GateDetails, InputFile, InvariantEvidence, Judgement,
    MeasuredEvidence, ProcessExit, Report, ReportMetadata, ReportedTrial, SampleRange, SingleTrialEvidence,
    StatisticalEvidence, StoppingRule, Threshold, Trial, TrialCheck, TrialDetails, TrialFailure, TrialTools,
    Verdict,
};
pub use signature::Signature;
