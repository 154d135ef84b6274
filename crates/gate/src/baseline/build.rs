//! Baselines from a run, and from the report of a gate.

use std::collections::BTreeMap;

use super::error::{BaselineError, BaselineErrorCode};
use super::read::SCHEMA_VERSION;
use super::report::{SampleReport, Sampled};
use super::{Acceptance, Baseline, BaselineSummary, EnvironmentFingerprint, Provenance, TrialSample};
use crate::Verdict;
use tracer_insight::profile::{Metric, RunProfile, agent_of};
use tracer_sdk::format::{RecordedStatus, Timestamp};

impl Baseline {
    /// A baseline of one run, made at `created_at`.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.tool_path, ["search"]);
    /// ```
    #[must_use]
    pub fn of_run(run: &RunProfile, created_at: &str) -> Self {
        let events = run.guardrail_events.iter();
        let mut baseline = assemble(vec![Sampled::from_run(run)], None, created_at);
        // A record is made of what JSON knows.
        baseline.guardrail_events = Some(
            events
                .map(|record| serde_json::to_value(record).unwrap_or_default())
                .collect(),
        );
        baseline.sealed(Provenance::of(&[run]))
    }

    /// A baseline of a run that has ended; `forced` when it did not end well.
    #[must_use]
    pub fn of_ended(run: &RunProfile, now: Timestamp) -> Self {
        let mut baseline = Self::of_run(run, &moment(now));
        if let Some(provenance) = &mut baseline.x_tracer {
            provenance.forced = run.status != RecordedStatus::Ok;
        }
        baseline
    }

    /// A baseline of all the runs of a sample, in order; `None` of no run. Metrics that are not known of every run are
    /// left out.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// let baseline = Baseline::of_runs(&[&metrics, &metrics], "2026-01-01T00:00:00.000Z").unwrap();
    /// assert_eq!(baseline.trials(), 2);
    /// ```
    #[must_use]
    pub fn of_runs(runs: &[&RunProfile], created_at: &str) -> Option<Self> {
        let sampled: Vec<Sampled> = runs.iter().map(|run| Sampled::from_run(run)).collect();
        (!sampled.is_empty()).then(|| assemble(sampled, None, created_at).sealed(Provenance::of(runs)))
    }

    /// A baseline of all the trials of a gate, from the text of its report. A report whose gate did not pass is taken
    /// only when that is meant (`force`), and the baseline records that.
    ///
    /// ```
    /// use tracer_gate::{Baseline, BaselineErrorCode};
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
        let report = SampleReport::parse(report)?;
        let verdict = report.verdict();
        let forced = verdict != Some(Verdict::Pass);
        if forced && !force {
            let reported = verdict.map_or("missing", Verdict::as_str);
            return Err(BaselineError::new(
                BaselineErrorCode::NotPassed,
                format!("verdict: the gate of this report did not pass, it is {reported}"),
            ));
        }
        if let Some((trial, missing)) = report.incomplete_trial()
            && !force
        {
            return Err(BaselineError::new(
                BaselineErrorCode::NotPassed,
                format!("trials: of trial {trial} {missing}"),
            ));
        }
        let sample = report.into_sample()?;
        let provenance = Provenance {
            report_verdict: verdict,
            forced,
            repeated_calls: sample.repeated_calls,
            agent: common_agent(&sample.runs),
            command: sample.command,
            possible_tools: sample.possible_tools,
            digest: String::new(),
        };
        Ok(assemble(sample.runs, sample.environment, created_at).sealed(provenance))
    }

    /// The same behaviour as another baseline, as far as both record it: everything but when it was, how long it took, what
    /// it cost, and which runs it was seen in.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let [first, second] = [capture(|| ()), capture(|| ())]
    ///     .map(|run| Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z"));
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
            .filter(|metric| !matches!(metric, Metric::LatencyMs | Metric::CostUsd));
        let sorted = |baseline: &Self, metric: &Metric| {
            let mut values = baseline.sample(metric);
            if let Some(values) = &mut values {
                values.sort_by(f64::total_cmp);
            }
            values
        };
        // Baselines of earlier versions do not know which calls failed.
        let is_known = |metric: &&Metric| {
            !metric.is_newer() || (self.sample(metric).is_some() && other.sample(metric).is_some())
        };
        let mut numbers = numbers
            .filter(is_known)
            .map(|metric| (sorted(self, metric), sorted(other, metric)));
        self.trials() == other.trials()
            && ways(self) == ways(other)
            && numbers.all(|(left, right)| left == right)
    }

    /// The baseline with the block that records who accepted it.
    ///
    /// ```
    /// use tracer_gate::{Acceptance, AcceptanceSource, AcceptanceVerdict, Baseline};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// let acceptance = Acceptance {
    ///     accepted_at: "2026-01-01T00:00:00.000Z".to_owned(),
    ///     accepted_by: "ada".to_owned(),
    ///     reason: "it looks twice now".to_owned(),
    ///     tracer_version: "0.1.0".to_owned(),
    ///     source_run_id: baseline.source_run_id.clone(),
    ///     source: AcceptanceSource::default(),
    ///     verdict: AcceptanceVerdict { outcome: "accepted".to_owned(), summary: String::new() },
    ///     previous_baseline: None,
    /// };
    /// let accepted = baseline.accepted(acceptance);
    /// assert_eq!(accepted.acceptance.as_ref().unwrap().accepted_by, "ada");
    /// assert!(Baseline::parse(accepted.to_json().as_bytes()).is_ok());
    /// ```
    #[must_use]
    pub fn accepted(mut self, acceptance: Acceptance) -> Self {
        self.acceptance = Some(acceptance);
        self
    }

    /// The baseline with what is known of its sample, and the digest of all that.
    fn sealed(mut self, provenance: Provenance) -> Self {
        self.x_tracer = Some(provenance);
        let digest = self.sample_digest();
        if let Some(provenance) = &mut self.x_tracer {
            provenance.digest = digest;
        }
        self
    }
}

impl Provenance {
    /// Of runs that no gate made.
    fn of(runs: &[&RunProfile]) -> Self {
        let sampled: Vec<Sampled> = runs.iter().map(|run| Sampled::from_run(run)).collect();
        Self {
            digest: String::new(),
            report_verdict: None,
            forced: false,
            repeated_calls: runs.iter().map(|run| run.repeated_calls()).max(),
            agent: common_agent(&sampled),
            command: Vec::new(),
            possible_tools: runs
                .iter()
                .flat_map(|run| run.possible_tools.keys().cloned())
                .collect(),
        }
    }
}

/// The moment as baselines have it, to the millisecond.
#[must_use]
pub fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds_and_milliseconds: String = text.chars().take("2026-01-01T00:00:00.000".len()).collect();
    seconds_and_milliseconds + "Z"
}

/// The agent of all the runs; `None` when they have none, or several.
fn common_agent(runs: &[Sampled]) -> Option<String> {
    let mut agents = runs.iter().map(|run| agent_of(run.run_name.as_deref()?));
    let first = agents.next().flatten()?;
    agents.all(|agent| agent == Some(first)).then(|| first.to_owned())
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
