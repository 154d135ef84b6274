//! [`RunThreads`]: the runs of each conversation.

use std::collections::HashMap;

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
#[derive(Debug, Clone, Default)]
pub struct RunThreads {
    /// Of each run in a thread, its number there, and of how many.
    pub(crate) places: HashMap<TraceId, (usize, usize)>,
}

impl RunThreads {
    /// The place of a run in its thread.
    #[must_use]
    pub fn place<'a>(&self, run: &'a ListedRun) -> Option<PlaceInThread<'a>> {
        let (number, count) = *self.places.get(&run.directory.trace_id)?;
        Some(PlaceInThread {
            thread: run.row.session.as_deref()?,
            number,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::run_catalog::RunOrder;
    use crate::tests::support::{chats, ordered, seconds};

    #[test]
    fn runs_of_a_session_are_one_thread() {
        let (_sandbox, runs) = chats();
        let listed = ordered(&runs, "", RunOrder::default());
        let threads = runs.threads(&listed, true).unwrap();
        let of = |second: usize| {
            let place = threads.place(&listed[6 - second])?;
            Some((place.thread, place.number, place.count))
        };
        assert_eq!((of(1), of(4)), (Some(("a", 1, 2)), Some(("a", 2, 2))));
        assert_eq!((of(2), of(6)), (Some(("b", 1, 2)), Some(("b", 2, 2))));
        assert_eq!((of(3), of(5)), (None, None));
        assert_eq!(runs.thread_count().unwrap(), 2);
        let order = RunOrder {
            groups_threads: true,
            ..RunOrder::default()
        };
        assert_eq!(seconds(&ordered(&runs, "", order)), [6, 2, 5, 4, 1, 3]);
    }
}
