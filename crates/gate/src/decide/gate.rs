//! A policy and a baseline that go together, and what they decide about trials.

use tracer_insight::profile::{Metric, MetricUnit};

use super::findings::{Findings, counts_at_all, judged_run};
use super::invariant;
use super::plan::{Planned, plan};
use super::rule::{JudgedTrials, count};
use crate::policy::{Policy, PolicyError};
use crate::{Baseline, CheckKind, CheckMode, CheckResult, Judgement, StopReason, Trial, Verdict};

/// A policy and a baseline, checked against each other before the first trial is paid for (gate, *Refusals*).
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy};
/// use tracer_gate::{Gate, Trial, Verdict};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let text = "version: 2\ntrials: 1\nmetrics:\n  required_tools: {kind: invariant, all_of: [send_reply]}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// let gate = Gate::new(&policy, None).unwrap();
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
/// let judgement = gate.judge(&[trial]);
/// assert_eq!(judgement.verdict, Verdict::Fail); // it did not reply
/// assert_eq!(judgement.checks[1].name, "required_tools");
/// ```
#[derive(Debug)]
pub struct Gate<'a> {
    policy: &'a Policy,
    baseline: Option<&'a Baseline>,
    checks: Vec<Planned<'a>>,
    notices: Vec<String>,
}

impl<'a> Gate<'a> {
    /// The gate of a policy and a baseline, or the reason why it could not decide.
    ///
    /// ```
    /// use tracer_gate::Gate;
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let text = "
    /// version: 2
    /// trials: 3
    /// metrics:
    ///   task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9, mode: gating}
    /// ";
    /// let policy = Policy::parse(text, &Overrides::default()).unwrap();
    /// let error = Gate::new(&policy, None).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "5:3: task_pass_rate is set to gate, and 3 trials cannot reach PASS: 25 can"
    /// );
    /// ```
    pub fn new(policy: &'a Policy, baseline: Option<&'a Baseline>) -> Result<Self, PolicyError> {
        let (checks, notices) = plan(policy, baseline)?;
        Ok(Self {
            policy,
            baseline,
            checks,
            notices,
        })
    }

    /// Notices before the first trial: checks that are reported only, and those that often fail an unchanged agent.
    ///
    /// ```
    /// use tracer_gate::Gate;
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let text = "
    /// version: 2
    /// metrics:
    ///   no_loops: {kind: invariant}
    ///   task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}
    /// ";
    /// let policy = Policy::parse(text, &Overrides::default()).unwrap();
    /// let gate = Gate::new(&policy, None).unwrap();
    /// assert_eq!(gate.notices()[0], "task_pass_rate: reported only, because 3 trials cannot reach PASS; 25 are needed");
    /// ```
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Why no more trials need to be made after these, the first ones in the order of their numbers; `None` to continue.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    /// use tracer_gate::{FailureReason, Gate, StopReason, Trial, TrialFailure};
    ///
    /// let policy = Policy::parse("version: 2\nmetrics:\n  no_loops: {kind: invariant}\n", &Overrides::default()).unwrap();
    /// let gate = Gate::new(&policy, None).unwrap();
    /// assert_eq!(gate.stop_reason(&[]), None);
    /// let hung = Trial::failed(1, TrialFailure::new(FailureReason::Timeout));
    /// assert_eq!(gate.stop_reason(&[hung]), Some(StopReason::AgentProcessFailure));
    /// ```
    #[must_use]
    pub fn stop_reason(&self, trials: &[Trial]) -> Option<StopReason> {
        if !self.policy.fail_fast || trials.is_empty() {
            return None;
        }
        let is_failed = |trial: &Trial| counts_at_all(self.policy, trial) == Some(false);
        if trials.iter().any(is_failed) {
            return Some(StopReason::AgentProcessFailure);
        }
        let findings = self.findings(trials);
        let left = self.policy.trials.saturating_sub(count(trials.len()));
        let gating = || self.checks.iter().filter(|planned| planned.is_gating());
        // A violated invariant stops a gate whatever is left.
        let is_violated = |planned: &Planned<'_>| {
            planned.check.rule.kind() == CheckKind::Invariant
                && self.must_fail(planned, trials, &findings, left)
        };
        if gating().any(is_violated) {
            return Some(StopReason::InvariantViolation);
        }
        // FAIL is the only verdict that can be known early: any trial that is left could crash.
        let is_decided = left > 0 && gating().any(|planned| self.must_fail(planned, trials, &findings, left));
        is_decided.then_some(StopReason::VerdictDecided)
    }

    fn must_fail(&self, planned: &Planned<'_>, trials: &[Trial], findings: &Findings, left: u32) -> bool {
        let rule = planned.check.rule.judge();
        rule.must_fail(&self.judged(planned, trials, findings), left)
    }

    /// Decides about these trials.
    ///
    /// Fewer trials than the policy asks for are fine when [`stop_reason`](Self::stop_reason) said so; otherwise the
    /// gate was interrupted, and nothing it saw makes it pass.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    /// use tracer_gate::{Gate, StopReason, Verdict};
    ///
    /// let policy = Policy::parse("version: 2\nmetrics:\n  no_loops: {kind: invariant}\n", &Overrides::default()).unwrap();
    /// let judgement = Gate::new(&policy, None).unwrap().judge(&[]);
    /// assert_eq!(judgement.verdict, Verdict::Inconclusive);
    /// assert_eq!(judgement.stop_reason, Some(StopReason::Interrupted));
    /// ```
    #[must_use]
    pub fn judge(&self, trials: &[Trial]) -> Judgement {
        let findings = self.findings(trials);
        let mut checks = vec![self.agent_process(trials)];
        checks.extend(
            self.checks
                .iter()
                .filter_map(|planned| self.row(planned, trials, &findings)),
        );

        let is_short = count(trials.len()) < self.policy.trials;
        let stopped = self.stop_reason(trials).filter(|_| is_short);
        let interrupted = is_short && stopped.is_none();
        let verdict = match Verdict::all(checks.iter().filter_map(|check| check.verdict)) {
            Verdict::Pass if interrupted => Verdict::Inconclusive,
            verdict => verdict,
        };
        Judgement {
            verdict,
            checks,
            findings: findings.by_trial,
            trials_planned: self.policy.trials,
            stop_reason: stopped.or(interrupted.then_some(StopReason::Interrupted)),
        }
    }

    fn findings(&self, trials: &[Trial]) -> Findings {
        Findings::new(self.policy, self.baseline, &self.checks, trials)
    }

    /// The trials as the rule of a check sees them.
    fn judged<'b>(
        &self,
        planned: &'b Planned<'_>,
        trials: &[Trial],
        findings: &Findings,
    ) -> JudgedTrials<'b> {
        let values = |metric: &Metric| {
            let value = |trial: &Trial| judged_run(trial).and_then(|_| trial.bounds(metric));
            trials.iter().map(value).collect()
        };
        let mut judged = JudgedTrials {
            numbers: trials.iter().map(|trial| trial.number).collect(),
            method: self.policy.decision,
            values: planned.metric.as_ref().map(values).unwrap_or_default(),
            sample: planned.sample.as_deref(),
            outcomes: findings.successes.clone(),
            is_rate_free: !self.policy.judged_by_rate.is_empty(),
        };
        if planned.check.rule.kind() == CheckKind::Invariant {
            judged.outcomes = findings.of(planned.name());
        }
        judged
    }

    /// The row of one check; `None` when it lacks the sample that it needs.
    fn row(&self, planned: &Planned<'_>, trials: &[Trial], findings: &Findings) -> Option<CheckResult> {
        let rule = &planned.check.rule;
        let judged = self.judged(planned, trials, findings);
        let mut decision = rule.judge().decide(&judged)?;
        // The known part of a cost may be too much already; it never shows that the cost is low enough.
        let is_cost = planned
            .metric
            .as_ref()
            .is_some_and(|metric| metric.unit() == MetricUnit::Dollars);
        let is_unpriced = |trial: &Trial| judged_run(trial).is_some_and(|run| run.cost.unpriced > 0);
        if decision.verdict == Verdict::Pass && is_cost && trials.iter().any(is_unpriced) {
            decision.verdict = Verdict::Inconclusive;
        }
        Some(CheckResult {
            name: planned.name().to_owned(),
            kind: rule.kind(),
            direction: rule.direction(),
            mode: planned.mode,
            verdict: planned.is_gating().then_some(decision.verdict),
            outcomes: decision.outcomes,
            evidence: decision.evidence,
            unknown_trials: decision.unknown,
        })
    }

    /// The row that every gate has: each trial counts.
    fn agent_process(&self, trials: &[Trial]) -> CheckResult {
        let outcomes = trials.iter().map(|trial| counts_at_all(self.policy, trial));
        let judged = JudgedTrials {
            outcomes: outcomes.collect(),
            ..JudgedTrials::default()
        };
        let description = "the process ends well and leaves exactly one completed trace";
        let decision = invariant::decision(&judged, description.to_owned());
        CheckResult {
            name: "agent_process".to_owned(),
            kind: CheckKind::Invariant,
            direction: None,
            mode: CheckMode::Gating,
            verdict: Some(decision.verdict),
            outcomes: decision.outcomes,
            evidence: decision.evidence,
            unknown_trials: Vec::new(),
        }
    }
}
