//! The checks of a report as people read them: what was allowed, what was seen, in which trials; failures first.

use crate::{
    AllowedRange, CheckMode, CheckResult, Direction, DistributionalEvidence, Evidence, InvariantEvidence,
    MeasuredEvidence, Report, ReportedTrial, StatisticalEvidence, Verdict,
};
use serde::Serialize;

use crate::words::phrase::Phrase;
use tracer_insight::line::Tone;
use tracer_insight::metric_words;
use tracer_insight::metric_words::percent;
use tracer_insight::profile::{Metric, MetricUnit};
use tracer_insight::text;

/// A longer name is cut.
const MAX_NAME_LENGTH: usize = 60;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        match (check.mode, check.verdict) {
            (CheckMode::ReportOnly, _) | (_, None) => Self::Reported,
            (_, Some(Verdict::Fail)) => Self::Failed,
            (_, Some(Verdict::Inconclusive)) => Self::Undecided,
            (_, Some(Verdict::Pass)) => Self::Passed,
        }
    }

    /// Its sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Failed => "✗",
            Self::Undecided => "?",
            Self::Passed => "✓",
            Self::Reported => "·",
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
    let name = check.name.as_str();
    let (allowed, seen, against) = match &check.evidence {
        Evidence::Invariant(evidence) => invariant(check, evidence, report),
        Evidence::Measured(evidence) => measured(name, evidence, report),
        Evidence::Statistical(evidence) => statistical(check, evidence),
        Evidence::Distributional(evidence) => distributional(check, evidence),
    };
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

type Words = (Phrase, Phrase, Vec<u32>);

fn invariant(check: &CheckResult, evidence: &InvariantEvidence, report: &Report) -> Words {
    let against: Vec<u32> = check.violating_trials().collect();
    let all = report.trials.len() as u64;
    let seen = match against.first() {
        None if check.unknown_trials.is_empty() => {
            Phrase::words(kept(all)).followed_by(harmless_warnings(check, report))
        }
        None => Phrase::words("not known whether it was kept").followed_by(unknown_repeats(check, report)),
        Some(first) => {
            let trial = report.trials.iter().find(|trial| trial.trial == *first);
            match trial.map(|trial| how_broken(check, evidence, trial)) {
                Some(how) if !how.is_empty() => {
                    Phrase::words(broken(against.len(), all) + ": ").followed_by(how)
                }
                _ => Phrase::words(broken(against.len(), all)),
            }
        }
    };
    (Phrase::value(evidence.description.clone()), seen, against)
}

/// Loop warnings that fail nothing: their calls have different arguments.
fn harmless_warnings(check: &CheckResult, report: &Report) -> Phrase {
    let warnings = report.trials.iter().map(|trial| trial.harmless_warnings);
    let warnings: u64 = warnings.sum();
    if check.name != "no_loops" || warnings == 0 {
        return Phrase::default();
    }
    let warnings = text::counted(warnings, "loop warning");
    Phrase::words(format!(", {warnings} ignored: arguments differ"))
}

/// Repeated calls with unknown arguments, and what to record.
fn unknown_repeats(check: &CheckResult, report: &Report) -> Phrase {
    if check.name != "no_loops" {
        return Phrase::default();
    }
    let is_unknown = |trial: &&ReportedTrial| check.unknown_trials.contains(&trial.trial);
    let trials = || report.trials.iter().filter(is_unknown);
    let repeats = trials().find_map(|trial| trial.unknown_repeats.first());
    let hint = "record arguments or results to decide";
    match repeats {
        Some(repeats) => Phrase::words(": ")
            .and_value(repeats.pattern.join(" → "))
            .and(format!(
                " ×{}, steps {} to {}, {hint}",
                repeats.repetitions, repeats.first_step, repeats.last_step
            )),
        None if trials().any(|trial| trial.open_warnings > 0) => {
            Phrase::words(format!(": the agent wrote a loop warning, {hint}"))
        }
        None => Phrase::default(),
    }
}

/// Explains how a trial broke an invariant.
fn how_broken(check: &CheckResult, evidence: &InvariantEvidence, trial: &ReportedTrial) -> Phrase {
    let name = check.name.as_str();
    if let Some(failure) = &trial.failure {
        return Phrase::value(failure.to_string());
    }
    match name {
        "no_loops" => match trial.repeats.first() {
            Some(repeats) => Phrase::value(repeats.pattern.join(" → ")).and(format!(
                " ×{}, steps {} to {}",
                repeats.repetitions, repeats.first_step, repeats.last_step
            )),
            // The rule of shapes.
            None => Phrase::words("the agent wrote a loop warning"),
        },
        "no_guardrails" => match trial.guardrail_stops.first() {
            Some(stop) => Phrase::value(&stop.error_type),
            None => Phrase::default(),
        },
        "stop_condition_reached" => match &trial.signature {
            Some(signature) => Phrase::words("ended ").and_value(&signature.status),
            None => Phrase::default(),
        },
        _ => match evidence.tools.iter().find(|broken| broken.trial == trial.trial) {
            Some(broken) => {
                let how = if matches!(name, "required_tools" | "still_called") {
                    "no call of "
                } else {
                    "called "
                };
                Phrase::words(how).and_value(broken.tools.join(", "))
            }
            None => Phrase::default(),
        },
    }
}

fn measured(name: &str, evidence: &MeasuredEvidence, report: &Report) -> Words {
    let value = |number: f64| metric_words::value(name, Some(number));
    let mut allowed = bounds(evidence.allowed, value);
    if let Some(baseline) = evidence.baseline {
        allowed = format!("{allowed} (baseline {})", value(baseline));
    }
    let mut seen = metric_words::value(name, evidence.observed);
    if let Some(sample) = evidence.sample
        && report.trials.len() > 1
    {
        let aggregate = text::one_line(&evidence.aggregate, 20);
        let range = format!("{} to {}", value(sample.min), value(sample.max));
        seen = match evidence.observed {
            None => format!("{seen} (as far as known {range})"),
            Some(_) if sample.min.total_cmp(&sample.max).is_eq() => format!("{seen} in all trials"),
            Some(_) => format!("{seen} ({aggregate}; {range})"),
        };
    }
    if evidence.observed.is_none()
        && Metric::from_name(name).is_some_and(|metric| metric.unit() == MetricUnit::Dollars)
    {
        let unpriced = report.trials.iter().map(|trial| trial.unpriced_calls);
        match unpriced.fold(0, u64::saturating_add) {
            0 => {}
            1 => seen.push_str("; 1 model call has no known price"),
            calls => seen = format!("{seen}; {calls} model calls have no known price"),
        }
    }
    let outside = |number: f64| {
        evidence.allowed.upper.is_some_and(|upper| number > upper)
            || evidence.allowed.lower.is_some_and(|lower| number < lower)
    };
    let against = report
        .trials
        .iter()
        .filter(|trial| {
            let value = trial.metrics.get(name).copied().flatten();
            value.is_some_and(outside)
        })
        .map(|trial| trial.trial)
        .collect();
    (Phrase::words(allowed), Phrase::words(seen), against)
}

fn bounds(allowed: AllowedRange, value: impl Fn(f64) -> String) -> String {
    match (allowed.lower, allowed.upper) {
        (None, None) => "anything".to_owned(),
        (None, Some(upper)) => format!("at most {}", value(upper)),
        (Some(lower), None) => format!("at least {}", value(lower)),
        (Some(lower), Some(upper)) => format!("{} to {}", value(lower), value(upper)),
    }
}

fn statistical(check: &CheckResult, evidence: &StatisticalEvidence) -> Words {
    let allowed = format!(
        "{} of trials, shown with {} confidence",
        bounds(evidence.allowed, percent),
        percent(evidence.confidence)
    );
    let all = evidence.successes.saturating_add(evidence.failures);
    let seen = format!(
        "{} of {all} succeeded: between {} and {}",
        evidence.successes,
        percent(evidence.confidence_bounds.lower),
        percent(evidence.confidence_bounds.upper)
    );
    in_words(check, allowed, seen)
}

/// The words of a check that has an outcome for each trial.
fn in_words(check: &CheckResult, allowed: String, seen: String) -> Words {
    let against = check.violating_trials().collect();
    (Phrase::words(allowed), Phrase::words(seen), against)
}

fn distributional(check: &CheckResult, evidence: &DistributionalEvidence) -> Words {
    let bound = beyond_which(check, evidence.bound);
    let Some(rate) = &evidence.rate else {
        let of = text::counted(evidence.baseline_trials.into(), "trial");
        let observed = evidence.values.first().copied().flatten();
        return in_words(
            check,
            format!("{bound} (of {of} in the baseline)"),
            metric_words::value(&check.name, observed),
        );
    };
    let allowed = format!(
        "{bound} in at least {} of trials (baseline of {})",
        percent(evidence.coverage),
        evidence.baseline_trials
    );
    let all = rate.successes.saturating_add(rate.failures);
    let seen = format!(
        "{} of {all} beyond: between {} and {}",
        rate.successes,
        percent(rate.confidence_bounds.lower),
        percent(rate.confidence_bounds.upper)
    );
    in_words(check, allowed, seen)
}

fn beyond_which(check: &CheckResult, bound: f64) -> String {
    let word = if check.direction == Some(Direction::Lower) {
        "at least"
    } else {
        "at most"
    };
    format!("{word} {}", metric_words::value(&check.name, Some(bound)))
}

fn kept(trials: u64) -> String {
    match trials {
        1 => "kept".to_owned(),
        2 => "kept in both trials".to_owned(),
        trials => format!("kept in all {trials} trials"),
    }
}

fn broken(against: usize, trials: u64) -> String {
    match trials {
        1 => "broken".to_owned(),
        trials => format!("broken in {against} of {trials} trials"),
    }
}

#[cfg(test)]
mod tests;
