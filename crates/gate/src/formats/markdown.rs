//! A report as Markdown, for the comment of a pull request and for the summary of a job: never longer than a comment
//! may be, and with everything from traces, policies and processes inert.

use crate::{Acceptance, Report, ReportedTrial};

use crate::formats::MARKDOWN_LIMIT;
use crate::formats::next::NextStep;
use crate::formats::size_budget;
use crate::formats::size_budget::ReportSection;
use crate::words::checks;
use crate::words::checks::{CheckOutcome, CheckRow};
use crate::words::trials::{exit, is_explained_by_output, outcome, short_id, shows_cost, why};
use crate::words::{changes, verdict};
use tracer_insight::markdown;
use tracer_insight::markdown::code;
use tracer_insight::metric_words;

/// The comment's first line, by which the next run finds it.
pub const MARKER: &str = "<!-- tracer gate -->";

/// More rows of a section are counted, however short they are.
const MAX_ROWS: usize = 100;
/// Lines of a failed trial's standard error are shown.
const MAX_OUTPUT_LINES: usize = 10;
/// Of how many failed trials.
const MAX_OUTPUTS: usize = 3;
/// A notice is a sentence.
const MAX_NOTICES: usize = 10;

/// The report as a document.
pub fn document(report: &Report, next: &[NextStep]) -> String {
    let checks = checks::check_rows(report);
    let (blocking, others): (Vec<&CheckRow>, Vec<&CheckRow>) =
        checks.iter().partition(|check| check.outcome.is_missed());
    let mut sections = vec![head(report, &checks)];
    if !blocking.is_empty() {
        sections.push(blocking_checks(&blocking));
    }
    sections.extend(what_changed(report));
    sections.extend(outputs(report));
    sections.extend(report.baseline_acceptance.as_ref().map(accepted));
    sections.extend(next_steps(next));
    if !others.is_empty() {
        sections.push(other_checks(&others));
    }
    sections.push(trials(report));
    sections.push(ReportSection::new([foot(report)]));
    size_budget::document(&sections, MARKDOWN_LIMIT)
}

fn head(report: &Report, checks: &[CheckRow]) -> ReportSection {
    let mut lines = vec![
        MARKER.to_owned(),
        format!(
            "## {} Agent gate: {}",
            CheckOutcome::from(report.verdict).picture(),
            verdict::word(report.verdict)
        ),
        String::new(),
        format!("**{}** · {}", checks::tally(checks), verdict::trials(report)),
    ];
    let mut quoted: Vec<String> = Vec::new();
    if let Some(stopped) = verdict::stopped_early(report) {
        quoted.push(format!("The gate {stopped}."));
    }
    if report.verdict.passed().is_none() {
        quoted.push(verdict::UNDECIDED.to_owned());
    }
    let notices = report.gate.notices.iter();
    quoted.extend(notices.take(MAX_NOTICES).map(|notice| code(notice)));
    for line in quoted {
        lines.push(String::new());
        lines.push(format!("> {line}"));
    }
    ReportSection::new(lines)
}

fn blocking_checks(checks: &[&CheckRow]) -> ReportSection {
    let rows = checks.iter().map(|check| {
        format!(
            "| {} {} | {} | {} | {} |",
            check.outcome.picture(),
            code(&check.name),
            check.allowed.markdown(),
            check.seen.markdown(),
            check.trials_in_words()
        )
    });
    ReportSection::new([
        "### What did not pass".to_owned(),
        String::new(),
        "| check | allowed | seen | trials |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ])
    .rows("check", MAX_ROWS, rows)
    .more_begins_with("| ")
}

fn what_changed(report: &Report) -> Option<ReportSection> {
    report.gate.baseline.as_ref()?;
    let changes = changes::change_phrases(report);
    let heading = "### What changed against the baseline".to_owned();
    if changes.is_empty() {
        return Some(ReportSection::new([
            heading,
            String::new(),
            "Nothing.".to_owned(),
        ]));
    }
    let rows = changes.iter().map(|change| format!("- {}", change.markdown()));
    Some(
        ReportSection::new([heading, String::new()])
            .rows("change", MAX_ROWS, rows)
            .more_begins_with("- "),
    )
}

/// Last lines of failed processes.
fn outputs(report: &Report) -> Option<ReportSection> {
    let mut failed = report.trials.iter().filter(|trial| is_explained_by_output(trial));
    let mut rows = Vec::new();
    for trial in failed.by_ref().take(MAX_OUTPUTS) {
        let lines: Vec<&str> = trial.stderr_tail.lines().collect();
        let shown = lines
            .get(lines.len().saturating_sub(MAX_OUTPUT_LINES)..)
            .unwrap_or_default();
        // A row is shown whole or not at all, so that no block stays open.
        let block = markdown::block(shown.iter().copied()).join("\n");
        rows.push(format!(
            "Trial {}: {}\n\n{block}\n",
            trial.trial,
            code(&why(trial))
        ));
    }
    if rows.is_empty() {
        return None;
    }
    rows.extend(failed.map(|trial| format!("Trial {}: {}", trial.trial, code(&why(trial)))));
    Some(
        ReportSection::new(["### What failed trials said".to_owned(), String::new()])
            .rows("trial", MAX_ROWS, rows)
            .more_begins_with("\n"),
    )
}

fn accepted(acceptance: &Acceptance) -> ReportSection {
    let rows = [
        format!("| by | {} |", code(&acceptance.accepted_by)),
        format!("| at | {} |", code(&acceptance.accepted_at)),
        format!("| because | {} |", code(&acceptance.reason)),
    ];
    ReportSection::new([
        "### The baseline was accepted".to_owned(),
        String::new(),
        "| | |".to_owned(),
        "|---|---|".to_owned(),
    ])
    .rows("row", MAX_ROWS, rows)
}

fn next_steps(next: &[NextStep]) -> Option<ReportSection> {
    if next.is_empty() {
        return None;
    }
    let lines: Vec<String> = next
        .iter()
        .flat_map(|step| [format!("# {}", step.what), format!("tracer {}", step.arguments)])
        .collect();
    // One row, so that the block is shown whole or not at all.
    let block = markdown::commands(lines.iter().map(String::as_str)).join("\n");
    Some(ReportSection::new(["### Next".to_owned(), String::new()]).rows("command", 1, [block]))
}

fn other_checks(checks: &[&CheckRow]) -> ReportSection {
    let rows = checks.iter().map(|check| {
        format!(
            "| {} | {} | {} | {} |",
            code(&check.name),
            check.outcome.word(),
            check.allowed.markdown(),
            check.seen.markdown()
        )
    });
    details(
        &format!("Checks that passed or only report ({})", checks.len()),
        "| check | | allowed | seen |",
        "|---|---|---|---|",
    )
    .rows("check", MAX_ROWS, rows)
    .more_begins_with("| ")
    .close([String::new(), "</details>".to_owned()])
}

fn trials(report: &Report) -> ReportSection {
    let has_costs = shows_cost(report);
    let rows = report.trials.iter().map(|trial| row(trial, has_costs));
    let (heading, rule) = if has_costs {
        (
            "| trial | | run | exit | steps | tokens | cost | changes | why |",
            "|--:|---|---|--:|--:|--:|--:|--:|---|",
        )
    } else {
        (
            "| trial | | run | exit | steps | tokens | changes | why |",
            "|--:|---|---|--:|--:|--:|--:|---|",
        )
    };
    details(&format!("Trials ({})", report.trials.len()), heading, rule)
        .rows("trial", MAX_ROWS, rows)
        .more_begins_with("| ")
        .close([String::new(), "</details>".to_owned()])
}

fn row(trial: &ReportedTrial, has_costs: bool) -> String {
    let value = |metric: &str| {
        let value = trial.metrics.get(metric).copied().flatten();
        metric_words::value(metric, value)
    };
    let run = trial.trace_id.as_ref().map(|_| code(&short_id(trial)));
    let why = why(trial);
    let cost = if has_costs {
        format!(" {} |", value("cost_usd"))
    } else {
        String::new()
    };
    format!(
        "| {} | {} | {} | {} | {} | {} |{cost} {} | {} |",
        trial.trial,
        outcome(trial).picture(),
        run.unwrap_or_default(),
        exit(trial),
        value("step_count"),
        value("cost_tokens"),
        changes::count(trial),
        if why.is_empty() { why } else { code(&why) }
    )
}

/// A part that is folded until it is opened, with a table.
fn details(summary: &str, heading: &str, rule: &str) -> ReportSection {
    ReportSection::new(
        [
            "<details>",
            &format!("<summary>{summary}</summary>"),
            "",
            heading,
            rule,
        ]
        .map(str::to_owned),
    )
}

/// The inputs of the gate with short digests, so that a reader can identify them.
fn foot(report: &Report) -> String {
    let gate = &report.gate;
    let short = |text: &str| text.chars().take(12).collect::<String>();
    let mut reported = vec![format!("tracer {}", code(&gate.tracer_version))];
    for (what, file) in [("policy", &gate.policy), ("baseline", &gate.baseline)] {
        reported.push(match file {
            Some(file) => format!("{what} {} {}", code(&file.path), code(&short(&file.sha256))),
            None => format!("no {what} file"),
        });
    }
    if let Some(commit) = &gate.commit {
        reported.push(format!("commit {}", code(&short(commit))));
    }
    format!("<sub>{}</sub>", reported.join(" · "))
}

#[cfg(test)]
mod tests;
