//! One file per command.

pub mod accept;
pub mod assert;
pub mod baseline;
pub mod completions;
pub mod delete;
pub mod demo;
pub mod diff;
pub mod export;
pub mod init;
pub mod list;
pub mod man;
pub mod prune;
pub mod rename;
pub mod repair;
pub mod run;
pub mod show;
pub mod validate_trace;
pub mod view;

use std::process::ExitCode;

use tracer_sdk::maintenance::MaintenanceError;
use tracer_sdk::read::{InvalidRun, RunDirectory};

use crate::error::{CliError, ErrorKind};
use crate::session::{Session, quoted};
use tracer_insight::line::Line;

/// How a command that did what it was asked came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It did it.
    Done,
    /// It checked something, and said on standard output that the check failed.
    CheckFailed,
    /// It was to check something that is not there, and said so on standard output.
    NothingToCheck,
}

impl Verdict {
    /// The exit code: 0, 1, 2 (decisions, section 11).
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::CheckFailed => ErrorKind::Check.exit_code(),
            Self::NothingToCheck => ErrorKind::Input.exit_code(),
        }
    }
}

/// What is said of a run that is refused: all its problems.
pub(crate) fn refused(kind: ErrorKind, what: String, invalid: &InvalidRun) -> CliError {
    let kind = if invalid.is_input() {
        ErrorKind::Input
    } else {
        kind
    };
    CliError::new(kind, what).with_details(invalid.problems.iter().map(ToString::to_string))
}

/// What is said of a run that was to be changed and was not; `damaged` is the kind of error when it is damaged.
fn not_changed(
    damaged: ErrorKind,
    what: &str,
    run: &RunDirectory,
    error: &MaintenanceError,
    session: &Session,
) -> CliError {
    let message = format!("{what}: {error}");
    match error {
        MaintenanceError::RunDamaged { problems, .. } => CliError::new(damaged, message)
            .with_details(problems.iter().map(ToString::to_string))
            .with_hint(format!(
                "every problem: tracer validate-trace {}",
                quoted(&run.path)
            )),
        MaintenanceError::RunActive => CliError::input(message).with_hint("wait until it has ended"),
        MaintenanceError::LivenessUnknown => CliError::input(message).with_hint(format!(
            "see how far it is: {}",
            session.command(&format!("show {}", run.trace_id))
        )),
        _ => CliError::input(message).with_hint("nothing is lost: set that right, and try again"),
    }
}

fn not_removed(short_id: &str, error: &MaintenanceError) -> CliError {
    CliError::input(format!("run {short_id} cannot be removed: {error}"))
        .with_hint("check the permissions of its folder, and try again")
}

/// Shows what is about to be removed and asks. Where nobody can answer, it is refused.
fn confirmed(
    what: impl IntoIterator<Item = Line>,
    question: &str,
    session: &mut Session,
) -> Result<bool, CliError> {
    if !session.ui.can_ask() {
        return Err(
            CliError::input("this removes runs for good, and nobody is there to be asked")
                .with_hint("add --yes when you mean it"),
        );
    }
    for line in what {
        session.ui.note(&line);
    }
    session.ui.ask(question)
}
