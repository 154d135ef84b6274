//! [`TokenCounts`]: the counts of a model call as its emitter gave them, and the usage that they amount to.

use crate::vocabulary::Count;
use crate::{Usage, UsageGap};

/// The counts of a call, as they are stored.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenCounts {
    counts: [Option<u64>; Usage::PARTS],
    /// Tokens of the prompt that the input does not include.
    pub(super) beside_input: u64,
    /// `true` when input does not include cache reads; likewise cache writes, and reasoning for output.
    pub(super) is_read_beside: bool,
    pub(super) is_write_beside: bool,
    pub(super) is_reasoning_beside: bool,
    pub(super) gap: Option<UsageGap>,
}

impl TokenCounts {
    pub(super) fn get(&self, count: Count) -> Option<u64> {
        self.counts.get(count as usize).copied().flatten()
    }

    pub(super) fn set(&mut self, count: Count, tokens: Option<u64>) {
        if let Some(counted) = self.counts.get_mut(count as usize) {
            *counted = tokens;
        }
    }

    /// Adds what is not counted yet.
    pub(super) fn fill(&mut self, other: &Self) {
        let (is_input_open, is_output_open) = (
            self.get(Count::Input).is_none(),
            self.get(Count::Output).is_none(),
        );
        for (counted, more) in self.counts.iter_mut().zip(other.counts) {
            *counted = counted.or(more);
        }
        if is_input_open {
            self.beside_input = other.beside_input;
            self.is_read_beside |= other.is_read_beside;
            self.is_write_beside |= other.is_write_beside;
        }
        self.is_reasoning_beside |= is_output_open && other.is_reasoning_beside;
        self.gap = self.gap.max(other.gap);
    }

    /// The usage of these counts. A total decides which counts are exclusive: none where the counts as they are add up
    /// to it; else those that its emitter is known for, if that adds up; else those of the one other reading that does.
    pub(super) fn usage(&self) -> Usage {
        const SHARES: usize = 4;
        let (input, output, total) = (
            self.get(Count::Input),
            self.get(Count::Output),
            self.get(Count::Total),
        );
        let shares: [(u64, bool); SHARES] = [
            (self.get(Count::CacheRead).unwrap_or(0), self.is_read_beside),
            (self.get(Count::CacheWrite).unwrap_or(0), self.is_write_beside),
            (self.beside_input, true),
            (self.get(Count::Reasoning).unwrap_or(0), self.is_reasoning_beside),
        ];
        // The bit of each share is set when its side does not include it.
        let with = |reading: u8| {
            let beside = |place: usize| match shares.get(place) {
                Some((tokens, _)) if reading >> place & 1 == 1 => *tokens,
                _ => 0,
            };
            let prompt = input.map(|input| {
                let inputs = (0..SHARES - 1).map(beside);
                inputs.fold(input, u64::saturating_add)
            });
            let reasoning = beside(SHARES - 1);
            let completion = match output {
                // Gemini that thought until it was stopped.
                None if self.is_reasoning_beside && reasoning > 0 => Some(reasoning),
                output => output.map(|output| output.saturating_add(reasoning)),
            };
            (prompt, completion)
        };
        let adds_up = |reading: u8| sum(with(reading)) == total;
        let usual = (0..).zip(shares).fold(0, |usual, (place, (_, is_beside))| {
            usual | u8::from(is_beside) << place
        });
        let is_whole = total.is_some() && sum((input, output)) == total && output.is_some();
        let reading = if is_whole {
            0
        } else if total.is_none() || adds_up(usual) || input.is_none() || output.is_none() {
            usual
        } else {
            let is_meant = |reading: &u8| {
                let mut places = (0..).zip(shares);
                places.all(|(place, (tokens, _))| reading >> place & 1 == 0 || tokens > 0)
            };
            let mut readings = (0..1 << SHARES)
                .filter(is_meant)
                .filter(|reading| adds_up(*reading));
            match (readings.next(), readings.next()) {
                (Some(reading), None) => reading,
                _ => usual,
            }
        };
        let (prompt_tokens, completion_tokens) = with(reading);
        Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: total.or_else(|| sum((prompt_tokens, completion_tokens))),
            // A call without any known count has nothing to price.
            gap: self.gap.filter(|_| self.counts.iter().any(Option::is_some)),
            ..Usage::from_parts(self.counts)
        }
    }
}

/// Sum of both sides; `None` where neither is known.
pub(super) fn sum((prompt, completion): (Option<u64>, Option<u64>)) -> Option<u64> {
    match (prompt, completion) {
        (None, None) => None,
        (prompt, completion) => Some(prompt.unwrap_or(0).saturating_add(completion.unwrap_or(0))),
    }
}
