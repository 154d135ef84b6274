//! Finds a block of records that repeats at the end of a window (decisions, section 7).

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::asked::{Asked, TrailKind};
use super::signature::{KeptSignature, StepSignature};
use super::{LoopWarning, PatternType};
use crate::SpanId;

/// Maximum number of distinct patterns that one run is warned of.
///
/// Each is remembered, so that none is warned of twice; the limit keeps that memory small in a run of any length. Past
/// it loops are still found and counted ([`LoopDetector::repetitions`]), but no longer warned of.
pub(crate) const MAX_PATTERNS: usize = 1024;

/// The patterns that a run was warned of, each as the hash of its least rotation: none is warned of twice.
#[derive(Debug, Default)]
pub struct WarnedPatterns(HashSet<u64>);

impl WarnedPatterns {
    /// Adds a pattern. Returns whether it is new and there is room for it.
    fn insert(&mut self, pattern: u64) -> bool {
        self.0.len() < MAX_PATTERNS && self.0.insert(pattern)
    }
}

/// Watches the records of one branch of a run for a block that repeats: in shape, which is warned of, and in what was asked, which
/// is a loop.
#[derive(Debug)]
pub struct LoopDetector<Id = SpanId> {
    window: usize,
    repetitions: usize,
    /// The last records, oldest first.
    records: VecDeque<Observed<Id>>,
    /// The block of signatures that the run ends with again and again.
    current: Option<Streak>,
    /// The block of calls that the run ends with again and again, the same each time.
    looping: Option<Streak>,
    /// Number of loops that have begun.
    loops: u64,
}

#[derive(Debug)]
struct Observed<Id> {
    /// The number of its signature.
    signature: u64,
    /// The signature itself, for a warning.
    written: KeptSignature,
    asked: Asked,
    id: Id,
}

impl<Id> Observed<Id> {
    fn looks_like(&self, other: &Self) -> bool {
        self.signature == other.signature
    }

    fn asks_like(&self, other: &Self, with_tools: bool) -> bool {
        self.looks_like(other) && self.asked.compare(&other.asked, with_tools).is_loop()
    }
}

/// A repetition in progress.
#[derive(Debug, Clone, Copy)]
struct Streak {
    /// Length of the block, in records.
    period: usize,
    /// Number of consecutive records that repeat the block, including those that left the window.
    length: usize,
}

impl<Id: Clone> LoopDetector<Id> {
    /// Creates a detector that searches the last `window` records for a block that comes `repetitions` times in a row.
    ///
    /// With a window or a number of repetitions below 2 it finds nothing.
    #[must_use]
    pub fn new(window: usize, repetitions: usize) -> Self {
        Self {
            window,
            repetitions,
            records: VecDeque::new(),
            current: None,
            looping: None,
            loops: 0,
        }
    }

    /// Takes the next model call, tool call or state update of the branch. Tells when its end has begun to repeat a shape
    /// in a way that was not reported before: a block that starts elsewhere in the same cycle is the same pattern.
    ///
    /// A call that tries the failed one before it again takes its place: together they are one.
    #[must_use = "a warning is reported once"]
    pub fn observe(
        &mut self,
        warned: &mut WarnedPatterns,
        signature: &StepSignature<'_>,
        asked: Asked,
        id: Id,
    ) -> Option<LoopWarning<Id>> {
        if self.window < 2 || self.repetitions < 2 {
            return None;
        }
        if let Some(before) = self.records.back_mut()
            && before.signature == signature.number
            && asked.tries_again(&before.asked)
        {
            before.asked = asked;
            before.id = id;
            return None;
        }
        self.push(signature, asked, id);
        let period = self.period(Observed::looks_like);
        let goes_on = period.is_some() && period == self.current.map(|current| current.period);
        self.current = self.streak(self.current, period, Observed::looks_like);
        self.look_for_a_loop();
        let period = period.filter(|_| !goes_on)?;
        warned
            .insert(self.pattern_hash(period))
            .then(|| self.warning(period))
    }

    /// Checks whether the repeated shapes are calls with the same repeated request. The block may be longer than that
    /// of the shapes: two files read in turn are one shape.
    fn look_for_a_loop(&mut self) {
        let period = self.current.and_then(|shapes| {
            let longest = self.records.len() / self.repetitions;
            let mut periods = shapes.period..=longest;
            periods.find(|period| {
                let with_tools = self.has(*period, TrailKind::Tool);
                (with_tools || self.has(*period, TrailKind::Model))
                    && self.repeats(*period, (self.repetitions - 1) * period, |record, before| {
                        record.asks_like(before, with_tools)
                    })
            })
        });
        let with_tools = period.is_some_and(|period| self.has(period, TrailKind::Tool));
        let goes_on = period.is_some() && period == self.looping.map(|looping| looping.period);
        self.loops += u64::from(period.is_some() && !goes_on);
        self.looping = self.streak(self.looping, period, |record, before| {
            record.asks_like(before, with_tools)
        });
    }

    /// Returns whether the block at the end of the window contains a record of this kind.
    fn has(&self, period: usize, kind: TrailKind) -> bool {
        // Mostly it is the last one.
        let is_last = self
            .records
            .back()
            .is_some_and(|record| record.asked.kind == kind);
        is_last || self.tail(period).any(|record| record.asked.kind == kind)
    }

    /// The repeated block after one more record: the previous one continues, or another one begins.
    fn streak(
        &self,
        before: Option<Streak>,
        period: Option<usize>,
        is_like: impl Fn(&Observed<Id>, &Observed<Id>) -> bool,
    ) -> Option<Streak> {
        let period = period?;
        Some(match before.filter(|before| before.period == period) {
            Some(before) => Streak {
                length: before.length.saturating_add(1),
                ..before
            },
            None => Streak {
                period,
                length: self.matching_tail(period, is_like),
            },
        })
    }

    /// The loop that the run ends with now, whether it was warned of or not.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn current(&self) -> Option<LoopWarning<Id>> {
        self.current.map(|current| self.warning(current.period))
    }

    /// Number of consecutive repetitions of the block of shapes at the end of the run; 0 when none repeats.
    ///
    /// It keeps counting after the warning and past the window, so that a guardrail may ask for more repetitions than a
    /// warning needs.
    #[must_use]
    pub fn repetitions(&self) -> usize {
        self.current.map_or(0, |current| current.length / current.period)
    }

    /// Number of consecutive repetitions of the same requests, as [`LoopDetector::repetitions`]; 0 without a loop.
    #[must_use]
    pub fn looping_repetitions(&self) -> usize {
        self.looping.map_or(0, |looping| looping.length / looping.period)
    }

    /// The loop that the run ends with, as a warning: the same calls again and again.
    pub(crate) fn loop_warning(&self) -> Option<LoopWarning<Id>> {
        self.looping.map(|looping| self.warning(looping.period))
    }

    /// Number of loops that have begun.
    #[must_use]
    pub fn loops(&self) -> u64 {
        self.loops
    }

    /// Adds a record, in the memory of the one that leaves the window.
    fn push(&mut self, signature: &StepSignature<'_>, asked: Asked, id: Id) {
        if self.records.len() < self.window {
            let mut written = KeptSignature::default();
            written.keep(signature);
            self.records.push_back(Observed {
                signature: signature.number,
                written,
                asked,
                id,
            });
            return;
        }
        self.records.rotate_left(1);
        if let Some(oldest) = self.records.back_mut() {
            oldest.signature = signature.number;
            oldest.written.keep(signature);
            oldest.asked = asked;
            oldest.id = id;
        }
    }

    /// The length of the shortest block that repeats often enough at the end of the window.
    fn period(&self, is_like: impl Fn(&Observed<Id>, &Observed<Id>) -> bool) -> Option<usize> {
        let longest = self.records.len() / self.repetitions;
        (1..=longest).find(|period| self.repeats(*period, (self.repetitions - 1) * period, &is_like))
    }

    /// Returns whether each of the last `count` records is like the one `period` before it.
    fn repeats(
        &self,
        period: usize,
        count: usize,
        is_like: impl Fn(&Observed<Id>, &Observed<Id>) -> bool,
    ) -> bool {
        let newest_first = |back: usize| self.records.get(self.records.len().checked_sub(back + 1)?);
        (0..count).all(|back| {
            let pair = newest_first(back).zip(newest_first(back + period));
            // Nothing differs from what is before the window.
            pair.is_none_or(|(record, before)| is_like(record, before))
        })
    }

    /// Number of records at the end of the window that repeat a block of `period` records.
    fn matching_tail(&self, period: usize, is_like: impl Fn(&Observed<Id>, &Observed<Id>) -> bool) -> usize {
        period
            + self
                .pairs(period)
                .take_while(|(record, before)| is_like(record, before))
                .count()
    }

    /// Each record with the one `period` before it, newest first.
    fn pairs(&self, period: usize) -> impl Iterator<Item = (&Observed<Id>, &Observed<Id>)> {
        let newest_first = self.records.iter().rev();
        newest_first.clone().zip(newest_first.skip(period))
    }

    /// The last `count` records, oldest first.
    fn tail(&self, count: usize) -> impl Iterator<Item = &Observed<Id>> + Clone {
        self.records.iter().skip(self.records.len().saturating_sub(count))
    }

    /// The same for every block of the same cycle, wherever it starts.
    fn pattern_hash(&self, period: usize) -> u64 {
        // The last two blocks hold every rotation of the block.
        let rotation = |start| {
            self.tail(2 * period)
                .skip(start)
                .take(period)
                .map(|record| record.signature)
        };
        let least = (0..period).min_by(|a, b| rotation(*a).cmp(rotation(*b)));
        let mut hasher = DefaultHasher::new();
        rotation(least.unwrap_or(0)).for_each(|signature| signature.hash(&mut hasher));
        hasher.finish()
    }

    fn warning(&self, period: usize) -> LoopWarning<Id> {
        let block: Vec<_> = self.tail(period).map(|record| record.written.written()).collect();
        LoopWarning {
            pattern: block.join(" -> "),
            pattern_type: if period == 1 {
                PatternType::RepeatedCall
            } else {
                PatternType::Cycle
            },
            pattern_length: period,
            repetitions: self.repetitions,
            window_size: self.records.len(),
            evidence_event_ids: self
                .tail(period * self.repetitions)
                .map(|record| record.id.clone())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
