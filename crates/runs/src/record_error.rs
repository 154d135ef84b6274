//! [`RecordError`]: a record that cannot be read again.

use std::io;

use thiserror::Error;
use tracer_format::{Problem, ProblemCode, SPANS_FILE};

/// A record cannot be read again: the file fails, or it is no longer what it was when the run was opened.
#[derive(Debug, Error)]
#[error("{SPANS_FILE}:{line} {}", self.reason())]
pub struct RecordError {
    line: u64,
    /// The system's error; `None` when the file has changed.
    #[source]
    cause: Option<io::Error>,
}

impl RecordError {
    pub(super) fn changed(line: u64) -> Self {
        Self { line, cause: None }
    }

    /// The same as a problem of the run.
    pub(super) fn into_problem(self) -> Problem {
        let location = format!("{SPANS_FILE}:{}", self.line);
        Problem::new(ProblemCode::UnreadableFile, location, self.reason())
    }

    fn reason(&self) -> String {
        self.cause.as_ref().map_or_else(
            || "has changed while it was read; try again".to_owned(),
            |cause| format!("cannot be read: {cause}"),
        )
    }

    pub(super) fn failed(line: u64, cause: io::Error) -> Self {
        Self {
            line,
            cause: Some(cause),
        }
    }

    /// The line of the span log that holds the record.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }
}
