//! `tracer delete`: deletes the named runs after a confirmation.

use tracer_catalog::FactsStore;
use tracer_runs::maintenance;
use tracer_runs::{Liveness, RunSummary};
use tracer_sdk::format::TraceId;

use super::not_removed;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::text;

/// Options of `tracer delete`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer delete latest~1 --yes")]
pub struct Args {
    /// Runs to delete: IDs, unique prefixes of them, or names
    #[arg(required = true, value_name = "RUN_ID")]
    run_ids: Vec<String>,

    /// Delete without asking
    #[arg(long, short)]
    yes: bool,

    /// Proceed although a run is, or may be, still recording
    #[arg(long)]
    force: bool,
}

/// Deletes runs: all of them, or none when one cannot be.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let mut runs: Vec<(RunSummary, String)> = Vec::new();
    for run_id in &args.run_ids {
        let (directory, short_id) = session.select(Some(run_id))?;
        if runs.iter().all(|(run, _)| run.directory != directory) {
            runs.push((directory.read_summary(), short_id));
        }
    }
    if !args.force {
        runs.iter()
            .try_for_each(|(run, short_id)| refuse_live(run, short_id))?;
    }
    if !args.yes {
        let rows = runs.iter().map(|(run, short_id)| {
            let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
            Line::of(format!("  {short_id}  {}", display_name(name)), Tone::Plain)
        });
        let question = format!("delete {} permanently?", text::counted(runs.len() as u64, "run"));
        if !session
            .ui
            .confirm("removing runs", "confirm with --yes", rows, &question)?
        {
            return Ok(CommandOutcome::Done);
        }
    }
    for (run, short_id) in &runs {
        maintenance::remove_run(&run.directory).map_err(|error| not_removed(short_id, error))?;
    }
    let deleted: Vec<TraceId> = runs.iter().map(|(run, _)| run.directory.trace_id).collect();
    FactsStore::new(session.data_dir()?).forget(&deleted);
    let count = text::counted(runs.len() as u64, "run");
    session.ui.done(format!("deleted {count}"))?;
    Ok(CommandOutcome::Done)
}

fn refuse_live(run: &RunSummary, short_id: &str) -> Result<(), CliError> {
    match run.probe_liveness() {
        Liveness::Running => Err(CliError::input(format!("run {short_id} is still recording"))
            .with_hint("wait until it has ended, or delete it anyway with --force")),
        Liveness::Unknown if run.meta.is_ok() => Err(CliError::input(format!(
            "run {short_id} may still be recording: its process cannot be checked"
        ))
        .with_hint("delete it anyway with --force if its process has ended")),
        Liveness::Unknown | Liveness::Ended | Liveness::Interrupted => Ok(()),
    }
}
