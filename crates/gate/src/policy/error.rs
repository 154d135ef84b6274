//! Mistakes of a policy: the place in the file, what is wrong, and what to do.

use std::error::Error;
use std::fmt;

use serde_path_to_error::Segment;

use crate::invariants::PathError;
use tracer_sdk::settings::Position;

/// All mistakes of a policy; exit code 2 of the command line (gate, *Commands*).
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

    /// The mistake of a value below `path`.
    pub(super) fn below(mut self, path: &[&str]) -> Self {
        self.path.splice(0..0, path.iter().map(|key| (*key).to_owned()));
        self
    }

    pub(super) fn of_key(mut self) -> Self {
        self.is_key = true;
        self
    }

    /// The mistake that `serde` found in the value at `above`.
    pub(super) fn of_value(above: &[&str], error: &PathError) -> Self {
        let reported = error.inner().to_string();
        let (found, expected) = reported.rsplit_once(", expected ").unwrap_or((&reported, ""));
        let names = || {
            expected
                .split('`')
                .skip(1)
                .step_by(2)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut mistake = if let Some(field) = found.strip_prefix("missing field ") {
            Self::new(above, format!("needs {}", field.trim_matches('`')))
        } else if found.starts_with("unknown field") {
            let hint = format!("the keys are {}", names());
            Self::new(above, "is not a key here").of_key().hint(hint)
        } else if found.starts_with("unknown variant") {
            Self::new(above, format!("must be one of {}", names()))
        } else if expected.is_empty() {
            Self::new(above, found)
        } else {
            Self::new(above, format!("must be {}", type_name(expected)))
        };
        for segment in error.path() {
            match segment {
                Segment::Map { key } => mistake.path.push(key.clone()),
                // The mistake of an item is one of its list.
                Segment::Seq { .. } if mistake.message == "must be a text" => {
                    "must be a list of texts".clone_into(&mut mistake.message);
                    return mistake.hint("put names such as 1 and yes in quotes");
                }
                Segment::Seq { .. } => return mistake,
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        mistake
    }
}

/// The type that `serde` expects, in plain words.
fn type_name(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "a nonzero u32" => "a whole number, at least 1",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a text",
        "string or map" => "a word",
        _ if expected == "a map" || expected.starts_with("struct ") => "a mapping",
        other => other,
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
