//! [`ProcessExit`]: the end of a process, by a code or a signal.

use std::fmt;
use std::process::ExitStatus;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of a process.
///
/// ```
/// use tracer_insight::process_exit::ProcessExit;
///
/// assert_eq!(ProcessExit::Code(2).to_string(), "exit code 2");
/// assert_eq!(serde_json::to_string(&ProcessExit::Signal(9))?, r#"{"signal":9}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessExit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl ProcessExit {
    /// The exit code for a shell: that of the process, or 128 and the number of the signal (decisions, section 11).
    ///
    /// ```
    /// use tracer_insight::process_exit::ProcessExit;
    ///
    /// assert_eq!(ProcessExit::Code(3).shell_code(), 3);
    /// assert_eq!(ProcessExit::Signal(9).shell_code(), 137);
    /// ```
    #[must_use]
    pub fn shell_code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        };
        // A code that has no room, as on Windows, is still a failure.
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// Returns whether the process succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// The exit that the system reports.
    #[cfg(unix)]
    #[must_use]
    pub fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (None, Some(signal)) => Self::Signal(signal),
            (code, _) => Self::Code(code.unwrap_or(-1)),
        }
    }

    /// The exit that the system reports.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(status: ExitStatus) -> Self {
        Self::Code(status.code().unwrap_or(-1))
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}
