//! Errors of baselines, and of the reports that they are made from.

/// Reason why a baseline is refused or cannot be made, with the place and the next step.
///
/// ```
/// use tracer_gate::Baseline;
///
/// let error = Baseline::parse(br#"{"schema_version": "0.3.1"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "it is of an old format, schema_version 0.3.1");
/// assert_eq!(error.hint, "make the baseline again: tracer baseline");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct BaselineError {
    message: String,
    /// The next step.
    pub hint: &'static str,
}

impl BaselineError {
    pub(super) fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            message: message.into(),
            hint,
        }
    }

    /// The error of a baseline file.
    pub(super) fn file(message: impl Into<String>) -> Self {
        Self::new(message, "make the baseline again: tracer baseline")
    }

    /// The error of a report that was changed, or is of another format.
    pub(super) fn report(message: impl Into<String>) -> Self {
        Self::new(
            message,
            "use a report as `tracer run --json-out FILE` wrote it: an edited one is no evidence",
        )
    }

    /// The error of a report that holds no whole sample.
    pub(super) fn sample(message: impl Into<String>) -> Self {
        Self::new(
            message,
            "make a report of a whole sample: tracer run --no-fail-fast --json-out FILE",
        )
    }

    /// The error of a sample that does not show what is usual.
    pub(super) fn not_passed(message: impl Into<String>) -> Self {
        Self::new(message, "fix the failure first, or pass --force")
    }
}
