//! From trials and what was decided about them to the report.

use super::super::{Acceptance, Baseline, Comparison, CountedDiff, EnvironmentFingerprint, Metric};
use super::Judgement;
use super::reported::{GateDetails, Report, ReportMetadata, ReportedTrial, TrialCheck, TrialDetails};
use super::trial::{ProcessExit, Trial};

/// The version of the report's form that is written.
pub(in super::super) const REPORT_VERSION: &str = "2.0.1";

impl Report {
    /// The report of a gate: what was decided about these trials, and where they ran.
    ///
    /// ```
    /// use tracer_sdk::judge::{FailureReason, GateDetails, Judgement, Report, StoppingRule, Trial, TrialFailure, Verdict};
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
            gate.notices.extend(notices(baseline, &environment_fingerprint));
        }
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
                passed: trial.is_sound() && outcomes.values().all(|kept| *kept),
                checks: outcomes
                    .iter()
                    .map(|(name, kept)| TrialCheck::new(name, *kept))
                    .collect(),
                metric_values: values
                    .map(|metric| {
                        (
                            metric.to_string(),
                            metrics.and_then(|metrics| metrics.value(metric)),
                        )
                    })
                    .collect(),
                invariant_outcomes: outcomes,
                structural_signature: metrics.map(|metrics| metrics.signature.clone()),
                baseline_diff: baseline.zip(metrics).map(|(baseline, metrics)| {
                    CountedDiff::of(&Comparison::with_baseline(baseline, metrics))
                }),
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
        details.repeats.clone_from(&metrics.repeats);
        details.guardrail_stops.clone_from(&metrics.guardrail_stops);
        details.mismatches.clone_from(&metrics.mismatches);
    }
    details
}

/// What a reader should know of the baseline.
fn notices(baseline: &Baseline, here: &EnvironmentFingerprint) -> Vec<String> {
    let mut notices = Vec::new();
    match &baseline.x_tracer {
        None => notices
            .push("the baseline carries no digest, so nobody can tell whether it was edited".to_owned()),
        Some(provenance) if provenance.forced => {
            notices.push("the baseline was made from a report that did not pass".to_owned());
        }
        Some(_) => {}
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
