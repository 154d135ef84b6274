//! Error of an input of the gate: a policy, a baseline, a report, an argument.

/// Why a file or an argument of the gate cannot be used, and what to do next.
///
/// ```
/// use tracer_gate::InputError;
///
/// let error = InputError::new("no policy found").with_hint("write one: tracer init");
/// assert_eq!(error.to_string(), "no policy found");
/// assert_eq!(error.hints(), ["write one: tracer init"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    message: String,
    hints: Vec<String>,
}

impl InputError {
    /// An error without hints.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// The error with a next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The error with what it is about in front of its message.
    ///
    /// ```
    /// use tracer_gate::InputError;
    ///
    /// let error = InputError::new("it was edited").about("the baseline agent.json cannot be used");
    /// assert_eq!(error.to_string(), "the baseline agent.json cannot be used: it was edited");
    /// ```
    #[must_use]
    pub fn about(self, what: impl std::fmt::Display) -> Self {
        Self {
            message: format!("{what}: {}", self.message),
            ..self
        }
    }

    /// The failure.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The next steps, the most likely one first.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}
