//! [`FactsSnapshot`]: the facts of all runs in memory, brought up to date by a look at the files of each.

use std::hash::{DefaultHasher, Hash, Hasher};

use tracer_sdk::read::{CancelToken, StoreError};

use crate::store::{FactsStore, ListedRun, ReadingProgress, SnapshotLook, Survey};

/// The facts of all runs as they were at one instant, for a program that asks again and again.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tracer-sdk/docs/stored.rs"));
/// # let data_dir = folder.path();
/// use tracer_facts::{FactsSnapshot, FactsStore, SnapshotLook};
/// use tracer_sdk::read::CancelToken;
///
/// let store = FactsStore::new(data_dir);
/// let SnapshotLook::Changed(survey) = FactsSnapshot::look(&store, None, false)? else { unreachable!() };
/// let snapshot = FactsSnapshot::read(survey, &CancelToken::default(), |_| ()).expect("nobody cancels it");
/// assert_eq!(snapshot.runs.len(), 1);
/// # Ok::<(), tracer_sdk::read::StoreError>(())
/// ```
#[derive(Debug)]
pub struct FactsSnapshot {
    /// The runs, the newest first.
    pub runs: Vec<ListedRun>,
    has_details: bool,
    /// Up to which change the mirror of a bucket is read.
    mirrored: i64,
}

impl FactsSnapshot {
    /// Looks at the files of all runs and reads none. What was known `before` is taken over as long as the files stay the
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
        let look = match before.filter(|before| before.has_details == with_details) {
            Some(before) => store.look_again(&before.runs, before.mirrored, with_details),
            None => store.survey(with_details).map(SnapshotLook::Changed),
        };
        match look {
            Err(StoreError::Missing { .. }) => Ok(SnapshotLook::Changed(Survey::empty(with_details))),
            look => look,
        }
    }

    /// Reads what a look found to be read; `None` when reading was cancelled.
    pub fn read(survey: Survey, cancel: &CancelToken, progress: impl FnMut(ReadingProgress)) -> Option<Self> {
        let (has_details, mirrored) = (survey.has_details(), survey.mirrored());
        let read = survey.read(cancel, progress);
        (read.unread == 0).then_some(Self {
            runs: read.runs,
            has_details,
            mirrored,
        })
    }

    /// Whether the details of all runs are in it.
    #[must_use]
    pub fn has_details(&self) -> bool {
        self.has_details
    }

    /// A number that changes when a run is added, changes, or goes.
    #[must_use]
    pub fn version(&self) -> u64 {
        // The order says nothing: it follows from the runs.
        let sum = self
            .runs
            .iter()
            .map(ListedRun::fingerprint)
            .fold(0_u64, u64::wrapping_add);
        let mut hasher = DefaultHasher::new();
        (sum, self.runs.len()).hash(&mut hasher);
        hasher.finish()
    }
}
