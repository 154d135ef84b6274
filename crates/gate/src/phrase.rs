//! A phrase of our own words and of values from elsewhere, which every surface shows in its own safe way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracer_insight::line::{Line, Tone};
use tracer_insight::markdown;
use tracer_insight::text;

/// A longer value is cut in a phrase.
const MAX_VALUE_LENGTH: usize = 80;

/// Words and values in the order in which they are read; in JSON their text.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
#[schemars(with = "String")]
pub struct Phrase {
    parts: Vec<PhrasePart>,
}

impl From<Phrase> for String {
    fn from(phrase: Phrase) -> Self {
        phrase.parts.into_iter().map(|part| part.text).collect()
    }
}

impl From<String> for Phrase {
    fn from(value: String) -> Self {
        if value.is_empty() {
            return Self::default();
        }
        Self::value(value)
    }
}

impl From<&str> for Phrase {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PhrasePart {
    text: String,
    /// From a trace, a policy or a process: whatever it holds, it is only shown. Other parts are ours, safe everywhere.
    is_value: bool,
    tone: Tone,
}

impl Phrase {
    /// A phrase of our own words.
    pub fn words(words: impl Into<String>) -> Self {
        Self::default().and(words)
    }

    /// A phrase that is a value from elsewhere.
    pub fn value(value: impl Into<String>) -> Self {
        Self::default().and_value(value)
    }

    /// The phrase with more of our own words.
    #[must_use]
    pub fn and(self, words: impl Into<String>) -> Self {
        self.with(words.into(), false)
    }

    /// The phrase with a value from elsewhere.
    #[must_use]
    pub(crate) fn and_value(self, value: impl Into<String>) -> Self {
        self.with(value.into(), true)
    }

    fn with(mut self, text: String, is_value: bool) -> Self {
        let tone = Tone::Plain;
        self.parts.push(PhrasePart { text, is_value, tone });
        self
    }

    /// The phrase with this tone of its last part.
    #[must_use]
    pub(crate) fn toned(mut self, tone: Tone) -> Self {
        if let Some(part) = self.parts.last_mut() {
            part.tone = tone;
        }
        self
    }

    /// The phrase with another one behind it.
    #[must_use]
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Checks if it is empty.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// As a line of a terminal.
    pub fn line(&self) -> Line {
        self.parts.iter().fold(Line::new(), |line, part| {
            if part.is_value {
                line.with(text::one_line(&part.text, MAX_VALUE_LENGTH), part.tone)
            } else {
                line.with(&part.text, part.tone)
            }
        })
    }

    /// As plain text on one line.
    pub fn text(&self) -> String {
        self.line().text()
    }

    /// As Markdown on one line, the values inert.
    pub fn markdown(&self) -> String {
        let part = |part: &PhrasePart| {
            if part.is_value {
                return markdown::code(&part.text);
            }
            // A number behind it would become a link to the issue of that number.
            part.text.replace('#', "")
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_and_values_are_only_shown() {
        let phrase = Phrase::words("called ").and_value("a\n**b**").and(" twice");
        assert_eq!(phrase.text(), "called a **b** twice");
        assert_eq!(phrase.markdown(), "called `a␊**b**` twice");
    }
}
