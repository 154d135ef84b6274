//! Names of tools with wildcards. They are ours only: the lists of the contract, `none_of` and `all_of`, stay literal.

/// Names of tools, in which `*` stands for any text and `?` for any one character.
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

    /// Whether one of them is the name of this tool.
    ///
    /// ```
    /// use tracer_gate::policy::ToolGlobs;
    ///
    /// assert!(!ToolGlobs::default().matches("search"));
    /// ```
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        self.0.iter().any(|glob| matches(glob, tool))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is no name that they do not match.
    pub(crate) fn allows_everything(&self) -> bool {
        self.0.iter().any(|glob| glob.chars().all(|char| char == '*'))
    }
}

/// Whether a glob matches a name. After a `*` only the last one is ever tried again, so that the work grows with the
/// product of the lengths at most.
fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut in_glob, mut in_name) = (0, 0);
    // Behind the last star, and from where in the name it is tried.
    let mut star: Option<(usize, usize)> = None;
    while let Some(char) = name.get(in_name) {
        match glob.get(in_glob) {
            Some('*') => {
                star = Some((in_glob + 1, in_name));
                in_glob += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == char => {
                in_glob += 1;
                in_name += 1;
            }
            _ => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (in_glob, in_name) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    glob.iter().skip(in_glob).all(|char| *char == '*')
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
            assert_eq!(matches(glob, name), is_match, "{glob} and {name}");
        }
    }

    #[test]
    fn a_glob_that_is_made_to_be_hard_is_not() {
        let (glob, name) = ("*a".repeat(200) + "b", "a".repeat(2_000));
        assert!(!matches(&glob, &name));
    }
}
