//! The sample of a report: only a whole one, as it was written.

use serde::Deserialize;

use super::EnvironmentFingerprint;
use super::file::{check_version, from_json};
use crate::digest::{REPORT_VERSION, report_digest};
use crate::{GateDetails, InputError, ReportedTrial, Verdict};

/// The next step for a report that was changed.
const AS_WRITTEN: &str =
    "use a report as `tracer run --json-out FILE` wrote it: an edited one is no evidence";
/// The next step for a report that holds no whole sample, or is of another format.
const ALL_TRIALS: &str =
    "run the gate again, all its trials: tracer run --no-fail-fast --json-out FILE -- COMMAND";

/// The part of a report that a baseline is made of: its header and all its trials.
#[derive(Deserialize)]
pub(super) struct WholeReport {
    pub(super) verdict: Verdict,
    trials_planned: u64,
    pub(super) environment: EnvironmentFingerprint,
    pub(super) trials: Vec<ReportedTrial>,
    pub(super) gate: GateDetails,
}

impl WholeReport {
    /// Reads a report.
    pub(super) fn parse(text: &[u8]) -> Result<Self, InputError> {
        let hints = [AS_WRITTEN, ALL_TRIALS];
        let whole = check_version(text, "report_version", REPORT_VERSION, hints)?;
        let report: Self = from_json(text, AS_WRITTEN)?;
        if report.gate.digest != Some(report_digest(&whole)) {
            return Err(
                InputError::new("gate.digest: the report was edited after it was written")
                    .with_hint(AS_WRITTEN),
            );
        }
        let refused = |message: String| Err(InputError::new(message).with_hint(ALL_TRIALS));
        let (found, planned) = (report.trials.len() as u64, report.trials_planned);
        if found == 0 || found != planned {
            return refused(format!("trials: the report holds {found} of {planned} trials"));
        }
        if let Some(trial) = report.trials.iter().find(|trial| !trial.has_left_a_run()) {
            let number = trial.trial;
            return refused(format!("trials: trial {number} left no run that counts"));
        }
        Ok(report)
    }

    /// The first trial whose trace has lost spans.
    pub(super) fn missing(&self) -> Option<String> {
        self.trials.iter().find_map(|trial| {
            let lost = trial.missing_spans.as_ref()?.spans;
            let lost = lost.map_or_else(|| "spans".to_owned(), |spans| format!("{spans} spans"));
            let number = trial.trial;
            Some(format!(
                "trials: {lost} of trial {number} are missing, so it does not show what is usual"
            ))
        })
    }
}
