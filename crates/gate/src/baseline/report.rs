//! What a baseline takes from the report of a gate, and whether that report is one to be believed: whole, as it was
//! written, and without a contradiction.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::EnvironmentFingerprint;
use super::check::number;
use super::error::{BaselineError, BaselineErrorCode};
use super::read::from_json;
use crate::Verdict;
use crate::digest::report_digest;
use tracer_insight::profile::{Metric, RunProfile};
use tracer_insight::signature::Signature;

/// What is looked at first: a report of another version may have any form.
#[derive(Deserialize)]
struct ReportVersion {
    #[serde(default)]
    report_version: Value,
    #[serde(default)]
    trials: Vec<IgnoredAny>,
}

/// What a baseline needs of a report. What other tools need not write is optional.
#[derive(Deserialize)]
pub(super) struct SampleReport {
    #[serde(default)]
    verdict: Option<Verdict>,
    #[serde(default)]
    passed: Option<bool>,
    #[serde(default)]
    trials_requested: Option<u64>,
    metadata: SampleMetadata,
    trials: Vec<SampleTrial>,
    #[serde(default)]
    aggregate_results: Vec<SampleCheck>,
    /// Ours; absent in reports of other tools.
    #[serde(default)]
    gate: Option<SampleGate>,
}

#[derive(Deserialize)]
struct SampleMetadata {
    trials_used: u64,
    trials_budgeted: u64,
    #[serde(default)]
    environment_fingerprint: Option<EnvironmentFingerprint>,
}

#[derive(Deserialize)]
struct SampleGate {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    digest: Option<String>,
}

#[derive(Deserialize)]
struct SampleCheck {
    #[serde(default)]
    check_name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    verdict: Option<Verdict>,
    #[serde(default)]
    trials_used: Option<u64>,
    #[serde(default)]
    trial_outcomes: Vec<bool>,
    #[serde(default)]
    unknown_trials: Vec<u64>,
}

#[derive(Deserialize)]
struct SampleTrial {
    trial: u64,
    #[serde(default)]
    trace_id: Option<String>,
    #[serde(default)]
    run_name: Option<String>,
    #[serde(default)]
    process_exit_code: Option<i64>,
    #[serde(default)]
    passed: Option<bool>,
    metric_values: BTreeMap<String, Value>,
    #[serde(default)]
    structural_signature: Option<Signature>,
    invariant_outcomes: BTreeMap<String, bool>,
    /// Ours; absent in reports of other tools.
    #[serde(default)]
    details: Option<SampleDetails>,
}

#[derive(Deserialize)]
struct SampleDetails {
    #[serde(default)]
    failure: Option<Value>,
    #[serde(default)]
    repeats: Vec<Value>,
    #[serde(default)]
    unknown_repeats: Vec<Value>,
    #[serde(default)]
    missing_spans: Option<SampleLoss>,
    #[serde(default)]
    possible_tools: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct SampleLoss {
    spans: Option<u64>,
}

/// The trials of a report, and what is known of them as a whole.
pub(super) struct ReportSample {
    pub(super) runs: Vec<Sampled>,
    pub(super) environment: Option<EnvironmentFingerprint>,
    pub(super) repeated_calls: Option<u64>,
    pub(super) command: Vec<String>,
    pub(super) possible_tools: BTreeSet<String>,
}

impl SampleReport {
    /// Reads a report, and refuses one that is not whole, was edited, or contradicts itself.
    pub(super) fn parse(text: &[u8]) -> Result<Self, BaselineError> {
        let head: ReportVersion = from_json(text, BaselineErrorCode::NotJson)?;
        check_version(&head.report_version)?;
        if head.trials.is_empty() {
            return Err(BaselineError::new(
                BaselineErrorCode::NoTrials,
                "trials: the report holds no trial",
            ));
        }
        let report: Self = from_json(text, BaselineErrorCode::WrongShape)?;
        report.check_whole()?;
        report.check_digest(text)?;
        report.check_sums()?;
        Ok(report)
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// The first trial whose trace has lost spans, and how many.
    pub(super) fn incomplete_trial(&self) -> Option<(u64, String)> {
        self.trials.iter().find_map(|trial| {
            let loss = trial.details.as_ref()?.missing_spans.as_ref()?;
            let reported = loss
                .spans
                .map_or_else(|| "spans are".to_owned(), |spans| format!("{spans} spans are"));
            Some((
                trial.trial,
                format!("{reported} missing, so it does not show what is usual"),
            ))
        })
    }

    pub(super) fn into_sample(self) -> Result<ReportSample, BaselineError> {
        let details = || self.trials.iter().map(|trial| trial.details.as_ref());
        let loops: Option<Vec<u64>> = details()
            .map(|details| {
                let details = details?;
                Some((details.repeats.len() + details.unknown_repeats.len()) as u64)
            })
            .collect();
        let tools = details()
            .flatten()
            .flat_map(|details| details.possible_tools.keys().cloned());
        Ok(ReportSample {
            repeated_calls: loops.and_then(|loops| loops.into_iter().max()),
            possible_tools: tools.collect(),
            environment: self
                .metadata
                .environment_fingerprint
                .filter(|known| !known.is_empty()),
            command: self.gate.map(|gate| gate.command).unwrap_or_default(),
            runs: self
                .trials
                .into_iter()
                .map(Sampled::try_from)
                .collect::<Result<_, _>>()?,
        })
    }

    fn check_whole(&self) -> Result<(), BaselineError> {
        let (used, budgeted) = (self.metadata.trials_used, self.metadata.trials_budgeted);
        if used != budgeted || used != self.trials.len() as u64 {
            let held = self.trials.len();
            return Err(BaselineError::new(
                BaselineErrorCode::TruncatedSample,
                format!("metadata: {used} of {budgeted} trials were run, and the report holds {held}"),
            ));
        }
        Ok(())
    }

    /// A report of ours carries a digest of everything in it.
    fn check_digest(&self, text: &[u8]) -> Result<(), BaselineError> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let whole: Value = from_json(text, BaselineErrorCode::NotJson)?;
        match &gate.digest {
            Some(digest) if *digest == report_digest(&whole) => Ok(()),
            Some(_) => Err(wrong("gate.digest: the report was edited after it was written")),
            None => Err(wrong(
                "gate.digest: the report carries none, so it may have been edited",
            )),
        }
    }

    /// The parts of a report must agree, whoever wrote it.
    fn check_sums(&self) -> Result<(), BaselineError> {
        if self
            .trials_requested
            .is_some_and(|requested| requested != self.metadata.trials_budgeted)
        {
            return Err(wrong(
                "trials_requested is another number than metadata.trials_budgeted",
            ));
        }
        let mut ids = BTreeSet::new();
        for (trial, number) in self.trials.iter().zip(1..) {
            if trial.trial != number {
                return Err(wrong(format!("trials: trial {number} is numbered otherwise")));
            }
            if trial.trace_id.as_ref().is_some_and(|id| !ids.insert(id)) {
                return Err(wrong(format!(
                    "trials: trial {number} has the trace of another one"
                )));
            }
            trial.check_sums()?;
        }
        for check in &self.aggregate_results {
            self.check_row(check)?;
        }
        let Some(verdict) = self.verdict else {
            return Ok(());
        };
        if self.passed.is_some_and(|passed| Some(passed) != verdict.passed()) {
            return Err(wrong("passed is not what the verdict says"));
        }
        let rows = self.aggregate_results.iter().filter_map(|check| check.verdict);
        let composed = Verdict::all(rows);
        let reported = if verdict == Verdict::Inconclusive && composed == Verdict::Pass {
            // A gate that was interrupted does not pass.
            Verdict::Pass
        } else {
            verdict
        };
        if !self.aggregate_results.is_empty() && composed != reported {
            return Err(wrong(format!(
                "verdict is {}, the checks give {}",
                verdict.as_str(),
                composed.as_str()
            )));
        }
        Ok(())
    }

    fn check_row(&self, check: &SampleCheck) -> Result<(), BaselineError> {
        let name = check.check_name.escape_debug();
        let trials = self.trials.len();
        if check.trials_used.is_some_and(|used| used != trials as u64) {
            return Err(wrong(format!(
                "aggregate_results: {name} is of another number of trials"
            )));
        }
        if check.kind != "invariant" {
            return Ok(());
        }
        if check.trial_outcomes.len() != trials {
            return Err(wrong(format!(
                "aggregate_results: {name} has not one outcome for each trial"
            )));
        }
        let outcomes = self.trials.iter().zip(&check.trial_outcomes);
        for (trial, outcome) in outcomes {
            let reported = trial.invariant_outcomes.get(&check.check_name);
            if reported.is_some_and(|reported| reported != outcome) {
                let number = trial.trial;
                return Err(wrong(format!(
                    "aggregate_results: {name} contradicts trial {number}"
                )));
            }
        }
        let broken = (1..).zip(&check.trial_outcomes);
        let broken = broken
            .filter(|(number, kept)| !**kept && !check.unknown_trials.contains(number))
            .count();
        let expected = match (broken, check.unknown_trials.is_empty()) {
            (0, true) => Verdict::Pass,
            (0, false) => Verdict::Inconclusive,
            _ => Verdict::Fail,
        };
        match check.verdict {
            Some(verdict) if verdict != expected => Err(wrong(format!(
                "aggregate_results: {name} is {}, its trials give {}",
                verdict.as_str(),
                expected.as_str()
            ))),
            _ => Ok(()),
        }
    }
}

impl SampleTrial {
    fn has_failed(&self) -> bool {
        let failure = self.details.as_ref().and_then(|details| details.failure.as_ref());
        failure.is_some_and(|failure| !failure.is_null())
    }

    fn check_sums(&self) -> Result<(), BaselineError> {
        let number = self.trial;
        let is_bad = self.process_exit_code.is_some_and(|code| code != 0)
            || self.invariant_outcomes.values().any(|kept| !kept);
        if self.passed == Some(true) && is_bad {
            return Err(wrong(format!("trials: trial {number} passed and did not")));
        }
        let Some(signature) = &self.structural_signature else {
            return Ok(());
        };
        let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
        for tool in &signature.tool_call_sequence {
            *counts.entry(tool).or_default() += 1;
        }
        let same_counts = counts
            .iter()
            .map(|(tool, count)| (*tool, count))
            .eq(signature.tool_call_counts.iter());
        if !same_counts || !counts.into_keys().eq(&signature.tool_path) {
            return Err(wrong(format!(
                "trials: the tools of trial {number} are not those of the calls in its signature"
            )));
        }
        Ok(())
    }
}

fn wrong(message: impl Into<String>) -> BaselineError {
    BaselineError::new(BaselineErrorCode::WrongReport, message)
}

impl TryFrom<SampleTrial> for Sampled {
    type Error = BaselineError;

    fn try_from(trial: SampleTrial) -> Result<Self, BaselineError> {
        let number_of_trial = trial.trial;
        let failed = trial.has_failed();
        let (Some(run_id), Some(signature), false) = (trial.trace_id, trial.structural_signature, failed)
        else {
            return Err(BaselineError::new(
                BaselineErrorCode::FailedTrial,
                format!("trials: trial {number_of_trial} left no run that counts"),
            ));
        };
        let mut metrics = BTreeMap::new();
        for (name, value) in trial.metric_values {
            // Recorded as unknown.
            if value.is_null() {
                continue;
            }
            let Some(value) = number(&value) else {
                return Err(BaselineError::new(
                    BaselineErrorCode::WrongShape,
                    format!(
                        "trials: trial {number_of_trial} has a metric value that is no number of zero or more"
                    ),
                ));
            };
            metrics.insert(name, value);
        }
        Ok(Self {
            run_id,
            run_name: trial.run_name,
            metrics,
            invariants: trial.invariant_outcomes,
            signature,
        })
    }
}

/// `2.0.x`: three numbers.
fn check_version(version: &Value) -> Result<(), BaselineError> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let patch = version.as_str().and_then(|text| text.strip_prefix("2.0."));
    if patch.is_some_and(is_number) {
        return Ok(());
    }
    Err(BaselineError::new(
        BaselineErrorCode::UnsupportedVersion,
        "report_version: is not understood; 2.0.x is",
    ))
}

/// One run of a sample.
pub(super) struct Sampled {
    pub(super) run_id: String,
    pub(super) run_name: Option<String>,
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) invariants: BTreeMap<String, bool>,
    pub(super) signature: Signature,
}

impl Sampled {
    pub(super) fn from_run(run: &RunProfile) -> Self {
        let metrics = Metric::RECORDED.iter();
        Self {
            run_id: run.trace_id.to_string(),
            run_name: run.run_name.clone(),
            metrics: metrics
                .filter_map(|metric| Some((metric.to_string(), run.value(metric)?)))
                .collect(),
            invariants: BTreeMap::new(),
            signature: run.signature.clone(),
        }
    }
}
