//! `tracer doctor`: why nothing is recorded.

use serde_json::json;
use tracer_capture::doctor::{self, Cause};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;

use crate::error::{CliError, with_causes};
use crate::outcome::CommandOutcome;
use crate::session::Session;

/// Options of `tracer doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer doctor -- cargo run")]
pub struct Args {
    /// Command to run and observe
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Examines the environment, the settings, the project and, with a command, a run of the program.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let causes = doctor::examine(&session.config(), &args.command).map_err(|error| {
        CliError::input(with_causes(&error))
            .with_hint("give the command as you start it: tracer doctor -- cargo run")
    })?;
    let is_healthy = causes.is_empty();
    if session.is_json() {
        let report = json!({"healthy": is_healthy, "causes": causes});
        session.ui.json(&report)?;
    } else {
        session.ui.lines(&lines(&causes, !args.command.is_empty()))?;
    }
    Ok(if is_healthy {
        CommandOutcome::Done
    } else {
        CommandOutcome::CheckFailed
    })
}

fn lines(causes: &[Cause], has_run: bool) -> Vec<Line> {
    if causes.is_empty() {
        let seen = if has_run {
            "the program's agents are recorded"
        } else {
            "nothing keeps runs from being recorded"
        };
        return vec![Line::of("✓ healthy", Tone::Good).space(2).with(seen, Tone::Plain)];
    }
    let count = text::counted(causes.len() as u64, "cause");
    let mut lines = vec![Line::of(format!("✗ {count} found"), Tone::Bad)];
    for cause in causes {
        lines.push(Line::of(format!("  {}", cause.code), Tone::Muted));
        lines.push(Line::of(format!("    {}", cause.message), Tone::Plain));
        lines.push(Line::of(format!("    → {}", cause.remedy), Tone::Plain));
    }
    lines
}
