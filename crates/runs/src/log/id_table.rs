//! [`IdTable`]: from span IDs to positions in a list of entries.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tracer_format::SpanId;
use tracer_format::project::IndexEntry;

/// Finds the first entry with an ID: a table of positions, at most eleven bytes for each entry.
#[derive(Debug, Default)]
pub(crate) struct IdTable {
    positions: HashTable<u32>,
    /// Keyed at random, so that no file can be made that fills one corner of the table.
    hasher: RandomState,
}

impl IdTable {
    /// A table with room for `count` entries.
    pub(crate) fn with_room_for(count: usize) -> Self {
        Self {
            positions: HashTable::with_capacity(count),
            hasher: RandomState::new(),
        }
    }

    /// The position of the first entry with this ID.
    pub(crate) fn find(&self, entries: &[IndexEntry], id: SpanId) -> Option<u32> {
        let is_it = |position: &u32| id_at(entries, *position) == Some(id);
        self.positions
            .find(self.hasher.hash_one(Some(id)), is_it)
            .copied()
    }

    /// Inserts an entry; gives the position of the one with its ID that was there before. The table keeps the first of
    /// them, or the first that belongs to the run and can be read, if there is one.
    pub(crate) fn insert(&mut self, entries: &[IndexEntry], position: u32) -> Option<u32> {
        let entry = entries.get(position as usize)?;
        let id = Some(entry.span_id());
        let place = self.positions.entry(
            self.hasher.hash_one(id),
            |position| id_at(entries, *position) == id,
            |position| self.hasher.hash_one(id_at(entries, *position)),
        );
        match place {
            Entry::Vacant(place) => {
                place.insert(position);
                None
            }
            Entry::Occupied(mut place) => {
                let before = *place.get();
                if entry.is_own() && entries.get(before as usize).is_some_and(|first| !first.is_own()) {
                    *place.get_mut() = position;
                }
                Some(before)
            }
        }
    }
}

fn id_at(entries: &[IndexEntry], position: u32) -> Option<SpanId> {
    entries.get(position as usize).map(IndexEntry::span_id)
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
