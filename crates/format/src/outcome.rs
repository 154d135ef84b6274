//! [`Outcome`]: how a call ended (decisions, section 1).

use serde::Serialize;

words! {
    /// Outcome of a call, to the extent that it was recorded. Not seen is not failed: a call without a result, an
    /// answer or a status has an unknown outcome, which is never counted as a failure.
    ///
    /// ```
    /// use tracer_sdk::format::Outcome;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
    /// assert_eq!(run.records[1].outcome(), Outcome::Failed);
    /// ```
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome in tracer_sdk::format {
        /// It ended well.
        #[default]
        Ok = "ok",
        /// It ended with an error.
        Failed = "failed",
        /// It was given up before it ended.
        Cancelled = "cancelled",
        /// No result was seen: it may have ended well or not, or not at all.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// Returns whether it counts as a failed call; a cancelled call has no result, either.
    ///
    /// ```
    /// use tracer_sdk::format::Outcome;
    ///
    /// assert!(Outcome::Failed.is_failure() && Outcome::Cancelled.is_failure());
    /// assert!(!Outcome::Unknown.is_failure());
    /// ```
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled)
    }

    /// The failure of an error with this type.
    pub(crate) fn from_error_type(error_type: &str) -> Self {
        if super::error_type::is_cancellation(error_type) {
            Self::Cancelled
        } else {
            Self::Failed
        }
    }
}
