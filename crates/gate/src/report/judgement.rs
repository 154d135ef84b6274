//! What deciding gives.

use std::collections::BTreeMap;

use super::{CheckResult, StoppingRule, Verdict};

/// What a policy decided about trials.
///
/// ```
/// use tracer_gate::{Judgement, StoppingRule, Verdict};
///
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     invariants: Vec::new(),
///     trials_budgeted: 3,
///     stopping_rule: StoppingRule::FixedN,
///     abort_reason: None,
/// };
/// assert_eq!(judgement.verdict.passed(), Some(true));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict of the gate.
    pub verdict: Verdict,
    /// The checks, `agent_process` first, then in the order of the policy.
    pub checks: Vec<CheckResult>,
    /// For each trial, the outcome of each invariant by name; `None` where what is known of the trial does not tell.
    pub invariants: Vec<BTreeMap<String, Option<bool>>>,
    /// How many trials there were to be.
    pub trials_budgeted: u32,
    /// By which rule the trials stopped.
    pub stopping_rule: StoppingRule,
    /// Why they stopped early; `None` when they did not: `agent_process_failure`, `invariant_violation`,
    /// `verdict_decided`, `interrupted`.
    pub abort_reason: Option<String>,
}
