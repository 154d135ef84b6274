//! `tracer validate-trace`: checks a run directory against the trace format, without changing it.

use std::path::PathBuf;

use serde_json::json;
use tracer_runs::{SelectError, ValidationReport};
use tracer_sdk::format::{Problem, RecordedStatus, SPEC_VERSION};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::Session;
use crate::team_store;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;

/// Options of `tracer validate-trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer validate-trace ~/.tracer/runs/4bf92f3577b34da6a3ce929d0e0e4736")]
pub struct Args {
    /// Run directory, or its meta.json; or a run: ID, unique prefix of it, name, latest or latest~N
    path: PathBuf,

    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
}

/// Validates a run directory.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let path = args.directory(session)?;
    let progress = Progress::begin(&session.ui, "validating", "span", None);
    let report = tracer_runs::validate(&path);
    progress.end(&mut session.ui);
    let report = if args.strict { report.strict() } else { report };
    if session.is_json() {
        session.ui.json(&json!({
            "valid": report.is_valid(),
            "trace_id": report.trace_id,
            "spec_version": report.spec_version,
            "status": report.status,
            "span_count": report.span_count,
            "diagnostics": report.problems,
            "warnings": report.warnings,
        }))?;
    } else if report.is_input() {
        let what = format!("failed to read a run from `{}`", shown(&args.path));
        return Err(CliError::input(what)
            .with_details(report.problems.iter().map(ToString::to_string))
            .with_hint(
                "give the ID of a run, or the folder with meta.json and spans.jsonl, for example ~/.tracer/runs/TRACE_ID",
            ));
    } else {
        print_report(args, &report, session)?;
    }
    Ok(if report.is_valid() {
        CommandOutcome::Done
    } else if report.is_input() {
        CommandOutcome::NothingToCheck
    } else {
        CommandOutcome::CheckFailed
    })
}

impl Args {
    /// Validated traces. Settings choose no bucket here: without the option it is a path, or a run of this machine.
    fn directory(&self, session: &mut Session) -> Result<PathBuf, CliError> {
        if session
            .given_store()
            .is_none_or(|store| store == team_store::NONE)
        {
            let Some(run) = self
                .path
                .to_str()
                .filter(|_| self.path.symlink_metadata().is_err())
            else {
                return Ok(self.path.clone());
            };
            return match session.facts_store()?.select(Some(run)) {
                Ok(directory) => Ok(directory.path),
                Err(SelectError::Ambiguous { .. }) => Ok(session.select(Some(run))?.0.path),
                // Neither is there: the path is reported.
                Err(_) => Ok(self.path.clone()),
            };
        }
        let run = self.path.to_str().ok_or_else(|| {
            CliError::input(format!("`{}` names no run: it is not UTF-8", shown(&self.path)))
                .with_hint("without --store it is the path of a run directory")
        })?;
        session.use_store()?;
        let (directory, _) = session.select(Some(run))?;
        Ok(directory.path)
    }
}

/// Prints the verdict, then every problem and warning.
fn print_report(args: &Args, report: &ValidationReport, session: &mut Session) -> Result<(), CliError> {
    let verdict = if report.is_valid() {
        valid_line(report)
    } else {
        let count = text::counted(report.problem_count(), "problem");
        Line::of("✗ invalid", Tone::Bad)
            .space(2)
            .with(format!("{}: {count}", shown(&args.path)), Tone::Plain)
    };
    session.ui.lines(&[verdict])?;
    let line = |problem: &Problem| Line::of(format!("  {problem}"), Tone::Plain);
    let more = |count: u64| (count > 0).then(|| Line::of(format!("  … and {count} more"), Tone::Muted));
    let problems = report.problems.iter().map(line).chain(more(report.more_problems));
    session.ui.lines(&problems.collect::<Vec<_>>())?;
    if report.warning_count() > 0 {
        let count = text::counted(report.warning_count(), "warning");
        let heading = Line::of("! ", Tone::Warning)
            .with(format!("{count}; --strict treats them as errors"), Tone::Plain);
        let warnings = report.warnings.iter().map(line).chain(more(report.more_warnings));
        session.ui.lines(&[heading])?;
        session.ui.lines(&warnings.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn valid_line(report: &ValidationReport) -> Line {
    let version = report.spec_version.as_deref().map_or_else(
        || format!("legacy 0.2, read as {SPEC_VERSION}"),
        |version| format!("version {version}"),
    );
    // A valid run has all of these.
    let id = report.trace_id.map(|id| id.to_string()).unwrap_or_default();
    let status = report.status.map_or("", RecordedStatus::as_str);
    let spans = text::counted(report.span_count.unwrap_or(0), "span");
    Line::of("✓ valid", Tone::Good)
        .space(2)
        .with(format!("{id}  {version}  status {status}  {spans}"), Tone::Plain)
}
