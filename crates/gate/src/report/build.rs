//! A report from a judgement and its trials, sealed with a digest of its own text.

use std::collections::BTreeMap;

use tracer_insight::profile::{Bounds, CountMismatch, Metric, RunProfile};

use super::reported::{GateDetails, Report, ReportedTrial};
use super::{BaselineChanges, Judgement};
use crate::digest::{REPORT_VERSION, report_digest};
use crate::trial::Trial;
use crate::{Baseline, EnvironmentFingerprint, Finding};

impl Report {
    /// The report of a judgement about these trials, which ran in `environment`.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, GateDetails, Judgement, Report, Trial, TrialFailure, Verdict};
    ///
    /// let trial = Trial::failed(1, TrialFailure::new(FailureReason::NoTrace));
    /// let judgement = Judgement {
    ///     verdict: Verdict::Fail,
    ///     checks: Vec::new(),
    ///     findings: Vec::new(),
    ///     trials_planned: 1,
    ///     stop_reason: None,
    /// };
    /// let report = Report::new(judgement, &[trial], None, serde_json::Map::new(), GateDetails::default());
    /// assert_eq!(report.trials[0].metrics["cost_tokens"], None);
    /// ```
    #[must_use]
    pub fn new(
        judgement: Judgement,
        trials: &[Trial],
        baseline: Option<&Baseline>,
        environment: EnvironmentFingerprint,
        mut gate: GateDetails,
    ) -> Self {
        if let Some(baseline) = baseline {
            let notices = notices(baseline, &environment, &gate.command);
            gate.notices.extend(notices);
        }
        gate.notices.extend(unknown_outcomes(&judgement, trials));
        let mut findings = judgement.findings.into_iter();
        let reported = trials.iter().map(|trial| {
            let findings = findings.next().unwrap_or_default();
            ReportedTrial::new(trial, findings, baseline)
        });
        let reported: Vec<ReportedTrial> = reported.collect();
        Self {
            report_version: REPORT_VERSION,
            verdict: judgement.verdict,
            trials_planned: judgement.trials_planned,
            stop_reason: judgement.stop_reason,
            environment,
            trials: reported,
            checks: judgement.checks,
            baseline_acceptance: baseline.and_then(|baseline| baseline.acceptance.clone()),
            gate,
        }
        .sealed()
    }
}

impl ReportedTrial {
    /// What a run shows, without the trial that left it.
    pub(crate) fn of_run(run: &RunProfile) -> Self {
        let numbers = Metric::recorded().map(|metric| (metric.to_string(), run.value(&metric)));
        let scores = run.scores.iter();
        let scores = scores.map(|(name, score)| (name.clone(), Some(*score)));
        Self {
            trace_id: Some(run.trace_id.to_string()),
            run_name: run.run_name.clone(),
            metrics: numbers.chain(scores).collect(),
            signature: Some(run.signature.clone()),
            calls_without_tokens: run.calls_without_tokens,
            unpriced_calls: run.cost.unpriced,
            repeats: run.repeats.clone(),
            unknown_repeats: run.unknown_repeats.clone(),
            harmless_warnings: run.harmless_warnings,
            open_warnings: run.open_warnings,
            guardrail_stops: run.guardrail_stops.clone(),
            mismatches: run.mismatches.clone(),
            missing_spans: run.missing.clone(),
            possible_tools: run.possible_tools.clone(),
            ..Self::default()
        }
    }

    fn new(trial: &Trial, findings: BTreeMap<String, Finding>, baseline: Option<&Baseline>) -> Self {
        let run = trial.metrics.as_ref();
        let mut reported = Self {
            trial: trial.number,
            trace_id: trial.trace_id.clone(),
            run_name: trial.run_name.clone(),
            exit: trial.exit,
            passed: trial.is_sound() && findings.values().all(|finding| finding.outcome == Some(true)),
            findings,
            changes: run
                .zip(baseline)
                .map(|(run, baseline)| BaselineChanges::from(&baseline.compare(run))),
            failure: trial.failure.clone(),
            wall_time_ms: trial.wall_time_ms,
            stderr_tail: trial.stderr_tail.clone(),
            ..run.map(Self::of_run).unwrap_or_default()
        };
        for metric in Metric::recorded() {
            let value = trial.bounds(&metric).and_then(Bounds::exact);
            reported.metrics.insert(metric.to_string(), value);
        }
        let outlived = trial.outlived_by().map(|(run, process)| CountMismatch {
            source: "the run".into(),
            field: "its duration in ms".into(),
            reported: run.to_string(),
            found: process.to_string(),
            found_by: "its process took".into(),
        });
        reported.mismatches.extend(outlived);
        reported
    }
}

/// Calls of unknown outcome, where failed calls are counted.
fn unknown_outcomes(judgement: &Judgement, trials: &[Trial]) -> Option<String> {
    let unknown: u64 = trials
        .iter()
        .filter_map(|trial| Some(trial.metrics.as_ref()?.unknown_calls))
        .sum();
    let is_checked = judgement
        .checks
        .iter()
        .any(|check| check.name == "failed_call_count");
    (is_checked && unknown > 0).then(|| {
        let calls = tracer_insight::text::counted(unknown, "call");
        format!("{calls} of unknown outcome: not counted as failed")
    })
}

/// Notices about the baseline.
fn notices(baseline: &Baseline, here: &EnvironmentFingerprint, command: &[String]) -> Vec<String> {
    let mut notices = Vec::new();
    if baseline.forced {
        notices.push("the baseline was made from a report that did not pass".to_owned());
    }
    let other = &baseline.command;
    if !other.is_empty() && !command.is_empty() && other != command {
        notices.push(format!(
            "the baseline was taken of another command: {}",
            other.join(" ")
        ));
    }
    // A changed workspace is what a gate is there for.
    let differing: Vec<&str> = baseline
        .environment
        .iter()
        .flatten()
        .filter(|(key, value)| *key != "workspace" && here.get(*key).is_some_and(|known| known != *value))
        .map(|(key, _)| key.as_str())
        .collect();
    if !differing.is_empty() {
        notices.push(format!(
            "the baseline was taken in another environment: {} differs",
            differing.join(", ")
        ));
    }
    notices
}

impl Report {
    /// The report with the digest of everything in it.
    pub(super) fn sealed(mut self) -> Self {
        // Texts, numbers that are finite or null, lists and maps with texts for keys: nothing in it can fail to be JSON.
        let whole = serde_json::to_value(&self).unwrap_or_default();
        self.gate.digest = Some(report_digest(&whole));
        self
    }
}
