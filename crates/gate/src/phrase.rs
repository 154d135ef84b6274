//! A phrase of our own words and of values from elsewhere, which every surface shows in its own safe way.

use tracer_insight::markdown;
use tracer_insight::text;

/// A longer value is cut in a phrase.
const MAX_VALUE_LENGTH: usize = 80;

/// Words and values in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phrase {
    parts: Vec<PhrasePart>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PhrasePart {
    /// Ours, safe everywhere.
    Words(String),
    /// From a trace, a policy or a process: whatever it holds, it is only shown.
    Value(String),
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
    pub fn and(mut self, words: impl Into<String>) -> Self {
        self.parts.push(PhrasePart::Words(words.into()));
        self
    }

    /// The phrase with a value from elsewhere.
    #[must_use]
    pub(crate) fn and_value(mut self, value: impl Into<String>) -> Self {
        self.parts.push(PhrasePart::Value(value.into()));
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

    /// As plain text on one line.
    pub fn text(&self) -> String {
        let part = |part: &PhrasePart| match part {
            PhrasePart::Words(words) => words.clone(),
            PhrasePart::Value(value) => {
                text::printable(&text::one_line(value, MAX_VALUE_LENGTH)).into_owned()
            }
        };
        self.parts.iter().map(part).collect()
    }

    /// As Markdown on one line, the values inert.
    pub fn markdown(&self) -> String {
        let part = |part: &PhrasePart| match part {
            PhrasePart::Words(words) => words.clone(),
            PhrasePart::Value(value) => markdown::code(value),
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
