//! Decided checks, and the judgement that they give.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Evidence;
use crate::Finding;
use crate::verdict::{CheckKind, CheckMode, Direction, Verdict};

/// Reason why no more trials are made.
///
/// ```
/// use tracer_gate::StopReason;
///
/// assert_eq!(serde_json::to_string(&StopReason::Interrupted)?, r#""interrupted""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A trial does not count: its process failed, or it did not leave exactly one completed trace.
    AgentProcessFailure,
    /// A trial violates an invariant.
    InvariantViolation,
    /// No outcome of the remaining trials could change the verdict.
    VerdictDecided,
    /// The gate was stopped, and passes nothing.
    Interrupted,
}

/// One check of a gate and its verdict.
///
/// ```
/// use tracer_gate::{CheckKind, CheckMode, CheckResult, Evidence, InvariantEvidence, Verdict};
///
/// let check = CheckResult {
///     name: "no_loops".to_owned(),
///     kind: CheckKind::Invariant,
///     direction: None,
///     mode: CheckMode::Gating,
///     verdict: Some(Verdict::Fail),
///     outcomes: vec![true, false],
///     evidence: Evidence::Invariant(InvariantEvidence { violations: 1, description: "no loops".to_owned() }),
///     unknown_trials: Vec::new(),
/// };
/// assert_eq!(check.violating_trials().collect::<Vec<_>>(), [2]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CheckResult {
    /// The metric that was checked, or `agent_process`.
    pub name: String,
    /// The kind of check.
    pub kind: CheckKind,
    /// The bad side; null where there is none.
    pub direction: Option<Direction>,
    /// Its part in the verdict of the gate.
    pub mode: CheckMode,
    /// Its verdict; null when it only reports.
    pub verdict: Option<Verdict>,
    /// For an invariant, whether each trial kept it; for a statistical check, whether each trial succeeded; for a
    /// distributional one, whether each trial kept to the baseline. Empty for a measured one.
    pub outcomes: Vec<bool>,
    /// The evidence for it.
    pub evidence: Evidence,
    /// The trials whose value is not known, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_trials: Vec<u32>,
}

impl CheckResult {
    /// The trials with a bad outcome, by number from 1. A trial without a known outcome is none of them.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    /// use tracer_gate::{Gate, Trial};
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let text = "version: 2\ntrials: 1\nmetrics:\n  required_tools: {kind: invariant, all_of: [send_reply]}\n";
    /// let policy = Policy::parse(text, &Overrides::default()).unwrap();
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
    /// let judgement = Gate::new(&policy, None).unwrap().judge(&[trial]);
    /// let did_not_reply: Vec<u32> = judgement.checks[1].violating_trials().collect();
    /// assert_eq!(did_not_reply, [1]);
    /// ```
    pub fn violating_trials(&self) -> impl Iterator<Item = u32> + '_ {
        (1..)
            .zip(&self.outcomes)
            .filter(|(number, outcome)| !**outcome && !self.unknown_trials.contains(number))
            .map(|(number, _)| number)
    }
}

/// The decision of a policy about trials.
///
/// ```
/// use tracer_gate::{Judgement, Verdict};
///
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     findings: Vec::new(),
///     trials_planned: 3,
///     stop_reason: None,
/// };
/// assert_eq!(judgement.verdict.passed(), Some(true));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict of the gate.
    pub verdict: Verdict,
    /// The checks, `agent_process` first, then in the order of the policy.
    pub checks: Vec<CheckResult>,
    /// For each trial, the finding of each invariant by name.
    pub findings: Vec<BTreeMap<String, Finding>>,
    /// Planned trials.
    pub trials_planned: u32,
    /// Reason why they stopped early; `None` when they did not.
    pub stop_reason: Option<StopReason>,
}
