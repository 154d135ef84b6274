//! [`Timeline`]: the rows of an indexed run, every record but its end and the calls in flight, numbered as they happened and
//! ordered as they are nested.

use std::collections::HashMap;

use tracer_runs::{LogIndex, PromotedRecord, RecordSource, StartedSpan};
use tracer_sdk::format::{EventType, SpanId};

use crate::step_order::{NONE, for_each_nested};

/// The source of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowSource {
    /// The run itself, known only by its metadata: its root has not ended.
    Run,
    /// The span at a place of the index.
    Span(u32),
    /// A record that is promoted from a root.
    Promoted(u32),
    /// A call that has begun and not ended.
    InFlight(u32),
}

/// A row: 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineRow {
    /// Its source.
    pub source: RowSource,
    /// The number of the step, from 1; 0 for the run itself.
    pub number: u32,
    /// The row that it is nested in; [`NONE`] at the top.
    pub parent: u32,
    /// Number of rows that it is nested in.
    pub depth: u16,
    /// Set when others are nested in it.
    pub has_children: bool,
}

/// The rows of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The rows in their order.
    pub rows: Vec<TimelineRow>,
    /// The row of each step, by its number.
    row_of_number: Vec<u32>,
    /// The row of each span, by its place in the index.
    row_of_span: Vec<u32>,
}

/// A row before it has a place.
struct Item {
    source: RowSource,
    number: u32,
}

impl Timeline {
    /// The rows of what is in the index, in the `order` of the projection, and of what is in flight. Where it `may_lack_root`,
    /// as of a run that has not ended, a row takes the place of a root that is missing.
    pub(super) fn new(
        index: &LogIndex,
        order: Vec<RecordSource>,
        in_flight: &[StartedSpan],
        may_lack_root: bool,
    ) -> Self {
        let promoted: Vec<PromotedRecord> = index.promoted().collect();
        let mut items = in_time(index, order, in_flight);
        let has_root = items.first().is_some_and(|item| item.number == 0);
        let is_run_missing = may_lack_root && !items.iter().any(|item| is_root(index, item.source));
        if is_run_missing && !has_root {
            let run = Item {
                source: RowSource::Run,
                number: 0,
            };
            items.insert(0, run);
        }
        let parents = parents(index, &promoted, in_flight, &items, is_run_missing);
        let mut timeline = Self {
            rows: Vec::with_capacity(items.len()),
            ..Self::default()
        };
        let is_run = |item: usize| items.get(item).is_some_and(|item| item.number == 0);
        for_each_nested(&parents, is_run, |nested| {
            if let Some(item) = items.get(nested.item as usize) {
                timeline.rows.push(TimelineRow {
                    source: item.source,
                    number: item.number,
                    parent: nested.parent,
                    depth: nested.depth,
                    has_children: nested.has_children,
                });
            }
        });
        timeline.find_rows(index);
        timeline
    }

    /// Finds the row of each step and span; a span that repeats a call has the call's.
    fn find_rows(&mut self, index: &LogIndex) {
        self.row_of_number = vec![NONE; self.rows.len() + 1];
        self.row_of_span = vec![NONE; index.len()];
        for (place, row) in (0..).zip(&self.rows) {
            if let Some(slot) = self.row_of_number.get_mut(row.number as usize) {
                *slot = place;
            }
            if let RowSource::Span(position) = row.source
                && let Some(slot) = self.row_of_span.get_mut(position as usize)
            {
                *slot = place;
            }
        }
        for (repeat, call) in index.repeats() {
            let row = self.row_of_span.get(call).copied();
            if let (Some(slot), Some(row)) = (self.row_of_span.get_mut(repeat), row) {
                *slot = row;
            }
        }
    }

    /// The row with a number, from 0.
    pub fn get(&self, row: usize) -> Option<&TimelineRow> {
        self.rows.get(row)
    }

    /// Number of steps.
    pub fn step_count(&self) -> usize {
        self.rows.len() - usize::from(self.rows.first().is_some_and(|row| row.number == 0))
    }

    /// The row of the step with a number.
    pub fn row_of_step(&self, number: usize) -> Option<usize> {
        let row = self
            .row_of_number
            .get(number)
            .copied()
            .filter(|row| *row != NONE)?;
        Some(row as usize)
    }

    /// The row of the span at a place of the index; of one that repeats a call, the call's.
    pub fn row_of_span(&self, position: usize) -> Option<usize> {
        let row = self
            .row_of_span
            .get(position)
            .copied()
            .filter(|row| *row != NONE)?;
        Some(row as usize)
    }
}

fn is_root(index: &LogIndex, source: RowSource) -> bool {
    matches!(source, RowSource::Span(position)
        if index.span(position as usize).is_some_and(|span| span.parent_span_id.is_none()))
}

/// The rows in the order of time, numbered: steps from 1, the run itself 0.
///
/// Calls in flight come after the records of the same instant; the end of the run is left out. A damaged run may have more
/// than one root: the first is the run, the others are steps, so that what is nested in them stays visible as theirs.
fn in_time(index: &LogIndex, order: Vec<RecordSource>, in_flight: &[StartedSpan]) -> Vec<Item> {
    let records = order.into_iter().filter_map(|source| {
        let header = index.header(source).filter(|header| !header.is_leftover)?;
        let row = match source {
            RecordSource::Span(position) => RowSource::Span(position),
            RecordSource::Promoted(number) => RowSource::Promoted(number),
        };
        Some((header.instant, header.event_type, row))
    });
    let records = records.filter(|(_, event_type, _)| *event_type != EventType::RunEnd);
    let in_flight = (0..).zip(in_flight);
    let in_flight = in_flight.map(|(place, started)| {
        let row = RowSource::InFlight(place);
        (started.start_time.instant(), started.event_type, row)
    });
    let mut rows: Vec<_> = records.chain(in_flight).collect();
    rows.sort_by_key(|(instant, ..)| *instant);
    let run = rows
        .iter()
        .position(|(_, event_type, _)| *event_type == EventType::RunStart);
    let rows = rows.into_iter().enumerate();
    let items = rows.map(|(at, (.., source))| {
        let number = match run {
            Some(run) if run == at => 0,
            Some(run) if run < at => at,
            _ => at + 1,
        };
        Item {
            source,
            number: u32::try_from(number).unwrap_or(NONE),
        }
    });
    items.collect()
}

/// The item that each item is nested in.
fn parents(
    index: &LogIndex,
    promoted: &[PromotedRecord],
    in_flight: &[StartedSpan],
    items: &[Item],
    is_run_missing: bool,
) -> Vec<u32> {
    let mut item_of_span = vec![NONE; index.len()];
    let mut item_in_flight: HashMap<SpanId, u32> = HashMap::new();
    let mut run = NONE;
    for (place, item) in (0..).zip(items) {
        match item.source {
            RowSource::Run => run = place,
            RowSource::Span(position) => {
                if let Some(slot) = item_of_span.get_mut(position as usize) {
                    *slot = place;
                }
            }
            RowSource::InFlight(number) => {
                if let Some(started) = in_flight.get(number as usize) {
                    item_in_flight.insert(started.span_id, place);
                }
            }
            RowSource::Promoted(_) => {}
        }
    }
    for (repeat, call) in index.repeats() {
        let item = item_of_span.get(call).copied();
        if let (Some(slot), Some(item)) = (item_of_span.get_mut(repeat), item) {
            *slot = item;
        }
    }
    let of_span = |position: usize| item_of_span.get(position).copied().unwrap_or(NONE);
    let of_id = |id: SpanId| {
        let found = index.find(id).map(of_span).filter(|item| *item != NONE);
        // Children of an unknown span are nested in the root that has not ended.
        found
            .or_else(|| item_in_flight.get(&id).copied())
            .unwrap_or(if is_run_missing { run } else { NONE })
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
        RowSource::Run => NONE,
        RowSource::Span(position) => index
            .span(position as usize)
            .and_then(|span| span.parent_span_id)
            .map_or(NONE, &mut of_parent),
        RowSource::Promoted(number) => promoted
            .get(number as usize)
            .map_or(NONE, |record| of_span(record.span)),
        RowSource::InFlight(number) => in_flight
            .get(number as usize)
            .and_then(|started| started.parent_span_id)
            .map_or(if is_run_missing { run } else { NONE }, of_id),
    };
    items.iter().map(parent).collect()
}

#[cfg(test)]
mod tests {
    use tracer_sdk::format::Timestamp;
    use tracer_sdk::testing::capture;

    use super::*;

    #[test]
    fn calls_in_flight_are_numbered_among_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let run = capture(|| (0..2).try_for_each(|_| tracer_sdk::tool_call("search").record()));
        let index = LogIndex::open(&run.save(folder.path()).unwrap(), None, false).unwrap();
        let started = |at: Timestamp| StartedSpan {
            span_id: "00f067aa0ba902b7".parse().unwrap(),
            parent_span_id: None,
            name: "search".to_owned(),
            event_type: EventType::ToolCall,
            start_time: at.to_string().parse().unwrap(),
            arguments: None,
        };
        let in_flight = [
            started("2100-01-01T00:00:00Z".parse().unwrap()),
            started(index.span(0).unwrap().start),
        ];
        let items = in_time(&index, index.in_order(), &in_flight);
        let numbered: Vec<_> = items.iter().map(|item| (item.number, item.source)).collect();
        let expected = [
            (0, RowSource::Span(2)),
            (1, RowSource::Span(0)),
            (2, RowSource::InFlight(1)),
            (3, RowSource::Span(1)),
            (4, RowSource::InFlight(0)),
        ];
        assert_eq!(numbered, expected);
    }
}
