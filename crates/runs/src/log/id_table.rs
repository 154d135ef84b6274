//! [`IdTable`]: from span IDs to positions in a list of entries. A general hash table of positions doubles its room when it
//! is full, and takes up to ten bytes for each entry, 5 MB more of a million spans.

use std::hash::{BuildHasher, RandomState};

use tracer_format::SpanId;
use tracer_format::project::IndexEntry;

/// No position.
const EMPTY: u32 = u32::MAX;

/// Finds the first entry with an ID: a table of positions, at most six bytes for each entry.
///
/// The bits of a slot that no position needs hold a part of the hash: entries that only stand next to the one that is
/// looked for are skipped without being fetched, which is what takes time in a table of a million.
#[derive(Debug)]
pub(crate) struct IdTable {
    slots: Vec<u32>,
    /// The bits of a slot that hold a position; the others hold a part of the hash.
    position_bits: u32,
    /// Keyed at random, so that no file can be made that fills one corner of the table.
    hasher: RandomState,
}

impl IdTable {
    /// A table with room for `count` entries.
    pub(crate) fn with_room_for(count: usize) -> Self {
        // All ones are no position, so that no slot that is taken looks empty.
        let needed = u32::try_from(count).map_or(0, u32::leading_zeros);
        Self {
            slots: vec![EMPTY; count + count / 3 + 1],
            position_bits: u32::MAX.checked_shr(needed).unwrap_or(0),
            hasher: RandomState::new(),
        }
    }

    /// The position of the first entry with this ID.
    pub(crate) fn find(&self, entries: &[IndexEntry], id: SpanId) -> Option<u32> {
        let (slot, _) = self.slot(entries, id);
        let found = self.slots.get(slot).filter(|found| **found != EMPTY)?;
        Some(found & self.position_bits)
    }

    /// Inserts an entry; gives the position of the one with its ID that was there before. The table keeps the first of
    /// them, or the first that belongs to the run and can be read, if there is one.
    pub(crate) fn insert(&mut self, entries: &[IndexEntry], position: u32) -> Option<u32> {
        let entry = entries.get(position as usize)?;
        let (slot, mark) = self.slot(entries, entry.span_id());
        let found = self.slots.get_mut(slot)?;
        if *found == EMPTY {
            *found = mark | position;
            return None;
        }
        let before = *found & self.position_bits;
        if entry.is_own() && entries.get(before as usize).is_some_and(|first| !first.is_own()) {
            *found = mark | position;
        }
        Some(before)
    }

    /// The slot that holds the ID, or the free one where it belongs (a quarter of the slots is always free), and the
    /// bits of the slot that are not the position.
    fn slot(&self, entries: &[IndexEntry], id: SpanId) -> (usize, u32) {
        let hash = self.hasher.hash_one(id);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "half of a good hash is a good hash"
        )]
        let mark = hash as u32 & !self.position_bits;
        // The upper half of the product of a hash and the length is evenly spread below the length.
        let product = u128::from(hash) * self.slots.len() as u128;
        let mut slot = usize::try_from(product >> 64).unwrap_or(0);
        loop {
            match self.slots.get(slot) {
                Some(&held) if held != EMPTY => {
                    let entry = || entries.get((held & self.position_bits) as usize);
                    if held & !self.position_bits == mark && entry().is_none_or(|entry| entry.span_id() == id)
                    {
                        return (slot, mark);
                    }
                    slot += 1;
                    if slot == self.slots.len() {
                        slot = 0;
                    }
                }
                _ => return (slot, mark),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use tracer_format::parse::Identity;
    use tracer_format::project::LinePlace;

    fn entry(id: u64, line: u64) -> IndexEntry {
        let identity = Identity {
            trace_id: None,
            span_id: SpanId::from_u64(id).unwrap(),
            parent_span_id: None,
        };
        let place = LinePlace {
            offset: 7,
            length: 9,
            line,
        };
        IndexEntry::new(identity, place, None, false)
    }

    proptest! {
        #[test]
        fn the_table_finds_the_first_of_each_id(ids in prop::collection::vec(1u64..40, 0..60)) {
            let entries: Vec<IndexEntry> = (1..).zip(&ids).map(|(line, id)| entry(*id, line)).collect();
            let mut table = IdTable::with_room_for(entries.len());
            let mut expected: HashMap<u64, u32> = HashMap::new();
            for (position, id) in (0..).zip(&ids) {
                prop_assert_eq!(table.insert(&entries, position), expected.get(id).copied());
                expected.entry(*id).or_insert(position);
            }
            for id in 1..50 {
                prop_assert_eq!(table.find(&entries, SpanId::from_u64(id).unwrap()), expected.get(&id).copied());
            }
        }
    }
}
