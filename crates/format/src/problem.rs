//! Problems of a run directory: code, place and message.
//!
//! A message never holds a value from the file.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

words! {
    growing
    /// The kinds of problem (decisions, section 10).
    ///
    /// ```
    /// use tracer_sdk::format::ProblemCode;
    ///
    /// assert_eq!(ProblemCode::DuplicateSpanId.to_string(), "duplicate_span_id");
    /// assert!(!ProblemCode::DuplicateSpanId.is_input());
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum ProblemCode in tracer_sdk::format {
        /// The path does not exist.
        PathNotFound = "path_not_found",
        /// The path is neither a run directory nor its `meta.json`.
        UnsupportedPath = "unsupported_path",
        /// A required file is not there.
        MissingFile = "missing_file",
        /// A file is there and cannot be read.
        UnreadableFile = "unreadable_file",
        /// The text is not JSON.
        MalformedJson = "malformed_json",
        /// A required field is not there.
        MissingField = "missing_field",
        /// A field has a value of another type.
        InvalidType = "invalid_type",
        /// A field has the right type and a value that is not allowed.
        InvalidValue = "invalid_value",
        /// An identifier is not lower-case hex of the exact length, or is all zeros.
        InvalidId = "invalid_id",
        /// A date-time is not RFC 3339 with a zone.
        InvalidDatetime = "invalid_datetime",
        /// The declared version is not one that this reader understands.
        UnsupportedVersion = "unsupported_version",
        /// The span log has no span.
        EmptySpans = "empty_spans",
        /// A span belongs to another trace than `meta.json` says.
        TraceIdMismatch = "trace_id_mismatch",
        /// Two spans have the same ID.
        DuplicateSpanId = "duplicate_span_id",
        /// A completed run has no root span.
        MissingRoot = "missing_root",
        /// A run has more than one root span.
        MultipleRoots = "multiple_roots",
        /// A span of a completed run names a parent that is not there.
        MissingParent = "missing_parent",
        /// Spans are each other's parents.
        ParentCycle = "parent_cycle",
        /// The directory is in the `0.1` format.
        LegacyFormat = "legacy_format",
        /// A warning: `meta.json` counts other records than the projection has.
        CountsMismatch = "counts_mismatch",
        /// A warning: `meta.json` has another outcome than the root span.
        StatusMismatch = "status_mismatch",
        /// A warning: `meta.json` has another start than the root span.
        StartMismatch = "start_mismatch",
        /// A warning: a completed run lacks its end or its duration.
        MissingEnd = "missing_end",
        /// A warning: something ends before it starts.
        EndsBeforeStart = "ends_before_start",
        /// A warning: a duration is not the time between start and end.
        DurationMismatch = "duration_mismatch",
    }
}

impl ProblemCode {
    /// Returns whether the files could not be read at all, so that nothing can be said about their content.
    ///
    /// ```
    /// use tracer_sdk::format::ProblemCode;
    ///
    /// assert!(ProblemCode::MissingFile.is_input());
    /// assert!(!ProblemCode::MissingField.is_input());
    /// ```
    #[must_use]
    pub const fn is_input(self) -> bool {
        matches!(
            self,
            Self::PathNotFound | Self::UnsupportedPath | Self::MissingFile | Self::UnreadableFile
        )
    }

    /// Returns whether this is a warning: every field can be read and has its type, but the values contradict each
    /// other.
    ///
    /// ```
    /// use tracer_sdk::format::ProblemCode;
    ///
    /// assert!(ProblemCode::CountsMismatch.is_warning());
    /// assert!(!ProblemCode::MissingField.is_warning());
    /// ```
    #[must_use]
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::CountsMismatch
                | Self::StatusMismatch
                | Self::StartMismatch
                | Self::MissingEnd
                | Self::EndsBeforeStart
                | Self::DurationMismatch
        )
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One problem of a run directory. The message names no value from the file, save a version number.
///
/// ```
/// use tracer_sdk::format::{Problem, ProblemCode};
///
/// let problem = Problem::new(ProblemCode::MissingField, "meta.json.status", "is required");
/// assert_eq!(problem.to_string(), "meta.json.status: is required (missing_field)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Kind of the problem.
    pub code: ProblemCode,
    /// Place: `meta.json`, `meta.json.<field>`, `spans.jsonl`, `spans.jsonl:<line>`,
    /// `spans.jsonl:<line>.<field>` or `spans.jsonl:<line>.events[<n>].<field>`.
    pub location: String,
    /// The error, and the expected value.
    pub message: Cow<'static, str>,
}

impl Problem {
    /// A problem at a place.
    ///
    /// ```
    /// use tracer_sdk::format::{Problem, ProblemCode};
    ///
    /// let problem = Problem::new(ProblemCode::MalformedJson, "spans.jsonl:3", "is not JSON");
    /// assert_eq!(problem.location, "spans.jsonl:3");
    /// ```
    pub fn new(
        code: ProblemCode,
        location: impl Into<String>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            code,
            location: location.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({})", self.location, self.message, self.code)
    }
}
