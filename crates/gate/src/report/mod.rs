//! What a gate saw and decided: the report, whose core other tools read as `2.0.x` (gate-contract, section 10).
//!
//! A trial goes in as a [`Trial`](crate::Trial); deciding gives a [`Judgement`]; both together, with the details of the gate, are the
//! [`Report`].

mod build;
mod check;
mod counted;
mod evidence;
mod reported;

#[cfg(feature = "schema")]
pub(crate) use build::REPORT_VERSION;
pub use check::{CheckResult, Judgement};
pub use counted::{CountedDiff, ToolPathDiff};
pub use evidence::{
    AllowedRange, ConfidenceBounds, DistributionalEvidence, Evidence, InvariantEvidence, MeasuredEvidence,
    SampleRange, SingleTrialEvidence, StatisticalEvidence, Threshold, TrialTools,
};
pub use reported::{GateDetails, InputFile, Report, ReportMetadata, ReportedTrial, TrialCheck, TrialDetails};

#[cfg(test)]
mod tests;
