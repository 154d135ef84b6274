//! The sample of a report: only a whole one, as it was written.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::file::{check_version, from_json};
use super::{BaselineTrial, EnvironmentFingerprint};
use crate::digest::{REPORT_VERSION, report_digest};
use crate::{InputError, Verdict};
use tracer_insight::signature::Signature;

/// The next step for a report that was changed.
const AS_WRITTEN: &str =
    "use a report as `tracer run --json-out FILE` wrote it: an edited one is no evidence";
/// The next step for a report that holds no whole sample, or is of another format.
const ALL_TRIALS: &str =
    "run the gate again, all its trials: tracer run --no-fail-fast --json-out FILE -- COMMAND";

/// The trials of a report, and its header.
pub(super) struct ReportedSample {
    pub(super) verdict: Verdict,
    pub(super) command: Vec<String>,
    pub(super) environment: Option<EnvironmentFingerprint>,
    pub(super) trials: Vec<SampledTrial>,
    /// The first trial whose trace has lost spans.
    pub(super) missing: Option<String>,
}

/// One run of a sample, and its signature.
pub(super) struct SampledTrial {
    pub(super) trial: BaselineTrial,
    pub(super) signature: Signature,
}

/// The part of a report that a baseline needs.
#[derive(Deserialize)]
struct ReportView {
    verdict: Verdict,
    trials_planned: u64,
    environment: EnvironmentFingerprint,
    trials: Vec<TrialView>,
    gate: GateView,
}

#[derive(Deserialize)]
struct GateView {
    command: Vec<String>,
    digest: Option<String>,
}

#[derive(Deserialize)]
struct TrialView {
    trial: u64,
    trace_id: Option<String>,
    run_name: Option<String>,
    metrics: BTreeMap<String, Option<f64>>,
    signature: Option<Signature>,
    failure: Option<Value>,
    repeats: Vec<Value>,
    #[serde(default)]
    unknown_repeats: Vec<Value>,
    guardrail_stops: Vec<Value>,
    #[serde(default)]
    missing_spans: Option<LossView>,
    #[serde(default)]
    possible_tools: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct LossView {
    spans: Option<u64>,
}

impl ReportedSample {
    /// Reads a report.
    pub(super) fn parse(text: &[u8]) -> Result<Self, InputError> {
        let hints = [AS_WRITTEN, ALL_TRIALS];
        let whole = check_version(text, "report_version", REPORT_VERSION, hints)?;
        let report: ReportView = from_json(text, AS_WRITTEN)?;
        if report.gate.digest != Some(report_digest(&whole)) {
            return Err(
                InputError::new("gate.digest: the report was edited after it was written")
                    .with_hint(AS_WRITTEN),
            );
        }
        let (found, planned) = (report.trials.len() as u64, report.trials_planned);
        if found == 0 || found != planned {
            let message = format!("trials: the report holds {found} of {planned} trials");
            return Err(InputError::new(message).with_hint(ALL_TRIALS));
        }
        let missing = report.trials.iter().find_map(|trial| {
            let lost = trial.missing_spans.as_ref()?.spans;
            let lost = lost.map_or_else(|| "spans".to_owned(), |spans| format!("{spans} spans"));
            let number = trial.trial;
            Some(format!(
                "trials: {lost} of trial {number} are missing, so it does not show what is usual"
            ))
        });
        let trials = report.trials.into_iter().map(TrialView::sampled);
        Ok(Self {
            verdict: report.verdict,
            command: report.gate.command,
            environment: Some(report.environment).filter(|known| !known.is_empty()),
            trials: trials.collect::<Result<_, _>>()?,
            missing,
        })
    }
}

impl TrialView {
    fn sampled(self) -> Result<SampledTrial, InputError> {
        let number = self.trial;
        let (Some(run_id), Some(signature), None) = (self.trace_id, self.signature, self.failure) else {
            let message = format!("trials: trial {number} left no run that counts");
            return Err(InputError::new(message).with_hint(ALL_TRIALS));
        };
        let known = self.metrics.into_iter();
        let known = known.filter_map(|(name, value)| Some((name, value?)));
        Ok(SampledTrial {
            trial: BaselineTrial {
                run_id,
                run_name: self.run_name,
                metrics: known.collect(),
                signature: signature.id(),
                repeated_calls: (self.repeats.len() + self.unknown_repeats.len()) as u64,
                guardrail_stops: self.guardrail_stops.len() as u64,
                possible_tools: self.possible_tools.into_keys().collect(),
            },
            signature,
        })
    }
}
