//! Trials in words: their table, and the reason and the output of a failure.

use tracer_insight::line::Tone;
use tracer_insight::{metric_words, units};

use super::changes;
use super::outcome::CheckOutcome;
use super::table::{ReportCell, ReportTable};
use crate::{ProcessExit, Report, ReportedTrial};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::table::Column;

/// Shown lines of a failed trial's output; the report has them all.
const MAX_OUTPUT_LINES: usize = 10;

/// The cell of a trial in a column.
type CellOf = fn(&ReportedTrial) -> ReportCell;

/// These trials of a report as a table, with what their traces contradict as details. A column without anything in it is left out.
pub fn table(report: &Report, trials: &[&ReportedTrial]) -> ReportTable {
    let has = |is: fn(&ReportedTrial) -> bool| report.trials.iter().any(is);
    let has_costs = has(|trial| known(trial, "cost_usd").is_some_and(|usd| usd > 0.0));
    // A stored run has no process.
    let has_processes = has(|trial| trial.wall_time_ms.is_some());
    let has_changes = has(|trial| trial.changes.is_some());
    let number = Column::number;
    let columns: [(bool, Column, CellOf); 10] = [
        (true, Column::text("", None), |trial| outcome(trial).into()),
        (true, number("trial", None), |trial| {
            words(trial.trial.to_string())
        }),
        (true, Column::text("run", None), |trial| match &trial.trace_id {
            Some(id) => MarkedText::value(id.chars().take(8).collect::<String>()).into(),
            None => words("–".to_owned()),
        }),
        (true, number("steps", Some(4)), |trial| value(trial, "step_count")),
        (true, number("tokens", Some(5)), |trial| {
            value(trial, "cost_tokens")
        }),
        (has_costs, number("cost", Some(6)), |trial| {
            value(trial, "cost_usd")
        }),
        (has_processes, number("exit", Some(2)), |trial| words(exit(trial))),
        (has_processes, number("time", Some(3)), |trial| words(time(trial))),
        (has_changes, number("changes", Some(1)), |trial| {
            words(changes::count(trial))
        }),
        (true, Column::text("why", None), |trial| match why(trial) {
            why if why.is_empty() => MarkedText::default().into(),
            why => MarkedText::value(why).toned(Tone::Warning).into(),
        }),
    ];
    let shown: Vec<_> = columns.iter().filter(|(is_shown, ..)| *is_shown).collect();
    let mut table = ReportTable::new(shown.iter().map(|(_, column, _)| *column));
    for trial in trials {
        table.push(shown.iter().map(|(.., cell)| cell(trial)));
        if let Some(row) = table.rows.last_mut() {
            let mismatches = trial.mismatches.iter();
            row.details = mismatches
                .map(|mismatch| MarkedText::value(mismatch.to_string()))
                .collect();
        }
    }
    table
}

fn words(words: String) -> ReportCell {
    MarkedText::own(words).into()
}

fn known(trial: &ReportedTrial, metric: &str) -> Option<f64> {
    trial.metrics.get(metric).copied().flatten()
}

/// The value of a metric, or a dash where it is unknown.
fn value(trial: &ReportedTrial, metric: &str) -> ReportCell {
    words(match known(trial, metric) {
        None => "–".to_owned(),
        value => metric_words::value(metric, value),
    })
}

/// The exit code of the process, or its signal.
fn exit(trial: &ReportedTrial) -> String {
    match trial.exit {
        Some(ProcessExit::Code(code)) => code.to_string(),
        Some(signal) => signal.to_string(),
        None => String::new(),
    }
}

fn time(trial: &ReportedTrial) -> String {
    let time = trial
        .wall_time_ms
        .map(|time| units::duration(time.saturating_mul(1_000)));
    time.unwrap_or_default()
}

/// The last lines of a process that explain the failure of its trial; none of any other.
pub fn output(trial: &ReportedTrial) -> Vec<&str> {
    if trial.failure.is_none() || trial.stderr_tail.trim().is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<&str> = trial.stderr_tail.lines().collect();
    lines.split_off(lines.len().saturating_sub(MAX_OUTPUT_LINES))
}

/// Why a trial did not succeed.
pub fn why(trial: &ReportedTrial) -> String {
    if let Some(failure) = &trial.failure {
        return failure.to_string();
    }
    let broken = trial
        .findings
        .iter()
        .filter(|(_, finding)| finding.outcome == Some(false));
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
        || trial
            .findings
            .values()
            .any(|finding| finding.outcome == Some(false));
    match (trial.passed, has_failed) {
        (true, _) => CheckOutcome::Passed,
        (false, true) => CheckOutcome::Failed,
        (false, false) => CheckOutcome::Undecided,
    }
}
