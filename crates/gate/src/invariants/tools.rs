//! Names of tools in the keys of invariants, literal or with wildcards.

use serde::de::{Deserialize, Deserializer, Error};
use tracer_runs::matches_glob;

use crate::Finding;
use tracer_insight::marked_text::MarkedText;
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

/// Finding on tools that must not be called, from those of them that were: `called delete_user`.
pub(super) fn called<'a>(run: &RunProfile, tools: impl Iterator<Item = &'a String>) -> Finding {
    let reason = named("called ", &tools.collect::<Vec<_>>());
    Finding::unless_missing(run, reason.is_empty(), reason)
}

/// Finding on tools that must be called, whose calls may be among missing spans: `no call of send_reply`.
pub(super) fn not_called<'a>(run: &RunProfile, required: impl Iterator<Item = &'a String>) -> Finding {
    let called = run.signature.tool_names();
    let absent: Vec<&String> = required.filter(|tool| !called.contains(tool)).collect();
    let count = absent.len() as u64;
    let missing = run.missing.as_ref();
    let may_be_missing = missing.is_some_and(|missing| missing.spans.is_none_or(|spans| spans >= count));
    match count {
        0 => Finding::kept(),
        _ if may_be_missing => Finding::default(),
        _ => Finding::broken(named("no call of ", &absent)),
    }
}

fn named(what: &str, tools: &[&String]) -> MarkedText {
    match tools {
        [] => MarkedText::default(),
        tools => MarkedText::own(what).with_value(
            tools
                .iter()
                .map(|tool| tool.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ),
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
