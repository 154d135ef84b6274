//! What a gate saw and decided: the report, whose core other tools read as `2.0.x` (gate contract, section 10).
//!
//! A trial goes in as a [`Trial`]; deciding gives a [`Judgement`]; both together, with the details of the gate, are the
//! [`Report`].

mod build;
mod check;
mod counted;
mod evidence;
mod judgement;
mod reported;
mod seal;
mod trial;

#[cfg(feature = "schema")]
pub(super) use build::REPORT_VERSION;
pub use check::{CheckKind, CheckMode, CheckResult, DecisionRule, Direction, StoppingRule, Verdict};
pub(super) use counted::SUMMARY_KEYS;
pub use counted::{CountedDiff, ToolPathDiff};
pub use evidence::{
    AllowedRange, ConfidenceBounds, DistributionalEvidence, Evidence, InvariantEvidence, MeasuredEvidence,
    SampleRange, SingleTrialEvidence, StatisticalEvidence, Threshold, TrialTools,
};
pub use judgement::Judgement;
pub use reported::{GateDetails, InputFile, Report, ReportMetadata, ReportedTrial, TrialCheck, TrialDetails};
pub(super) use seal::digest_of;
pub use trial::{FailureReason, ProcessExit, Trial, TrialFailure};

#[cfg(test)]
mod tests;
