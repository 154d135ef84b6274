//! [`RecordError`]: a record that cannot be read again.

use std::error::Error;
use std::{fmt, io};

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
#[derive(Debug)]
pub struct RecordError {
    line: u64,
    /// The system's error; `None` when the file has changed.
    cause: Option<io::Error>,
}

impl RecordError {
    pub(super) fn changed(line: u64) -> Self {
        Self { line, cause: None }
    }

    /// The same as a problem of the run.
    pub(super) fn into_problem(self) -> Problem {
        let message = self.cause.map_or_else(
            || "has changed while it was read; try again".to_owned(),
            |cause| format!("cannot be read: {cause}"),
        );
        Problem::new(
            ProblemCode::UnreadableFile,
            format!("{SPANS_FILE}:{}", self.line),
            message,
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

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(formatter, "{SPANS_FILE}:{} cannot be read: {cause}", self.line),
            None => write!(
                formatter,
                "{SPANS_FILE}:{} has changed while it was read; try again",
                self.line
            ),
        }
    }
}

impl Error for RecordError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as &(dyn Error + 'static))
    }
}
