//! `tracer init`: writes a starter policy, and a GitHub Actions workflow that uses it.

use std::path::Path;

use crate::error::CliError;
use crate::gate_report::markdown::MARKER;
use crate::outcome::CommandOutcome;
use crate::output_file::{self, NewFileError};
use crate::session::Session;
use tracer_gate::files;
use tracer_insight::text::shell_quoted;

const POLICY: &str = include_str!("policy.yaml");
const WORKFLOW_FILE: &str = ".github/workflows/tracer.yml";
const WORKFLOW: &str = include_str!("workflow.yml");
/// Command of the workflow when none is given.
const COMMAND: &str = "target/release/agent";

/// Options of `tracer init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer init --github")]
pub struct Args {
    /// Also write a workflow for GitHub Actions
    #[arg(long)]
    github: bool,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    /// Command that the workflow gates [default: target/release/agent]
    #[arg(last = true, value_name = "COMMAND", requires = "github")]
    command: Vec<String>,
}

/// Writes the files that do not exist yet.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.command.iter().any(|word| word.contains(char::is_control)) {
        return Err(
            CliError::input("the command contains a line break or another control character")
                .with_hint("move the command into a script, and give the script"),
        );
    }
    let mut files = vec![(files::POLICY_FILE, POLICY.to_owned())];
    if args.github {
        files.push((WORKFLOW_FILE, workflow(&args.command)));
    }
    let (kept, missing): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|(path, _)| !args.force && files::is_there(Path::new(path)));
    if missing.is_empty()
        && let Some((path, _)) = kept.first()
    {
        return Err(NewFileError::exists(path).into());
    }
    for (path, text) in missing {
        output_file::write_in_project(Path::new(path), args.force, text.as_bytes())?;
        session.ui.done(format!("wrote {path}"))?;
    }
    for (path, _) in kept {
        session.ui.remark(format!("kept {path}: it exists already"));
    }
    if args.github {
        let message = format!(
            "  set TRACER_GIT and TRACER_REV in {WORKFLOW_FILE}: the repository and commit to build tracer from"
        );
        session.ui.warn(message);
    }
    let command = shell_words(&args.command);
    print_next(&command, session);
    Ok(CommandOutcome::Done)
}

fn print_next(command: &str, session: &mut Session) {
    for (what, next) in [
        ("gate your agent:", format!("run -- {command}")),
        (
            "write a baseline:",
            format!("run --json-out report.json -- {command}"),
        ),
        (
            "",
            "baseline --from-report report.json --out .tracer/baselines/agent.json".to_owned(),
        ),
        (
            "compare with it:",
            format!("run --baseline .tracer/baselines/agent.json -- {command}"),
        ),
    ] {
        session.print_next(&format!("{what:26}"), &next);
    }
}

/// The workflow for a command.
fn workflow(command: &[String]) -> String {
    WORKFLOW
        .replace("@COMMAND@", &shell_words(command))
        .replace("@MARKER@", MARKER)
}

/// The command, quoted for a shell.
fn shell_words(command: &[String]) -> String {
    if command.is_empty() {
        return COMMAND.to_owned();
    }
    let words: Vec<String> = command.iter().map(|word| shell_quoted(word)).collect();
    words.join(" ")
}
