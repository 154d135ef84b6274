//! One test against a baseline: what runs, how often, and by which policy.

use std::path::PathBuf;

use super::explain;
use super::files::{BaselineFile, is_ci};
use crate::policy::{OnInconclusive, Overrides, Policy};
use crate::{Baseline, EnvironmentFingerprint, Gate, GateDetails, Report, Trial, Verdict};
use tracer_insight::profile::{RunProfile, agent_of};
use tracer_insight::units;
use tracer_sdk::format::RecordedStatus;
use tracer_sdk::testing::Capture;

/// The policy of an agent that must not get worse. How long a test takes is the machine's, and how often it succeeds is
/// judged trial by trial.
const USUAL: &str = "
version: 2
inconclusive: fail
metrics:
  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  tool_call_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  cost_tokens: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  no_loops: {kind: invariant}
  no_guardrails: {kind: invariant}
  no_new_tools: {kind: invariant}
  still_called: {kind: invariant}
  stop_condition_reached: {kind: invariant}
";

/// A test of an agent against its baseline: what [`assert_baseline!`](crate::assert_baseline) is made of.
///
/// ```
/// use tracer_gate::testing::BaselineTest;
///
/// let package = tempfile::tempdir()?;
/// let baselines = package.path().join(".tracer/baselines");
/// std::fs::create_dir_all(&baselines)?;
///
/// let agent = || tracer_sdk::tool_call("search").record().is_ok();
/// let test = BaselineTest::new(package.path(), "support-agent").trials(3);
/// // The first time there is no baseline: what was seen waits to be accepted, except in a CI job.
/// let message = test.clone().outcome(agent).unwrap_err();
/// assert!(message.starts_with("`support-agent` has no baseline yet"));
/// if std::env::var_os("CI").is_none() {
///     std::fs::rename(baselines.join("support-agent.json.new"), baselines.join("support-agent.json"))?;
///     test.check(agent);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a `BaselineTest` only describes a test: call `.check(..)`"]
pub struct BaselineTest {
    file: BaselineFile,
    name: String,
    trials: Option<u32>,
    policy: Option<String>,
}

impl BaselineTest {
    /// A test of the agent `name` in a package, whose baseline is `.tracer/baselines/<name>.json` in `package`.
    ///
    /// ```
    /// use tracer_gate::testing::BaselineTest;
    ///
    /// let test = BaselineTest::new(env!("CARGO_MANIFEST_DIR"), "support-agent");
    /// ```
    pub fn new(package: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            file: BaselineFile::of(&package.into(), &name),
            name,
            trials: None,
            policy: None,
        }
    }

    /// Number of runs of the agent, at least one; one, or the number of the policy, when left out.
    ///
    /// ```
    /// use tracer_gate::testing::BaselineTest;
    ///
    /// let test = BaselineTest::new(env!("CARGO_MANIFEST_DIR"), "support-agent").trials(5);
    /// ```
    pub fn trials(mut self, trials: u32) -> Self {
        self.trials = Some(trials.max(1));
        self
    }

    /// The text of a policy file.
    ///
    /// ```
    /// use tracer_gate::testing::BaselineTest;
    ///
    /// let policy = "version: 2\nmetrics:\n  no_loops: {kind: invariant}\n";
    /// let test = BaselineTest::new(env!("CARGO_MANIFEST_DIR"), "support-agent").policy(policy);
    /// ```
    pub fn policy(mut self, text: impl Into<String>) -> Self {
        self.policy = Some(text.into());
        self
    }

    /// Runs the agent and panics with what changed when it behaves worse; the agent returns whether it succeeded.
    ///
    /// ```should_panic
    /// use tracer_gate::testing::BaselineTest;
    ///
    /// let package = tempfile::tempdir()?;
    /// // Panics: there is no baseline yet.
    /// BaselineTest::new(package.path(), "support-agent").check(|| tracer_sdk::tool_call("search").record().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the agent behaves worse, there is no baseline, or the policy or the baseline cannot be used.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by a panic")]
    pub fn check(self, agent: impl FnMut() -> bool) {
        if let Err(message) = self.outcome(agent) {
            panic!("{message}");
        }
    }

    /// Runs the agent and gives what [`check`](Self::check) panics with.
    ///
    /// ```
    /// use tracer_gate::testing::BaselineTest;
    ///
    /// let package = tempfile::tempdir()?;
    /// let outcome = BaselineTest::new(package.path(), "support-agent").outcome(|| true);
    /// assert!(outcome.unwrap_err().contains("no baseline yet"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outcome(self, agent: impl FnMut() -> bool) -> Result<(), String> {
        self.outcome_where(agent, is_ci())
    }

    /// The same, where it is known whether this is a CI job: there nothing is written.
    pub(super) fn outcome_where(self, mut agent: impl FnMut() -> bool, is_ci: bool) -> Result<(), String> {
        let policy = self
            .stated_policy()
            .map_err(|error| explain::unusable_policy(&self.name, &error))?;
        let baseline = self
            .file
            .read()
            .map_err(|error| explain::unusable_baseline(&self.name, &error))?;
        // Its runs have the name of the test.
        if let Some(agent) = baseline.as_ref().and_then(|baseline| baseline.agent.as_deref())
            && agent_of(&self.name) != Some(agent)
        {
            return Err(explain::foreign_baseline(&self.name, agent));
        }
        // Before the agent runs: it may cost money.
        let gate = baseline
            .as_ref()
            .map(|baseline| Gate::new(&policy, Some(baseline)))
            .transpose();
        let gate = gate.map_err(|error| explain::unusable_policy(&self.name, &error))?;

        let unattached = tracer_sdk::unattached_records();
        let runs: Vec<RunProfile> = (0..policy.trials).map(|_| self.captured(&mut agent)).collect();
        let unattached = tracer_sdk::unattached_records().saturating_sub(unattached);
        // Other tests of the process may record outside of runs: that says nothing of an agent whose tools are here.
        if unattached > 0 && runs.iter().all(|run| run.counts.tool_calls == 0) {
            return Err(explain::unattached(&self.name, unattached));
        }
        let trials: Vec<Trial> = (1..)
            .zip(&runs)
            .map(|(number, run)| Trial::of_run(number, run.clone()))
            .collect();
        let explanation = match (&gate, &baseline) {
            (Some(gate), Some(baseline)) => {
                let judgement = gate.judge(&trials);
                let is_good = match judgement.verdict {
                    Verdict::Pass => true,
                    Verdict::Inconclusive => policy.on_inconclusive == OnInconclusive::Pass,
                    Verdict::Fail => false,
                };
                if is_good {
                    // What waited to be accepted is out of date.
                    return if is_ci { Ok(()) } else { self.file.remove_pending() };
                }
                let details = GateDetails::default();
                let report = Report::new(
                    judgement,
                    &trials,
                    Some(baseline),
                    EnvironmentFingerprint::new(),
                    details,
                );
                explain::mismatch(&self.name, &report, baseline)
            }
            _ => explain::no_baseline(&self.name, &runs),
        };
        let pending = Baseline::of_runs(&runs.iter().collect::<Vec<_>>(), &units::now().to_string());
        let accepting = match pending {
            Some(pending) if !is_ci => {
                self.file.write_pending(&pending)?;
                explain::how_to_accept(&self.file, baseline.is_some())
            }
            _ => explain::how_to_write(),
        };
        Err(format!("{explanation}\n{accepting}"))
    }

    /// The policy of the test: the given one, or that of an agent that must not get worse.
    fn stated_policy(&self) -> Result<Policy, crate::policy::PolicyError> {
        // Every trial is made: a baseline is a whole sample.
        let overrides = Overrides {
            trials: self.trials,
            fail_fast: Some(false),
            ..Overrides::default()
        };
        match &self.policy {
            Some(text) => Policy::parse(text, &overrides),
            None => Policy::built_in(
                USUAL,
                &Overrides {
                    trials: Some(self.trials.unwrap_or(1)),
                    ..overrides
                },
            ),
        }
    }

    /// One run of the agent.
    fn captured(&self, agent: &mut impl FnMut() -> bool) -> RunProfile {
        let captured = Capture::new().name(self.name.clone()).run(agent);
        let mut run = RunProfile::new(&captured.meta, captured.records);
        if !captured.result {
            // A capture ignores the value of its closure.
            run.status = RecordedStatus::Error;
            "error".clone_into(&mut run.signature.status);
        }
        run
    }
}
