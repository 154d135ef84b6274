//! A report as lines for a terminal: the verdict, the checks, the trials, what changed.

use tracer_gate::words::trials::{exit, is_explained_by_output, outcome, short_id, shows_cost, why};
use tracer_gate::{Report, ReportedTrial};

use crate::terminal::layout::{Align, Column, Table, indented};
use tracer_gate::words::checks;
use tracer_gate::words::checks::{CheckOutcome, CheckRow};
use tracer_gate::words::{changes, verdict};
use tracer_insight::line::{Line, Tone};
use tracer_insight::metric_words;
use tracer_insight::text as plain_text;
use tracer_insight::text::wrap;
use tracer_insight::units;

/// Shown lines of a failed trial's standard error; the report has them all.
const MAX_OUTPUT_LINES: usize = 8;
/// Of how many failed trials.
const MAX_OUTPUTS: usize = 3;
/// More trials are counted: those that failed come first.
const MAX_TRIALS: usize = 50;

const TRIALS: [Column; 8] = [
    Column::new("", Align::Left, None),
    Column::new("TRIAL", Align::Right, None),
    Column::new("RUN", Align::Left, None),
    Column::new("STEPS", Align::Right, Some(3)),
    Column::new("TOKENS", Align::Right, Some(4)),
    Column::new("COST", Align::Right, Some(5)),
    Column::new("EXIT", Align::Right, Some(1)),
    Column::new("TIME", Align::Right, Some(2)),
];
/// The column that is left out where no trial has a known cost above zero.
const COST: usize = 5;
/// Without what only processes have: where a stored run is judged there is none.
const STORED: usize = TRIALS.len() - 2;

/// The report in lines of at most `width` columns.
pub fn lines(report: &Report, width: usize) -> Vec<Line> {
    let checks = checks::check_rows(report);
    let mut lines = head(report, &checks, width);
    lines.push(Line::new());
    lines.extend(check_lines(&checks, report.trials.len(), width));
    lines.push(Line::new());
    lines.extend(trial_lines(report, width));
    let changes = changes::change_phrases(report);
    if !changes.is_empty() {
        lines.push(Line::new());
        lines.push(Line::of("CHANGED AGAINST THE BASELINE", Tone::Muted).fitted(width));
        for change in changes {
            lines.extend(indented(&change.text(), 2, width, Tone::Plain));
        }
    }
    lines
}

fn head(report: &Report, checks: &[CheckRow], width: usize) -> Vec<Line> {
    let outcome = CheckOutcome::from(report.verdict);
    let (sign, tone) = (outcome.sign(), outcome.tone());
    let mut lines = vec![
        Line::of(format!("{sign} {}", verdict::word(report.verdict)), tone)
            .space(2)
            .with(checks::tally(checks), Tone::Strong)
            .fitted(width),
    ];
    let mut described = vec![verdict::trials(report)];
    described.extend(verdict::stopped_early(report));
    lines.extend(indented(&described.join("; "), 2, width, Tone::Plain));
    if report.verdict.passed().is_none() {
        lines.extend(indented(verdict::UNDECIDED, 2, width, Tone::Warning));
    }
    for notice in &report.gate.notices {
        lines.extend(indented(notice, 2, width, Tone::Warning));
    }
    lines
}

fn check_lines(checks: &[CheckRow], trials: usize, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let names = checks
        .iter()
        .map(|check| plain_text::width(&check.printable_name()));
    let column = names.max().unwrap_or(0).min(width / 2);
    for check in checks {
        let sign = Line::of(check.outcome.sign(), check.outcome.tone()).space(1);
        if check.outcome.is_missed() {
            lines.extend(failed(check, sign, trials, width));
            continue;
        }
        let name = plain_text::fit(&check.printable_name(), column).into_owned();
        let padding = column.saturating_sub(plain_text::width(&name)) + 2;
        let mut seen = check.seen.text();
        if check.outcome == CheckOutcome::Reported {
            seen = format!("{seen} (reported only)");
        }
        let line = sign
            .with(name, Tone::Plain)
            .space(padding)
            .with(seen, Tone::Muted);
        lines.push(line.fitted(width));
    }
    lines
}

/// A check that did not pass, whole: what was allowed, what was seen, where.
fn failed(check: &CheckRow, sign: Line, trials: usize, width: usize) -> Vec<Line> {
    let mut lines = vec![
        sign.with(check.printable_name(), Tone::Strong)
            .space(2)
            .with(check.outcome.word(), check.outcome.tone())
            .fitted(width),
    ];
    // Of one trial there is nothing to say which one.
    let in_trials = if trials > 1 {
        check.trials_in_words()
    } else {
        String::new()
    };
    for (what, described) in [
        ("allowed", check.allowed.text()),
        ("seen", check.seen.text()),
        ("trials", in_trials),
    ] {
        for (number, text) in wrap(&described, width.saturating_sub(13)).into_iter().enumerate() {
            let what = if number == 0 { what } else { "" };
            lines.push(
                Line::of(format!("    {what:7}  "), Tone::Muted)
                    .with(text, Tone::Plain)
                    .fitted(width),
            );
        }
    }
    lines
}

fn trial_lines(report: &Report, width: usize) -> Vec<Line> {
    let mut trials: Vec<&ReportedTrial> = report.trials.iter().collect();
    let left_out = trials.len().saturating_sub(MAX_TRIALS);
    if left_out > 0 {
        trials.sort_by_key(|trial| trial.passed);
        trials.truncate(MAX_TRIALS);
    }
    let has_processes = trials.iter().any(|trial| trial.wall_time_ms.is_some());
    let has_costs = shows_cost(report);
    let is_shown = |at: usize| (has_processes || at < STORED) && (has_costs || at != COST);
    let shown = TRIALS.iter().enumerate().filter(|(at, _)| is_shown(*at));
    let columns: Vec<Column> = shown.map(|(_, column)| *column).collect();
    let mut table = Table::new(&columns);
    for trial in &trials {
        let shown = cells(trial).into_iter().enumerate();
        table.push(
            shown
                .filter(|(at, _)| is_shown(*at))
                .map(|(_, cell)| cell)
                .collect(),
        );
    }
    let arranged = table.arrange(width, width / 3);
    let mut lines = vec![arranged.heading("")];
    let mut outputs = 0;
    for (trial, cells) in trials.iter().zip(table.rows()) {
        lines.push(arranged.line(cells, Line::of(why(trial), Tone::Warning)));
        if is_explained_by_output(trial) && outputs < MAX_OUTPUTS {
            outputs += 1;
            lines.extend(output(trial, width));
        }
        for mismatch in &trial.mismatches {
            lines.extend(indented(&mismatch.to_string(), 4, width, Tone::Warning));
        }
    }
    if left_out > 0 {
        let described = format!(
            "  … and {} more that succeeded or failed alike",
            plain_text::counted(left_out as u64, "trial")
        );
        lines.push(Line::of(described, Tone::Muted).fitted(width));
    }
    lines
}

fn cells(trial: &ReportedTrial) -> Vec<Line> {
    let outcome = outcome(trial);
    let known = |metric: &str| {
        let value = trial.metrics.get(metric).copied().flatten();
        value.map_or_else(
            || "–".to_owned(),
            |value| metric_words::value(metric, Some(value)),
        )
    };
    let time = trial
        .wall_time_ms
        .map(|time| units::duration(time.saturating_mul(1_000)))
        .unwrap_or_default();
    vec![
        Line::of(outcome.sign(), outcome.tone()),
        Line::of(trial.trial.to_string(), Tone::Plain),
        Line::of(short_id(trial), Tone::Plain),
        Line::of(known("step_count"), Tone::Plain),
        Line::of(known("cost_tokens"), Tone::Plain),
        Line::of(known("cost_usd"), Tone::Plain),
        Line::of(exit(trial), Tone::Plain),
        Line::of(time, Tone::Plain),
    ]
}

/// The last lines of standard error. No line begins with what the process wrote: a CI server obeys some beginnings.
fn output(trial: &ReportedTrial, width: usize) -> Vec<Line> {
    let all: Vec<&str> = trial.stderr_tail.lines().collect();
    let shown = all.len().saturating_sub(MAX_OUTPUT_LINES)..;
    all.get(shown)
        .unwrap_or_default()
        .iter()
        .map(|line| {
            Line::of("       │ ", Tone::Muted)
                .with(plain_text::fit(line, 400), Tone::Muted)
                .fitted(width)
        })
        .collect()
}

#[cfg(test)]
mod tests;
