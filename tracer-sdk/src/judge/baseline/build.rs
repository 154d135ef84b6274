//! Baselines from a run, and from the report of a gate.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::check::number;
use super::error::{BaselineError, BaselineErrorCode};
use super::read::{SCHEMA_VERSION, from_json};
use super::{
    Acceptance, Baseline, BaselineSummary, EnvironmentFingerprint, Metric, Provenance, Signature, TrialSample,
};
use crate::judge::{RunMetrics, Verdict};

impl Baseline {
    /// A baseline of one run, made at `created_at`.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, RunMetrics};
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let baseline = Baseline::of_run(&RunMetrics::of(&run.meta, run.records()), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.tool_path, ["search"]);
    /// ```
    #[must_use]
    pub fn of_run(run: &RunMetrics, created_at: &str) -> Self {
        let events = run.guardrail_events.iter();
        let mut baseline = assemble(vec![Sampled::of(run)], None, created_at);
        let loops = Some(run.repeats.len() as u64);
        // A record is made of what JSON knows.
        baseline.guardrail_events = Some(
            events
                .map(|record| serde_json::to_value(record).unwrap_or_default())
                .collect(),
        );
        baseline.sealed(None, false, loops)
    }

    /// A baseline of all the runs of a sample, in order; `None` of no run. Metrics that are not known of every run are
    /// left out.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, RunMetrics};
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunMetrics::of(&run.meta, run.records());
    /// let baseline = Baseline::of_runs(&[&metrics, &metrics], "2026-01-01T00:00:00.000Z").unwrap();
    /// assert_eq!(baseline.trials(), 2);
    /// ```
    #[must_use]
    pub fn of_runs(runs: &[&RunMetrics], created_at: &str) -> Option<Self> {
        let sampled: Vec<Sampled> = runs.iter().map(|run| Sampled::of(run)).collect();
        let loops = runs.iter().map(|run| run.repeats.len() as u64).max();
        (!sampled.is_empty()).then(|| assemble(sampled, None, created_at).sealed(None, false, loops))
    }

    /// A baseline of all the trials of a gate, from the text of its report. A report whose gate did not pass is taken
    /// only when that is meant (`force`), and the baseline tells so.
    ///
    /// ```
    /// use tracer_sdk::judge::{Baseline, BaselineErrorCode};
    ///
    /// let report = br#"{"report_version": "2.0.1", "verdict": "pass", "trials": [],
    ///     "metadata": {"trials_used": 0, "trials_budgeted": 0, "environment_fingerprint": {}}}"#;
    /// let error = Baseline::of_report(report, "2026-01-01T00:00:00.000Z", false).unwrap_err();
    /// assert_eq!(error.code, BaselineErrorCode::NoTrials);
    /// ```
    ///
    /// # Errors
    ///
    /// [`BaselineError`] when it is no report of version `2.0.x`, or none of a whole, passing sample.
    pub fn of_report(report: &[u8], created_at: &str, force: bool) -> Result<Self, BaselineError> {
        let head: Versioned = from_json(report, BaselineErrorCode::NotJson)?;
        check_version(&head.report_version)?;
        if head.trials.is_empty() {
            return Err(BaselineError::new(
                BaselineErrorCode::NoTrials,
                "trials: the report holds no trial",
            ));
        }
        let report: SampleReport = from_json(report, BaselineErrorCode::WrongShape)?;
        report.check_whole()?;
        let verdict = report.verdict;
        if verdict != Some(Verdict::Pass) && !force {
            let told = verdict.map_or("missing", Verdict::as_str);
            return Err(BaselineError::new(
                BaselineErrorCode::NotPassed,
                format!("verdict: the gate of this report did not pass, it is {told}"),
            ));
        }
        let environment = report
            .metadata
            .environment_fingerprint
            .filter(|known| !known.is_empty());
        let loops = report.trials.iter().map(|trial| {
            let details = trial.details.as_ref()?;
            Some(details.repeats.len() as u64)
        });
        let loops: Option<Vec<u64>> = loops.collect();
        let loops = loops.and_then(|loops| loops.into_iter().max());
        let forced = verdict != Some(Verdict::Pass);
        let sampled: Result<Vec<Sampled>, BaselineError> =
            report.trials.into_iter().map(Sampled::try_from).collect();
        Ok(assemble(sampled?, environment, created_at).sealed(verdict, forced, loops))
    }

    /// The same behaviour as another baseline, as far as both tell: everything but when it was, how long it took, and
    /// which runs it was seen in.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, RunMetrics};
    ///
    /// let [first, second] = [recorded(|| Ok(())), recorded(|| Ok(()))]
    ///     .map(|run| Baseline::of_run(&RunMetrics::of(&run.meta, run.records()), "2026-01-01T00:00:00.000Z"));
    /// assert!(first.behaves_like(&second));
    /// ```
    #[must_use]
    pub fn behaves_like(&self, other: &Self) -> bool {
        let ways = |baseline: &Self| match &baseline.trial_sample {
            Some(sample) => sample.signature_counts.clone(),
            None => BTreeMap::from([(baseline.first_signature().id(), 1)]),
        };
        let numbers = Metric::RECORDED
            .iter()
            .filter(|metric| **metric != Metric::LatencyMs);
        let sorted = |baseline: &Self, metric: &Metric| {
            let mut values = baseline.sample(metric);
            if let Some(values) = &mut values {
                values.sort_by(f64::total_cmp);
            }
            values
        };
        let mut numbers = numbers.map(|metric| (sorted(self, metric), sorted(other, metric)));
        self.trials() == other.trials()
            && ways(self) == ways(other)
            && numbers.all(|(left, right)| left == right)
    }

    /// The baseline with the block that tells who accepted it.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// # use tracer_sdk::judge::{Acceptance, AcceptanceSource, AcceptanceVerdict, Baseline, RunMetrics};
    /// # let run = recorded(|| Ok(()));
    /// # let baseline = Baseline::of_run(&RunMetrics::of(&run.meta, run.records()), "2026-01-01T00:00:00.000Z");
    /// # let acceptance = Acceptance {
    /// #     accepted_at: "2026-01-01T00:00:00.000Z".to_owned(), accepted_by: "ada".to_owned(),
    /// #     reason: "it looks twice now".to_owned(), tracer_version: "0.1.0".to_owned(),
    /// #     source_run_id: baseline.source_run_id.clone(), source: AcceptanceSource::default(),
    /// #     verdict: AcceptanceVerdict { outcome: "accepted".to_owned(), summary: String::new() },
    /// #     previous_baseline: None,
    /// # };
    /// let accepted = baseline.accepted(acceptance);
    /// assert_eq!(accepted.acceptance.as_ref().unwrap().accepted_by, "ada");
    /// assert!(Baseline::parse(accepted.to_json().as_bytes()).is_ok());
    /// ```
    #[must_use]
    pub fn accepted(mut self, acceptance: Acceptance) -> Self {
        self.acceptance = Some(acceptance);
        self
    }

    fn sealed(mut self, report_verdict: Option<Verdict>, forced: bool, repeated_calls: Option<u64>) -> Self {
        self.x_tracer = Some(Provenance {
            digest: self.sample_digest(),
            report_verdict,
            forced,
            repeated_calls,
        });
        self
    }
}

/// One run of a sample.
struct Sampled {
    run_id: String,
    run_name: Option<String>,
    metrics: BTreeMap<String, f64>,
    invariants: BTreeMap<String, bool>,
    signature: Signature,
}

impl Sampled {
    fn of(run: &RunMetrics) -> Self {
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

fn assemble(
    sampled: Vec<Sampled>,
    environment_fingerprint: Option<EnvironmentFingerprint>,
    created_at: &str,
) -> Baseline {
    let mut sample = TrialSample {
        trials: sampled.len() as u64,
        environment_fingerprint,
        metrics: BTreeMap::new(),
        invariants: BTreeMap::new(),
        signature_ids: Vec::new(),
        signature_counts: BTreeMap::new(),
        signatures: BTreeMap::new(),
    };
    let first = sampled.first();
    let number = |name: &Metric| first.and_then(|run| run.metrics.get(&name.to_string()).copied());
    let signature = first.map(|run| run.signature.clone()).unwrap_or_default();
    let summary = BaselineSummary {
        status: Some(signature.final_status.clone()),
        total_events: number(&Metric::StepCount),
        llm_calls: number(&Metric::LlmCallCount),
        tool_calls: number(&Metric::ToolCallCount),
        errors: number(&Metric::ErrorCount),
        loop_warnings: number(&Metric::LoopWarningCount),
        duration_ms: number(&Metric::LatencyMs),
        total_tokens: number(&Metric::CostTokens),
    };
    let (source_run_id, source_run_name) = first
        .map(|run| (run.run_id.clone(), run.run_name.clone()))
        .unwrap_or_default();
    let mut source_run_ids = Vec::with_capacity(sampled.len());
    for run in sampled {
        source_run_ids.push(run.run_id);
        for (name, value) in run.metrics {
            sample.metrics.entry(name).or_default().push(value);
        }
        for (name, outcome) in run.invariants {
            sample.invariants.entry(name).or_default().push(outcome);
        }
        let id = run.signature.id();
        *sample.signature_counts.entry(id.clone()).or_default() += 1;
        sample.signatures.entry(id.clone()).or_insert(run.signature);
        sample.signature_ids.push(id);
    }
    // What is not known of every run is not known of the sample.
    let trials = source_run_ids.len();
    sample.metrics.retain(|_, values| values.len() == trials);
    sample.invariants.retain(|_, values| values.len() == trials);
    Baseline {
        schema_version: SCHEMA_VERSION.to_owned(),
        created_at: created_at.to_owned(),
        source_run_id,
        source_run_ids,
        source_run_name,
        summary,
        tool_path: signature.tool_path,
        tool_call_sequence: Some(signature.tool_call_sequence),
        tool_call_counts: signature.tool_call_counts,
        llm_models_used: signature.llm_models_used,
        event_type_sequence: signature.event_type_sequence,
        final_status: signature.final_status,
        trial_sample: Some(sample),
        guardrail_events: None,
        acceptance: None,
        x_tracer: None,
    }
}

/// What is looked at first: a report of another version may have any form.
#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    report_version: Value,
    #[serde(default)]
    trials: Vec<IgnoredAny>,
}

/// What a baseline needs of a report.
#[derive(Deserialize)]
struct SampleReport {
    #[serde(default)]
    verdict: Option<Verdict>,
    metadata: SampleMetadata,
    trials: Vec<SampleTrial>,
}

#[derive(Deserialize)]
struct SampleMetadata {
    trials_used: u64,
    trials_budgeted: u64,
    #[serde(default)]
    environment_fingerprint: Option<EnvironmentFingerprint>,
}

#[derive(Deserialize)]
struct SampleTrial {
    trial: u64,
    #[serde(default)]
    trace_id: Option<String>,
    #[serde(default)]
    run_name: Option<String>,
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
}

impl SampleReport {
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
}

impl TryFrom<SampleTrial> for Sampled {
    type Error = BaselineError;

    fn try_from(trial: SampleTrial) -> Result<Self, BaselineError> {
        let number_of_trial = trial.trial;
        let failed = trial
            .details
            .as_ref()
            .is_some_and(|details| details.failure.as_ref().is_some_and(|f| !f.is_null()));
        let (Some(run_id), Some(signature), false) = (trial.trace_id, trial.structural_signature, failed)
        else {
            return Err(BaselineError::new(
                BaselineErrorCode::FailedTrial,
                format!("trials: trial {number_of_trial} left no run that counts"),
            ));
        };
        let mut metrics = BTreeMap::new();
        for (name, value) in trial.metric_values {
            // Not known, and told so.
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
