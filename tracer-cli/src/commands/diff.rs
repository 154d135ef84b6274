//! `tracer diff`: compares two runs, or a run with a baseline; old values come before new ones.

use std::path::PathBuf;

use tracer_gate::files;
use tracer_insight::comparison::Comparison;

use crate::error::CliError;
use crate::gate::outputs::ResultFormat;
use crate::gate::stored_run::{self, StoredRun, unread};
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal;
use tracer_gate::formats;

/// Changed calls whose argument differences are shown.
const MAX_COMPARED_CALLS: usize = 200;

/// Options of `tracer diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer diff latest~1 latest")]
pub struct Args {
    /// Run before the change; with --baseline, the run to compare with it [default: latest]
    #[arg(value_name = "BEFORE", required_unless_present = "baseline")]
    first: Option<String>,

    /// Run after the change
    #[arg(
        value_name = "AFTER",
        required_unless_present = "baseline",
        conflicts_with = "baseline"
    )]
    second: Option<String>,

    /// Compare with the baseline in FILE instead of BEFORE
    #[arg(long, short, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Print the comparison as FORMAT
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    format: ResultFormat,
}

/// Prints the comparison.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let format = args.format.of(session)?;
    session.use_store()?;
    let comparison = if let Some(path) = &args.baseline {
        let input = files::baseline(path)?;
        let after = stored_run::select(args.first.as_deref(), session)?;
        input.baseline.compare(&after.metrics)
    } else {
        let before = stored_run::select(args.first.as_deref(), session)?;
        let after = stored_run::select(args.second.as_deref(), session)?;
        compare_runs(before, after)?
    };
    show(&comparison, format, session)?;
    Ok(CommandOutcome::Done)
}

fn compare_runs(mut before: StoredRun, mut after: StoredRun) -> Result<Comparison, CliError> {
    let mut comparison = Comparison::of_runs(&before.metrics, &after.metrics);
    if let Some(meta) = &after.run.meta {
        comparison.note_fork(meta);
    }
    comparison
        .look_up_differences(
            &mut before.run.records,
            &mut after.run.records,
            MAX_COMPARED_CALLS,
        )
        .map_err(|error| unread(&after.short_id, &error))?;
    Ok(comparison)
}

fn show(comparison: &Comparison, format: ResultFormat, session: &mut Session) -> Result<(), CliError> {
    match format {
        ResultFormat::Text => {
            let lines = terminal::comparison::lines(comparison, session.ui.width());
            session.ui.lines(&lines)
        }
        ResultFormat::Json => session.ui.json(comparison),
        ResultFormat::Markdown => session
            .ui
            .plain(formats::comparison::document(comparison).trim_end()),
    }
}
