//! A report from a judgement and its trials, sealed with a digest of its own text.

use tracer_insight::profile::{Bounds, CountMismatch, Metric};

use super::reported::{GateDetails, Report, ReportMetadata, ReportedTrial, TrialCheck, TrialDetails};
use super::{CountedDiff, Judgement};
use crate::digest::report_digest;
use crate::trial::{ProcessExit, Trial};
use crate::{Acceptance, Baseline, EnvironmentFingerprint};

/// The version of the report's form that is written.
pub(crate) const REPORT_VERSION: &str = "2.0.1";

impl Report {
    /// The report of a gate: what was decided about these trials, and where they ran.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, GateDetails, Judgement, Report, StoppingRule, Trial, TrialFailure, Verdict};
    ///
    /// let trial = Trial::failed(1, TrialFailure::new(FailureReason::NoTrace));
    /// let judgement = Judgement {
    ///     verdict: Verdict::Fail,
    ///     checks: Vec::new(),
    ///     invariants: Vec::new(),
    ///     trials_budgeted: 1,
    ///     stopping_rule: StoppingRule::FixedN,
    ///     abort_reason: None,
    /// };
    /// let report = Report::new(judgement, &[trial], None, serde_json::Map::new(), GateDetails::default());
    /// assert_eq!(report.passed, Some(false));
    /// assert_eq!(report.trials[0].metric_values["cost_tokens"], None);
    /// ```
    #[must_use]
    pub fn new(
        judgement: Judgement,
        trials: &[Trial],
        baseline: Option<&Baseline>,
        environment_fingerprint: EnvironmentFingerprint,
        mut gate: GateDetails,
    ) -> Self {
        if let Some(baseline) = baseline {
            let notices = notices(baseline, &environment_fingerprint, &gate.command);
            gate.notices.extend(notices);
        }
        gate.notices.extend(unknown_outcomes(&judgement, trials));
        let mut invariants = judgement.invariants.into_iter();
        let reported = trials.iter().map(|trial| {
            let outcomes = invariants.next().unwrap_or_default();
            let metrics = trial.metrics.as_ref();
            let values = Metric::RECORDED.iter();
            ReportedTrial {
                trial: trial.number,
                trace_id: trial.trace_id.clone(),
                run_name: trial.run_name.clone(),
                process_exit_code: trial.exit.map(ProcessExit::code),
                passed: trial.is_sound() && outcomes.values().all(|kept| *kept == Some(true)),
                checks: outcomes
                    .iter()
                    .map(|(name, kept)| TrialCheck::new(name, *kept))
                    .collect(),
                metric_values: values
                    .map(|metric| {
                        let value = trial.bounds(metric).and_then(Bounds::exact);
                        (metric.to_string(), value)
                    })
                    .collect(),
                // What is not known is left out: other tools take what is missing for a violation.
                invariant_outcomes: outcomes
                    .into_iter()
                    .filter_map(|(name, kept)| Some((name, kept?)))
                    .collect(),
                structural_signature: metrics.map(|metrics| metrics.signature.clone()),
                baseline_diff: baseline
                    .zip(metrics)
                    .map(|(baseline, metrics)| CountedDiff::of(&baseline.compare(metrics))),
                details: details(trial),
            }
        });
        let reported: Vec<ReportedTrial> = reported.collect();
        Self {
            report_version: REPORT_VERSION.to_owned(),
            trials_requested: judgement.trials_budgeted,
            verdict: judgement.verdict,
            passed: judgement.verdict.passed(),
            metadata: ReportMetadata {
                trials_used: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                trials_budgeted: judgement.trials_budgeted,
                stopping_rule: judgement.stopping_rule,
                abort_reason: judgement.abort_reason,
                environment_fingerprint,
            },
            trials: reported,
            aggregate_results: judgement.checks,
            baseline_acceptance: baseline
                .and_then(|baseline| baseline.acceptance.clone())
                .map(|block: Acceptance| block),
            gate,
        }
        .sealed()
    }
}

fn details(trial: &Trial) -> TrialDetails {
    let mut details = TrialDetails {
        failure: trial.failure.clone(),
        signal: match trial.exit {
            Some(ProcessExit::Signal(signal)) => Some(signal),
            _ => None,
        },
        wall_time_ms: trial.wall_time_ms,
        stderr_tail: trial.stderr_tail.clone(),
        ..TrialDetails::default()
    };
    if let Some(metrics) = &trial.metrics {
        details.calls_without_tokens = metrics.calls_without_tokens;
        details.unpriced_calls = metrics.cost.unpriced;
        details.repeats.clone_from(&metrics.repeats);
        details.unknown_repeats.clone_from(&metrics.unknown_repeats);
        details.harmless_warnings = metrics.harmless_warnings;
        details.open_warnings = metrics.open_warnings;
        details.guardrail_stops.clone_from(&metrics.guardrail_stops);
        details.mismatches.clone_from(&metrics.mismatches);
        details.missing_spans.clone_from(&metrics.missing);
        details.possible_tools.clone_from(&metrics.possible_tools);
    }
    details
        .mismatches
        .extend(trial.outlived_by().map(|(run, process)| CountMismatch {
            source: "the run",
            field: "its duration in ms",
            reported: run.to_string(),
            found: process.to_string(),
            found_by: "its process took",
        }));
    details
}

/// Calls of which nobody knows whether they failed, where failed calls are counted.
fn unknown_outcomes(judgement: &Judgement, trials: &[Trial]) -> Option<String> {
    let failed_calls = Metric::FailedCallCount.to_string();
    let unknown: u64 = trials
        .iter()
        .filter_map(|trial| Some(trial.metrics.as_ref()?.unknown_calls))
        .sum();
    let is_checked = judgement
        .checks
        .iter()
        .any(|check| check.check_name == failed_calls);
    (is_checked && unknown > 0).then(|| {
        let calls = tracer_insight::text::counted(unknown, "call");
        format!("{calls} of unknown outcome: not counted as failed")
    })
}

/// What a reader should know of the baseline.
fn notices(baseline: &Baseline, here: &EnvironmentFingerprint, command: &[String]) -> Vec<String> {
    let mut notices = Vec::new();
    match &baseline.x_tracer {
        None => notices.push("the baseline carries no digest, so it may have been edited".to_owned()),
        Some(provenance) if provenance.forced => {
            notices.push("the baseline was made from a report that did not pass".to_owned());
        }
        Some(_) => {}
    }
    let other = baseline.x_tracer.as_ref().map(|ours| &ours.command);
    if let Some(other) = other.filter(|other| !other.is_empty() && !command.is_empty() && *other != command) {
        notices.push(format!(
            "the baseline was taken of another command: {}",
            other.join(" ")
        ));
    }
    let there = baseline
        .trial_sample
        .as_ref()
        .and_then(|sample| sample.environment_fingerprint.as_ref());
    // A changed workspace is what a gate is there for.
    let differing: Vec<&str> = there
        .into_iter()
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
