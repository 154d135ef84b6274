//! What is wrong with a log, told from its index alone where that can be told (decisions, section 10).

use super::LogIndex;
use super::structure::{self, Expectations};
use crate::format::Problem;

impl LogIndex {
    /// What is wrong with how the spans of a completed run fit together, and how many problems there are besides: what
    /// [`outline_run`](super::outline_run) tells of the log without another look at it. `None` when a line has a problem
    /// or a span was left out: then only the whole log tells.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let index = tracer_sdk::read::LogIndex::open(&directory, None, false)?;
    /// assert_eq!(index.completed_run_problems(), Some((vec![], 0)));
    ///
    /// std::fs::write(directory.join("spans.jsonl"), "no span\n")?;
    /// let index = tracer_sdk::read::LogIndex::open(&directory, None, false)?;
    /// assert_eq!(index.completed_run_problems(), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn completed_run_problems(&self) -> Option<(Vec<Problem>, u64)> {
        if !self.is_clean || self.file.is_none() {
            return None;
        }
        let expected = Expectations {
            is_completed: true,
            is_whole: true,
        };
        // The check marks spans that others have the ID of: here there are none.
        let (kept, more) = structure::check(&mut self.entries.clone(), expected).into_parts();
        Some((kept.collect(), more))
    }
}
