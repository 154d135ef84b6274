//! Trials in words: run, end of the process, reason of a failure.

use super::checks::CheckOutcome;
use crate::{ProcessExit, Report, ReportedTrial};

/// The beginning of the run's ID, or a dash where there is none.
pub fn short_id(trial: &ReportedTrial) -> String {
    match &trial.trace_id {
        Some(id) => id.chars().take(8).collect(),
        None => "–".to_owned(),
    }
}

/// The exit code of the process, or its signal.
pub fn exit(trial: &ReportedTrial) -> String {
    match trial.exit {
        Some(ProcessExit::Code(code)) => code.to_string(),
        Some(signal) => signal.to_string(),
        None => String::new(),
    }
}

/// Checks if a table of trials needs a column of costs: one of them has a known cost.
pub fn shows_cost(report: &Report) -> bool {
    let cost = |trial: &ReportedTrial| trial.metrics.get("cost_usd").copied().flatten();
    report
        .trials
        .iter()
        .any(|trial| cost(trial).is_some_and(|usd| usd > 0.0))
}

/// Why a trial did not succeed.
pub fn why(trial: &ReportedTrial) -> String {
    if let Some(failure) = &trial.failure {
        return failure.to_string();
    }
    let broken = trial.outcomes.iter().filter(|(_, kept)| **kept == Some(false));
    let broken: Vec<&str> = broken.map(|(name, _)| name.as_str()).collect();
    let mut reported = broken.join(", ");
    if let Some(missing) = &trial.missing_spans {
        if !reported.is_empty() {
            reported.push_str("; ");
        }
        reported.push_str(&missing.to_string());
    }
    reported
}

/// The outcome of a trial; undecided where nothing known is wrong with it, and something is unknown.
pub fn outcome(trial: &ReportedTrial) -> CheckOutcome {
    let has_failed = trial.failure.is_some()
        || trial.exit.is_some_and(|exit| exit != ProcessExit::Code(0))
        || trial.outcomes.values().any(|kept| *kept == Some(false));
    match (trial.passed, has_failed) {
        (true, _) => CheckOutcome::Passed,
        (false, true) => CheckOutcome::Failed,
        (false, false) => CheckOutcome::Undecided,
    }
}

/// Checks if the output of the process explains the failure of the trial.
pub fn is_explained_by_output(trial: &ReportedTrial) -> bool {
    trial.failure.is_some() && !trial.stderr_tail.trim().is_empty()
}
