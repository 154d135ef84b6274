//! A report as Markdown, for the comment of a pull request and for the summary of a job: never longer than a comment
//! may be, and with everything from traces, policies and processes inert.

use crate::{Acceptance, Report, ReportedTrial};

use crate::formats::MARKDOWN_LIMIT;
use crate::formats::next::NextStep;
use crate::formats::size_budget;
use crate::formats::size_budget::ReportSection;
use crate::words::checks;
use crate::words::checks::CheckRow;
use crate::words::outcome::CheckOutcome;
use crate::words::table::ReportTable;
use crate::words::{changes, trials, verdict};
use tracer_insight::markdown;
use tracer_insight::markdown::code;

/// The comment's first line, by which the next run finds it.
pub const MARKER: &str = "<!-- tracer gate -->";

/// Failed trials whose output is shown.
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
    let all: Vec<&ReportedTrial> = report.trials.iter().collect();
    let table = trials::table(report, &all);
    sections.push(details(&format!("Trials ({})", all.len()), "trial", &table));
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
    ReportSection::new(["### What did not pass".to_owned(), String::new()])
        .table("check", &checks::table(checks))
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
            .rows("change", rows)
            .more_begins_with("- "),
    )
}

/// Last lines of failed processes.
fn outputs(report: &Report) -> Option<ReportSection> {
    let mut failed = report
        .trials
        .iter()
        .filter(|trial| !trials::output(trial).is_empty());
    let heading = |trial: &ReportedTrial| format!("Trial {}: {}", trial.trial, code(&trials::why(trial)));
    let mut rows = Vec::new();
    for trial in failed.by_ref().take(MAX_OUTPUTS) {
        // A row is shown whole or not at all, so that no block stays open.
        let block = markdown::block(trials::output(trial)).join("\n");
        rows.push(format!("{}\n\n{block}\n", heading(trial)));
    }
    if rows.is_empty() {
        return None;
    }
    rows.extend(failed.map(heading));
    Some(
        ReportSection::new(["### What failed trials said".to_owned(), String::new()])
            .rows("trial", rows)
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
    .rows("row", rows)
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
    Some(ReportSection::new(["### Next".to_owned(), String::new()]).rows("command", [block]))
}

fn other_checks(checks: &[&CheckRow]) -> ReportSection {
    let summary = format!("Checks that passed or only report ({})", checks.len());
    details(&summary, "check", &checks::table(checks))
}

/// A part that is folded until it is opened, with a table.
fn details(summary: &str, noun: &'static str, table: &ReportTable) -> ReportSection {
    let open = ["<details>", &format!("<summary>{summary}</summary>"), ""].map(str::to_owned);
    ReportSection::new(open)
        .table(noun, table)
        .close([String::new(), "</details>".to_owned()])
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
