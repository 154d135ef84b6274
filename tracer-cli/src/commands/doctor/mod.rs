//! `tracer doctor`: why nothing is recorded.

mod cause;
mod environment;
mod program;
mod project;

use std::path::Path;

use serde::Serialize;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use cause::Cause;

/// Options of `tracer doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer doctor -- cargo run")]
pub struct Args {
    /// Command to run and observe
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Result of the examination.
#[derive(Debug, Serialize)]
pub(crate) struct DoctorReport {
    /// Whether no cause was found.
    healthy: bool,
    /// Why nothing, or less than expected, is recorded.
    causes: Vec<Cause>,
}

/// Examines the environment, the settings, the project and, with a command, a run of the program.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let mut causes = environment::causes(&environment::Surroundings::current(session));
    causes.extend(project::causes(Path::new(".")));
    if !args.command.is_empty() {
        // What was observed decides; what the sources suggest is no longer of interest.
        causes.retain(|cause| !cause.is_guess);
        causes.extend(program::causes(&args.command)?);
    }
    let report = DoctorReport {
        healthy: causes.is_empty(),
        causes,
    };
    if session.is_json() {
        session.ui.json(&report)?;
    } else {
        print(&report, !args.command.is_empty(), session)?;
    }
    Ok(if report.healthy {
        CommandOutcome::Done
    } else {
        CommandOutcome::CheckFailed
    })
}

fn print(report: &DoctorReport, has_run: bool, session: &mut Session) -> Result<(), CliError> {
    if report.healthy {
        let seen = if has_run {
            "the program's agents are recorded"
        } else {
            "nothing keeps runs from being recorded"
        };
        let line = Line::of("✓ healthy", Tone::Good).space(2).with(seen, Tone::Plain);
        return session.ui.lines(&[line]);
    }
    let count = text::counted(report.causes.len() as u64, "cause");
    let mut lines = vec![Line::of(format!("✗ {count} found"), Tone::Bad)];
    for cause in &report.causes {
        let guess = if cause.is_guess { "probably: " } else { "" };
        lines.push(Line::of(format!("  {}", cause.code), Tone::Muted));
        lines.push(Line::of(format!("    {guess}{}", cause.message), Tone::Plain));
        lines.push(Line::of(format!("    → {}", cause.remedy), Tone::Plain));
    }
    session.ui.lines(&lines)
}

/// Whether an environment variable says yes.
fn is_yes(value: &str) -> bool {
    matches!(
        value.trim().to_ascii_lowercase().as_str(),
        "1" | "true" | "yes" | "on"
    )
}
