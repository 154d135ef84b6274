//! `tracer accept`: replaces a baseline with changed behaviour, and stores who accepted it and why.

use std::fs;
use std::path::{Path, PathBuf};

use tracer_gate::{Acceptance, Baseline, Demanded};

use crate::error::CliError;
use crate::gate::sample::{self, SampleArgs};
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::session::Session;
use tracer_gate::files;
use tracer_gate::words::changes;
use tracer_insight::line::{Line, Tone};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units::now;

/// Options of `tracer accept`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer accept --baseline .tracer/baselines/agent.json --reason 'looks up the policy first'

Without a run and a report, FILE.new is accepted if a failed `assert_baseline!` test wrote one, else the latest run.")]
pub struct Args {
    #[command(flatten)]
    sample: SampleArgs,

    /// Replace the baseline in FILE
    #[arg(long, short, value_name = "FILE")]
    baseline: PathBuf,

    /// Store TEXT as the reason why the change is right
    #[arg(long, short = 'm', alias = "message", value_name = "TEXT")]
    reason: String,

    /// Proceed although the sample is smaller, of another agent or of a failed run
    #[arg(long)]
    force: bool,
}

/// Replaces a baseline.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.reason.trim().is_empty() {
        return Err(CliError::input("`--reason` is empty")
            .with_hint("describe why the change is right: the baseline stores it for later readers"));
    }
    let old = files::baseline(&args.baseline)?;
    // A change is accepted because a gate failed on it, so a failed report is allowed here; the baseline stores that it failed.
    let demanded = if args.force {
        Demanded::Nothing
    } else {
        Demanded::Whole
    };
    let pending =
        Some(pending_file(&args.baseline)).filter(|path| args.sample.is_default() && files::is_there(path));
    let new = match &pending {
        Some(path) => {
            session
                .ui
                .say(format!("from {}, which a failed test wrote", shown(path)));
            let pending = files::baseline(path).map_err(|error| {
                CliError::from(error).with_hint("or run the test again, remove that file, or name a run")
            })?;
            pending.baseline
        }
        None => sample::take(&args.sample, demanded, session)?,
    };
    if let Some((baseline_agent, agent)) = old.baseline.agent.as_ref().zip(new.agent.as_ref())
        && baseline_agent != agent
        && !args.force
    {
        return Err(files::foreign_baseline(&old, agent).into());
    }
    if new.behaves_like(&old.baseline) {
        let message = format!("{} already matches; nothing written", shown(&args.baseline));
        session.ui.lines(&[Line::of(message, Tone::Plain)])?;
        return remove_pending(pending.as_deref());
    }
    if new.trials.len() < old.baseline.trials.len() && !args.force {
        return Err(smaller_sample(&args.baseline, &old.baseline, &new));
    }
    let changes = changes::replacement_phrases(&old.baseline, &new);
    let summary: Vec<String> = changes.iter().map(MarkedText::text).collect();
    let new = new.accepted(Acceptance {
        accepted_at: now().to_string(),
        accepted_by: accepted_by(),
        reason: args.reason.trim().to_owned(),
        changes: summary.join("; "),
        tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
        replaced_sha256: old.file.map(|file| file.sha256).unwrap_or_default(),
    });
    output_file::write_new(&args.baseline, true, new.to_json().as_bytes())?;

    let message = format!(
        "accepted: {} is now a baseline of {}",
        shown(&args.baseline),
        text::counted(new.trials.len() as u64, "run")
    );
    let mut lines = vec![Line::of("✓ ", Tone::Good).with(message, Tone::Plain)];
    lines.extend(
        changes
            .iter()
            .map(|change| Line::new().space(2).with(change.text(), Tone::Plain)),
    );
    session.ui.lines(&lines)?;
    remove_pending(pending.as_deref())
}

/// User who accepts: `TRACER_ACCEPTED_BY`, else the user of GitHub, else the user of this system.
fn accepted_by() -> String {
    let names = [
        "TRACER_ACCEPTED_BY",
        "GITHUB_ACTOR",
        "USER",
        "LOGNAME",
        "USERNAME",
    ];
    let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
    let known = values.find(|value| !value.trim().is_empty());
    known.unwrap_or_else(|| "unknown".to_owned())
}

/// File that `assert_baseline!` writes when the agent's behaviour differs.
fn pending_file(baseline: &Path) -> PathBuf {
    let mut path = baseline.as_os_str().to_owned();
    path.push(".new");
    path.into()
}

/// Removes the pending file of an accepted change.
fn remove_pending(pending: Option<&Path>) -> Result<CommandOutcome, CliError> {
    if let Some(path) = pending {
        fs::remove_file(path).map_err(|error| {
            CliError::input(format!("failed to remove `{}`", path.display())).with_source(error)
        })?;
    }
    Ok(CommandOutcome::Done)
}

/// Error for a sample smaller than the one that it would replace (gate, *Baseline*).
fn smaller_sample(path: &Path, old: &Baseline, new: &Baseline) -> CliError {
    CliError::input(format!(
        "`{}` is a baseline of {}, and the new sample has only {}",
        path.display(),
        text::counted(old.trials.len() as u64, "run"),
        text::counted(new.trials.len() as u64, "run")
    ))
    .with_hint(format!(
        "collect a full sample with `tracer run --trials {} --json-out FILE -- COMMAND`, then accept it with --from-report FILE",
        old.trials.len() as u64
    ))
    .with_hint("or accept the smaller sample with --force")
}
