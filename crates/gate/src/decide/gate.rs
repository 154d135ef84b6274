//! A policy and a baseline that go together, and what they decide about trials.

use std::collections::BTreeMap;

use super::outcome::{TrialOutcome, count, count_of, is_excused, values};
use super::outcomes::Outcomes;
use super::plan::{Planned, plan};
use super::rows::CheckRows;
use super::{distributional, measured, statistical};
use crate::policy::{Policy, PolicyError, Rule};
use crate::statistics::IntervalMethod;
use crate::{Baseline, Judgement, StopReason, Trial, Verdict};
use tracer_insight::profile::Bounds;

/// A policy and a baseline, checked against each other before the first trial is paid for (gate, section 1).
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
    /// The gate of a policy and a baseline, or why it could not decide what it is asked.
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

    /// Why no more trials need to be made after these, the first ones in the order of their numbers; `None` to go on.
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
        if trials
            .iter()
            .any(|trial| !trial.is_sound() && !is_excused(self.policy, trial))
        {
            return Some(StopReason::AgentProcessFailure);
        }
        let outcomes = self.outcomes(trials);
        let violated = |planned: &Planned<'_>| {
            planned.is_gating() && outcomes.of(planned).contains(&TrialOutcome::Broken)
        };
        let is_invariant = |planned: &&Planned<'_>| matches!(planned.check.rule, Rule::Invariant(_));
        if self.checks.iter().filter(is_invariant).any(violated) {
            return Some(StopReason::InvariantViolation);
        }
        let left = self.policy.trials.saturating_sub(count(trials.len()));
        let mut gating = self.checks.iter().filter(|planned| planned.is_gating());
        let decided = gating.any(|planned| must_fail(planned, self.policy.decision, trials, &outcomes, left));
        (left > 0 && decided).then_some(StopReason::VerdictDecided)
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
        let outcomes = self.outcomes(trials);
        let rows = CheckRows {
            policy: self.policy,
            baseline: self.baseline,
            trials,
            outcomes: &outcomes,
        };
        let mut checks = vec![rows.agent_process()];
        checks.extend(self.checks.iter().filter_map(|planned| rows.of(planned)));

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
            invariants: outcomes.by_trial.into_iter().map(known).collect(),
            trials_planned: self.policy.trials,
            stop_reason: stopped.or(interrupted.then_some(StopReason::Interrupted)),
        }
    }

    fn outcomes(&self, trials: &[Trial]) -> Outcomes {
        Outcomes::new(self.policy, self.baseline, &self.checks, trials)
    }
}

/// The outcomes of one trial as a judgement has them.
fn known(outcomes: BTreeMap<String, TrialOutcome>) -> BTreeMap<String, Option<bool>> {
    outcomes
        .into_iter()
        .map(|(name, outcome)| (name, outcome.known()))
        .collect()
}

/// Checks if a gating check fails whatever the `left` trials show.
///
/// FAIL is the only verdict that can be known early: any trial that is left could crash.
fn must_fail(
    planned: &Planned<'_>,
    method: IntervalMethod,
    trials: &[Trial],
    outcomes: &Outcomes,
    left: u32,
) -> bool {
    let all = count(trials.len()).saturating_add(left);
    // Those of which nothing is known yet are among them.
    let possible = || -> Vec<Bounds> {
        let metric = planned.metric.as_ref();
        let values = metric.map(|metric| values(trials, metric)).unwrap_or_default();
        let known = values.into_iter().map(|value| value.unwrap_or(Bounds::ANYTHING));
        known.chain((0..left).map(|_| Bounds::ANYTHING)).collect()
    };
    match &planned.check.rule {
        // A violated invariant stops a gate by itself.
        Rule::Invariant(_) => false,
        Rule::Measured(rule) => {
            let allowed = measured::allowed(rule, planned.sample.as_deref());
            measured::must_fail(rule, allowed, &possible())
        }
        Rule::Distributional(rule) => planned
            .sample
            .as_deref()
            .is_some_and(|sample| distributional::must_fail(rule, method, sample, &possible(), all)),
        Rule::Statistical(rule) => {
            let successes = count_of(&outcomes.successes, TrialOutcome::Kept);
            let open = left + count_of(&outcomes.successes, TrialOutcome::Unknown);
            // A trial that does not succeed fails the gate by itself, unless what it violates is left to the rate.
            let least_more = if outcomes.is_rate_free { 0 } else { open };
            let successes = successes + least_more..=successes + open;
            statistical::verdict_between(rule, method, successes, all) == Verdict::Fail
        }
    }
}
