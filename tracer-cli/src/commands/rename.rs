//! `tracer rename`: gives a run another name.

use tracer_runs::maintenance;

use super::not_changed;
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::value_summary;

/// Options of `tracer rename`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer rename latest 'refund, before the new prompt'")]
pub struct Args {
    /// Run to rename: ID, unique prefix of it, name, latest or latest~N
    run_id: String,

    /// New name; secrets in it are redacted
    name: String,
}

/// Renames a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.name.trim().is_empty() {
        return Err(CliError::input("the new name is empty").with_hint("give the run a name"));
    }
    let settings = session.settings()?;
    let (directory, short_id) = session.select(Some(&args.run_id))?;
    let name = maintenance::rename_run(&directory, &args.name, &settings).map_err(|error| {
        let what = format!("failed to rename run {short_id}");
        not_changed(ErrorKind::Input, what, &directory, error, session)
    })?;
    session.ui.lines(&[Line::of("✓ ", Tone::Good)
        .with(format!("renamed {short_id} to "), Tone::Plain)
        .with(value_summary::label(&name), Tone::Strong)])?;
    Ok(CommandOutcome::Done)
}
