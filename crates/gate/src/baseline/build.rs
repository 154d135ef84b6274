//! Baselines from runs, and from the report of a gate.

use std::collections::BTreeMap;

use super::report::{ReportedSample, SampledTrial};
use super::{Acceptance, Baseline, BaselineTrial, file};
use crate::{InputError, Verdict};
use tracer_insight::profile::{Metric, RunProfile, agent_of};
use tracer_insight::signature::Signature;
use tracer_sdk::format::RecordedStatus;

/// Demands on a sample that becomes a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demanded {
    /// The gate passed, and no span is missing.
    Pass,
    /// No span is missing.
    Whole,
    /// Nothing: it was forced.
    Nothing,
}

impl Baseline {
    /// A baseline of one run, made at `created_at`; `forced` when it did not end well, or spans of it are missing.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.trials.len(), 1);
    /// ```
    #[must_use]
    pub fn of_run(run: &RunProfile, created_at: &str) -> Self {
        let mut baseline = assemble(vec![SampledTrial::from(run)], created_at);
        baseline.forced = run.status != RecordedStatus::Ok || run.missing.is_some();
        baseline.sealed()
    }

    /// A baseline of all the runs of a sample, in order; `None` of no run.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// let baseline = Baseline::of_runs(&[&metrics, &metrics], "2026-01-01T00:00:00.000Z").unwrap();
    /// assert_eq!(baseline.trials.len(), 2);
    /// ```
    #[must_use]
    pub fn of_runs(runs: &[&RunProfile], created_at: &str) -> Option<Self> {
        let trials: Vec<SampledTrial> = runs.iter().map(|run| SampledTrial::from(*run)).collect();
        (!trials.is_empty()).then(|| assemble(trials, created_at).sealed())
    }

    /// A baseline of all the trials of a gate, from the text of its report. What `demanded` lets pass, the baseline
    /// records.
    ///
    /// ```
    /// use tracer_gate::{Baseline, Demanded};
    ///
    /// let error = Baseline::of_report(b"{}", "2026-01-01T00:00:00.000Z", Demanded::Pass).unwrap_err();
    /// assert_eq!(error.to_string(), "report_version is missing");
    /// ```
    ///
    /// # Errors
    ///
    /// [`InputError`] when it is not the unedited report of a whole, passing sample.
    pub fn of_report(report: &[u8], created_at: &str, demanded: Demanded) -> Result<Self, InputError> {
        let sample = ReportedSample::parse(report)?;
        let has_failed = sample.verdict != Verdict::Pass;
        if has_failed && demanded == Demanded::Pass {
            return Err(not_passed(format!(
                "verdict: the gate of this report did not pass, it is {}",
                sample.verdict.as_str()
            )));
        }
        if let Some(missing) = sample.missing.as_ref().filter(|_| demanded != Demanded::Nothing) {
            return Err(not_passed(missing.clone()));
        }
        let mut baseline = assemble(sample.trials, created_at);
        baseline.command = sample.command;
        baseline.environment = sample.environment;
        baseline.report_verdict = Some(sample.verdict);
        baseline.forced = has_failed || sample.missing.is_some();
        Ok(baseline.sealed())
    }

    /// The same behaviour as another baseline: everything but when it was, how long it took, what it cost, and which
    /// runs it was seen in.
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
        let ways = |baseline: &Self| {
            let mut ways: Vec<String> = baseline
                .trials
                .iter()
                .map(|trial| trial.signature.clone())
                .collect();
            ways.sort_unstable();
            ways
        };
        let sorted = |baseline: &Self, metric: &Metric| {
            let mut values = baseline.sample(metric);
            if let Some(values) = &mut values {
                values.sort_by(f64::total_cmp);
            }
            values
        };
        let mut numbers = Metric::recorded().filter(|metric| metric.unit().is_behaviour());
        ways(self) == ways(other) && numbers.all(|metric| sorted(self, &metric) == sorted(other, &metric))
    }

    /// The baseline with its acceptance, which its digest covers.
    ///
    /// ```
    /// use tracer_gate::{Acceptance, Baseline};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// let baseline = baseline.accepted(Acceptance { reason: "it is right".to_owned(), ..Acceptance::default() });
    /// assert_eq!(Baseline::parse(baseline.to_json().as_bytes())?, baseline);
    /// # Ok::<(), tracer_gate::InputError>(())
    /// ```
    #[must_use]
    pub fn accepted(mut self, acceptance: Acceptance) -> Self {
        self.acceptance = Some(acceptance);
        self.sealed()
    }

    /// The baseline with its digest.
    fn sealed(mut self) -> Self {
        self.digest = self.content_digest();
        self
    }
}

/// The error of a sample that does not show what is usual.
fn not_passed(message: String) -> InputError {
    InputError::new(message).with_hint("fix the failure first, or pass --force")
}

impl From<&RunProfile> for SampledTrial {
    fn from(run: &RunProfile) -> Self {
        let metrics = Metric::recorded().filter_map(|metric| Some((metric.to_string(), run.value(&metric)?)));
        Self {
            trial: BaselineTrial {
                run_id: run.trace_id.to_string(),
                run_name: run.run_name.clone(),
                metrics: metrics.collect(),
                signature: run.signature.id(),
                repeated_calls: run.repeated_calls(),
                guardrail_stops: run.guardrail_stops.len() as u64,
                possible_tools: run.possible_tools.keys().cloned().collect(),
            },
            signature: run.signature.clone(),
        }
    }
}

/// The agent of all the runs; `None` when they have none, or several.
fn common_agent(trials: &[SampledTrial]) -> Option<String> {
    let mut agents = trials
        .iter()
        .map(|sampled| agent_of(sampled.trial.run_name.as_deref()?));
    let first = agents.next().flatten()?;
    agents.all(|agent| agent == Some(first)).then(|| first.to_owned())
}

fn assemble(sampled: Vec<SampledTrial>, created_at: &str) -> Baseline {
    let agent = common_agent(&sampled);
    let mut signatures: BTreeMap<String, Signature> = BTreeMap::new();
    let trials = sampled.into_iter().map(|SampledTrial { trial, signature }| {
        signatures.insert(trial.signature.clone(), signature);
        trial
    });
    Baseline {
        baseline_version: file::VERSION,
        created_at: created_at.to_owned(),
        agent,
        command: Vec::new(),
        environment: None,
        report_verdict: None,
        forced: false,
        acceptance: None,
        digest: String::new(),
        trials: trials.collect(),
        signatures,
    }
}
