//! The records of a run in the order of the projection, each found again in the file by its number.

use super::log::Entry;
use super::project::Rank;
use super::tally::Promoted;
use crate::format::{EventType, Timestamp};

/// The records of a run, without their contents.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The spans that are shown, by when their own records come.
    spans: Vec<Entry>,
    /// What roots give besides, by when it comes.
    promoted: Vec<Promoted>,
    /// The number of each of these among all records.
    numbers: Vec<usize>,
}

/// Where a record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source<'a> {
    /// A span's own record.
    Span(&'a Entry),
    /// Another record of a root.
    Promoted(&'a Promoted),
}

/// What orders records: the instant, the rank among equals, the place in the file, the number within the span.
type Key = (Timestamp, Rank, u64, u32);

fn span_key(entry: &Entry) -> Key {
    (
        entry.start(),
        Rank::of(entry.event_type()),
        entry.place().offset,
        0,
    )
}

fn promoted_key(promoted: &Promoted) -> Key {
    (
        promoted.instant,
        Rank::of(promoted.event_type),
        promoted.place.offset,
        promoted.number,
    )
}

impl Order {
    /// Orders spans and what roots give besides; spans that are not shown are left out.
    pub(super) fn new(mut spans: Vec<Entry>, mut promoted: Vec<Promoted>) -> Self {
        spans.retain(Entry::is_shown);
        spans.sort_unstable_by_key(span_key);
        promoted.sort_unstable_by_key(promoted_key);
        let numbers = promoted
            .iter()
            .enumerate()
            .map(|(before, promoted)| {
                let key = promoted_key(promoted);
                before + spans.partition_point(|span| span_key(span) < key)
            })
            .collect();
        Self {
            spans,
            promoted,
            numbers,
        }
    }

    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len() + self.promoted.len()
    }

    /// Where a record comes from.
    pub(super) fn get(&self, number: usize) -> Option<Source<'_>> {
        match self.numbers.binary_search(&number) {
            Ok(promoted) => self.promoted.get(promoted).map(Source::Promoted),
            Err(before) => self.spans.get(number - before).map(Source::Span),
        }
    }

    /// The spans that are shown, in the order of their records.
    pub(super) fn spans(&self) -> &[Entry] {
        &self.spans
    }

    /// The types of all records, in no order.
    pub(super) fn types(&self) -> impl Iterator<Item = EventType> {
        types(&self.spans, &self.promoted)
    }
}

/// The types of the records that spans give, in no order.
pub(super) fn types(spans: &[Entry], promoted: &[Promoted]) -> impl Iterator<Item = EventType> {
    let own = spans.iter().filter(|span| span.is_shown()).map(Entry::event_type);
    own.chain(promoted.iter().map(|promoted| promoted.event_type))
}
