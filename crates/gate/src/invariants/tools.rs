//! Names of tools in the keys of invariants, literal or with wildcards.

use serde::de::{Deserialize, Deserializer, Error};
use tracer_runs::matches_glob;

use crate::ReportedTrial;
use crate::phrase::Phrase;
use tracer_insight::profile::RunProfile;

/// Reads a list of names, none of which is empty.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if names.iter().any(String::is_empty) {
        return Err(D::Error::custom("must be a list of texts that are not empty"));
    }
    Ok(names)
}

/// Names of tools that an invariant ignores: `*` is any text, `?` any one character.
#[derive(Debug, Default)]
pub(super) struct AllowedTools(Vec<String>);

impl<'de> Deserialize<'de> for AllowedTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        names(deserializer).map(Self)
    }
}

impl AllowedTools {
    /// Checks if one of them is the name of this tool.
    pub(super) fn matches(&self, tool: &str) -> bool {
        self.0.iter().any(|glob| matches_glob(glob, tool))
    }

    /// Checks if they match every name.
    pub(super) fn allows_everything(&self) -> bool {
        self.0.iter().any(|glob| glob.chars().all(|char| char == '*'))
    }

    /// `, but search*`; empty without any.
    pub(super) fn words(&self) -> String {
        match self.0.as_slice() {
            [] => String::new(),
            globs => format!(", but {}", globs.join(", ")),
        }
    }
}

/// The outcome of an invariant on tools that must be called; missing spans may hold the calls of `not_called`.
pub(super) fn required(run: &RunProfile, not_called: &[String]) -> Option<bool> {
    let not_called = not_called.len() as u64;
    let missing = run.missing.as_ref();
    let may_be_missing = missing.is_some_and(|missing| missing.spans.is_none_or(|spans| spans >= not_called));
    match not_called {
        0 => Some(true),
        _ if may_be_missing => None,
        _ => Some(false),
    }
}

/// `called delete_user`
pub(super) fn called(_: &ReportedTrial, tools: &[String]) -> Phrase {
    of_tools("called ", tools)
}

/// `no call of send_reply`
pub(super) fn not_called(_: &ReportedTrial, tools: &[String]) -> Phrase {
    of_tools("no call of ", tools)
}

fn of_tools(what: &str, tools: &[String]) -> Phrase {
    match tools {
        [] => Phrase::default(),
        tools => Phrase::words(what).and_value(tools.join(", ")),
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
