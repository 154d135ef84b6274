//! [`RunThreads`]: the runs of each conversation.

use std::collections::HashMap;
use std::hash::Hash;

use tracer_sdk::format::TraceId;

use crate::store::ListedRun;

/// The place of a run in its thread: the runs that share its session or conversation ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceInThread<'a> {
    /// The session or conversation ID.
    pub thread: &'a str,
    /// Its number, from 1 for the one that started first.
    pub number: usize,
    /// The number of runs in the thread.
    pub count: usize,
}

/// The threads of runs: those that share a session or conversation ID. A run that is alone in its session is in none.
///
/// ```
/// use tracer_catalog::{FactsStore, RunThreads};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let runs = FactsStore::new(folder.path()).all(false)?.runs;
/// let threads = RunThreads::of(&runs);
/// assert_eq!((threads.count(), threads.place(&runs[0])), (0, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunThreads {
    /// Of each run in a thread, its number there, and of how many.
    places: HashMap<TraceId, (usize, usize)>,
    count: usize,
}

impl RunThreads {
    /// The threads of runs, which come newest first.
    #[must_use]
    pub fn of(runs: &[ListedRun]) -> Self {
        let members = runs
            .iter()
            .filter_map(|run| Some((run.facts.session.as_deref()?, run.directory.trace_id)));
        Self::of_members(members)
    }

    /// The threads of runs by their sessions, the newest first.
    pub(crate) fn of_members<Session: Eq + Hash>(members: impl Iterator<Item = (Session, TraceId)>) -> Self {
        let mut by_session: HashMap<Session, Vec<TraceId>> = HashMap::new();
        for (session, run) in members {
            by_session.entry(session).or_default().push(run);
        }
        let mut threads = Self::default();
        for runs in by_session.into_values().filter(|runs| runs.len() > 1) {
            let count = runs.len();
            let oldest_first = (1..).zip(runs.into_iter().rev());
            let places = oldest_first.map(|(number, run)| (run, (number, count)));
            threads.places.extend(places);
            threads.count += 1;
        }
        threads
    }

    /// The place of a run in its thread.
    #[must_use]
    pub fn place<'a>(&self, run: &'a ListedRun) -> Option<PlaceInThread<'a>> {
        let (number, count) = *self.places.get(&run.directory.trace_id)?;
        Some(PlaceInThread {
            thread: run.facts.session.as_deref()?,
            number,
            count,
        })
    }

    /// The number of threads.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Puts the runs of each thread together, where the first of them is.
pub fn group_threads(runs: &mut Vec<&ListedRun>) {
    let mut of_session: HashMap<&str, Vec<&ListedRun>> = HashMap::new();
    for run in runs.iter() {
        if let Some(session) = run.facts.session.as_deref() {
            of_session.entry(session).or_default().push(run);
        }
    }
    let ordered = std::mem::take(runs);
    for run in ordered {
        match run.facts.session.as_deref() {
            None => runs.push(run),
            // Those behind the first were pushed with it.
            Some(session) => runs.extend(of_session.remove(session).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{chats, seconds};

    #[test]
    fn runs_of_a_session_are_one_thread() {
        let runs = chats();
        let threads = RunThreads::of(&runs);
        let of = |second: usize| {
            let place = threads.place(&runs[6 - second])?;
            Some((place.thread, place.number, place.count))
        };
        assert_eq!((of(1), of(4)), (Some(("a", 1, 2)), Some(("a", 2, 2))));
        assert_eq!((of(2), of(6)), (Some(("b", 1, 2)), Some(("b", 2, 2))));
        assert_eq!((of(3), of(5)), (None, None));
        assert_eq!(threads.count(), 2);
        let mut listed: Vec<&ListedRun> = runs.iter().collect();
        group_threads(&mut listed);
        assert_eq!(seconds(&listed), [6, 2, 5, 4, 1, 3]);
    }
}
