//! [`FactsSnapshot`]: the facts of all runs in memory, brought up to date by a look at the files of each.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use tracer_runs::{CancelToken, StoreError};

use crate::store::{FactsStore, ListedRun, ReadingProgress};
use crate::survey::Survey;
use crate::threads::RunThreads;

/// The result of another comparison of the files of all runs.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
pub enum SnapshotLook {
    /// Nothing has changed.
    Same,
    /// The runs that are known now, and those that have to be read.
    Changed(Survey),
}

/// The facts of all runs as they were at one instant, for a program that asks again and again.
///
/// ```
/// use tracer_catalog::{FactsSnapshot, FactsStore, SnapshotLook};
/// use tracer_runs::CancelToken;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let store = FactsStore::new(folder.path());
/// let SnapshotLook::Changed(survey) = FactsSnapshot::look(&store, None, false)? else { unreachable!() };
/// let snapshot = FactsSnapshot::read(survey, &CancelToken::default(), |_| ()).expect("nobody cancels it");
/// assert_eq!(snapshot.runs().len(), 1);
/// assert_eq!(snapshot.names().collect::<Vec<_>>(), [Some("captured")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FactsSnapshot {
    runs: Vec<ListedRun>,
    has_details: bool,
    /// Up to which change the mirror of a bucket is read.
    mirrored: i64,
    // What follows from all runs is computed for the first question that needs it: there are many questions, and many runs.
    version: OnceLock<u64>,
    threads: OnceLock<RunThreads>,
    /// The places of runs whose names differ, by their names.
    named: OnceLock<Vec<usize>>,
}

impl FactsSnapshot {
    /// Compares the files of all runs and reads none. What was known `before` is taken over as long as the files stay the
    /// same; where nothing has been recorded yet, there are no runs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs cannot be read.
    pub fn look(
        store: &FactsStore,
        before: Option<&Self>,
        with_details: bool,
    ) -> Result<SnapshotLook, StoreError> {
        let with_details = with_details || before.is_some_and(|before| before.has_details);
        let survey = match before.filter(|before| before.has_details == with_details) {
            Some(before) => store.survey_after(&before.runs, before.mirrored, with_details),
            None => store.survey(with_details).map(Some),
        };
        match survey {
            Err(StoreError::Missing { .. }) => Ok(SnapshotLook::Changed(Survey::empty(store, with_details))),
            survey => Ok(survey?.map_or(SnapshotLook::Same, SnapshotLook::Changed)),
        }
    }

    /// Reads what a look found to be read; `None` when reading was cancelled.
    pub fn read(survey: Survey, cancel: &CancelToken, progress: impl FnMut(ReadingProgress)) -> Option<Self> {
        let has_details = survey.with_details;
        let read = survey.read(cancel, progress);
        (read.unread == 0).then_some(Self {
            runs: read.runs,
            has_details,
            mirrored: read.mirrored,
            version: OnceLock::new(),
            threads: OnceLock::new(),
            named: OnceLock::new(),
        })
    }

    /// The runs, the newest first.
    #[must_use]
    pub fn runs(&self) -> &[ListedRun] {
        &self.runs
    }

    /// True of a snapshot with the details of all runs.
    #[must_use]
    pub fn has_details(&self) -> bool {
        self.has_details
    }

    /// A number that changes when a run is added, changes, or goes.
    #[must_use]
    pub fn version(&self) -> u64 {
        *self.version.get_or_init(|| {
            // The order says nothing: it follows from the runs.
            let sum = self
                .runs
                .iter()
                .map(ListedRun::fingerprint)
                .fold(0_u64, u64::wrapping_add);
            let mut hasher = DefaultHasher::new();
            (sum, self.runs.len()).hash(&mut hasher);
            hasher.finish()
        })
    }

    /// The threads of the runs.
    #[must_use]
    pub fn threads(&self) -> &RunThreads {
        self.threads.get_or_init(|| RunThreads::of(&self.runs))
    }

    /// The names of the runs, each once, from A to Z; `None` comes first, of runs without one.
    pub fn names(&self) -> impl Iterator<Item = Option<&str>> {
        let name = |place: usize| self.runs.get(place).and_then(|run| run.facts.name.as_deref());
        let named = self.named.get_or_init(|| {
            let mut named = BTreeMap::new();
            for (place, run) in self.runs.iter().enumerate() {
                named.entry(run.facts.name.as_deref()).or_insert(place);
            }
            named.into_values().collect()
        });
        named.iter().map(move |place| name(*place))
    }
}
