//! Why a baseline, or a report that one is to be made from, is refused.

/// A baseline is refused, or cannot be made: what is wrong, where, and what to do about it.
///
/// ```
/// use tracer_gate::{Baseline, BaselineErrorCode};
///
/// let error = Baseline::parse(br#"{"schema_version": "0.9.0"}"#).unwrap_err();
/// assert_eq!(error.code, BaselineErrorCode::UnsupportedVersion);
/// assert_eq!(error.to_string(), "schema_version: 0.9.0 is not understood; 0.2 and 0.3.x are");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BaselineError {
    /// What kind of problem.
    pub code: BaselineErrorCode,
    /// Where, and what is wrong there.
    message: String,
}

/// What kind of problem a baseline or report has.
///
/// ```
/// use tracer_gate::BaselineErrorCode;
///
/// assert_ne!(BaselineErrorCode::NotJson, BaselineErrorCode::WrongDigest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BaselineErrorCode {
    /// The file is no JSON object.
    NotJson,
    /// The version is missing, or not one that is understood.
    UnsupportedVersion,
    /// A field is missing or of the wrong type.
    WrongShape,
    /// Lengths, ranges or signatures do not fit each other.
    WrongSample,
    /// The file was edited after it was written.
    WrongDigest,
    /// The report holds no trial.
    NoTrials,
    /// The report holds fewer trials than were asked for.
    TruncatedSample,
    /// The report's gate did not pass.
    NotPassed,
    /// The report holds a trial that does not count.
    FailedTrial,
    /// The report contradicts itself, or was edited.
    WrongReport,
}

impl BaselineError {
    pub(super) fn new(code: BaselineErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// What to do about it.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    ///
    /// let error = Baseline::parse(b"{").unwrap_err();
    /// assert_eq!(error.hint(), "make the baseline again: tracer baseline");
    /// ```
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self.code {
            BaselineErrorCode::NotJson
            | BaselineErrorCode::UnsupportedVersion
            | BaselineErrorCode::WrongShape
            | BaselineErrorCode::WrongSample => "make the baseline again: tracer baseline",
            BaselineErrorCode::WrongDigest => {
                "take the file back from version control, or make the baseline again: tracer baseline"
            }
            BaselineErrorCode::NoTrials
            | BaselineErrorCode::TruncatedSample
            | BaselineErrorCode::FailedTrial => {
                "make a report of a whole sample: tracer run --no-fail-fast --json-out FILE"
            }
            BaselineErrorCode::WrongReport => {
                "take a report as `tracer run --json-out FILE` wrote it; one that was changed is no evidence"
            }
            BaselineErrorCode::NotPassed => "fix what failed first, or say that it is meant: --force",
        }
    }
}
