//! What a command says when it cannot do what it was asked: what failed, the details, and what to do next.

use std::fmt;
use std::io;
use std::process::ExitCode;

use tracer_gate::files::InputError;
use tracer_sdk::read::RecordError;

/// Why a command did not succeed; decides the exit code (decisions, section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A check failed: the trace is invalid.
    Check,
    /// Bad usage, bad input, nothing found, or an ambiguous prefix.
    Input,
    /// Something that no input explains.
    Internal,
    /// Nobody reads the output any more, which is a success.
    ClosedPipe,
}

impl ErrorKind {
    /// The exit code: 1, 2, 10, and 0 for a closed pipe.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::ClosedPipe => 0,
            Self::Check => 1,
            Self::Input => 2,
            Self::Internal => 10,
        })
    }
}

/// An error as it is shown: `error: …`, then details, then `hint: …` for each next step.
#[derive(Debug)]
pub struct CliError {
    kind: ErrorKind,
    message: String,
    details: Vec<String>,
    hints: Vec<String>,
}

impl From<RecordError> for CliError {
    /// The log is another one than it was when the run was opened, or is gone.
    fn from(error: RecordError) -> Self {
        Self::input(error.to_string()).with_hint("it may have been deleted or cut meanwhile: look again")
    }
}

impl From<InputError> for CliError {
    fn from(error: InputError) -> Self {
        let refused = Self::input(error.message());
        error.hints().iter().fold(refused, Self::with_hint)
    }
}

impl CliError {
    /// An error without details and hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// The error with lines of detail: candidates, problems.
    #[must_use]
    pub fn with_details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    /// The error with a next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What went wrong when writing to standard output.
    pub fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ErrorKind::ClosedPipe, "nobody reads the output");
        }
        Self::new(
            ErrorKind::Internal,
            format!("cannot write to standard output: {error}"),
        )
    }

    /// Why the command did not succeed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What failed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Candidates or problems, a line each.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// What to do next, a line each.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}
