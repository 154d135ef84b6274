//! A reason why nothing, or less than expected, is recorded: what it is, and what to do.

use serde::Serialize;

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// A stable word for it, such as `recording_off`.
    pub code: &'static str,
    /// The finding.
    pub message: String,
    /// The next step.
    pub remedy: String,
}

impl Cause {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}
