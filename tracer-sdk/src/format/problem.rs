//! What is wrong with a run directory: a code, a place and a message that never holds a value from the file.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

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
pub enum ProblemCode {
    /// The path does not exist.
    PathNotFound,
    /// The path is neither a run directory nor its `meta.json`.
    UnsupportedPath,
    /// A required file is not there.
    MissingFile,
    /// A file is there and cannot be read.
    UnreadableFile,
    /// The text is not JSON.
    MalformedJson,
    /// A required field is not there.
    MissingField,
    /// A field has a value of another type.
    InvalidType,
    /// A field has the right type and a value that is not allowed.
    InvalidValue,
    /// An identifier is not lower-case hex of the exact length, or is all zeros.
    InvalidId,
    /// A date-time is not RFC 3339 with a zone.
    InvalidDatetime,
    /// The declared version is not one that this reader understands.
    UnsupportedVersion,
    /// The span log has no span.
    EmptySpans,
    /// A span belongs to another trace than `meta.json` says.
    TraceIdMismatch,
    /// Two spans have the same ID.
    DuplicateSpanId,
    /// A completed run has no root span.
    MissingRoot,
    /// A run has more than one root span.
    MultipleRoots,
    /// A span of a completed run names a parent that is not there.
    MissingParent,
    /// Spans are each other's parents.
    ParentCycle,
    /// The directory is in the `0.1` format.
    LegacyFormat,
    /// A warning: `meta.json` counts other records than the projection has.
    CountsMismatch,
    /// A warning: `meta.json` has another outcome than the root span.
    StatusMismatch,
    /// A warning: `meta.json` has another start than the root span.
    StartMismatch,
    /// A warning: a completed run lacks its end or its duration.
    MissingEnd,
    /// A warning: something ends before it starts.
    EndsBeforeStart,
    /// A warning: a duration is not the time between start and end.
    DurationMismatch,
}

impl ProblemCode {
    /// The code as it is printed and stored, `missing_field`.
    ///
    /// ```
    /// use tracer_sdk::format::ProblemCode;
    ///
    /// assert_eq!(ProblemCode::MissingRoot.as_str(), "missing_root");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PathNotFound => "path_not_found",
            Self::UnsupportedPath => "unsupported_path",
            Self::MissingFile => "missing_file",
            Self::UnreadableFile => "unreadable_file",
            Self::MalformedJson => "malformed_json",
            Self::MissingField => "missing_field",
            Self::InvalidType => "invalid_type",
            Self::InvalidValue => "invalid_value",
            Self::InvalidId => "invalid_id",
            Self::InvalidDatetime => "invalid_datetime",
            Self::UnsupportedVersion => "unsupported_version",
            Self::EmptySpans => "empty_spans",
            Self::TraceIdMismatch => "trace_id_mismatch",
            Self::DuplicateSpanId => "duplicate_span_id",
            Self::MissingRoot => "missing_root",
            Self::MultipleRoots => "multiple_roots",
            Self::MissingParent => "missing_parent",
            Self::ParentCycle => "parent_cycle",
            Self::LegacyFormat => "legacy_format",
            Self::CountsMismatch => "counts_mismatch",
            Self::StatusMismatch => "status_mismatch",
            Self::StartMismatch => "start_mismatch",
            Self::MissingEnd => "missing_end",
            Self::EndsBeforeStart => "ends_before_start",
            Self::DurationMismatch => "duration_mismatch",
        }
    }

    /// Whether the files could not be read at all, so that nothing can be said about their content.
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
}

impl ProblemCode {
    /// Whether this is a warning: every field can be read and has its type, but what they say does not fit together.
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
    /// What kind of problem it is.
    pub code: ProblemCode,
    /// Where: `meta.json`, `meta.json.<field>`, `spans.jsonl`, `spans.jsonl:<line>`,
    /// `spans.jsonl:<line>.<field>` or `spans.jsonl:<line>.events[<n>].<field>`.
    pub location: String,
    /// What is wrong and what would be right.
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
