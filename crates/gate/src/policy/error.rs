//! Mistakes of a policy: the place in the file, what is wrong, and what to do.

use std::error::Error;
use std::fmt;

use serde::de::{self, Expected, Unexpected};
use tracer_sdk::settings::Position;

/// All mistakes of a policy; exit code 2 of the command line (gate, section 5).
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy};
///
/// let text = "version: 2\ntrials: 0\nmetrics:\n  step_count: {kind: measured, direction: up, limit: 12}\n";
/// let error = Policy::parse(text, &Overrides::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "2:9: trials must be a whole number, at least 1\n\
///      4:43: metrics.step_count.direction must be one of upper, lower, both"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The mistakes in the order of the file.
    pub mistakes: Vec<PolicyMistake>,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(formatter, "{newline}{mistake}")?;
        }
        Ok(())
    }
}

impl Error for PolicyError {}

impl From<PolicyMistake> for PolicyError {
    fn from(mistake: PolicyMistake) -> Self {
        Self {
            mistakes: vec![mistake],
        }
    }
}

/// One mistake of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyMistake {
    /// The place in the policy file; `None` when the mistake is in no file.
    pub position: Option<Position>,
    /// The keys down to the value, `["metrics", "step_count", "limit"]`; empty for the file as a whole.
    pub path: Vec<String>,
    /// The rest of the sentence: `must be a number`.
    pub message: String,
    /// The next step, where there is more to say.
    pub hint: Option<String>,
    /// The key is wrong rather than its value.
    pub(super) is_key: bool,
}

impl PolicyMistake {
    pub(crate) fn new(path: &[&str], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            message: message.into(),
            ..Self::default()
        }
    }

    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The mistake of a value below `key`.
    pub(super) fn below(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }

    pub(super) fn of_key(mut self) -> Self {
        self.is_key = true;
        self
    }

    /// The mistake of an item as one of its list; all lists of a policy are of names.
    pub(super) fn of_item(mut self) -> Self {
        if self.path.is_empty() && self.message == "must be a text" {
            "must be a list of texts".clone_into(&mut self.message);
            self.hint = Some("put names such as 1 and yes in quotes".to_owned());
        }
        self
    }

    fn wanted(expected: &str) -> Self {
        let wanted = match expected {
            "f64" => "a number",
            "a nonzero u32" => "a whole number, at least 1",
            "a boolean" => "true or false",
            "a sequence" => "a list",
            "a string" => "a text",
            "a map" => "a mapping",
            other => other,
        };
        Self::new(&[], format!("must be {wanted}"))
    }
}

impl fmt::Display for PolicyMistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(formatter, "{line}:{column}: ")?;
        }
        match &*self.path {
            [] => formatter.write_str("the policy ")?,
            path => write!(formatter, "{} ", path.join("."))?,
        }
        formatter.write_str(&self.message)
    }
}

impl Error for PolicyMistake {}

impl de::Error for PolicyMistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(&[], message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wanted(&expected.to_string())
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wanted(&expected.to_string())
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::wanted(&expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(&[], format!("must be one of {}", expected.join(", ")))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(&[], "is not a key here").hint(format!("the keys are {}", expected.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(&[], format!("needs {field}"))
    }
}
