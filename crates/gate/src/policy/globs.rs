//! Names of tools with wildcards. They are ours only: the lists of the contract, `none_of` and `all_of`, stay literal.

use tracer_sdk::read::matches_glob;

/// Names of tools, in which `*` is any text and `?` for any one character.
///
/// ```
/// use tracer_gate::policy::ToolGlobs;
///
/// let allow = ToolGlobs::new(vec!["mcp__*__read_?".to_owned()]);
/// assert!(allow.matches("mcp__files__read_1"));
/// assert!(!allow.matches("mcp__files__write_1"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolGlobs(Vec<String>);

impl ToolGlobs {
    /// The globs with these texts.
    ///
    /// ```
    /// use tracer_gate::policy::ToolGlobs;
    ///
    /// assert!(ToolGlobs::new(vec!["search*".to_owned()]).matches("search_web"));
    /// ```
    #[must_use]
    pub const fn new(globs: Vec<String>) -> Self {
        Self(globs)
    }

    /// The texts of the globs.
    ///
    /// ```
    /// use tracer_gate::policy::ToolGlobs;
    ///
    /// assert!(ToolGlobs::default().texts().is_empty());
    /// ```
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.0
    }

    /// Checks if one of them is the name of this tool.
    ///
    /// ```
    /// use tracer_gate::policy::ToolGlobs;
    ///
    /// assert!(!ToolGlobs::default().matches("search"));
    /// ```
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        self.0.iter().any(|glob| matches_glob(glob, tool))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks if they match every name.
    pub(crate) fn allows_everything(&self) -> bool {
        self.0.iter().any(|glob| glob.chars().all(|char| char == '*'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_character() {
        for (glob, name, is_match) in [
            ("search", "search", true),
            ("search", "Search", false),
            ("search", "searches", false),
            ("search*", "search", true),
            ("*search", "web_search", true),
            ("*", "", true),
            ("**", "anything", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("a?c", "abc", true),
            ("a?c", "aüc", true),
            ("a?c", "ac", false),
            ("[ab]", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(matches_glob(glob, name), is_match, "{glob} and {name}");
        }
    }

    #[test]
    fn a_glob_that_is_made_to_be_hard_is_not() {
        let (glob, name) = ("*a".repeat(200) + "b", "a".repeat(2_000));
        assert!(!matches_glob(&glob, &name));
    }
}
