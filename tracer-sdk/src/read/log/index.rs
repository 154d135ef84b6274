//! What is kept of every span while a log of any size is read: 48 bytes, and while spans are compared 16 more.

use std::hash::{BuildHasher, RandomState};

use super::super::span::Identity;
use crate::format::{EventType, SpanId, Timestamp};

/// Where a span stands: in the file, in time, and among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Entry {
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    start_seconds: i64,
    start_nanoseconds: u32,
    length: u32,
    offset: u64,
    /// The number of the line, and in the lowest byte what is known of the span.
    line_and_flags: u64,
}

/// The span can be read; the start of one that cannot is nothing.
const READABLE: u64 = 1 << 7;
/// The span belongs to another run.
const FOREIGN: u64 = 1 << 6;
/// A span with the same ID stands before this one and is shown.
const DUPLICATE: u64 = 1 << 5;
/// The span failed.
const FAILED: u64 = 1 << 4;
/// The type of the span's record.
const TYPE: u64 = 0b111;

/// The types of spans, by the number under which the index keeps them.
const TYPES: [EventType; 6] = [
    EventType::RunStart,
    EventType::LlmCall,
    EventType::ToolCall,
    EventType::StateUpdate,
    EventType::LoopWarning,
    EventType::Error,
];

/// Where a line lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct LinePlace {
    /// Its first byte.
    pub(in super::super) offset: u64,
    /// How many bytes it has, without its newline.
    pub(in super::super) length: u32,
    /// Its number, from 1.
    pub(in super::super) line: u64,
}

/// What is known of a span that can be read.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Known {
    pub(in super::super) start: Timestamp,
    pub(in super::super) event_type: EventType,
    pub(in super::super) is_failed: bool,
}

impl Entry {
    /// The entry of the span on a line; `known` of one that can be read.
    pub(in super::super) fn new(
        identity: Identity,
        place: LinePlace,
        known: Option<Known>,
        is_foreign: bool,
    ) -> Self {
        let mut flags = if is_foreign { FOREIGN } else { 0 };
        if let Some(known) = known {
            let number = TYPES
                .iter()
                .position(|known_type| *known_type == known.event_type);
            // At most eight types: what is none of them is `UNKNOWN`.
            flags |= READABLE | number.unwrap_or(TYPES.len()) as u64;
            flags |= if known.is_failed { FAILED } else { 0 };
        }
        let (start_seconds, start_nanoseconds) = known.map_or((0, 0), |known| known.start.to_parts());
        Self {
            span_id: identity.span_id,
            parent_span_id: identity.parent_span_id,
            start_seconds,
            start_nanoseconds,
            offset: place.offset,
            length: place.length,
            line_and_flags: place.line << 8 | flags,
        }
    }

    pub(in super::super) fn span_id(&self) -> SpanId {
        self.span_id
    }

    pub(in super::super) fn parent_span_id(&self) -> Option<SpanId> {
        self.parent_span_id
    }

    pub(in super::super) fn start(&self) -> Timestamp {
        Timestamp::from_parts(self.start_seconds, self.start_nanoseconds)
    }

    pub(in super::super) fn line(&self) -> u64 {
        self.line_and_flags >> 8
    }

    pub(in super::super) fn place(&self) -> LinePlace {
        LinePlace {
            offset: self.offset,
            length: self.length,
            line: self.line(),
        }
    }

    /// The type of the span's record, as a root's or a child's.
    pub(in super::super) fn event_type(&self) -> EventType {
        // Three bits always fit.
        TYPES
            .get((self.line_and_flags & TYPE) as usize)
            .copied()
            .unwrap_or(EventType::Unknown)
    }

    pub(in super::super) fn is_failed(&self) -> bool {
        self.line_and_flags & FAILED != 0
    }

    /// Whether the span is shown: it can be read, belongs to the run, and is the first of its ID.
    pub(in super::super) fn is_shown(&self) -> bool {
        self.line_and_flags & (READABLE | FOREIGN | DUPLICATE) == READABLE
    }

    /// Whether the span would be shown if it were the first of its ID.
    pub(in super::super) fn is_own(&self) -> bool {
        self.line_and_flags & (READABLE | FOREIGN) == READABLE
    }

    pub(in super::super) fn is_duplicate(&self) -> bool {
        self.line_and_flags & DUPLICATE != 0
    }

    pub(in super::super) fn mark_duplicate(&mut self) {
        self.line_and_flags |= DUPLICATE;
    }
}

/// Stands for no position.
const EMPTY: u32 = u32::MAX;

/// Finds the first entry with an ID: a table of positions, at most six bytes for each entry.
///
/// The bits of a slot that no position needs hold a part of the hash: entries that only stand next to the one that is
/// looked for are told from it without being fetched, which is what takes time in a table of a million.
#[derive(Debug)]
pub(in super::super) struct IdTable {
    slots: Vec<u32>,
    /// The bits of a slot that hold a position; the others hold a part of the hash.
    position_bits: u32,
    /// Keyed at random, so that no file can be made that fills one corner of the table.
    hasher: RandomState,
}

impl IdTable {
    /// A table with room for so many entries.
    pub(in super::super) fn with_room_for(count: usize) -> Self {
        // All ones are no position of so many, so that no slot that is taken looks empty.
        let needed = u32::try_from(count).map_or(0, u32::leading_zeros);
        Self {
            slots: vec![EMPTY; count + count / 3 + 1],
            position_bits: u32::MAX.checked_shr(needed).unwrap_or(0),
            hasher: RandomState::new(),
        }
    }

    /// The position of the first entry with this ID.
    pub(in super::super) fn find(&self, entries: &[Entry], id: SpanId) -> Option<u32> {
        let (slot, _) = self.slot(entries, id);
        let found = self.slots.get(slot).filter(|found| **found != EMPTY)?;
        Some(found & self.position_bits)
    }

    /// Puts an entry in; tells the position of the one with its ID that was there before. The table goes on with the
    /// first of them, or with the first that belongs to the run and can be read, if there is one.
    pub(in super::super) fn insert(&mut self, entries: &[Entry], position: u32) -> Option<u32> {
        let entry = entries.get(position as usize)?;
        let (slot, mark) = self.slot(entries, entry.span_id);
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

    /// The slot that holds the ID, or the free one where it belongs, of which a quarter always is; and what the slot
    /// holds besides the position.
    fn slot(&self, entries: &[Entry], id: SpanId) -> (usize, u32) {
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
                    if held & !self.position_bits == mark && entry().is_none_or(|entry| entry.span_id == id) {
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

    fn entry(id: u64, line: u64) -> Entry {
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
        Entry::new(identity, place, None, false)
    }

    #[test]
    fn an_entry_has_48_bytes_and_gives_back_what_it_was_given() {
        assert_eq!(size_of::<Entry>(), 48);
        let identity = Identity {
            trace_id: None,
            span_id: SpanId::from_u64(u64::MAX).unwrap(),
            parent_span_id: SpanId::from_u64(3),
        };
        let place = LinePlace {
            offset: u64::MAX,
            length: u32::MAX,
            line: (1 << 56) - 1,
        };
        for event_type in TYPES.into_iter().chain([EventType::Unknown]) {
            for is_failed in [false, true] {
                let known = Known {
                    start: Timestamp::from_unix_microseconds(-5),
                    event_type,
                    is_failed,
                };
                let mut entry = Entry::new(identity, place, Some(known), false);
                assert_eq!(
                    (entry.place(), entry.event_type(), entry.is_failed()),
                    (place, event_type, is_failed)
                );
                assert!(entry.is_shown() && entry.is_own());
                entry.mark_duplicate();
                assert!(!entry.is_shown() && entry.is_own() && entry.is_duplicate());
                assert!(!Entry::new(identity, place, Some(known), true).is_own());
            }
        }
        assert!(!Entry::new(identity, place, None, false).is_own());
    }

    proptest! {
        #[test]
        fn the_table_finds_the_first_of_each_id(ids in prop::collection::vec(1u64..40, 0..60)) {
            let entries: Vec<Entry> = (1..).zip(&ids).map(|(line, id)| entry(*id, line)).collect();
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
