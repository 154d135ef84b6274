//! Errors of baselines, and of the reports that they are made from.

/// The next step for a baseline file that is refused.
macro_rules! make_again {
    () => {
        "make it again, of one run: tracer baseline --out FILE --force; of several trials: tracer run --no-fail-fast \
         --json-out report.json -- COMMAND, then tracer baseline --from-report report.json --out FILE --force"
    };
}

/// Reason why a baseline is refused or cannot be made, with the place and the next step.
///
/// ```
/// use tracer_gate::Baseline;
///
/// let error = Baseline::parse(br#"{"schema_version": "0.3.1"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "it is of an old format, schema_version 0.3.1");
/// assert!(error.hint.starts_with("make it again, of one run: tracer baseline --out FILE --force; "));
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
        Self::new(message, make_again!())
    }

    /// The error of a baseline file that was edited.
    pub(super) fn edited(message: impl Into<String>) -> Self {
        Self::new(
            message,
            concat!("restore it from version control, or ", make_again!()),
        )
    }

    /// The error of a report that was changed.
    pub(super) fn report(message: impl Into<String>) -> Self {
        Self::new(
            message,
            "use a report as `tracer run --json-out FILE` wrote it: an edited one is no evidence",
        )
    }

    /// The error of a report that holds no whole sample, or is of another format.
    pub(super) fn sample(message: impl Into<String>) -> Self {
        Self::new(
            message,
            "run the gate again, all its trials: tracer run --no-fail-fast --json-out FILE -- COMMAND",
        )
    }

    /// The error of a sample that does not show what is usual.
    pub(super) fn not_passed(message: impl Into<String>) -> Self {
        Self::new(message, "fix the failure first, or pass --force")
    }
}
