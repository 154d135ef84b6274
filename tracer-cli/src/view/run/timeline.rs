//! The rows of a run: every record but its end, and the calls under way; numbered as they happened, as `tracer show`
//! numbers its steps, and ordered as they are nested.

use std::collections::HashMap;

use tracer_sdk::format::{EventType, SpanId, Timestamp};
use tracer_sdk::read::{LogIndex, PromotedRecord, StartedSpan};

/// Stands for a row that is not there.
pub(in super::super) const NONE: u32 = u32::MAX;

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Source {
    /// The run itself, of which nothing but its metadata is known: its root has not ended.
    Run,
    /// The span at a place of the index.
    Span(u32),
    /// What a root gives besides its own record.
    Surfaced(u32),
    /// A call that has begun and not ended.
    InFlight(u32),
}

/// A row: 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Row {
    pub(in super::super) source: Source,
    /// The number of the step, from 1; 0 for the run itself.
    pub(in super::super) number: u32,
    /// The row that it is nested in.
    pub(in super::super) parent: u32,
    pub(in super::super) depth: u16,
    pub(in super::super) has_children: bool,
}

/// The rows of a run.
#[derive(Debug, Default)]
pub(in super::super) struct Timeline {
    pub(in super::super) rows: Vec<Row>,
    /// The row of each step, by its number.
    row_of_number: Vec<u32>,
    /// The row of each span, by its place in the index.
    row_of_span: Vec<u32>,
}

/// A row before it has a place.
struct Item {
    source: Source,
    number: u32,
}

impl Timeline {
    /// The rows of what is in the index, and of what is in flight. `is_open` says that the run has not ended: without a
    /// root, a row stands for the run then.
    pub(in super::super) fn new(index: &LogIndex, in_flight: &[StartedSpan], is_open: bool) -> Self {
        let surfaced: Vec<PromotedRecord> = index.promoted().collect();
        let mut items = in_time(index, &surfaced, in_flight);
        let has_root = items.first().is_some_and(|item| item.number == 0);
        let stands_in = is_open && !items.iter().any(|item| is_root(index, item.source));
        if stands_in && !has_root {
            let run = Item {
                source: Source::Run,
                number: 0,
            };
            items.insert(0, run);
        }
        let parents = parents(index, &surfaced, in_flight, &items, stands_in);
        let mut timeline = nested(&items, &parents);
        timeline.find_rows(index.len());
        timeline
    }

    fn find_rows(&mut self, spans: usize) {
        self.row_of_number = vec![NONE; self.rows.len() + 1];
        self.row_of_span = vec![NONE; spans];
        for (place, row) in (0..).zip(&self.rows) {
            if let Some(slot) = self.row_of_number.get_mut(row.number as usize) {
                *slot = place;
            }
            if let Source::Span(position) = row.source
                && let Some(slot) = self.row_of_span.get_mut(position as usize)
            {
                *slot = place;
            }
        }
    }

    /// The row with a number, from 0.
    pub(in super::super) fn get(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)
    }

    /// How many steps there are.
    pub(in super::super) fn steps(&self) -> usize {
        self.rows.iter().filter(|row| row.number > 0).count()
    }

    /// The row of the step with a number.
    pub(in super::super) fn row_of_step(&self, number: usize) -> Option<usize> {
        let row = self
            .row_of_number
            .get(number)
            .copied()
            .filter(|row| *row != NONE)?;
        Some(row as usize)
    }

    /// The row of the span at a place of the index.
    pub(in super::super) fn row_of_span(&self, position: usize) -> Option<usize> {
        let row = self
            .row_of_span
            .get(position)
            .copied()
            .filter(|row| *row != NONE)?;
        Some(row as usize)
    }
}

fn is_root(index: &LogIndex, source: Source) -> bool {
    matches!(source, Source::Span(position)
        if index.span(position as usize).is_some_and(|span| span.parent_span_id.is_none()))
}

/// When a row happened; among equals the first root comes first, then the order of the file, then what is in flight.
type Key = (Timestamp, u8, u64, u32);

/// The rows in the order of the projection, each with its number.
fn in_time(index: &LogIndex, surfaced: &[PromotedRecord], in_flight: &[StartedSpan]) -> Vec<Item> {
    let mut keyed: Vec<(Key, Source)> = Vec::with_capacity(index.len() + surfaced.len() + in_flight.len());
    for position in 0..index.len() {
        if let (Some(span), Ok(place)) = (index.span(position), u32::try_from(position)) {
            let rank = u8::from(span.event_type != EventType::RunStart);
            keyed.push(((span.start, rank, span.offset, 0), Source::Span(place)));
        }
    }
    for (place, record) in (0..).zip(surfaced) {
        if record.event_type != EventType::RunEnd {
            let offset = index.span(record.span).map_or(0, |root| root.offset);
            keyed.push((
                (record.instant, 1, offset, record.number),
                Source::Surfaced(place),
            ));
        }
    }
    for (place, started) in (0..).zip(in_flight) {
        keyed.push((
            (started.start_time.instant(), u8::MAX, 0, place),
            Source::InFlight(place),
        ));
    }
    // The stable sort finds what is in order already: nearly all of a log that was written as it happened.
    keyed.sort_by_key(|(key, _)| *key);
    let mut has_started = false;
    let mut number = 0;
    let items = keyed.into_iter().map(|(_, source)| {
        // A damaged run may have more than one root; what is nested in the others stays visible as theirs.
        let is_start = !has_started && is_root(index, source);
        has_started |= is_start;
        if !is_start {
            number += 1;
        }
        Item {
            source,
            number: if is_start { 0 } else { number },
        }
    });
    items.collect()
}

/// The item that each item is nested in.
fn parents(
    index: &LogIndex,
    surfaced: &[PromotedRecord],
    in_flight: &[StartedSpan],
    items: &[Item],
    stands_in: bool,
) -> Vec<u32> {
    let mut item_of_span = vec![NONE; index.len()];
    let mut item_in_flight: HashMap<SpanId, u32> = HashMap::new();
    let mut run = NONE;
    for (place, item) in (0..).zip(items) {
        match item.source {
            Source::Run => run = place,
            Source::Span(position) => {
                if let Some(slot) = item_of_span.get_mut(position as usize) {
                    *slot = place;
                }
            }
            Source::InFlight(number) => {
                if let Some(started) = in_flight.get(number as usize) {
                    item_in_flight.insert(started.span_id, place);
                }
            }
            Source::Surfaced(_) => {}
        }
    }
    let of_span = |position: usize| item_of_span.get(position).copied().unwrap_or(NONE);
    let of_id = |id: SpanId| {
        let found = index.find(id).map(of_span).filter(|item| *item != NONE);
        // What is nested in a span that nobody has heard of is nested in the root that has not ended.
        found
            .or_else(|| item_in_flight.get(&id).copied())
            .unwrap_or(if stands_in { run } else { NONE })
    };
    // Spans that follow each other are mostly nested in the same one.
    let mut last: Option<(SpanId, u32)> = None;
    let mut of_parent = |id: SpanId| match last {
        Some((last_id, item)) if last_id == id => item,
        _ => {
            let item = of_id(id);
            last = Some((id, item));
            item
        }
    };
    let parent = |item: &Item| match item.source {
        Source::Run => NONE,
        Source::Span(position) => index
            .span(position as usize)
            .and_then(|span| span.parent_span_id)
            .map_or(NONE, &mut of_parent),
        Source::Surfaced(number) => surfaced
            .get(number as usize)
            .map_or(NONE, |record| of_span(record.span)),
        Source::InFlight(number) => in_flight
            .get(number as usize)
            .and_then(|started| started.parent_span_id)
            .map_or(if stands_in { run } else { NONE }, of_id),
    };
    items.iter().map(parent).collect()
}

/// Every row after the row that it is nested in, siblings as they happened. Members of a cycle, which only a damaged
/// run has, stand at the top.
fn nested(items: &[Item], parents: &[u32]) -> Timeline {
    // Each item's first child and next sibling: lists of children without a list for each.
    let mut first_child = vec![NONE; items.len()];
    let mut next_sibling = vec![NONE; items.len()];
    let mut tops = Vec::new();
    for (item, parent) in parents.iter().enumerate().rev() {
        let Ok(number) = u32::try_from(item) else { continue };
        match first_child.get_mut(*parent as usize) {
            Some(first) => {
                if let Some(next) = next_sibling.get_mut(item) {
                    *next = *first;
                }
                *first = number;
            }
            None => tops.push(number),
        }
    }
    tops.reverse();
    // The run stands first, even where a damaged log says that something began before it.
    tops.sort_by_key(|top| items.get(*top as usize).is_none_or(|item| item.number != 0));
    let mut rows: Vec<Row> = Vec::with_capacity(items.len());
    let mut placed = vec![false; items.len()];
    let all = 0..u32::try_from(items.len()).unwrap_or(NONE);
    // A run may be nested deeper than the call stack is.
    let mut waiting: Vec<(u32, u32, u16)> = Vec::new();
    for top in tops.into_iter().chain(all) {
        waiting.push((top, NONE, 0));
        while let Some((item, parent, depth)) = waiting.pop() {
            let at = item as usize;
            let (Some(is_placed), Some(source)) = (placed.get_mut(at), items.get(at)) else {
                continue;
            };
            // The siblings of a child follow when it and what is in it has been placed.
            if parent != NONE
                && let Some(sibling) = next_sibling.get(at).copied().filter(|next| *next != NONE)
            {
                waiting.push((sibling, parent, depth));
            }
            if std::mem::replace(is_placed, true) {
                continue;
            }
            let row = u32::try_from(rows.len()).unwrap_or(NONE);
            let child = first_child.get(at).copied().filter(|child| *child != NONE);
            rows.push(Row {
                source: source.source,
                number: source.number,
                parent,
                depth,
                has_children: child.is_some(),
            });
            if let Some(child) = child {
                waiting.push((child, row, depth.saturating_add(1)));
            }
        }
    }
    Timeline {
        rows,
        ..Timeline::default()
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
