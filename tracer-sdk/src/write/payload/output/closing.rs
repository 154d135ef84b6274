//! Closing of the text, whatever happened: containers ended, places filled.

use super::Output;
use crate::write::escape::push_string;
use crate::write::payload::WrittenValue;
use crate::write::payload::interrupted::{Interrupted, WriteResult};
use tracer_format::names::markers::{TRUNCATED, UNSERIALIZABLE};

impl Output<'_> {
    /// Ends a child's `serialize`: its siblings are still written unless the budget is gone.
    #[inline]
    pub(in crate::write::payload) fn settle(&mut self, depth: usize, outcome: &WriteResult) -> WriteResult {
        let replaced = std::mem::take(&mut self.replaced);
        if self.stopped {
            return Err(Interrupted);
        }
        if outcome.is_err() && !replaced {
            self.written.failed = true;
        }
        self.back_to(depth)?;
        self.fill();
        Ok(())
    }

    /// The value's own code panicked: nothing more comes.
    pub(in crate::write::payload) fn fail(&mut self) {
        self.written.failed = true;
        if !self.stopped {
            self.close_to(0, Some(UNSERIALIZABLE));
        }
    }

    /// Closes what is open, and tells what became of the value.
    pub(in crate::write::payload) fn finish(mut self) -> WrittenValue {
        self.close_to(0, self.stopped.then_some(TRUNCATED));
        self.written
    }

    /// Closes what a child left open within the container at `depth`: it failed, or its panic was caught on the way.
    #[inline]
    pub(super) fn back_to(&mut self, depth: usize) -> WriteResult {
        if self.stopped || self.depth < depth {
            return Err(Interrupted);
        }
        if self.depth > depth {
            self.written.failed = true;
            self.close_to(depth, Some(UNSERIALIZABLE));
        }
        Ok(())
    }

    /// Closes containers, leaving `marker` where writing ended.
    pub(super) fn close_to(&mut self, depth: usize, mut marker: Option<&str>) {
        if self.awaiting {
            let failed = marker.is_none();
            self.written.failed |= failed;
            self.append_marker(marker.take().unwrap_or(UNSERIALIZABLE));
            self.awaiting = false;
        }
        while self.depth > depth {
            self.depth -= 1;
            let container = self.open.get(self.depth).copied().unwrap_or_default();
            if let Some(marker) = marker.take() {
                if container.has_items {
                    self.out.push(b',');
                }
                if container.is_object {
                    self.append_marker(marker);
                    self.out.push(b':');
                }
                self.append_marker(marker);
            }
            self.out.push(if container.is_object { b'}' } else { b']' });
        }
    }

    /// Fills a place that was left empty.
    #[inline]
    pub(super) fn fill(&mut self) {
        if self.awaiting {
            self.fill_with_marker();
        }
    }

    #[cold]
    fn fill_with_marker(&mut self) {
        self.awaiting = false;
        self.written.failed = true;
        self.append_marker(UNSERIALIZABLE);
    }

    pub(super) fn append_marker(&mut self, marker: &str) {
        push_string(self.out, marker);
    }
}
