//! One file per command.

pub mod demo;
pub mod export;
pub mod list;
pub mod show;
pub mod validate_trace;

use std::process::ExitCode;

use tracer_sdk::format::{RunMeta, Timestamp};
use tracer_sdk::read::{InvalidRun, ListedRun, Liveness};

use crate::error::{CliError, ErrorKind};
use crate::render::standing::Standing;

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

/// How long a run took, in microseconds: from its times, which are finer than its whole milliseconds.
fn duration(meta: &RunMeta) -> Option<u64> {
    let from_times =
        |ended: Timestamp| u64::try_from(ended.microseconds_since(meta.started_at.instant())).ok();
    meta.ended_at
        .as_ref()
        .and_then(|ended| from_times(ended.instant()))
        .or_else(|| meta.duration_ms?.checked_mul(1_000))
}

/// How a run stands: what its metadata says, and whether anybody still works on it.
fn standing(run: &ListedRun) -> Standing {
    let interrupted = run.liveness() == Liveness::Interrupted;
    run.meta.as_ref().map_or(Standing::Damaged, |meta| {
        Standing::of(meta.status, meta.counts, interrupted)
    })
}

/// What is said of a run that is refused: all its problems.
fn refused(kind: ErrorKind, what: String, invalid: &InvalidRun) -> CliError {
    let kind = if invalid.is_input() {
        ErrorKind::Input
    } else {
        kind
    };
    CliError::new(kind, what).with_details(invalid.problems.iter().map(ToString::to_string))
}

/// The clock, read once by the command that needs it.
fn now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_microseconds(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}
