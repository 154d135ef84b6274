//! A report as lines for a terminal: the verdict, the checks, the trials, what changed.

use tracer_gate::{Report, ReportedTrial};

use crate::terminal::layout::{indented, report_table};
use tracer_gate::words::checks;
use tracer_gate::words::checks::CheckRow;
use tracer_gate::words::outcome::CheckOutcome;
use tracer_gate::words::{changes, trials, verdict};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text as plain_text;
use tracer_insight::text::wrap;

/// Failed trials whose output is shown.
const MAX_OUTPUTS: usize = 3;
/// More trials are counted: those that failed come first.
const MAX_TRIALS: usize = 50;

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
    let table = trials::table(report, &trials);
    let (heading, rows) = report_table(&table, width, width / 3);
    let mut lines = vec![heading];
    let mut outputs = 0;
    for (trial, row) in trials.iter().zip(rows) {
        lines.extend(row);
        let output = trials::output(trial);
        if !output.is_empty() && outputs < MAX_OUTPUTS {
            outputs += 1;
            // No line begins with what the process wrote: a CI server obeys some beginnings.
            lines.extend(output.into_iter().map(|line| {
                let line = plain_text::fit(line, 400);
                Line::of("       │ ", Tone::Muted)
                    .with(line, Tone::Muted)
                    .fitted(width)
            }));
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

#[cfg(test)]
mod tests;
