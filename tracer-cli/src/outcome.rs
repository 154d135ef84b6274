//! The outcome of a command, and its exit code.

use std::process::ExitCode;

use crate::error::ErrorKind;

/// Outcome of a command that ran without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// The command succeeded.
    Done,
    /// A check failed; standard output shows why.
    CheckFailed,
    /// The input to check does not exist; standard output says so.
    NothingToCheck,
    /// A command was run, and this is its exit code.
    Exited(u8),
}

impl CommandOutcome {
    /// The exit code: 0, 1, 2, or that of the command that was run (decisions, section 11).
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::CheckFailed => ErrorKind::Check.exit_code(),
            Self::NothingToCheck => ErrorKind::Input.exit_code(),
            Self::Exited(code) => ExitCode::from(code),
        }
    }
}
