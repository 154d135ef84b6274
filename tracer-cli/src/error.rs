//! Error of a command: what failed, its cause, details, and what to do next.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use tracer_capture::causes::causes;
use tracer_gate::InputError;
use tracer_runs::{InvalidRun, RecordError};
use tracer_ship::ShipError;

/// Kind of an error, which decides the exit code (decisions, section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A check failed: the trace is invalid.
    Check,
    /// Bad usage, bad input, nothing found, or an ambiguous prefix.
    Input,
    /// A fault that no input explains.
    Internal,
    /// The reader of the output has closed it, which is a success.
    ClosedPipe,
    /// A command was not run, for a reason of ours.
    NotRun,
    /// A command cannot be run.
    NotExecutable,
    /// There is no such command.
    NotFound,
}

impl ErrorKind {
    /// The exit code: 1, 2, 10, 0 for a closed pipe, and as shells have it for a command that was not run.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::ClosedPipe => 0,
            Self::Check => 1,
            Self::Input => 2,
            Self::Internal => 10,
            Self::NotRun => 125,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
        })
    }
}

/// The error in one line, each cause behind a colon. Some errors have their cause in their own text.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut report = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !report.ends_with(&cause) {
            report = format!("{report}: {cause}");
        }
    }
    report
}

/// An error as it is printed: `error: …: cause`, then details, then `hint: …` for each next step.
#[derive(Debug)]
pub struct CliError {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    details: Vec<String>,
    hints: Vec<String>,
}

impl From<RecordError> for CliError {
    /// The log was replaced, cut or deleted after the run was opened.
    fn from(error: RecordError) -> Self {
        Self::input("failed to read the run")
            .with_source(error)
            .with_hint("the run may have been deleted or cut in the meantime: try again")
    }
}

impl From<InputError> for CliError {
    fn from(error: InputError) -> Self {
        let refused = Self::input(error.message());
        error.hints().iter().fold(refused, Self::with_hint)
    }
}

impl From<ShipError> for CliError {
    fn from(error: ShipError) -> Self {
        Self::input(error.to_string()).with_hint(error.hint())
    }
}

impl CliError {
    /// An error without a cause, details and hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// The same as an error of another kind.
    #[must_use]
    pub fn of_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds lines of detail: candidates, problems.
    #[must_use]
    pub fn with_details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    /// Adds a next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The error of a write to standard output.
    pub fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ErrorKind::ClosedPipe, "the output was closed");
        }
        Self::new(ErrorKind::Internal, "failed to write to standard output").with_source(error)
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The action that failed, without its cause.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message and its causes, in one line.
    pub fn report(&self) -> String {
        with_causes(self)
    }

    /// Candidates or problems, a line each.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// Next steps, a line each.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}

/// Error for an invalid run, with all its problems.
pub(crate) fn refused(kind: ErrorKind, what: String, invalid: &InvalidRun) -> CliError {
    let kind = if invalid.is_input() {
        ErrorKind::Input
    } else {
        kind
    };
    CliError::new(kind, what).with_details(invalid.problems.iter().map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_prints_each_cause_once() {
        #[derive(Debug)]
        struct Repeating(io::Error);

        impl fmt::Display for Repeating {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "run.json: {}", self.0)
            }
        }

        impl Error for Repeating {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }

        let error = CliError::input("failed to read").with_source(Repeating(io::Error::other("disk full")));
        assert_eq!(error.report(), "failed to read: run.json: disk full");
        assert_eq!(error.to_string(), "failed to read");
    }
}
