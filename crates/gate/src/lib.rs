//! The gate: policy, statistics, baseline, verdict and report.
//!
//! Pure: nothing here opens a file of its own accord, runs a process, reads a clock or prints. Records and policies go
//! in, reports come out; running trials and showing results is the command line's.
//!
//! | question | answer |
//! |---|---|
//! | what did one run do, in numbers? | [`RunProfile`](tracer_insight::profile::RunProfile) |
//! | in what do two runs differ? | [`Comparison`](tracer_insight::comparison::Comparison) |
//! | what is usual? | [`Baseline`] |
//! | what does a gate demand? | [`Policy`](policy::Policy) |
//! | is it met? | [`Gate`], by the [`statistics`] |
//! | what did the gate see and decide? | [`Report`] |

mod baseline;
mod content;
mod decide;
mod digest;
pub mod draft;
mod error;
pub mod files;
#[cfg(feature = "formats")]
pub mod formats;
mod invariants;
pub mod policy;
mod range;
mod report;
mod schema;
pub mod statistics;
#[cfg(feature = "testing")]
pub mod testing;
mod trial;
#[cfg(feature = "trials")]
pub mod trials;
mod verdict;
pub mod words;

pub use baseline::{
    Acceptance, BASELINES_FOLDER, Baseline, BaselineTrial, Demanded, EnvironmentFingerprint, usual_path,
};
pub use content::{Finding, NoOutput, RunContent, TrialOutput};
pub use decide::Gate;
pub use error::InputError;
pub use range::AllowedRange;
pub use report::{
    BaselineChanges, CheckResult, DistributionalEvidence, Evidence, GateDetails, InputFile,
    InvariantEvidence, Judgement, MeasuredEvidence, Report, ReportedTrial, SampleRange, StatisticalEvidence,
    StopReason,
};
pub use tracer_insight::process_exit::ProcessExit;
pub use trial::{FailureReason, Trial, TrialFailure};
pub use verdict::{CheckKind, CheckMode, Direction, Verdict};

#[cfg(feature = "testing")]
#[doc(hidden)]
pub use tracer_sdk::__private;
