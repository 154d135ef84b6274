//! `tracer accept`: makes a change of behaviour the new baseline, and keeps who did it and why.

use std::fs;
use std::path::{Path, PathBuf};

use tracer_gate::{Acceptance, AcceptanceVerdict, Baseline, PreviousBaseline};

use super::Verdict;
use crate::error::CliError;
use crate::gate::provenance;
use crate::gate::sample::{self, Allowed, SampleArgs};
use crate::output_file;
use crate::session::Session;
use tracer_gate::files::{self, BaselineInput};
use tracer_gate::words::phrase::Phrase;
use tracer_gate::words::replacement;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units::now;

/// Options of `tracer accept`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sample: SampleArgs,

    /// Accept what a failed `assert_baseline!` test wrote beside FILE, instead of a run
    #[arg(long, conflicts_with_all = ["run_id", "from_report"])]
    pending: bool,

    /// Replace the baseline in FILE
    #[arg(long, short, value_name = "FILE")]
    baseline: PathBuf,

    /// Store TEXT as the reason why the change is right
    #[arg(long, short = 'm', alias = "message", value_name = "TEXT")]
    reason: String,

    /// Accept a smaller sample, another agent or a failed run
    #[arg(long)]
    force: bool,
}

/// Replaces a baseline.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    if args.reason.trim().is_empty() {
        return Err(CliError::input("--reason is empty")
            .with_hint("say why the change is right: those who read the baseline later want to know"));
    }
    let old = files::baseline(&args.baseline)?;
    // What is accepted is what a gate has failed for, so its report is taken; that it failed is kept in the baseline.
    let allowed = Allowed {
        failed_report: true,
        failed_run: args.force,
    };
    let new = if args.pending {
        pending_sample(&args.baseline)?
    } else {
        sample::take(&args.sample, allowed, session)?
    };
    if let Some((known, agent)) = old.baseline.agent().zip(new.agent())
        && known != agent
        && !args.force
    {
        return Err(files::foreign_baseline(&old.baseline, &old.file.path, agent).into());
    }
    if new.behaves_like(&old.baseline) {
        let told = format!("{} already matches, nothing was written", shown(&args.baseline));
        session.ui.lines(&[Line::of(told, Tone::Plain)])?;
        return remove_pending(args);
    }
    if new.trials() < old.baseline.trials() && !args.force {
        return Err(smaller(&args.baseline, &old.baseline, &new));
    }
    let changes = replacement::told(&old.baseline, &new);
    let summary: Vec<String> = changes.iter().map(Phrase::text).collect();
    let accepted = accepted(&old, new, args, summary.join("; "));
    output_file::write_new(&args.baseline, true, accepted.to_json().as_bytes())?;

    let told = format!(
        "accepted: {} is now a baseline of {}",
        shown(&args.baseline),
        text::counted(accepted.trials(), "run")
    );
    let mut lines = vec![Line::of("✓ ", Tone::Good).with(told, Tone::Plain)];
    lines.extend(
        changes
            .iter()
            .map(|change| Line::new().space(2).with(change.text(), Tone::Plain)),
    );
    session.ui.lines(&lines)?;
    remove_pending(args)
}

/// Where a test leaves what it saw.
fn pending_file(baseline: &Path) -> PathBuf {
    let mut path = baseline.as_os_str().to_owned();
    path.push(".new");
    path.into()
}

fn pending_sample(baseline: &Path) -> Result<Baseline, CliError> {
    let path = pending_file(baseline);
    if !files::is_there(&path) {
        return Err(CliError::input(format!("{} is not there", path.display()))
            .with_hint("run the test first: it writes the file when the agent behaves otherwise"));
    }
    Ok(files::baseline(&path)?.baseline)
}

/// What was accepted no longer waits.
fn remove_pending(args: &Args) -> Result<Verdict, CliError> {
    if args.pending {
        let path = pending_file(&args.baseline);
        fs::remove_file(&path)
            .map_err(|error| CliError::input(format!("{} cannot be removed: {error}", path.display())))?;
    }
    Ok(Verdict::Done)
}

/// What is said of a sample that would tell less than the one that is there (gate contract, section 15.4, R6).
fn smaller(path: &Path, old: &Baseline, new: &Baseline) -> CliError {
    CliError::input(format!(
        "{} is a baseline of {}, and would become one of {}",
        path.display(),
        text::counted(old.trials(), "run"),
        text::counted(new.trials(), "run")
    ))
    .with_hint(format!(
        "take a whole sample: tracer run --trials {} --json-out FILE -- COMMAND, then --from-report FILE",
        old.trials()
    ))
    .with_hint("or say that it is meant: --force")
}

fn accepted(old: &BaselineInput, new: Baseline, args: &Args, summary: String) -> Baseline {
    let acceptance = Acceptance {
        accepted_at: tracer_gate::moment(now()),
        accepted_by: provenance::accepted_by(),
        reason: args.reason.trim().to_owned(),
        tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
        source_run_id: new.source_run_id.clone(),
        source: provenance::source(),
        verdict: AcceptanceVerdict {
            outcome: "accepted".to_owned(),
            summary,
        },
        previous_baseline: Some(PreviousBaseline {
            path: old.file.path.clone(),
            source_run_id: old.baseline.source_run_id.clone(),
            created_at: Some(old.baseline.created_at.clone()),
            schema_version: Some(old.baseline.schema_version.clone()),
            sha256: old.file.sha256.clone(),
        }),
    };
    new.accepted(acceptance)
}
