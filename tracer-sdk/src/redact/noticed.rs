//! Where in a text something may begin: pairs of neighbouring bytes, looked up in tables.
//!
//! Ordinary text is passed in steps of two bytes: only every second pair is looked up. A pair that lies across two steps
//! is not missed, because each comes with the bytes that may stand on one side of it, and then the pair of that side is
//! looked for as well. Where one of them comes up, every pair is looked at. Without the steps a model call with
//! 4 kB of prose takes 1.4 times the instructions; a log, where much is looked at anyway, takes 7 % less.

use super::shapes::{Beside, Sign};

/// How many pairs of bytes there are.
const PAIRS: usize = 1 << 16;

/// How many bytes there are.
const BYTES: usize = 1 << 8;

/// How many bytes are passed together.
const TOGETHER: usize = 8;

/// What is noticed by which pair.
#[derive(Debug, Clone)]
pub(super) struct Noticed {
    /// For each pair one bit for everything that is noticed by it.
    by_pair: Box<[u16; PAIRS]>,
    /// For each pair whether it is one that something is noticed by, or overlaps one in a text.
    in_steps: Box<[bool; PAIRS]>,
    /// For each byte one bit for everything that it may be before, and after.
    before: [u16; BYTES],
    after: [u16; BYTES],
}

impl Noticed {
    pub(super) fn nothing() -> Self {
        #[expect(
            clippy::large_stack_arrays,
            reason = "128 KiB, once in a process, and only where nothing is optimised"
        )]
        Self {
            by_pair: Box::new([0; PAIRS]),
            in_steps: Box::new([false; PAIRS]),
            before: [0; BYTES],
            after: [0; BYTES],
        }
    }

    /// From now on `sign` is noticed, and reported with this bit.
    pub(super) fn add(&mut self, sign: &Sign<'_>, bit: u16) {
        let [first, second] = sign.pair;
        self.by_pair[pair(first, second)] |= bit;
        self.in_steps[pair(first, second)] = true;
        match sign.beside {
            Beside::Before(bytes) => {
                self.after.iter_mut().for_each(|bits| *bits |= bit);
                for &before in bytes {
                    self.in_steps[pair(before, first)] = true;
                    self.before[usize::from(before)] |= bit;
                }
            }
            Beside::After(bytes) => {
                self.before.iter_mut().for_each(|bits| *bits |= bit);
                for &after in bytes {
                    self.in_steps[pair(second, after)] = true;
                    self.after[usize::from(after)] |= bit;
                }
            }
        }
    }

    /// From now on texts are not passed in steps.
    #[cfg(test)]
    pub(super) fn look_everywhere(&mut self) {
        self.in_steps.fill(true);
    }

    /// The next place at or after `position` where something is noticed, and the bits of what. `is_near` when it is
    /// likely to be one of the next bytes, as it is where one thing follows the other. How many blocks were looked at closely
    /// is added to `looked_at`.
    #[inline]
    pub(super) fn next(
        &self,
        bytes: &[u8],
        position: usize,
        is_near: bool,
        looked_at: &mut usize,
    ) -> Option<(usize, u16)> {
        if !is_near {
            return self.next_far(bytes, position, looked_at);
        }
        let near = position.saturating_add(TOGETHER).min(bytes.len());
        self.first_in(bytes, position, near).or_else(|| {
            *looked_at += 1;
            self.next_far(bytes, near, looked_at)
        })
    }

    /// As [`next`](Self::next), in steps.
    #[inline(never)]
    fn next_far(&self, bytes: &[u8], position: usize, looked_at: &mut usize) -> Option<(usize, u16)> {
        let mut passed = position;
        loop {
            let blocks = bytes.get(passed..)?.as_chunks::<TOGETHER>().0;
            let hit = blocks.iter().position(|block| self.may_be_in(*block));
            let start = passed + hit.unwrap_or(blocks.len()) * TOGETHER;
            let end = hit.map_or(bytes.len(), |_| start + TOGETHER);
            // A pair across the end of the block before may be seen by the one beside it, which is in this block.
            *looked_at += 1;
            let found = self.first_in(bytes, start.saturating_sub(1).max(position), end);
            if found.is_some() || hit.is_none() {
                return found;
            }
            passed = end;
        }
    }

    /// Whether something may be noticed within the block or across one of its ends.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lowest two bytes are what is wanted"
    )]
    fn may_be_in(&self, block: [u8; TOGETHER]) -> bool {
        let word = u64::from_le_bytes(block);
        // Without a decision for each.
        let pairs = [0, 16, 32, 48].map(|shift| self.in_steps[usize::from((word >> shift) as u16)]);
        pairs.iter().fold(false, |any, found| any | found)
    }

    /// The first pair that begins in `start..end` and something is noticed by.
    #[inline]
    fn first_in(&self, bytes: &[u8], start: usize, end: usize) -> Option<(usize, u16)> {
        let part = bytes.get(start..bytes.len().min(end + 1))?;
        for (offset, two) in part.windows(2).enumerate() {
            let &[first, second] = two else { break };
            let bits = self.by_pair[pair(first, second)];
            if bits != 0 {
                let bits = bits & self.around(bytes, start + offset);
                if bits != 0 {
                    return Some((start + offset, bits));
                }
            }
        }
        None
    }

    /// The bits of what may be at `at`, by the bytes around the pair there.
    #[inline]
    fn around(&self, bytes: &[u8], at: usize) -> u16 {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let before = self.before[usize::from(before.copied().unwrap_or_default())];
        // The text may go on.
        let after = bytes
            .get(at + 2)
            .map_or(u16::MAX, |after| self.after[usize::from(*after)]);
        before & after
    }
}

/// The number of a pair of bytes, below [`PAIRS`]: little-endian, as several are taken out of one number.
const fn pair(first: u8, second: u8) -> usize {
    u16::from_le_bytes([first, second]) as usize
}
