//! [`RunFilter`]: runs of a store by status and by name.

use super::status::RunStatus;
use super::summary::RunSummary;

/// Filter of runs by status and name; without anything set, every run passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The run has one of these statuses; none means any.
    pub statuses: Vec<RunStatus>,
    /// The run's name is like this; a run without a name does not pass.
    pub name: Option<NamePattern>,
}

impl RunFilter {
    /// Returns whether a run passes. Its status is checked last, and only when the answer depends on it: that reads the
    /// file system.
    #[must_use]
    pub fn passes(&self, run: &RunSummary) -> bool {
        let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
        let is_named = || {
            self.name
                .as_ref()
                .is_none_or(|pattern| name.is_some_and(|name| pattern.matches(name)))
        };
        is_named() && (self.statuses.is_empty() || self.statuses.contains(&run.status()))
    }
}

/// Pattern for a name: matches a part of it or, with `*` (any characters) or `?` (any one), all of it. Ignores case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    characters: Vec<char>,
    is_glob: bool,
}

impl NamePattern {
    /// The pattern with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            characters: folded(text),
            is_glob: text.contains(['*', '?']),
        }
    }

    /// Returns whether the pattern matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name = folded(name);
        if self.is_glob {
            return glob(&self.characters, &name);
        }
        self.characters.is_empty()
            || name
                .windows(self.characters.len())
                .any(|part| part == self.characters)
    }
}

fn folded(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns whether a glob pattern, with `*` for any text and `?` for any one character, matches all of a text.
#[must_use]
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let characters = |text: &str| text.chars().collect::<Vec<char>>();
    glob(&characters(pattern), &characters(text))
}

/// Follows the pattern and, where it does not fit, lets the last `*` match one character more: the work grows with the
/// product of the lengths at most.
fn glob(pattern: &[char], name: &[char]) -> bool {
    let (mut at_pattern, mut at_name) = (0, 0);
    let mut last_star = None;
    while let Some(character) = name.get(at_name) {
        match pattern.get(at_pattern) {
            Some('*') => {
                last_star = Some((at_pattern + 1, at_name));
                at_pattern += 1;
            }
            Some(expected) if *expected == '?' || expected == character => {
                at_pattern += 1;
                at_name += 1;
            }
            _ => {
                let Some((behind_star, taken)) = last_star else {
                    return false;
                };
                last_star = Some((behind_star, taken + 1));
                (at_pattern, at_name) = (behind_star, taken + 1);
            }
        }
    }
    pattern.iter().skip(at_pattern).all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::store_with;
    use tracer_format::RecordedStatus;

    #[test]
    fn a_name_is_matched_in_part_or_by_a_glob_as_a_whole() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "agent", true),
            ("GENT", "Agent", true),
            ("agents", "agent", false),
            ("agent*", "agent", true),
            ("agent*", "my agent", false),
            ("*agent", "my agent", true),
            ("a*t", "agent", true),
            ("a*g*t", "agent", true),
            ("a?ent", "agent", true),
            ("?", "", false),
            ("*", "", true),
            ("*ä?", "ÄÄb", true),
            ("[a]", "a", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
        ] {
            assert_eq!(
                NamePattern::new(pattern).matches(name),
                expected,
                "{pattern:?} {name:?}"
            );
        }
    }

    #[test]
    fn a_run_passes_when_all_that_is_asked_fits() {
        let (_data, store) = store_with(&[("10000000000000000000000000000001", "2026-01-02T00:00:00Z")]);
        let run = store.list().unwrap().remove(0);
        let filter = |statuses: &[RunStatus], name: Option<&str>| RunFilter {
            statuses: statuses.to_vec(),
            name: name.map(NamePattern::new),
        };
        for (filter, expected) in [
            (RunFilter::default(), true),
            (filter(&[RunStatus::Ok], Some("night")), true),
            (filter(&[RunStatus::Failed, RunStatus::Ok], None), true),
            (filter(&[RunStatus::Failed], None), false),
            (filter(&[], Some("daily")), false),
        ] {
            assert_eq!(filter.passes(&run), expected, "{filter:?}");
        }
    }

    #[test]
    fn a_status_is_what_metadata_says_and_what_it_cannot_say() {
        let (_data, store) = store_with(&[("10000000000000000000000000000001", "2026-01-02T00:00:00Z")]);
        let mut run = store.list().unwrap().remove(0);
        let meta = run.meta.as_mut().unwrap();
        for (status, looped, interrupted, state) in [
            (RecordedStatus::Running, false, false, RunStatus::Running),
            (RecordedStatus::Running, true, true, RunStatus::Interrupted),
            (RecordedStatus::Error, true, false, RunStatus::Failed),
            (RecordedStatus::Ok, true, false, RunStatus::Looped),
            (RecordedStatus::Ok, false, false, RunStatus::Ok),
        ] {
            meta.status = status;
            assert_eq!(RunStatus::recorded(meta, || interrupted, || looped), state);
        }
        assert_eq!(run.status(), RunStatus::Ok);
        std::fs::remove_file(run.directory.path.join("spans.jsonl")).unwrap();
        assert_eq!(run.status(), RunStatus::Ok, "a listed run is as it was found");
        assert_eq!(store.list().unwrap()[0].status(), RunStatus::Damaged);
        run.meta = Err(Vec::new());
        assert_eq!(run.status(), RunStatus::Damaged);
    }

    #[test]
    fn every_status_has_its_word() {
        for state in RunStatus::ALL {
            assert_eq!(RunStatus::from_word(state.as_str()), Some(state));
        }
        assert_eq!(RunStatus::from_word("OK"), None);
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_any_star_in_it(text in "[a-c]{0,8}", position in any::<prop::sample::Index>()) {
            prop_assert!(NamePattern::new(&text).matches(&text));
            let mut starred = text.clone();
            starred.insert(position.index(text.len() + 1), '*');
            prop_assert!(NamePattern::new(&starred).matches(&text));
        }
    }
}
