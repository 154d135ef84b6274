//! A new sample for a baseline: all the trials of a report, or one recorded run.

use std::path::{Path, PathBuf};

use tracer_gate::{Baseline, Demanded};
use tracer_sdk::format::RecordedStatus;

use super::stored_run;
use crate::error::CliError;
use crate::session::Session;
use tracer_gate::files;
use tracer_insight::units::now;

/// Options that name the sample.
#[derive(Debug, clap::Args)]
pub(crate) struct SampleArgs {
    /// Run to use: ID, unique prefix of it, name, latest or latest~N [default: latest]
    #[arg(conflicts_with = "from_report")]
    run_id: Option<String>,

    /// Use all trials of the report in FILE instead of one run
    #[arg(long, value_name = "FILE")]
    from_report: Option<PathBuf>,
}

impl SampleArgs {
    /// Checks if neither a run nor a report is named.
    pub(crate) fn is_default(&self) -> bool {
        self.run_id.is_none() && self.from_report.is_none()
    }
}

/// A baseline of the sample.
pub(crate) fn take(
    args: &SampleArgs,
    demanded: Demanded,
    session: &mut Session,
) -> Result<Baseline, CliError> {
    match &args.from_report {
        Some(path) => of_report(path, demanded),
        None => of_run(args.run_id.as_deref(), demanded == Demanded::Nothing, session),
    }
}

fn of_report(path: &Path, demanded: Demanded) -> Result<Baseline, CliError> {
    let bytes = files::report(path)?;
    let baseline = Baseline::of_report(&bytes, &now().to_string(), demanded);
    let what = format!("the report {} makes no baseline", path.display());
    Ok(baseline.map_err(|error| error.about(what))?)
}

fn of_run(run_id: Option<&str>, force: bool, session: &mut Session) -> Result<Baseline, CliError> {
    let stored = stored_run::select(run_id, session)?;
    let id = &stored.short_id;
    match stored.metrics.status {
        RecordedStatus::Running => {
            return Err(CliError::input(format!("run {id} has not ended"))
                .with_hint("wait until it has, or choose another run"));
        }
        RecordedStatus::Error if !force => {
            return Err(CliError::input(format!("run {id} ended with an error"))
                .with_hint("choose another run, or pass --force"));
        }
        RecordedStatus::Error | RecordedStatus::Ok => {}
    }
    if let Some(missing) = stored.metrics.missing.as_ref().filter(|_| !force) {
        return Err(
            CliError::input(format!("run {id} does not show what is usual: {missing}"))
                .with_hint("choose another run, or pass --force"),
        );
    }
    Ok(Baseline::of_run(&stored.metrics, &now().to_string()))
}
