//! The order of steps: numbered as they happened, arranged as they are nested. Every surface numbers and nests here.

use tracer_sdk::format::{EventType, Timestamp};

/// Placeholder for a step that is not there.
pub const NONE: u32 = u32::MAX;

/// Numbers what a run consists of, in the order of time: steps from 1, the run itself 0.
///
/// `records` come in the order of the projection, `in_flight` in any. Calls in flight come after the records of the same
/// instant; the end of the run is left out. A damaged run may have more than one root: the first is the run, the others
/// are steps, so that what is nested in them stays visible as theirs.
pub fn numbered<Place: Ord>(
    records: impl IntoIterator<Item = (Timestamp, EventType, Place)>,
    in_flight: impl IntoIterator<Item = (Timestamp, Place)>,
) -> impl Iterator<Item = (usize, Place)> {
    let mut in_flight: Vec<(Timestamp, Place)> = in_flight.into_iter().collect();
    in_flight.sort_unstable();
    let mut in_flight = in_flight.into_iter().peekable();
    let mut records = records
        .into_iter()
        .filter(|(_, event_type, _)| *event_type != EventType::RunEnd)
        .peekable();
    let (mut has_started, mut number) = (false, 0);
    std::iter::from_fn(move || {
        let next_record = records.peek().map(|(instant, ..)| *instant);
        let is_due = |started: &(Timestamp, Place)| next_record.is_none_or(|instant| started.0 < instant);
        let (event_type, place) = match in_flight.next_if(is_due) {
            Some((_, place)) => (None, place),
            None => records
                .next()
                .map(|(_, event_type, place)| (Some(event_type), place))?,
        };
        if event_type == Some(EventType::RunStart) && !has_started {
            has_started = true;
            return Some((0, place));
        }
        number += 1;
        Some((number, place))
    })
}

/// An item in its place among nested ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nested {
    /// The item, by its index.
    pub item: u32,
    /// The place of the item that it is nested in; [`NONE`] at the top.
    pub parent: u32,
    /// Number of items that it is nested in.
    pub depth: u16,
    /// Set when others are nested in it.
    pub has_children: bool,
}

/// Arranges items so that each comes after the item that it is nested in, siblings in their order.
///
/// `parents` has the parent of each item, [`NONE`] for none; of the items at the top, one that `is_run` comes first, even
/// where a damaged log says that something began before it. Members of a cycle, which only a damaged run has, are at the
/// top.
pub(crate) fn for_each_nested(
    parents: &[u32],
    is_run: impl Fn(usize) -> bool,
    mut place: impl FnMut(Nested),
) {
    // Each item's first child and next sibling: lists of children without a list for each.
    let mut first_child = vec![NONE; parents.len()];
    let mut next_sibling = vec![NONE; parents.len()];
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
    tops.sort_by_key(|top| !is_run(*top as usize));
    let mut placed = vec![false; parents.len()];
    let mut position_count = 0;
    let all = 0..u32::try_from(parents.len()).unwrap_or(NONE);
    // A run may be nested deeper than the call stack is.
    let mut waiting: Vec<(u32, u32, u16)> = Vec::new();
    for top in tops.into_iter().chain(all) {
        waiting.push((top, NONE, 0));
        while let Some((item, parent, depth)) = waiting.pop() {
            let at = item as usize;
            let Some(is_placed) = placed.get_mut(at) else {
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
            let child = first_child.get(at).copied().filter(|child| *child != NONE);
            place(Nested {
                item,
                parent,
                depth,
                has_children: child.is_some(),
            });
            if let Some(child) = child {
                waiting.push((child, position_count, depth.saturating_add(1)));
            }
            position_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(microseconds: i64) -> Timestamp {
        Timestamp::from_unix_microseconds(microseconds)
    }

    #[test]
    fn calls_in_flight_are_numbered_among_the_records() {
        let records = [
            (at(0), EventType::RunStart, "run"),
            (at(1), EventType::ToolCall, "first"),
            (at(3), EventType::RunStart, "second root"),
            (at(3), EventType::RunEnd, "end"),
        ];
        let in_flight = [(at(9), "last"), (at(1), "between")];
        let numbers: Vec<(usize, &str)> = numbered(records, in_flight).collect();
        let expected = [
            (0, "run"),
            (1, "first"),
            (2, "between"),
            (3, "second root"),
            (4, "last"),
        ];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn every_item_has_one_place_even_in_a_cycle() {
        let mut order = Vec::new();
        for_each_nested(
            &[1, 0, NONE, 2],
            |item| item == 2,
            |nested| {
                order.push((nested.item, nested.parent, nested.depth));
            },
        );
        assert_eq!(order, [(2, NONE, 0), (3, 0, 1), (0, NONE, 0), (1, 2, 1)]);
    }
}
