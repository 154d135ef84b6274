//! `tracer repair`: completes a run whose process died, so that it is a valid run again.

use serde_json::json;
use tracer_runs::maintenance::{self, MaintenanceError, Repair};

use super::not_changed;
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;

/// Options of `tracer repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer repair latest --dry-run")]
pub struct Args {
    /// Run to repair: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Print what would be repaired, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Repairs a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let progress = Progress::begin(&session.ui, "repairing", "span", None);
    let outcome = if args.dry_run {
        maintenance::plan_repair(&directory.path)
    } else {
        maintenance::repair(&directory.path)
    };
    progress.end(&mut session.ui);
    let repair = match outcome {
        Ok(repair) => Some(repair),
        Err(MaintenanceError::AlreadyComplete) => None,
        Err(error) => {
            let what = format!("failed to repair run {short_id}");
            return Err(not_changed(ErrorKind::Check, what, &directory, error, session));
        }
    };
    if session.is_json() {
        let completion = repair.as_ref().and_then(|repair| repair.completion.as_ref());
        session.ui.json(&json!({
            "trace_id": directory.trace_id,
            "repaired": repair.is_some() && !args.dry_run,
            "cut_bytes": repair.as_ref().and_then(|repair| repair.cut),
            "spans_added": completion.map_or(0, |completion| completion.spans.len()),
            "status": completion.map(|completion| completion.status.as_str()),
            "ended_at": completion.map(|completion| completion.ended_at.text()),
        }))?;
        return Ok(CommandOutcome::Done);
    }
    let Some(repair) = repair else {
        let message = format!("run {short_id} needs no repair: it has ended and is valid");
        session.ui.done(message)?;
        return Ok(CommandOutcome::Done);
    };
    let done = if args.dry_run {
        Line::of("would repair ", Tone::Warning)
    } else {
        Line::of("✓ ", Tone::Good).with("repaired ", Tone::Plain)
    };
    session.ui.lines(&[done.with(short_id.as_str(), Tone::Strong)])?;
    let steps = steps(&repair);
    session.ui.lines(
        &steps
            .iter()
            .map(|step| Line::of(format!("  {step}"), Tone::Plain))
            .collect::<Vec<_>>(),
    )?;
    if !args.dry_run {
        session.suggest("show it", &format!("show {short_id}"));
    }
    Ok(CommandOutcome::Done)
}

/// Steps of the repair, a line each.
fn steps(repair: &Repair) -> Vec<String> {
    let mut steps = Vec::new();
    let Some(completion) = &repair.completion else {
        return vec!["removed .live: the run had ended".to_owned()];
    };
    if let Some(copy) = &repair.copy {
        steps.push(format!("kept the original log as {}", shown(copy)));
    }
    if let Some(bytes) = repair.cut {
        steps.push(format!(
            "cut off {} of a torn last line",
            text::counted(bytes, "byte")
        ));
    }
    if !completion.spans.is_empty() {
        let count = text::counted(completion.spans.len() as u64, "span");
        steps.push(format!(
            "ended {count} with the error {}",
            maintenance::INTERRUPTED
        ));
    }
    steps.push(format!(
        "set status {}, ended at {}",
        completion.status.as_str(),
        completion.ended_at.text()
    ));
    steps
}
