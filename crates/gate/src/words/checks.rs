//! The checks of a report as people read them: what was allowed, what was seen, in which trials; failures first.

use serde::Serialize;
use tracer_insight::line::Tone;
use tracer_insight::text;

use crate::phrase::Phrase;
use crate::{CheckMode, CheckResult, Report, ReportedTrial, Verdict};

/// A longer name is cut.
const MAX_NAME_LENGTH: usize = 60;

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

/// A check in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// The metric as the policy names it.
    pub name: String,
    /// The allowed value.
    pub allowed: Phrase,
    /// The observed value.
    pub seen: Phrase,
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
            Some(missing) => seen.and("; ").and_value(missing),
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
