//! Baselines from runs, and from the report of a gate.

use std::collections::BTreeMap;

use super::report::WholeReport;
use super::{Acceptance, Baseline, BaselineTrial, file};
use crate::{InputError, ReportedTrial, Verdict};
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
        let mut baseline = assemble([ReportedTrial::of_run(run)], created_at);
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
        let trials = runs.iter().map(|run| ReportedTrial::of_run(run));
        (!runs.is_empty()).then(|| assemble(trials, created_at).sealed())
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
        let sample = WholeReport::parse(report)?;
        let has_failed = sample.verdict != Verdict::Pass;
        if has_failed && demanded == Demanded::Pass {
            return Err(not_passed(format!(
                "verdict: the gate of this report did not pass, it is {}",
                sample.verdict.as_str()
            )));
        }
        let missing = sample.missing();
        if let Some(missing) = missing.as_ref().filter(|_| demanded != Demanded::Nothing) {
            return Err(not_passed(missing.clone()));
        }
        let mut baseline = assemble(sample.trials, created_at);
        baseline.command = sample.gate.command;
        baseline.environment = Some(sample.environment).filter(|known| !known.is_empty());
        baseline.report_verdict = Some(sample.verdict);
        baseline.forced = has_failed || missing.is_some();
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

/// A run of a sample and its signature; `None` of a trial that left none.
fn sampled(trial: ReportedTrial) -> Option<(BaselineTrial, Signature)> {
    let signature = trial.signature?;
    let numbers = trial.metrics.into_iter();
    let sampled = BaselineTrial {
        run_id: trial.trace_id?,
        run_name: trial.run_name,
        metrics: numbers.filter_map(|(name, value)| Some((name, value?))).collect(),
        signature: signature.id(),
        repeated_calls: (trial.repeats.len() + trial.unknown_repeats.len()) as u64,
        guardrail_stops: trial.guardrail_stops.len() as u64,
        possible_tools: trial.possible_tools.into_keys().collect(),
    };
    Some((sampled, signature))
}

/// The agent of all the runs; `None` when they have none, or several.
fn common_agent(trials: &[BaselineTrial]) -> Option<String> {
    let mut agents = trials.iter().map(|trial| agent_of(trial.run_name.as_deref()?));
    let first = agents.next().flatten()?;
    agents.all(|agent| agent == Some(first)).then(|| first.to_owned())
}

fn assemble(trials: impl IntoIterator<Item = ReportedTrial>, created_at: &str) -> Baseline {
    let mut signatures: BTreeMap<String, Signature> = BTreeMap::new();
    let trials = trials.into_iter().filter_map(sampled);
    let trials = trials.map(|(trial, signature)| {
        signatures.insert(trial.signature.clone(), signature);
        trial
    });
    let trials: Vec<BaselineTrial> = trials.collect();
    Baseline {
        baseline_version: file::VERSION,
        created_at: created_at.to_owned(),
        agent: common_agent(&trials),
        command: Vec::new(),
        environment: None,
        report_verdict: None,
        forced: false,
        acceptance: None,
        digest: String::new(),
        trials,
        signatures,
    }
}
