//! Losses of a run: number and cause, lost parents, parts of records.

use std::fmt::Display;
use std::sync::Arc;

use super::draft::cut_to;
use tracer_format::{Dropped, SpanId, Timestamp};

/// A span that is lost, though others may name it as their parent: what a stand-in for it needs.
#[derive(Debug)]
pub(crate) struct LostParent {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) name: Arc<str>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// Most lost parents that are kept, so that the memory of a run stays small whatever it loses.
const MAX_LOST_PARENTS: usize = 4096;
/// Most bytes that are kept of each name.
const MAX_NAME_BYTES: usize = 256;

/// Losses of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    dropped: Option<Dropped>,
    left_out: u64,
    parents: Vec<LostParent>,
    forgot_parents: bool,
}

impl Losses {
    /// Counts spans that are not in the file.
    pub(crate) fn add(&mut self, spans: u64, reason: &dyn Display) {
        let dropped = self.dropped.get_or_insert_with(|| Dropped {
            spans: 0,
            reason: reason.to_string(),
        });
        dropped.spans = dropped.spans.saturating_add(spans);
    }

    /// Counts parts of records that are past what a record keeps.
    pub(crate) fn leave_out(&mut self, parts: u64) {
        self.left_out = self.left_out.saturating_add(parts);
    }

    /// Number of parts of records that were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Keeps a lost parent, to have a stand-in written for it.
    pub(crate) fn keep_parent(&mut self, mut parent: LostParent) {
        if self.parents.len() < MAX_LOST_PARENTS {
            if parent.name.len() > MAX_NAME_BYTES {
                parent.name = cut_to(&parent.name, MAX_NAME_BYTES).into();
            }
            self.parents.push(parent);
        } else {
            self.forgot_parents = true;
        }
    }

    /// The lost parents that were kept.
    pub(crate) fn take_parents(&mut self) -> Vec<LostParent> {
        std::mem::take(&mut self.parents)
    }

    /// There were more lost parents than are kept, so that the run may lack some for good.
    pub(crate) fn forgot_parents(&self) -> bool {
        self.forgot_parents
    }

    /// Number of lost spans, and why the first one was lost; `None` when none is.
    pub(crate) fn dropped(&self) -> Option<&Dropped> {
        self.dropped.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(number: u64) -> LostParent {
        LostParent {
            id: SpanId::from_u64(number + 1).unwrap(),
            parent: SpanId::from_u64(u64::MAX).unwrap(),
            name: "é".repeat(1000).into(),
            start: Timestamp::from_unix_microseconds(0),
            end: Timestamp::from_unix_microseconds(0),
        }
    }

    #[test]
    fn the_first_reason_is_kept_and_all_spans_are_counted() {
        let mut losses = Losses::default();
        assert_eq!(losses.dropped(), None);
        losses.add(2, &"the disk is full");
        losses.add(3, &"the disk is broken");
        let dropped = losses.dropped().unwrap();
        assert_eq!((dropped.spans, dropped.reason.as_str()), (5, "the disk is full"));
    }

    #[test]
    fn lost_parents_take_little_memory_and_are_not_forgotten_in_silence() {
        let mut losses = Losses::default();
        (0..MAX_LOST_PARENTS as u64).for_each(|number| losses.keep_parent(parent(number)));
        assert!(!losses.forgot_parents());
        losses.keep_parent(parent(5_000));
        assert!(losses.forgot_parents());
        let parents = losses.take_parents();
        assert_eq!(parents.len(), MAX_LOST_PARENTS);
        assert!(parents.iter().all(|parent| parent.name.len() <= MAX_NAME_BYTES));
    }
}
