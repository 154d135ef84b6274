//! [`Clause`]: what the name of a model or a provider must be like, as the table writes it.

use serde::Deserialize;

/// A condition on a name in lower case. A text is one with its first character as the operator: `=` is the name, `^`
/// begins it, `$` ends it, `~` is in it; `#` is the name and `%` begins it with `#` for each digit. A list is any of its
/// conditions.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Clause<'a> {
    #[serde(borrow)]
    Text(&'a str),
    #[serde(borrow)]
    Any(Vec<Clause<'a>>),
    All {
        #[serde(borrow)]
        all: Vec<Clause<'a>>,
    },
    Not {
        #[serde(borrow)]
        not: Vec<Clause<'a>>,
    },
}

impl<'a> Clause<'a> {
    pub(super) fn is_match(&self, name: &str) -> bool {
        match self {
            Self::Text(text) => is_text_match(text, name),
            Self::Any(clauses) => clauses.iter().any(|clause| clause.is_match(name)),
            Self::All { all } => all.iter().all(|clause| clause.is_match(name)),
            Self::Not { not } => !not.iter().any(|clause| clause.is_match(name)),
        }
    }

    /// The names that it is for, where nothing else matches it.
    pub(super) fn names(&self) -> Option<Vec<&'a str>> {
        match self {
            Self::Text(text) => Some(vec![text.strip_prefix('=')?]),
            Self::Any(clauses) => {
                let names: Option<Vec<_>> = clauses.iter().map(Self::names).collect();
                names.map(|names| names.concat())
            }
            Self::All { .. } | Self::Not { .. } => None,
        }
    }
}

fn is_text_match(text: &str, name: &str) -> bool {
    let mut characters = text.chars();
    let operator = characters.next();
    let text = characters.as_str();
    match operator {
        Some('=') => name == text,
        Some('^') => name.starts_with(text),
        Some('$') => name.ends_with(text),
        Some('~') => name.contains(text),
        Some('#') => name.len() == text.len() && is_shaped(text, name),
        Some('%') => name.len() >= text.len() && is_shaped(text, name),
        _ => false,
    }
}

/// Returns whether the name begins as the shape says, where `#` is a digit.
fn is_shaped(shape: &str, name: &str) -> bool {
    shape
        .bytes()
        .zip(name.bytes())
        .all(|(expected, byte)| byte == expected || expected == b'#' && byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(clause: &str, name: &str) -> bool {
        serde_json::from_str::<Clause<'_>>(clause).unwrap().is_match(name)
    }

    #[test]
    fn each_operator_asks_its_own() {
        for (clause, good, bad) in [
            (r#""=gpt-5""#, "gpt-5", "gpt-5-mini"),
            (r#""^gpt-5""#, "gpt-5-mini", "my-gpt-5"),
            (r#""$-tts""#, "flash-tts", "flash-tts-2"),
            (r#""~claude""#, "my-claude-5", "clau-de"),
            (r##""#opus-####-##""##, "opus-2026-11", "opus-2026-1x"),
            (r##""#opus-####-##""##, "opus-2026-11", "opus-2026-111"),
            (r#""%flash-#""#, "flash-7-preview", "flash-preview"),
            (r#"["=a", "^b"]"#, "bc", "c"),
            (r#"{"all": ["^a", {"not": ["~/", "$z"]}]}"#, "ab", "az"),
            (r#"{"all": ["^a", {"not": ["~/", "$z"]}]}"#, "ab", "a/b"),
        ] {
            assert!(matches(clause, good), "{clause} {good}");
            assert!(!matches(clause, bad), "{clause} {bad}");
        }
        assert!(!matches(r#""""#, ""));
        assert!(!matches(r#""?a""#, "a"));
    }
}
