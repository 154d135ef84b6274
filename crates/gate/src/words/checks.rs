//! The checks of a report as people read them: what was allowed, what was seen, in which trials; failures first.

use tracer_insight::text;

use super::outcome::CheckOutcome;
use super::table::ReportTable;
use crate::{CheckResult, Report, ReportedTrial};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::table::Column;

/// A longer name is cut.
const MAX_NAME_LENGTH: usize = 60;

/// A check in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// The metric as the policy names it.
    pub name: String,
    /// The allowed value.
    pub allowed: MarkedText,
    /// The observed value.
    pub seen: MarkedText,
    /// Failing trials, unknown trials, by number.
    pub trials: [Vec<u32>; 2],
}

impl CheckRow {
    /// Its name on one line.
    pub fn printable_name(&self) -> String {
        text::printable(&text::one_line(&self.name, MAX_NAME_LENGTH)).into_owned()
    }

    /// Outcome, allowed and observed value in one sentence.
    pub fn sentence(&self) -> String {
        let trials = self.trials_in_words();
        let where_seen = if trials.is_empty() {
            String::new()
        } else {
            format!("; trials: {trials}")
        };
        format!(
            "{}; allowed: {}; seen: {}{where_seen}",
            self.outcome.word(),
            self.allowed.text(),
            self.seen.text()
        )
    }

    /// The trials that speak against it and those without an outcome: `2, 4–6; unknown in 3`.
    pub fn trials_in_words(&self) -> String {
        let [against, unknown] = &self.trials;
        match (against.is_empty(), unknown.is_empty()) {
            (_, true) => ranges(against),
            (true, false) => format!("unknown in {}", ranges(unknown)),
            (false, false) => format!("{}; unknown in {}", ranges(against), ranges(unknown)),
        }
    }
}

/// The checks of the report: failed, undecided, passed, reported; within these in the order of the policy.
pub fn check_rows(report: &Report) -> Vec<CheckRow> {
    let mut rows: Vec<CheckRow> = report
        .checks
        .iter()
        .map(|check| check_row(check, report))
        .collect();
    rows.sort_by_key(|row| row.outcome);
    rows
}

/// The checks as a table.
pub fn table(checks: &[&CheckRow]) -> ReportTable {
    let mut table = ReportTable::new(
        ["", "check", "allowed", "seen", "trials"].map(|heading| Column::text(heading, None)),
    );
    for check in checks {
        table.push([
            check.outcome.into(),
            MarkedText::value(&check.name).into(),
            check.allowed.clone().into(),
            check.seen.clone().into(),
            MarkedText::own(check.trials_in_words()).into(),
        ]);
    }
    table
}

/// `2 checks failed, 1 undecided, 5 passed`.
pub fn tally(checks: &[CheckRow]) -> String {
    let count = |outcome: CheckOutcome| checks.iter().filter(|check| check.outcome == outcome).count() as u64;
    let mut described = Vec::new();
    for outcome in [
        CheckOutcome::Failed,
        CheckOutcome::Undecided,
        CheckOutcome::Passed,
        CheckOutcome::Reported,
    ] {
        let number = count(outcome);
        if number > 0 {
            let noun = if described.is_empty() {
                text::counted(number, "check")
            } else {
                number.to_string()
            };
            described.push(format!("{noun} {}", outcome.word()));
        }
    }
    described.join(", ")
}

/// Numbers of trials, neighbours joined: `1–3, 5`.
pub fn ranges(numbers: &[u32]) -> String {
    const MAX_RANGES: usize = 12;
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(number) => *end = number,
            _ => spans.push((number, number)),
        }
    }
    let hidden = spans.len() > MAX_RANGES;
    let described: Vec<String> = spans
        .into_iter()
        .take(MAX_RANGES)
        .map(|(start, end)| match end.checked_sub(start) {
            Some(0) => start.to_string(),
            Some(1) => format!("{start}, {end}"),
            _ => format!("{start}–{end}"),
        })
        .collect();
    described.join(", ") + if hidden { ", …" } else { "" }
}

fn check_row(check: &CheckResult, report: &Report) -> CheckRow {
    let (allowed, seen, against) = check.evidence.words(check, report);
    CheckRow {
        outcome: CheckOutcome::of(check),
        name: check.name.clone(),
        allowed,
        seen: match missing(check, report) {
            Some(missing) => seen.with("; ").with_value(missing),
            None => seen,
        },
        trials: [against, check.unknown_trials.clone()],
    }
}

/// Lost spans of the first trial with an unknown outcome.
fn missing(check: &CheckResult, report: &Report) -> Option<String> {
    let unknown = |trial: &&ReportedTrial| check.unknown_trials.contains(&trial.trial);
    let trials = report.trials.iter().filter(unknown);
    let mut missing = trials.filter_map(|trial| Some((trial.trial, trial.missing_spans.as_ref()?)));
    let (trial, missing) = missing.next()?;
    Some(match report.trials.len() {
        1 => missing.to_string(),
        _ => format!("of trial {trial} {missing}"),
    })
}

#[cfg(test)]
mod tests;
