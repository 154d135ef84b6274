//! Reports: the record of a gate, its trials and its decisions.
//!
//! Deciding about [`Trial`](crate::Trial)s gives a [`Judgement`]; both together, with the details of the gate, are the
//! [`Report`].

mod build;
mod changes;
mod check;
mod evidence;
mod reported;

pub use changes::BaselineChanges;
pub use check::{CheckResult, Judgement, StopReason};
pub use evidence::{
    DistributionalEvidence, Evidence, InvariantEvidence, MeasuredEvidence, SampleRange, StatisticalEvidence,
};
pub use reported::{GateDetails, InputFile, Report, ReportedTrial};

#[cfg(test)]
mod tests;
