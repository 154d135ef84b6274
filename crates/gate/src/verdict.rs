//! Verdicts, and the kinds of checks and rules that lead to them (gate, *Verdict*).

use serde::{Deserialize, Serialize};

tracer_sdk::words! {
    /// Verdict of a check or a gate.
    ///
    /// ```
    /// use tracer_gate::Verdict;
    ///
    /// assert_eq!(Verdict::Pass.as_str(), "pass");
    /// assert_eq!(Verdict::Inconclusive.passed(), None);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Verdict in tracer_gate {
        /// It holds.
        Pass = "pass",
        /// It does not hold.
        Fail = "fail",
        /// The evidence does not decide.
        Inconclusive = "inconclusive",
    }
}

impl Verdict {
    /// `true` for PASS; `None` when the evidence does not decide.
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

    /// The verdict over several: one FAIL fails, otherwise one INCONCLUSIVE leaves it undecided (gate,
    /// *Verdict*).
    pub(crate) fn all(verdicts: impl Iterator<Item = Self>) -> Self {
        verdicts.fold(Self::Pass, |all, verdict| match (all, verdict) {
            (Self::Fail, _) | (_, Self::Fail) => Self::Fail,
            (Self::Inconclusive, _) | (_, Self::Inconclusive) => Self::Inconclusive,
            (Self::Pass, Self::Pass) => Self::Pass,
        })
    }
}

tracer_sdk::words! {
    /// Kind of a check.
    ///
    /// ```
    /// use tracer_gate::CheckKind;
    ///
    /// assert_eq!(serde_json::to_string(&CheckKind::Measured)?, r#""measured""#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum CheckKind in tracer_gate {
        /// Every trial must keep it.
        Invariant = "invariant",
        /// A number summed up over the trials, against a limit or a tolerance.
        Measured = "measured",
        /// The trials' values against those of the baseline.
        Distributional = "distributional",
        /// A rate of success against a threshold.
        Statistical = "statistical",
    }
}

tracer_sdk::words! {
    /// Which side of a number is bad.
    ///
    /// ```
    /// use tracer_gate::Direction;
    ///
    /// assert_eq!(serde_json::to_string(&Direction::Upper)?, r#""upper""#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Direction in tracer_gate {
        /// More than the bound.
        Upper = "upper",
        /// Less than the bound.
        Lower = "lower",
        /// Both.
        Both = "both",
    }
}

tracer_sdk::words! {
    /// Part of a check in the gate's verdict.
    ///
    /// ```
    /// use tracer_gate::CheckMode;
    ///
    /// assert_eq!(serde_json::to_string(&CheckMode::ReportOnly)?, r#""report_only""#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckMode in tracer_gate {
        /// It does.
        Gating = "gating",
        /// It is reported only.
        ReportOnly = "report_only",
    }
}
