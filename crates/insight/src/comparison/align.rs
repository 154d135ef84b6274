//! Which call of one run is which call of the other: a longest common subsequence, the best of all where there are
//! several, in bounded time.
//!
//! Two calls can be one when they ask the same tool, or when both ask a model; the same arguments are better than other
//! ones, the same model is better than another one. What both runs begin and end with is set aside first. What is left
//! is aligned as a whole when it is small, otherwise piece by piece: between calls that both runs have exactly once, and
//! where there are none, in windows. Then calls that moved by more than a window are listed as removed and added.

use std::collections::HashMap;
use std::ops::Range;

use super::{Call, CallList};
use tracer_sdk::format::EventType;

/// The largest table that is filled: two runs of 2,000 calls without a call in common.
const MAX_CELLS: usize = 4_000_000;
/// Number of calls of each side in a window, where nothing else cuts a long run into pieces.
const WINDOW: usize = 256;

/// A call of each side by number, or of one side.
pub(crate) type AlignedStep = (Option<usize>, Option<usize>);

/// The calls of both sides in order; no number comes twice, none is left out.
pub(crate) fn align(before: &CallList, after: &CallList) -> Vec<AlignedStep> {
    let before: Vec<Call<'_>> = before.iter().collect();
    let after: Vec<Call<'_>> = after.iter().collect();
    let mut aligner = Aligner {
        before: &before,
        after: &after,
        steps: Vec::with_capacity(before.len().max(after.len())),
    };
    let shortest = before.len().min(after.len());
    let alike = |(left, right): &(&Call<'_>, &Call<'_>)| rank(left, right) == BEST;
    let head = before.iter().zip(&after).take_while(alike).count();
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(shortest - head)
        .take_while(alike)
        .count();
    aligner.pairs(0..head, 0);
    aligner.pieces(head..before.len() - tail, head..after.len() - tail);
    aligner.pairs(before.len() - tail..before.len(), after.len() - tail);
    aligner.steps
}

/// Rank of a pair of calls: 0 for calls that do not match, [`BEST`] when nothing that is known distinguishes them.
fn rank(before: &Call<'_>, after: &Call<'_>) -> u32 {
    if before.event_type != after.event_type {
        0
    } else if before.name == after.name || before.name.is_empty() || after.name.is_empty() {
        let same = before
            .fingerprint
            .zip(after.fingerprint)
            .is_none_or(|(left, right)| left == right);
        if !same {
            2
        } else if before.ends_otherwise(after) {
            3
        } else {
            BEST
        }
    } else {
        u32::from(before.event_type == EventType::LlmCall)
    }
}

const BEST: u32 = 4;

struct Aligner<'a> {
    before: &'a [Call<'a>],
    after: &'a [Call<'a>],
    steps: Vec<AlignedStep>,
}

impl Aligner<'_> {
    /// Each call of `before` with the one of the other side at the same place from `after` on.
    fn pairs(&mut self, before: Range<usize>, after: usize) {
        self.steps
            .extend(before.zip(after..).map(|(left, right)| (Some(left), Some(right))));
    }

    fn pieces(&mut self, before: Range<usize>, after: Range<usize>) {
        if before.len().saturating_mul(after.len()) <= MAX_CELLS {
            return self.whole(before, after);
        }
        let (mut left, mut right) = (before.start, after.start);
        for (anchor_left, anchor_right) in self.anchors(&before, &after) {
            self.windows(left..anchor_left, right..anchor_right);
            self.steps.push((Some(anchor_left), Some(anchor_right)));
            (left, right) = (anchor_left + 1, anchor_right + 1);
        }
        self.windows(left..before.end, right..after.end);
    }

    /// A piece between anchors, however large.
    fn windows(&mut self, mut before: Range<usize>, mut after: Range<usize>) {
        while before.len().saturating_mul(after.len()) > MAX_CELLS {
            let window = |range: &Range<usize>| range.start..range.end.min(range.start + WINDOW);
            let aligned = self.table(window(&before), window(&after));
            // The second half of a window may find better partners in the next one.
            let kept = aligned.into_iter().take_while(|(left, right)| {
                let within = |number: &Option<usize>, range: &Range<usize>| {
                    number.is_none_or(|number| number < range.start + WINDOW / 2)
                };
                within(left, &before) && within(right, &after)
            });
            let kept: Vec<AlignedStep> = kept.collect();
            let (lefts, rights) = kept.iter().fold((0, 0), |(lefts, rights), (left, right)| {
                (
                    lefts + usize::from(left.is_some()),
                    rights + usize::from(right.is_some()),
                )
            });
            self.steps.extend(kept);
            before.start += lefts;
            after.start += rights;
        }
        self.whole(before, after);
    }

    fn whole(&mut self, before: Range<usize>, after: Range<usize>) {
        let aligned = self.table(before, after);
        self.steps.extend(aligned);
    }

    /// The calls that each side has exactly once in its range and that come in the same order: the longest such series.
    fn anchors(&self, before: &Range<usize>, after: &Range<usize>) -> Vec<(usize, usize)> {
        let (left, right) = (once(self.before, before), once(self.after, after));
        let mut shared: Vec<(usize, usize)> = left
            .into_iter()
            .filter_map(|(key, number)| Some((number?, right.get(&key).copied().flatten()?)))
            .collect();
        shared.sort_unstable();
        longest_increasing(&shared)
    }

    /// The best alignment of two ranges, by dynamic programming: as many pairs as possible, then the best pairs.
    fn table(&self, before: Range<usize>, after: Range<usize>) -> Vec<AlignedStep> {
        let (Some(lefts), Some(rights)) = (self.before.get(before.clone()), self.after.get(after.clone()))
        else {
            return Vec::new();
        };
        let width = rights.len() + 1;
        // One pair more always beats better pairs.
        let pair = BEST * u32::try_from(lefts.len().min(rights.len())).unwrap_or(u32::MAX / BEST) + 1;
        let mut ways = vec![Way::Added; (lefts.len() + 1) * width];
        let mut previous = vec![0_u32; width];
        let mut current = vec![0_u32; width];
        // From the end to the start, so that reading the table from the start gives the order of time.
        for (row, left) in lefts.iter().enumerate().rev() {
            let Some(ways) = ways.get_mut(row * width..(row + 1) * width) else {
                break;
            };
            let mut beside = 0;
            if let (Some(last), Some(way)) = (current.last_mut(), ways.last_mut()) {
                *last = 0;
                *way = Way::Removed;
            }
            let columns = rights
                .iter()
                .zip(ways)
                .zip(previous.windows(2))
                .zip(current.iter_mut())
                .rev();
            for (((right, way), below), cell) in columns {
                let [below, diagonal] =
                    [below.first(), below.last()].map(|score| score.copied().unwrap_or(0));
                let rank = rank(left, right);
                let paired = if rank == 0 { 0 } else { diagonal + pair + rank };
                (*cell, *way) = if paired > 0 && paired >= below && paired >= beside {
                    (paired, Way::Paired)
                } else if below >= beside {
                    (below, Way::Removed)
                } else {
                    (beside, Way::Added)
                };
                beside = *cell;
            }
            std::mem::swap(&mut previous, &mut current);
        }
        let (mut row, mut column) = (0, 0);
        let mut steps = Vec::with_capacity(lefts.len().max(rights.len()));
        while row < lefts.len() || column < rights.len() {
            let way = if row == lefts.len() {
                Way::Added
            } else {
                ways.get(row * width + column).copied().unwrap_or(Way::Removed)
            };
            let left = (way != Way::Added).then_some(before.start + row);
            let right = (way != Way::Removed).then_some(after.start + column);
            steps.push((left, right));
            row += usize::from(left.is_some());
            column += usize::from(right.is_some());
        }
        steps
    }
}

/// Next move of an alignment from a cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Paired,
    Removed,
    Added,
}

/// Key that two equal calls share: type, name and fingerprint.
pub(super) type CallKey<'a> = (EventType, &'a str, Option<u64>);

/// The number of each call in a range that is there once; `None` for one that is there more often.
fn once<'a>(calls: &'a [Call<'a>], range: &Range<usize>) -> HashMap<CallKey<'a>, Option<usize>> {
    let mut numbers: HashMap<CallKey<'a>, Option<usize>> = HashMap::new();
    for (number, call) in calls.iter().enumerate().skip(range.start).take(range.len()) {
        let key = (call.event_type, call.name, call.fingerprint);
        numbers
            .entry(key)
            .and_modify(|known| *known = None)
            .or_insert(Some(number));
    }
    numbers
}

/// The longest series of pairs, sorted by their first numbers, whose second numbers grow too.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends such a series with the smallest second number; and what stood before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |index: usize| pairs.get(index).map_or(usize::MAX, |pair| pair.1);
    for index in 0..pairs.len() {
        let length = ends.partition_point(|end| second(*end) < second(index));
        before.push(
            length
                .checked_sub(1)
                .and_then(|shorter| ends.get(shorter).copied()),
        );
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut series: Vec<(usize, usize)> = std::iter::successors(ends.last().copied(), |index| {
        before.get(*index).copied().flatten()
    })
    .filter_map(|index| pairs.get(index).copied())
    .collect();
    series.reverse();
    series
}

#[cfg(test)]
mod tests;
