//! The entries of an object's shape, sorted in place in the text that they were appended to.
//!
//! An object gives its keys in any order and there may be very many. Their text is appended as they come; it is sorted
//! at the object's end, and before that whenever it has grown to several times what a shape may hold, so that memory
//! stays bounded and the result does not depend on the order.

use super::limits::MAX_SHAPE_BYTES;

/// How much text one object may have before what sorts past the limit is dropped.
const SORT_AT: usize = 4 * MAX_SHAPE_BYTES;

/// The entries of all objects that are being read, the innermost last.
#[derive(Debug, Default)]
pub(super) struct ObjectEntries {
    entries: Vec<EntryPlace>,
    /// Working memory of [`ObjectEntries::sort`].
    sorting: Vec<EntryPlace>,
}

/// Where one `key:shape,` stands in the text.
#[derive(Debug, Clone, Copy)]
struct EntryPlace {
    start: usize,
    key_end: usize,
    end: usize,
}

impl EntryPlace {
    fn key(self, text: &[u8]) -> Option<&[u8]> {
        text.get(self.start..self.key_end)
    }

    fn moved_to(self, start: usize) -> Self {
        Self {
            start,
            key_end: start + (self.key_end - self.start),
            end: start + (self.end - self.start),
        }
    }
}

/// An object that is being read.
pub(super) struct OpenObject {
    /// Where its text starts.
    start: usize,
    /// Which entry is its first.
    first: usize,
}

impl ObjectEntries {
    /// An object starts at the end of `out`.
    pub(super) fn begin(&mut self, out: &[u8]) -> OpenObject {
        OpenObject {
            start: out.len(),
            first: self.entries.len(),
        }
    }

    /// The end of `out`, from `start`, is an entry of `object`; its key ends at `key_end`.
    pub(super) fn add(&mut self, object: &OpenObject, start: usize, key_end: usize, out: &mut Vec<u8>) {
        out.push(b',');
        let end = out.len();
        self.entries.push(EntryPlace { start, key_end, end });
        if out.len() - object.start > SORT_AT {
            self.sort(object, out);
        }
    }

    /// The object has no more entries: leaves them sorted at the end of `out`, separated by commas.
    pub(super) fn end(&mut self, object: &OpenObject, out: &mut Vec<u8>) {
        self.sort(object, out);
        if self.entries.len() > object.first {
            out.pop();
        }
        self.entries.truncate(object.first);
    }

    /// Sorts the object's entries by key. A key given twice counts once, the last time, as in a parsed value. What
    /// starts past the longest shape is dropped.
    fn sort(&mut self, object: &OpenObject, out: &mut Vec<u8>) {
        let unsorted = self.entries.get(object.first..).unwrap_or_default();
        let is_short = out.len() - object.start <= SORT_AT;
        if is_short && unsorted.is_sorted_by(|a, b| a.key(out) < b.key(out)) {
            return;
        }
        self.sorting.extend(self.entries.drain(object.first..));
        self.sorting
            .sort_unstable_by(|a, b| a.key(out).cmp(&b.key(out)).then(b.start.cmp(&a.start)));
        // The sorted text is appended behind the unsorted one, which is then cut out from before it.
        let unsorted_end = out.len();
        let mut previous: Option<EntryPlace> = None;
        for entry in self.sorting.drain(..) {
            let sorted_length = out.len() - unsorted_end;
            if sorted_length > MAX_SHAPE_BYTES {
                break;
            }
            if previous.is_some_and(|previous| previous.key(out) == entry.key(out)) {
                continue;
            }
            previous = Some(entry);
            out.extend_from_within(entry.start..entry.end);
            self.entries.push(entry.moved_to(object.start + sorted_length));
        }
        out.drain(object.start..unsorted_end);
    }
}
