//! Loops that stand in the trace itself: a block of calls with the same arguments that comes again and again at once
//! (`spec/gate.md`, section 1).
//!
//! The emitter's own loop detection belongs to the candidate, which can switch it off; this one belongs to the gate. It
//! looks at tool calls and at model calls by themselves, so that whatever was recorded in between plays no part, and at
//! blocks of any length.

use super::RepeatedCalls;
use super::compare::{Call, CallList};
use crate::format::EventType;

/// How often a block must come in a row.
const REPETITIONS: usize = 3;
/// How many findings are told: each stands for a loop of its own.
const MOST_FINDINGS: usize = 50;
/// How many names of a long block are told.
const MOST_NAMES: usize = 12;

/// The loops of a run, in the order in which they began.
pub(super) fn find(calls: &CallList) -> Vec<RepeatedCalls> {
    let mut found = Vec::new();
    for event_type in [EventType::ToolCall, EventType::LlmCall] {
        let of_type: Vec<(usize, u64)> = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.event_type == event_type)
            .enumerate()
            // A call of which nothing is known repeats no other: its place in the run stands for it.
            .map(|(place, (number, call))| (number, call.fingerprint.unwrap_or(place as u64)))
            .collect();
        let symbols: Vec<u64> = of_type.iter().map(|(_, symbol)| *symbol).collect();
        let call_at = |place: usize| of_type.get(place).and_then(|(number, _)| calls.get(*number));
        found.extend(blocks(&symbols).into_iter().map(|block| block.told(call_at)));
    }
    found.sort_by_key(|repeat| repeat.first_step);
    found
}

/// A block of symbols that is repeated without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    start: usize,
    period: usize,
    /// How many symbols the repetitions have, a last one that is cut short included.
    length: usize,
}

impl Block {
    fn end(self) -> usize {
        self.start + self.length
    }

    fn told<'a>(self, call_at: impl Fn(usize) -> Option<Call<'a>>) -> RepeatedCalls {
        let step = |place| call_at(place).and_then(|call| call.step).map_or(0, u64::from);
        let repetitions = self.length / self.period;
        let names = (self.start..self.start + self.period.min(MOST_NAMES)).filter_map(&call_at);
        RepeatedCalls {
            pattern: names.map(|call| call.name.to_owned()).collect(),
            pattern_length: self.period as u64,
            repetitions: repetitions as u64,
            first_step: step(self.start),
            last_step: step(self.start + repetitions * self.period - 1),
        }
    }
}

/// The blocks that come [`REPETITIONS`] times or more, shortest first; a block that lies within another finding is told
/// once.
///
/// For each period `p` it is enough to look at every `p`-th place: repetitions that long cover one of them and the next.
/// How far they reach to both sides is found by comparing hashes of ranges, so that the time grows with `n log² n`, even
/// for a run that was made to be hard.
fn blocks(symbols: &[u64]) -> Vec<Block> {
    let ranges = Ranges::of(symbols);
    let count = symbols.len();
    let mut found: Vec<Block> = Vec::new();
    for period in 1..=count / REPETITIONS {
        let mut place = 0;
        while place + period < count {
            let next = place + period;
            let mut reached = next;
            if symbols.get(place) == symbols.get(next) {
                let forward = longest(count - next, |length| ranges.equal(place, next, length));
                let backward = longest(place, |length| {
                    ranges.equal(place - length, next - length, length)
                });
                let block = Block {
                    start: place - backward,
                    period,
                    length: backward + forward + period,
                };
                reached = next.max(place + forward);
                let is_told = found
                    .iter()
                    .any(|other| other.start <= block.start && block.end() <= other.end());
                if block.length >= REPETITIONS * period && !is_told {
                    found.push(block);
                    if found.len() == MOST_FINDINGS {
                        return found;
                    }
                }
            }
            // The next multiple of the period at or behind what was compared already.
            place = reached.div_ceil(period) * period;
        }
    }
    found
}

/// The largest length up to `most` for which `holds`, which holds for every shorter one too.
fn longest(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut known, mut open) = (0, most + 1);
    // First in growing strides: most ranges are short.
    let mut stride = 1;
    while known + stride < open {
        if holds(known + stride) {
            known += stride;
            stride *= 2;
        } else {
            open = known + stride;
        }
    }
    while open - known > 1 {
        let middle = known + (open - known) / 2;
        if holds(middle) {
            known = middle;
        } else {
            open = middle;
        }
    }
    known
}

/// Tells whether two ranges of symbols are equal, in constant time: polynomial hashes modulo 2⁶¹ − 1.
struct Ranges {
    hashes: Vec<u64>,
    powers: Vec<u64>,
}

const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x1234_5678_9abc_def1 % MODULUS;

impl Ranges {
    fn of(symbols: &[u64]) -> Self {
        let (mut hash, mut power) = (0, 1);
        let mut hashes = vec![hash];
        let mut powers = vec![power];
        for symbol in symbols {
            hash = (multiply(hash, BASE) + symbol % MODULUS) % MODULUS;
            power = multiply(power, BASE);
            hashes.push(hash);
            powers.push(power);
        }
        Self { hashes, powers }
    }

    fn equal(&self, first: usize, second: usize, length: usize) -> bool {
        self.hash(first, length) == self.hash(second, length)
    }

    /// `None` for a range that is not there.
    fn hash(&self, start: usize, length: usize) -> Option<u64> {
        let before = multiply(*self.hashes.get(start)?, *self.powers.get(length)?);
        let whole = *self.hashes.get(start + length)?;
        Some((whole + MODULUS - before) % MODULUS)
    }
}

/// The remainder of the product: 2⁶¹ is 1 modulo 2⁶¹ − 1, so the upper bits are added to the lower ones.
fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    let lower = product & u128::from(MODULUS);
    // Both are below 2⁶¹, since both factors are.
    let sum = u64::try_from(lower + (product >> 61)).unwrap_or(0);
    sum % MODULUS
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
