//! A policy and a baseline that go together, and what they decide about trials.

use std::collections::BTreeMap;

use super::plan::{Planned, plan};
use super::values::{count, judged_run, unknown_trials, values};
use super::{certain, distributional, invariant, measured, statistical};
use crate::judge::policy::{Policy, PolicyError, Rule};
use crate::judge::{
    Baseline, CheckKind, CheckMode, CheckResult, DecisionRule, Evidence, InvariantEvidence, Judgement,
    StoppingRule, Trial, Verdict,
};

/// A policy and a baseline, checked against each other before the first trial is paid for (gate, section 1).
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::judge::policy::{Overrides, Policy};
/// use tracer_sdk::judge::{Gate, RunMetrics, Trial, Verdict};
///
/// let text = "version: 2\ntrials: 1\nmetrics:\n  required_tools: {kind: invariant, all_of: [send_reply]}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// let gate = Gate::new(&policy, None).unwrap();
///
/// let run = recorded(|| tracer_sdk::tool_call("search").record());
/// let trial = Trial::of_run(1, RunMetrics::of(&run.meta, run.records()));
/// let judgement = gate.judge(&[trial]);
/// assert_eq!(judgement.verdict, Verdict::Fail); // it did not reply
/// assert_eq!(judgement.checks[1].check_name, "required_tools");
/// ```
#[derive(Debug)]
pub struct Gate<'a> {
    policy: &'a Policy,
    baseline: Option<&'a Baseline>,
    checks: Vec<Planned<'a>>,
    notices: Vec<String>,
}

/// Why no more trials are made.
///
/// ```
/// use tracer_sdk::judge::StopReason;
///
/// assert_eq!(StopReason::InvariantViolation.as_str(), "invariant_violation");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// A trial does not count: its process failed, or it did not leave exactly one completed trace.
    AgentProcessFailure,
    /// A trial violates an invariant.
    InvariantViolation,
    /// No outcome of the trials that are left could change the verdict.
    VerdictDecided,
}

impl StopReason {
    /// The reason as a report writes it.
    ///
    /// ```
    /// use tracer_sdk::judge::StopReason;
    ///
    /// assert_eq!(StopReason::VerdictDecided.as_str(), "verdict_decided");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentProcessFailure => "agent_process_failure",
            Self::InvariantViolation => "invariant_violation",
            Self::VerdictDecided => "verdict_decided",
        }
    }
}

/// What each trial did to the invariants.
pub(super) struct Outcomes {
    /// For each trial, each invariant's outcome by the name of its check.
    by_trial: Vec<BTreeMap<String, bool>>,
    /// For each trial, whether it counts and keeps every invariant.
    pub(super) successes: Vec<bool>,
    /// Whether a trial can fail to succeed without failing the gate.
    pub(super) is_rate_free: bool,
}

impl<'a> Gate<'a> {
    /// The gate of a policy and a baseline, or why it could not decide what it is asked.
    ///
    /// ```
    /// use tracer_sdk::judge::Gate;
    /// use tracer_sdk::judge::policy::{Overrides, Policy};
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

    /// What the user should know before the first trial: checks that are only told, and those that often fail an agent
    /// that did not change.
    ///
    /// ```
    /// use tracer_sdk::judge::Gate;
    /// use tracer_sdk::judge::policy::{Overrides, Policy};
    ///
    /// let policy = Policy::parse("assert: {no_loops: true}\n", &Overrides::default()).unwrap();
    /// let gate = Gate::new(&policy, None).unwrap();
    /// assert_eq!(gate.notices()[1], "task_pass_rate: only told, because 3 trials cannot reach PASS; needed are 25");
    /// ```
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Why no more trials need to be made after these, the first ones in the order of their numbers; `None` to go on.
    ///
    /// ```
    /// use tracer_sdk::judge::policy::{Overrides, Policy};
    /// use tracer_sdk::judge::{FailureReason, Gate, StopReason, Trial, TrialFailure};
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
        if trials.iter().any(|trial| !trial.is_sound()) {
            return Some(StopReason::AgentProcessFailure);
        }
        let outcomes = self.outcomes(trials);
        let violated = |planned: &Planned<'_>| {
            planned.is_gating() && outcomes.of(planned).iter().any(|outcome| !*outcome)
        };
        let is_invariant = |planned: &&Planned<'_>| matches!(planned.check.rule, Rule::Invariant(_));
        if self.checks.iter().filter(is_invariant).any(violated) {
            return Some(StopReason::InvariantViolation);
        }
        let left = self.policy.trials.saturating_sub(count(trials.len()));
        let mut gating = self.checks.iter().filter(|planned| planned.is_gating());
        let decided =
            gating.any(|planned| certain::must_fail(planned, self.policy.decision, trials, &outcomes, left));
        (left > 0 && decided).then_some(StopReason::VerdictDecided)
    }

    /// What the policy decides about these trials.
    ///
    /// Fewer trials than the policy asks for are fine when [`stop_reason`](Self::stop_reason) said so; otherwise the
    /// gate was interrupted, and nothing it saw makes it pass.
    ///
    /// ```
    /// use tracer_sdk::judge::policy::{Overrides, Policy};
    /// use tracer_sdk::judge::{Gate, Verdict};
    ///
    /// let policy = Policy::parse("version: 2\nmetrics:\n  no_loops: {kind: invariant}\n", &Overrides::default()).unwrap();
    /// let judgement = Gate::new(&policy, None).unwrap().judge(&[]);
    /// assert_eq!(judgement.verdict, Verdict::Inconclusive);
    /// assert_eq!(judgement.abort_reason.as_deref(), Some("interrupted"));
    /// ```
    #[must_use]
    pub fn judge(&self, trials: &[Trial]) -> Judgement {
        let outcomes = self.outcomes(trials);
        let mut checks = vec![self.agent_process(trials)];
        checks.extend(
            self.checks
                .iter()
                .filter_map(|planned| self.row(planned, trials, &outcomes)),
        );

        let is_short = count(trials.len()) < self.policy.trials;
        let stopped = self.stop_reason(trials).filter(|_| is_short);
        let interrupted = is_short && stopped.is_none();
        let verdict = match compose(checks.iter().filter_map(|check| check.verdict)) {
            Verdict::Pass if interrupted => Verdict::Inconclusive,
            verdict => verdict,
        };
        Judgement {
            verdict,
            checks,
            invariants: outcomes.by_trial,
            trials_budgeted: self.policy.trials,
            stopping_rule: self.stopping_rule(),
            abort_reason: stopped
                .map(StopReason::as_str)
                .or(interrupted.then_some("interrupted"))
                .map(str::to_owned),
        }
    }

    fn stopping_rule(&self) -> StoppingRule {
        if self.policy.fail_fast {
            StoppingRule::FixedNFailFast
        } else {
            StoppingRule::FixedN
        }
    }

    fn outcomes(&self, trials: &[Trial]) -> Outcomes {
        let invariants = || {
            self.checks
                .iter()
                .filter_map(|planned| match &planned.check.rule {
                    Rule::Invariant(invariant) => Some((planned, invariant)),
                    _ => None,
                })
        };
        let by_trial: Vec<BTreeMap<String, bool>> = trials
            .iter()
            .map(|trial| {
                let run = judged_run(trial);
                let outcome =
                    |invariant| run.is_some_and(|run| invariant::holds(invariant, run, self.baseline));
                invariants()
                    .map(|(planned, invariant)| (planned.check.name.clone(), outcome(invariant)))
                    .collect()
            })
            .collect();
        let counts = |name: &String| self.policy.check(name).is_some_and(|check| !check.ignored);
        let kept =
            |outcomes: &BTreeMap<String, bool>| outcomes.iter().all(|(name, kept)| *kept || !counts(name));
        let successes = trials
            .iter()
            .zip(&by_trial)
            .map(|(trial, outcomes)| trial.is_sound() && kept(outcomes));
        Outcomes {
            successes: successes.collect(),
            is_rate_free: !self.policy.judged_by_rate.is_empty(),
            by_trial,
        }
    }

    /// The row that every gate has: whether each trial counts at all.
    fn agent_process(&self, trials: &[Trial]) -> CheckResult {
        let outcomes = trials.iter().map(Trial::is_sound).collect();
        let description = "the process ends well and leaves exactly one completed trace".to_owned();
        self.invariant_row("agent_process", CheckMode::Gating, outcomes, description)
    }

    fn invariant_row(
        &self,
        name: &str,
        mode: CheckMode,
        outcomes: Vec<bool>,
        description: String,
    ) -> CheckResult {
        let violations = count(outcomes.iter().filter(|kept| !**kept).count());
        let verdict = match (violations, outcomes.is_empty()) {
            (_, true) => Verdict::Inconclusive,
            (0, false) => Verdict::Pass,
            _ => Verdict::Fail,
        };
        self.named_row(
            name,
            CheckKind::Invariant,
            mode,
            count(outcomes.len()),
            Decision {
                verdict,
                rule: DecisionRule::Invariant,
                outcomes,
                evidence: Evidence::Invariant(InvariantEvidence {
                    violations,
                    description,
                }),
            },
        )
    }

    /// The row of one check; nothing when there is nothing to look at.
    fn row(&self, planned: &Planned<'_>, trials: &[Trial], outcomes: &Outcomes) -> Option<CheckResult> {
        let values = || {
            planned
                .metric
                .as_ref()
                .map(|metric| values(trials, metric))
                .unwrap_or_default()
        };
        let sample = planned.sample.as_deref();
        let method = self.policy.decision;
        let (values, decision) = match &planned.check.rule {
            Rule::Invariant(invariant) => {
                let description = invariant::description(invariant);
                let outcomes = outcomes.of(planned);
                return Some(self.invariant_row(&planned.check.name, planned.mode, outcomes, description));
            }
            Rule::Measured(rule) => {
                let values = values();
                let (verdict, evidence) = measured::decide(rule, &values, sample);
                (
                    values,
                    Decision {
                        verdict,
                        rule: DecisionRule::Tolerance,
                        outcomes: Vec::new(),
                        evidence: Evidence::Measured(evidence),
                    },
                )
            }
            Rule::Distributional(rule) => {
                let values = values();
                let decided = distributional::decide(rule, method, &values, sample?)?;
                (
                    values,
                    Decision {
                        verdict: decided.verdict,
                        rule: decided.rule,
                        outcomes: decided.kept,
                        evidence: decided.evidence,
                    },
                )
            }
            Rule::Statistical(rule) => {
                let (verdict, evidence) = statistical::decide(rule, method, &outcomes.successes);
                (
                    Vec::new(),
                    Decision {
                        verdict,
                        rule: statistical::decision_rule(method),
                        outcomes: outcomes.successes.clone(),
                        evidence: Evidence::Statistical(evidence),
                    },
                )
            }
        };
        let (name, kind) = (&planned.check.name, planned.check.rule.kind());
        Some(CheckResult {
            direction: planned.check.rule.direction(),
            unknown_trials: unknown_trials(trials, &values),
            ..self.named_row(name, kind, planned.mode, count(trials.len()), decision)
        })
    }

    fn named_row(
        &self,
        name: &str,
        kind: CheckKind,
        mode: CheckMode,
        trials_used: u32,
        decision: Decision,
    ) -> CheckResult {
        let is_gating = mode == CheckMode::Gating;
        CheckResult {
            check_name: name.to_owned(),
            kind,
            direction: None,
            mode,
            verdict: is_gating.then_some(decision.verdict),
            decision_rule: if is_gating {
                decision.rule
            } else {
                DecisionRule::ReportOnly
            },
            stopping_rule: self.stopping_rule(),
            trials_used,
            trials_budgeted: self.policy.trials,
            trial_outcomes: decision.outcomes,
            evidence: decision.evidence,
            unknown_trials: Vec::new(),
        }
    }
}

impl Outcomes {
    /// The outcomes of one invariant, one for each trial; an outcome that is missing is a violation.
    fn of(&self, planned: &Planned<'_>) -> Vec<bool> {
        let outcome =
            |trial: &BTreeMap<String, bool>| trial.get(&planned.check.name).copied().unwrap_or(false);
        self.by_trial.iter().map(outcome).collect()
    }
}

/// What a rule made of the trials.
struct Decision {
    verdict: Verdict,
    rule: DecisionRule,
    outcomes: Vec<bool>,
    evidence: Evidence,
}

/// One FAIL fails a gate; otherwise one INCONCLUSIVE leaves it undecided (the contract of the gate, section 8).
pub(super) fn compose(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.fold(Verdict::Pass, |all, verdict| match (all, verdict) {
        (Verdict::Fail, _) | (_, Verdict::Fail) => Verdict::Fail,
        (Verdict::Inconclusive, _) | (_, Verdict::Inconclusive) => Verdict::Inconclusive,
        (Verdict::Pass, Verdict::Pass) => Verdict::Pass,
    })
}
