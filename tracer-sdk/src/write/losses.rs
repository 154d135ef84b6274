//! Losses of a run: number and cause of lost spans, and parts of records.

use std::fmt::Display;

use tracer_format::Dropped;

/// Losses of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    dropped: Option<Dropped>,
    left_out: u64,
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

    /// Number of lost spans, and why the first one was lost; `None` when none is.
    pub(crate) fn dropped(&self) -> Option<&Dropped> {
        self.dropped.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_is_kept_and_all_spans_are_counted() {
        let mut losses = Losses::default();
        assert_eq!(losses.dropped(), None);
        losses.add(2, &"the disk is full");
        losses.add(3, &"the disk is broken");
        let dropped = losses.dropped().unwrap();
        assert_eq!((dropped.spans, dropped.reason.as_str()), (5, "the disk is full"));
    }
}
