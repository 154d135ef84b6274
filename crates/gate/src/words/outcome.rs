//! [`CheckOutcome`]: sign, word and tone of a check, a trial or a gate.

use serde::Serialize;
use tracer_insight::line::Tone;

use crate::{CheckMode, CheckResult, Verdict};

/// Outcome of a check, a trial or a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// It does not hold.
    Failed,
    /// The evidence does not decide.
    Undecided,
    /// It holds.
    Passed,
    /// It is reported and decides nothing.
    Reported,
}

impl CheckOutcome {
    /// The outcome of a check.
    pub fn of(check: &CheckResult) -> Self {
        match check.verdict {
            Some(verdict) if check.mode == CheckMode::Gating => verdict.into(),
            _ => Self::Reported,
        }
    }

    /// True of a check that did not pass, and of an undecided one.
    pub const fn is_missed(self) -> bool {
        matches!(self, Self::Failed | Self::Undecided)
    }

    /// Its sign on a terminal.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Failed => "✗",
            Self::Undecided => "?",
            Self::Passed => "✓",
            Self::Reported => "·",
        }
    }

    /// Its sign in a comment.
    pub const fn picture(self) -> &'static str {
        match self {
            Self::Failed => "❌",
            Self::Undecided => "⚪",
            Self::Passed => "✅",
            Self::Reported => "",
        }
    }

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Undecided => "undecided",
            Self::Passed => "passed",
            Self::Reported => "reported only",
        }
    }

    /// Its tone.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Failed => Tone::Bad,
            Self::Undecided => Tone::Warning,
            Self::Passed => Tone::Good,
            Self::Reported => Tone::Muted,
        }
    }
}

impl From<Verdict> for CheckOutcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fail => Self::Failed,
            Verdict::Inconclusive => Self::Undecided,
            Verdict::Pass => Self::Passed,
        }
    }
}
