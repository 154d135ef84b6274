//! One run judged by the rules of the gate, as if it were its only trial.

use std::path::PathBuf;

use crate::policy::Policy;
use crate::{Baseline, EnvironmentFingerprint, Gate, GateDetails, InputFile, Report, Trial};
use tracer_insight::profile::RunProfile;

use crate::files::{self, InputError};

/// The report on a run by a policy for one run; `options` are those of the command without its files.
pub fn judged(
    policy: &Policy,
    policy_file: Option<InputFile>,
    baseline: Option<&Baseline>,
    baseline_file: Option<InputFile>,
    options: Vec<String>,
    run: RunProfile,
) -> Result<Report, InputError> {
    let path = policy_file.as_ref().map(|file| PathBuf::from(&file.path));
    let gate = Gate::new(policy, baseline).map_err(|error| files::refused(path.as_deref(), &error))?;
    let details = GateDetails {
        tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
        options,
        policy: policy_file,
        baseline: baseline_file,
        notices: gate.notices().to_vec(),
        ..GateDetails::default()
    };
    let trials = [Trial::of_run(1, run)];
    let judgement = gate.judge(&trials);
    Ok(Report::new(
        judgement,
        &trials,
        baseline,
        EnvironmentFingerprint::new(),
        details,
    ))
}
