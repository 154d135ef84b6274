//! Files of version 2 (the contract of the gate, section 3).

use super::fields::Fields;
use super::metrics::{self, Names};
use super::{Policy, PolicyError, PolicyErrorCode as Code, PolicySource, PolicyVersion, extension};

const KEYS: &[&str] = &["version", "trials", "fail_fast", "metrics", "x_tracer"];
const DEFAULT_TRIALS: u32 = 3;

/// The policy that a file of version 2 states.
pub(super) fn read(root: &Fields<'_>, version: PolicyVersion) -> Result<Policy, PolicyError> {
    root.only(KEYS)?;
    let trials = match root.get("trials") {
        Some(trials) => trials.count(Code::TrialsInvalid)?,
        None => DEFAULT_TRIALS,
    };
    let fail_fast = match root.get("fail_fast") {
        Some(fail_fast) => fail_fast.boolean()?,
        None => true,
    };
    let metrics = root.get("metrics").ok_or_else(|| {
        PolicyError::new(Code::MetricsNotMapping, "metrics", "is missing").at(root.position)
    })?;
    let checks = metrics::read(&metrics, version, Names::Contract, Code::MetricsNotMapping)?;

    let mut policy = empty(PolicySource::V2, version, trials, fail_fast);
    policy.checks = checks;
    if let Some(ours) = root.get("x_tracer") {
        extension::read(&ours, &mut policy)?;
    }
    Ok(policy)
}

/// A policy that demands nothing, with the default of everything else.
pub(super) fn empty(source: PolicySource, version: PolicyVersion, trials: u32, fail_fast: bool) -> Policy {
    Policy {
        version,
        source,
        trials,
        fail_fast,
        checks: Vec::new(),
        on_inconclusive: super::OnInconclusive::default(),
        decision: super::IntervalMethod::default(),
        jobs: 1,
        timeout: extension::DEFAULT_TIMEOUT,
        judged_by_rate: Vec::new(),
        warnings: Vec::new(),
    }
}
