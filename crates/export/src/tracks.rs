//! Rows for spans, so that those that overlap do not collide: a span lies in the row of its parent while it is the only
//! child there, else in a row of its own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tracer_sdk::format::{SpanId, Timestamp};

/// The time that a span takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

/// The rows, filled with spans in the order in which they start.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// The open spans of each row, the outermost first.
    open: Vec<Vec<(SpanId, Timestamp)>>,
    /// Rows that hold something, by when they are free again: the end of the outermost span.
    busy: BinaryHeap<Reverse<(Timestamp, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
    /// The row of each open span.
    of_span: HashMap<SpanId, usize>,
}

impl Tracks {
    /// Number of rows so far.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// The row of a span. Spans come in the order of their starts, of two that start together the longer first.
    pub(super) fn place(&mut self, id: SpanId, parent: Option<SpanId>, interval: Interval) -> usize {
        self.clear_until(interval.start);
        let within_parent = parent
            .and_then(|parent| Some((parent, *self.of_span.get(&parent)?)))
            .filter(|(parent, track)| self.is_free_within(*track, *parent, interval));
        let track = match within_parent {
            Some((_, track)) => track,
            None => self.free_track(interval.end),
        };
        if let Some(open) = self.open.get_mut(track) {
            open.push((id, interval.end));
        }
        self.of_span.insert(id, track);
        track
    }

    /// The row in which an instant of this span is shown: its own, or the first when it lies in none any more.
    pub(super) fn track_of(&self, span: Option<SpanId>) -> usize {
        span.and_then(|span| self.of_span.get(&span).copied())
            .unwrap_or(0)
    }

    fn clear_until(&mut self, now: Timestamp) {
        while let Some(Reverse((until, track))) = self.busy.peek().copied() {
            if until > now {
                return;
            }
            self.busy.pop();
            for (id, _) in self.open.get_mut(track).map(std::mem::take).unwrap_or_default() {
                self.of_span.remove(&id);
            }
            self.free.push(Reverse(track));
        }
    }

    /// Nothing but the span's parent is open in the parent's row, and for long enough.
    fn is_free_within(&mut self, track: usize, parent: SpanId, interval: Interval) -> bool {
        let Some(open) = self.open.get_mut(track) else {
            return false;
        };
        while let Some((id, _)) = open.pop_if(|(_, end)| *end <= interval.start) {
            self.of_span.remove(&id);
        }
        open.last()
            .is_some_and(|(top, end)| *top == parent && *end >= interval.end)
    }

    fn free_track(&mut self, until: Timestamp) -> usize {
        let track = if let Some(Reverse(track)) = self.free.pop() {
            track
        } else {
            self.open.push(Vec::new());
            self.open.len() - 1
        };
        self.busy.push(Reverse((until, track)));
        track
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(microsecond: i64) -> Timestamp {
        Timestamp::from_unix_microseconds(microsecond)
    }

    fn id(number: u64) -> SpanId {
        SpanId::from_u64(number).unwrap()
    }

    fn placed(spans: &[(u64, u64, i64, i64)]) -> Vec<usize> {
        let mut tracks = Tracks::default();
        spans
            .iter()
            .map(|&(span, parent, start, end)| {
                let interval = Interval {
                    start: at(start),
                    end: at(end),
                };
                tracks.place(id(span), SpanId::from_u64(parent), interval)
            })
            .collect()
    }

    #[test]
    fn children_one_after_the_other_share_the_row_of_their_parent_and_those_at_once_do_not() {
        assert_eq!(
            placed(&[(1, 0, 0, 100), (2, 1, 0, 50), (3, 1, 50, 90)]),
            [0, 0, 0]
        );
        assert_eq!(
            placed(&[
                (1, 0, 0, 100),
                (2, 1, 0, 50),
                (3, 1, 10, 60),
                (4, 3, 20, 30),
                (5, 1, 70, 80)
            ]),
            [0, 0, 1, 1, 0]
        );
    }

    #[test]
    fn a_child_that_outlives_its_parent_has_a_row_of_its_own() {
        assert_eq!(
            placed(&[(1, 0, 0, 100), (2, 1, 50, 150), (3, 0, 100, 120)]),
            [0, 1, 0]
        );
    }

    proptest! {
        #[test]
        fn in_one_row_spans_lie_apart_or_within_their_ancestors(
            mut spans in prop::collection::vec((0u64..12, 0i64..40, 1i64..40), 1..40)
        ) {
            spans.sort_by_key(|(_, start, length)| (*start, Reverse(*length)));
            // Parents have started before.
            let spans: Vec<(u64, u64, i64, i64)> = spans
                .into_iter()
                .zip(1u64..)
                .map(|((parent, start, length), number)| (number, parent % number, start, start + length))
                .collect();
            let tracks = placed(&spans);
            for (first, one) in spans.iter().enumerate() {
                for (second, other) in spans.iter().enumerate().skip(first + 1) {
                    let apart = one.3 <= other.2;
                    let within = one.2 <= other.2 && other.3 <= one.3;
                    prop_assert!(tracks[first] != tracks[second] || apart || within, "{one:?} {other:?}");
                }
            }
        }
    }
}
