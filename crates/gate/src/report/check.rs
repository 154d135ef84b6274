//! One row of a judgement: a check, what it decided and by which rule (gate contract, sections 7 and 10).

use serde::{Deserialize, Serialize};

use super::Evidence;

/// What a check or a gate decided.
///
/// ```
/// use tracer_gate::Verdict;
///
/// assert_eq!(Verdict::Pass.as_str(), "pass");
/// assert_eq!(Verdict::Inconclusive.passed(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not hold.
    Fail,
    /// The evidence does not tell.
    Inconclusive,
}

impl Verdict {
    /// The word in a report.
    ///
    /// ```
    /// use tracer_gate::Verdict;
    ///
    /// assert_eq!(Verdict::Fail.as_str(), "fail");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The verdict with this word.
    ///
    /// ```
    /// use tracer_gate::Verdict;
    ///
    /// assert_eq!(Verdict::from_word("pass"), Some(Verdict::Pass));
    /// assert_eq!(Verdict::from_word("PASS"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Inconclusive]
            .into_iter()
            .find(|verdict| verdict.as_str() == word)
    }

    /// Whether it passed; `None` when the evidence does not tell.
    ///
    /// ```
    /// use tracer_gate::Verdict;
    ///
    /// assert_eq!(Verdict::Fail.passed(), Some(false));
    /// ```
    #[must_use]
    pub const fn passed(self) -> Option<bool> {
        match self {
            Self::Pass => Some(true),
            Self::Fail => Some(false),
            Self::Inconclusive => None,
        }
    }
}

/// One check of a gate and what it decided.
///
/// ```
/// use tracer_gate::{CheckKind, CheckMode, CheckResult, DecisionRule, Evidence, InvariantEvidence, StoppingRule, Verdict};
///
/// let check = CheckResult {
///     check_name: "no_loops".to_owned(),
///     kind: CheckKind::Invariant,
///     direction: None,
///     mode: CheckMode::Gating,
///     verdict: Some(Verdict::Fail),
///     decision_rule: DecisionRule::Invariant,
///     stopping_rule: StoppingRule::FixedN,
///     trials_used: 2,
///     trials_budgeted: 2,
///     trial_outcomes: vec![true, false],
///     evidence: Evidence::Invariant(InvariantEvidence::new(1, "no loops")),
///     unknown_trials: Vec::new(),
/// };
/// assert_eq!(check.violating_trials().collect::<Vec<_>>(), [2]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The metric that was checked, or `agent_process`.
    pub check_name: String,
    /// What kind of check.
    pub kind: CheckKind,
    /// Which side is bad; null where there is no side.
    pub direction: Option<Direction>,
    /// Whether it decides the gate's verdict.
    pub mode: CheckMode,
    /// What it decided; null when it only reports.
    pub verdict: Option<Verdict>,
    /// By which rule.
    pub decision_rule: DecisionRule,
    /// By which rule the trials stopped.
    pub stopping_rule: StoppingRule,
    /// How many trials there are.
    pub trials_used: u32,
    /// How many trials there were to be.
    pub trials_budgeted: u32,
    /// For an invariant, whether each trial kept it; for a statistical check, whether each trial succeeded; for a
    /// distributional one, whether each trial kept to the baseline. Empty for a measured one.
    pub trial_outcomes: Vec<bool>,
    /// What it rests on.
    pub evidence: Evidence,
    /// The trials of which the value is not known, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_trials: Vec<u32>,
}

impl CheckResult {
    /// The trials with a bad outcome, by number from 1. One of which the outcome is not known is none of them.
    ///
    /// ```
    /// # use tracer_gate::*;
    /// # let check = CheckResult {
    /// #     check_name: "no_loops".to_owned(), kind: CheckKind::Invariant, direction: None, mode: CheckMode::Gating,
    /// #     verdict: Some(Verdict::Pass), decision_rule: DecisionRule::Invariant, stopping_rule: StoppingRule::FixedN,
    /// #     trials_used: 1, trials_budgeted: 1, trial_outcomes: vec![true], unknown_trials: Vec::new(),
    /// #     evidence: Evidence::Invariant(InvariantEvidence::new(0, "")),
    /// # };
    /// assert_eq!(check.violating_trials().count(), 0);
    /// ```
    pub fn violating_trials(&self) -> impl Iterator<Item = u32> + '_ {
        (1..)
            .zip(&self.trial_outcomes)
            .filter(|(number, outcome)| !**outcome && !self.unknown_trials.contains(number))
            .map(|(number, _)| number)
    }
}

/// What kind of check a row is.
///
/// ```
/// use tracer_gate::CheckKind;
///
/// assert_eq!(serde_json::to_string(&CheckKind::Measured)?, r#""measured""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// Every trial must keep it.
    Invariant,
    /// A number summed up over the trials, against a limit or a tolerance.
    Measured,
    /// The trials' values against those of the baseline.
    Distributional,
    /// A rate of success against a threshold.
    Statistical,
}

/// Which side of a number is bad.
///
/// ```
/// use tracer_gate::Direction;
///
/// assert_eq!(serde_json::to_string(&Direction::Upper)?, r#""upper""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More than the bound.
    Upper,
    /// Less than the bound.
    Lower,
    /// Both.
    Both,
}

/// Whether a check decides the gate's verdict.
///
/// ```
/// use tracer_gate::CheckMode;
///
/// assert_eq!(serde_json::to_string(&CheckMode::ReportOnly)?, r#""report_only""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckMode {
    /// It does.
    Gating,
    /// It is only told.
    ReportOnly,
}

/// By which rule a check decides.
///
/// ```
/// use tracer_gate::DecisionRule;
///
/// assert_eq!(serde_json::to_string(&DecisionRule::WilsonOneSided)?, r#""wilson_one_sided""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionRule {
    /// Every trial must keep it.
    Invariant,
    /// A value within bounds.
    Tolerance,
    /// The one-sided Wilson interval.
    WilsonOneSided,
    /// The exact one-sided interval of Clopper and Pearson.
    ExactOneSided,
    /// None: it only reports.
    ReportOnly,
}

/// By which rule the trials of a gate stop.
///
/// ```
/// use tracer_gate::StoppingRule;
///
/// assert_eq!(serde_json::to_string(&StoppingRule::FixedN)?, r#""fixed_n""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoppingRule {
    /// All are run.
    FixedN,
    /// They stop when a trial fails, or when no outcome could change the verdict.
    FixedNFailFast,
}
