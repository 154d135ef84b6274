//! [`RecordError`]: a record that cannot be read again.

use std::io;

use thiserror::Error;
use tracer_format::{Problem, ProblemCode, SPANS_FILE};

/// A record cannot be read again: the file fails, or it is no longer what it was when the run was opened.
///
/// ```
/// use tracer_runs::{RunReader, Strictness};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let mut run = RunReader::open(&directory, Strictness::Strict)?;
/// std::fs::write(directory.join("spans.jsonl"), "")?; // somebody else has written to it
/// assert!(run.records.read_record(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let mut run = RunReader::open(&directory, Strictness::Strict)?;
    /// std::fs::write(directory.join("spans.jsonl"), "")?;
    /// let error = run.records.read_record(1).unwrap_err(); // the call, which was the first line
    /// assert_eq!(error.line(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }
}
