//! [`TextMatch`]: the comparison of a name or a text with a pattern.

use tracer_runs::NamePattern;
use tracer_sdk::format::error_type;

use super::TextComparison;

/// A comparison with a text, ignoring case.
#[derive(Debug, Clone)]
pub(super) struct TextMatch {
    comparison: TextComparison,
    /// In lower case.
    text: String,
    pattern: Option<NamePattern>,
}

impl TextMatch {
    pub(super) fn new(comparison: TextComparison, text: &str) -> Self {
        let is_glob = comparison == TextComparison::Is && text.contains(['*', '?']);
        Self {
            comparison,
            text: text.to_lowercase(),
            pattern: is_glob.then(|| NamePattern::new(text)),
        }
    }

    pub(super) fn holds(&self, text: &str) -> bool {
        match (&self.pattern, self.comparison) {
            (Some(pattern), _) => pattern.matches(text),
            (None, TextComparison::Is) => text.to_lowercase() == self.text,
            (None, TextComparison::Contains) => text.to_lowercase().contains(&self.text),
        }
    }

    /// True of the type of an error that is meant: `Timeout` is `asyncio.TimeoutError`, too.
    pub(super) fn holds_error(&self, error: &str) -> bool {
        let class = error_type::class(error);
        let stem = ["Error", "Exception"]
            .into_iter()
            .find_map(|ending| class.strip_suffix(ending))
            .filter(|stem| !stem.is_empty());
        self.holds(error) || self.holds(class) || stem.is_some_and(|stem| self.holds(stem))
    }
}
