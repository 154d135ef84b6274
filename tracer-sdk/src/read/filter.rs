//! Which runs of a store somebody wants to see: by status, by name, by age.

use super::store::RunSummary;
use crate::format::{RecordedStatus, RunMeta, Timestamp};

/// The status of a run, as whatever shows runs names it: `list`, `show`, `prune`, the page, and `run_status` in JSON.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// # let data_dir = folder.path();
/// use tracer_sdk::read::{RunStatus, RunStore};
///
/// assert_eq!(RunStore::new(data_dir).list()?[0].status(), RunStatus::Ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunStatus {
    /// The run goes on, or nothing shows that it does not.
    Running,
    /// The process that recorded the run died before the run could end.
    Interrupted,
    /// The run ended with an error.
    Failed,
    /// The run ended well, and asked the same again and again on the way.
    Looped,
    /// The run ended well.
    Ok,
    /// The run's metadata or its log cannot be read.
    Damaged,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Interrupted,
        Self::Failed,
        Self::Looped,
        Self::Ok,
        Self::Damaged,
    ];

    /// The word for it: `running`, `interrupted`, `failed`, `loop`, `ok` or `damaged`.
    ///
    /// ```
    /// use tracer_sdk::read::RunStatus;
    ///
    /// assert_eq!(RunStatus::Looped.as_str(), "loop");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Looped => "loop",
            Self::Ok => "ok",
            Self::Damaged => "damaged",
        }
    }

    /// The status with this word; `error`, the format's word for a run that failed, is understood too.
    ///
    /// ```
    /// use tracer_sdk::read::RunStatus;
    ///
    /// assert_eq!(RunStatus::from_word("damaged"), Some(RunStatus::Damaged));
    /// assert_eq!(RunStatus::from_word("error"), Some(RunStatus::Failed));
    /// assert_eq!(RunStatus::from_word("lost"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let recorded = (word == RecordedStatus::Error.as_str()).then_some(Self::Failed);
        recorded.or_else(|| Self::ALL.into_iter().find(|status| status.as_str() == word))
    }

    /// The status that metadata gives. Whether the process of a run that says it runs is gone, and whether a run that ended
    /// well looped, is asked only then.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunStatus, RunStore};
    ///
    /// let meta = RunStore::new(data_dir).newest()?.open()?.meta;
    /// assert_eq!(RunStatus::recorded(&meta, || unreachable!("it has ended"), || false), RunStatus::Ok);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recorded(
        meta: &RunMeta,
        is_interrupted: impl FnOnce() -> bool,
        has_looped: impl FnOnce() -> bool,
    ) -> Self {
        match meta.status {
            RecordedStatus::Running if is_interrupted() => Self::Interrupted,
            RecordedStatus::Running => Self::Running,
            RecordedStatus::Error => Self::Failed,
            RecordedStatus::Ok if has_looped() => Self::Looped,
            RecordedStatus::Ok => Self::Ok,
        }
    }

    /// Whether the run has no end yet, or never will have one.
    ///
    /// ```
    /// use tracer_sdk::read::RunStatus;
    ///
    /// assert!(RunStatus::Interrupted.is_open() && !RunStatus::Failed.is_open());
    /// ```
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Interrupted)
    }
}

/// What runs have to be like; without anything set, every run passes.
///
/// ```
/// use tracer_sdk::read::{NamePattern, RunFilter, RunStatus};
///
/// let filter = RunFilter {
///     statuses: vec![RunStatus::Failed, RunStatus::Interrupted],
///     name: Some(NamePattern::new("support-*")),
///     since: None,
/// };
/// assert!(filter.name.as_ref().unwrap().matches("support-agent"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The run has one of these statuses; none means any.
    pub statuses: Vec<RunStatus>,
    /// The run's name is like this; a run without a name does not pass.
    pub name: Option<NamePattern>,
    /// The run started then or later. One that cannot tell when it started passes: it is not hidden for being damaged.
    pub since: Option<Timestamp>,
}

impl RunFilter {
    /// Whether a run passes. Its status is asked for last, and only when the answer depends on it: that looks at the file
    /// system.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunFilter, RunStatus, RunStore};
    ///
    /// let failed = RunFilter { statuses: vec![RunStatus::Failed], ..RunFilter::default() };
    /// let mut runs = RunStore::new(data_dir).list()?;
    /// runs.retain(|run| failed.passes(run));
    /// assert!(runs.is_empty()); // the only run ended well
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn passes(&self, run: &RunSummary) -> bool {
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
        is_recent() && is_named() && (self.statuses.is_empty() || self.statuses.contains(&run.status()))
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
        let filter = |statuses: &[RunStatus], name: Option<&str>, since: Option<&str>| RunFilter {
            statuses: statuses.to_vec(),
            name: name.map(NamePattern::new),
            since: since.map(|since| since.parse().unwrap()),
        };
        for (filter, expected) in [
            (RunFilter::default(), true),
            (
                filter(&[RunStatus::Ok], Some("night"), Some("2026-01-02T00:00:00Z")),
                true,
            ),
            (filter(&[RunStatus::Failed, RunStatus::Ok], None, None), true),
            (filter(&[RunStatus::Failed], None, None), false),
            (filter(&[], Some("daily"), None), false),
            (filter(&[], None, Some("2026-01-02T00:00:01Z")), false),
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
    fn a_run_that_cannot_tell_when_it_started_is_not_hidden() {
        let (_data, store) = store_with(&[("10000000000000000000000000000001", "2026-01-02T00:00:00Z")]);
        let mut run = store.list().unwrap().remove(0);
        run.meta = Err(Vec::new());
        let since = RunFilter {
            since: Some("2030-01-01T00:00:00Z".parse().unwrap()),
            ..RunFilter::default()
        };
        assert!(since.passes(&run));
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
