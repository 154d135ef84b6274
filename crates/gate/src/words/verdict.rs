//! The verdict of a gate in words and signs.

use crate::{Report, StopReason, Verdict};

use tracer_insight::text;

/// The word of a verdict.
pub const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// Successful and all trials: `2 of 3 trials succeeded`.
pub fn trials(report: &Report) -> String {
    let passed = report.trials.iter().filter(|trial| trial.passed).count();
    let all = report.trials.len() as u64;
    format!("{passed} of {} succeeded", text::counted(all, "trial"))
}

/// Why not all trials were run; nothing when they were.
pub fn stopped_early(report: &Report) -> Option<String> {
    let reason = match report.stop_reason? {
        StopReason::AgentProcessFailure => "a trial left no run that counts",
        StopReason::InvariantViolation => "a trial broke an invariant",
        StopReason::VerdictDecided => "no other trial could have changed the verdict",
        StopReason::Interrupted => "it was interrupted",
    };
    Some(format!(
        "stopped after {} of {}: {reason}",
        report.trials.len(),
        text::counted(report.trials_planned.into(), "trial")
    ))
}

/// Meaning of an INCONCLUSIVE gate, and the next step.
pub const UNDECIDED: &str = "INCONCLUSIVE is not a pass: the evidence does not decide it. \
    Run more trials, or record the missing values.";
