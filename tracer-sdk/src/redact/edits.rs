//! What was replaced in a text: where it was, and where it is now.

use std::ops::Range;

/// Places in their order, none within another.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<Edit>);

/// A place in the text before, and what is there now.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// What stands around the marker, in the text before.
    pub(super) quotes: Range<usize>,
}

impl Edits {
    pub(super) fn push(&mut self, edit: Edit) {
        self.0.push(edit);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Edit> {
        self.0.iter()
    }

    /// Where what was at `position` is now; behind the marker when that is in its place.
    pub(super) fn after(&self, position: usize) -> usize {
        let count = self.0.partition_point(|edit| edit.old.start < position);
        match count.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(edit) => edit.new.end + position.saturating_sub(edit.old.end),
            None => position,
        }
    }

    /// Where what is at `position` now was before; the beginning of what a marker replaced.
    pub(super) fn before(&self, position: usize) -> usize {
        let count = self.0.partition_point(|edit| edit.new.start < position);
        match count.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(edit) if position < edit.new.end => edit.old.start,
            Some(edit) => edit.old.end + (position - edit.new.end),
            None => position,
        }
    }
}
