//! Which runs of a store somebody wants to see: by how they stand, by name, by age. Nothing here reads a file.

use super::liveness::Liveness;
use super::store::ListedRun;
use crate::format::{RunStatus, Timestamp};

/// How a run stands, as far as a list tells runs apart.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// # let data_dir = folder.path();
/// use tracer_sdk::read::{RunState, RunStore};
///
/// let listed = RunStore::new(data_dir).list()?;
/// assert_eq!(RunState::of(&listed[0], || listed[0].liveness()), RunState::Ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// The run goes on, or nothing tells that it does not.
    Running,
    /// The run ended well.
    Ok,
    /// The run ended with an error.
    Error,
    /// The process that recorded the run died before the run could end.
    Interrupted,
    /// The run's metadata cannot be read.
    Damaged,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Ok,
        Self::Error,
        Self::Interrupted,
        Self::Damaged,
    ];

    /// The word for it: `running`, `ok`, `error`, `interrupted` or `damaged`.
    ///
    /// ```
    /// use tracer_sdk::read::RunState;
    ///
    /// assert_eq!(RunState::Interrupted.as_str(), "interrupted");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Damaged => "damaged",
        }
    }

    /// The state with this word.
    ///
    /// ```
    /// use tracer_sdk::read::RunState;
    ///
    /// assert_eq!(RunState::from_word("damaged"), Some(RunState::Damaged));
    /// assert_eq!(RunState::from_word("lost"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// How a run stands; whether one that says that it runs still does is asked only where it matters.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunState, RunStore};
    ///
    /// let listed = RunStore::new(data_dir).list()?;
    /// assert_eq!(RunState::of(&listed[0], || listed[0].liveness()), RunState::Ok);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(run: &ListedRun, liveness: impl FnOnce() -> Liveness) -> Self {
        let Ok(meta) = &run.meta else {
            return Self::Damaged;
        };
        match meta.status {
            RunStatus::Ok => Self::Ok,
            RunStatus::Error => Self::Error,
            RunStatus::Running if liveness() == Liveness::Interrupted => Self::Interrupted,
            RunStatus::Running => Self::Running,
        }
    }
}

/// What runs have to be like; without anything set, every run passes.
///
/// ```
/// use tracer_sdk::read::{NamePattern, RunFilter, RunState};
///
/// let filter = RunFilter {
///     states: vec![RunState::Error, RunState::Interrupted],
///     name: Some(NamePattern::new("support-*")),
///     since: None,
/// };
/// assert!(filter.name.as_ref().unwrap().matches("support-agent"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The run stands in one of these ways; none means any.
    pub states: Vec<RunState>,
    /// The run's name is like this; a run without a name does not pass.
    pub name: Option<NamePattern>,
    /// The run started then or later. One that cannot tell when it started passes: it is not hidden for being damaged.
    pub since: Option<Timestamp>,
}

impl RunFilter {
    /// Whether a run passes. Its liveness is asked for only when the answer depends on it:
    /// [`ListedRun::liveness`] looks at the file system.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunFilter, RunState, RunStore};
    ///
    /// let failed = RunFilter { states: vec![RunState::Error], ..RunFilter::default() };
    /// let mut runs = RunStore::new(data_dir).list()?;
    /// runs.retain(|run| failed.passes(run, || run.liveness()));
    /// assert!(runs.is_empty()); // the only run ended well
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn passes(&self, run: &ListedRun, liveness: impl FnOnce() -> Liveness) -> bool {
        let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
        let is_named = || {
            self.name
                .as_ref()
                .is_none_or(|pattern| name.is_some_and(|name| pattern.matches(name)))
        };
        let is_recent = || {
            self.since
                .is_none_or(|since| run.started().is_none_or(|started| started >= since))
        };
        is_recent()
            && is_named()
            && (self.states.is_empty() || self.states.contains(&RunState::of(run, liveness)))
    }
}

/// What a name is like: a part of it or, with `*` (any characters) or `?` (any one), all of it. Case does not count.
///
/// ```
/// use tracer_sdk::read::NamePattern;
///
/// assert!(NamePattern::new("support").matches("Support-Agent"));
/// assert!(!NamePattern::new("support*").matches("my support-agent"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    characters: Vec<char>,
    is_glob: bool,
}

impl NamePattern {
    /// The pattern with this text.
    ///
    /// ```
    /// use tracer_sdk::read::NamePattern;
    ///
    /// assert!(NamePattern::new("run-?").matches("run-7"));
    /// ```
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            characters: folded(text),
            is_glob: text.contains(['*', '?']),
        }
    }

    /// Whether a name is like this.
    ///
    /// ```
    /// use tracer_sdk::read::NamePattern;
    ///
    /// let pattern = NamePattern::new("*-agent");
    /// assert!(pattern.matches("support-agent"));
    /// assert!(!pattern.matches("support-agent-2"));
    /// ```
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

/// Follows the pattern and, where it does not fit, lets the last `*` take one character more.
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

    use super::super::tests::store_with;
    use super::*;

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
        let never = || -> Liveness { panic!("not asked for") };
        let filter = |states: &[RunState], name: Option<&str>, since: Option<&str>| RunFilter {
            states: states.to_vec(),
            name: name.map(NamePattern::new),
            since: since.map(|since| since.parse().unwrap()),
        };
        for (filter, expected) in [
            (RunFilter::default(), true),
            (
                filter(&[RunState::Ok], Some("night"), Some("2026-01-02T00:00:00Z")),
                true,
            ),
            (filter(&[RunState::Error, RunState::Ok], None, None), true),
            (filter(&[RunState::Error], None, None), false),
            (filter(&[], Some("daily"), None), false),
            (filter(&[], None, Some("2026-01-02T00:00:01Z")), false),
        ] {
            assert_eq!(filter.passes(&run, never), expected, "{filter:?}");
        }
    }

    #[test]
    fn a_run_that_says_it_runs_is_looked_at_and_a_damaged_one_is_damaged() {
        let (_data, store) = store_with(&[("10000000000000000000000000000001", "2026-01-02T00:00:00Z")]);
        let mut run = store.list().unwrap().remove(0);
        run.meta.as_mut().unwrap().status = RunStatus::Running;
        for (liveness, state) in [
            (Liveness::Running, RunState::Running),
            (Liveness::Unknown, RunState::Running),
            (Liveness::Interrupted, RunState::Interrupted),
        ] {
            assert_eq!(RunState::of(&run, || liveness), state);
        }
        run.meta = Err(Vec::new());
        assert_eq!(RunState::of(&run, || Liveness::Unknown), RunState::Damaged);
        let since = RunFilter {
            since: Some("2030-01-01T00:00:00Z".parse().unwrap()),
            ..RunFilter::default()
        };
        assert!(since.passes(&run, || Liveness::Unknown));
        assert_eq!(RunState::from_word("damaged"), Some(RunState::Damaged));
        assert_eq!(RunState::from_word("OK"), None);
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
