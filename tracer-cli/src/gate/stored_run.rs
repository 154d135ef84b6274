//! A recorded run as the gate sees it: strictly read, counted from its records.

use tracer_gate::policy::Policy;
use tracer_gate::trials::{CommandJudge, OutputCleaner, Stop};
use tracer_gate::{Trial, files};
use tracer_insight::profile::RunProfile;
use tracer_runs::{RunReader, Strictness};

use crate::error::refused;
use crate::error::{CliError, ErrorKind};
use crate::recorded_command::current_directory;
use crate::session::Session;

/// A run of the store, ready to be judged or compared.
pub(crate) struct StoredRun {
    pub(crate) short_id: String,
    pub(crate) run: RunReader,
    pub(crate) metrics: RunProfile,
}

impl StoredRun {
    /// The run as a trial of a policy, whose commands run in the working directory.
    pub(crate) fn trial(self, policy: &Policy, number: u32, session: &Session) -> Result<Trial, CliError> {
        let judge = CommandJudge {
            cleaner: &OutputCleaner::new(&session.settings()?),
            directory: &current_directory()?,
            stop: &Stop::unasked(),
        };
        files::recorded_trial(policy, number, &self.run, self.metrics, &judge)
            .map_err(|error| unread(&self.short_id, &error))
    }
}

/// The run that the argument selects; the newest when it is left out.
pub(crate) fn select(run_id: Option<&str>, session: &mut Session) -> Result<StoredRun, CliError> {
    let (directory, short_id) = session.select(run_id)?;
    let not_valid = |invalid: tracer_runs::InvalidRun| {
        refused(ErrorKind::Input, format!("run {short_id} is not valid"), &invalid)
            .with_hint(session.next_step("see what can be read of it", &format!("show {short_id}")))
    };
    let run = RunReader::open(&directory.path, Strictness::Strict).map_err(&not_valid)?;
    let meta = run.require_meta().map_err(&not_valid)?;
    let metrics = RunProfile::read(meta, run.records.clone()).map_err(|error| unread(&short_id, &error))?;
    let metrics = metrics.priced(&session.prices()?);
    Ok(StoredRun {
        short_id,
        run,
        metrics,
    })
}

/// Error of a run that could not be read to its end.
pub(crate) fn unread(short_id: &str, error: &tracer_runs::RecordError) -> CliError {
    CliError::input(format!("run {short_id} cannot be read: {error}"))
        .with_hint("it may have been changed meanwhile: try again")
}
