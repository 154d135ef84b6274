//! What is said of a trial: its run, how its process ended, why it did not succeed.

use tracer_insight::profile::Metric;

use crate::{Report, ReportedTrial, TrialCheck};

/// The beginning of the run's ID, or a dash where there is none.
pub fn short_id(trial: &ReportedTrial) -> String {
    match &trial.trace_id {
        Some(id) => id.chars().take(8).collect(),
        None => "–".to_owned(),
    }
}

/// How the process ended: its exit code, or its signal.
pub fn exit(trial: &ReportedTrial) -> String {
    match (trial.details.signal, trial.process_exit_code) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => code.to_string(),
        (None, None) => String::new(),
    }
}

/// Whether a table of trials has a column of costs: where one of them is known to have cost something.
pub fn shows_cost(report: &Report) -> bool {
    let name = Metric::CostUsd.to_string();
    let cost = |trial: &ReportedTrial| trial.metric_values.get(&name).copied().flatten();
    report
        .trials
        .iter()
        .any(|trial| cost(trial).is_some_and(|usd| usd > 0.0))
}

/// Why a trial did not succeed.
pub fn why(trial: &ReportedTrial) -> String {
    if let Some(failure) = &trial.details.failure {
        return failure.to_string();
    }
    let with = |is_wanted: fn(&TrialCheck) -> bool| -> Vec<&str> {
        let found = trial.checks.iter().filter(|check| is_wanted(check));
        found.map(|check| check.check_name.as_str()).collect()
    };
    let mut reported = with(|check| !check.passed && !is_unknown(check)).join(", ");
    if let Some(missing) = &trial.details.missing_spans {
        if !reported.is_empty() {
            reported.push_str("; ");
        }
        reported.push_str(&missing.to_string());
    }
    reported
}

/// Whether a trial did nothing wrong as far as is known, and not everything is known.
pub fn is_undecided(trial: &ReportedTrial) -> bool {
    !trial.passed
        && trial.details.failure.is_none()
        && trial.process_exit_code.is_none_or(|code| code == 0)
        && trial.checks.iter().all(|check| check.passed || is_unknown(check))
}

/// Whether a trial does not hold enough evidence for an outcome.
fn is_unknown(check: &TrialCheck) -> bool {
    check.reason_code == "unknown"
}

/// Whether the output of the process explains why the trial failed.
pub fn is_explained_by_output(trial: &ReportedTrial) -> bool {
    trial.details.failure.is_some() && !trial.details.stderr_tail.trim().is_empty()
}
