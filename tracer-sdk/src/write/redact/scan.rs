//! The search for secrets in a string: one pass over its bytes, then exact recognisers where something may begin.
//!
//! Every shape names the pairs of neighbouring bytes that it is noticed by. The pass looks each pair of the text up in
//! one table; ordinary text has few hits. A recogniser then decides and tells where the secret begins and ends.
//! Markers are never part of a secret, so that cleaning a cleaned text changes nothing.

use std::borrow::Cow;

use super::Cleaned;
use super::cut::{character_boundary, cut};
use super::environment::EnvironmentSecrets;
use super::keys::Keys;
use super::shapes::{Found, SHAPES};
use super::text::Text;
use crate::format::names::markers::REDACTED;

/// How much of a too long string is looked at past the place where it will be cut, so that a secret across the cut is
/// seen whole.
const OVERLAP: usize = 16 * 1024;

/// A text of which only so much past the cut is given is still known to be longer than what is looked at.
pub(crate) const SEEN_PAST_THE_CUT: usize = OVERLAP + 4;

/// What replacing and cutting changed may, rarely, be noticed by another shape: so often is it looked at again.
const MOST_PASSES: usize = 4;

/// How many pairs of bytes there are.
const PAIRS: usize = 1 << 16;

/// How many pairs are looked at together.
const TOGETHER: usize = 8;

/// The bit of the environment's values in the table; shapes have the bits below.
const ENVIRONMENT: u8 = 1 << 7;

/// Finds secrets.
#[derive(Debug)]
pub(super) struct Scanner {
    /// For each pair of bytes one bit for each shape that is noticed by it.
    noticed: Box<[u8; PAIRS]>,
    environment: EnvironmentSecrets,
}

impl Scanner {
    pub(super) fn new(environment: EnvironmentSecrets) -> Self {
        #[expect(
            clippy::large_stack_arrays,
            reason = "64 KiB, once in a run, and only where nothing is optimised"
        )]
        let mut noticed = Box::new([0; PAIRS]);
        let mut notice = |[first, second]: [u8; 2], bit: u8| noticed[pair(first, second)] |= bit;
        for (number, shape) in SHAPES.iter().enumerate() {
            (shape.noticed_by)(&mut |pair| notice(pair, 1 << number));
        }
        for pair in environment.triggers() {
            notice(pair, ENVIRONMENT);
        }
        Self { noticed, environment }
    }

    /// `text` without secrets, then cut to `max_bytes`.
    pub(super) fn clean<'a>(&self, text: &'a str, max_bytes: usize, keys: &Keys) -> Cleaned<'a> {
        let window = character_boundary(text, max_bytes.saturating_add(OVERLAP));
        let seen = text.get(..window).unwrap_or_default();
        // Past the window nothing was looked at, and near its end secrets may have been missed: none of that is kept.
        let whole = seen.len() == text.len();
        let keep = if whole {
            seen.len()
        } else {
            character_boundary(seen, max_bytes)
        };

        let mut redacted = 0;
        let replaced = self.replace(seen, keep, !whole, keys, &mut redacted);
        let (mut text, mut truncated) = match replaced {
            None if whole => cut(Cow::Borrowed(seen), max_bytes),
            None => (cut(Cow::Borrowed(seen), max_bytes).0, true),
            Some(replaced) if whole => cut(Cow::Owned(replaced), max_bytes),
            Some(mut replaced) => {
                // The marker is there even when redaction made room for all that was kept.
                let room = max_bytes.saturating_sub(super::cut::MARKER.len());
                replaced.truncate(super::cut::prefix(&replaced, room).len());
                replaced.push_str(super::cut::MARKER);
                (Cow::Owned(replaced), true)
            }
        };
        if redacted > 0 || truncated {
            for _ in 1..MOST_PASSES {
                let Some(again) = self.replace(&text, text.len(), false, keys, &mut redacted) else {
                    break;
                };
                let (shorter, cut_again) = cut(Cow::Owned(again), max_bytes);
                truncated |= cut_again;
                text = shorter;
            }
        }
        Cleaned {
            text,
            redacted,
            truncated,
        }
    }

    /// `seen[..keep]` with its secrets replaced, or nothing when there are none.
    fn replace(
        &self,
        seen: &str,
        keep: usize,
        goes_on: bool,
        keys: &Keys,
        redacted: &mut u32,
    ) -> Option<String> {
        let text = Text::new(seen.as_bytes(), goes_on);
        let mut result: Option<String> = None;
        let mut copied = 0;
        let mut position = 0;
        while let Some((at, bits)) = self.next_noticed(text.bytes(), position) {
            if at >= keep {
                break;
            }
            position = at + 1;
            let Some(found) = self.recognise(&text, at, bits, keys) else {
                continue;
            };
            if found.start < copied || found.end <= found.start || found.start >= keep {
                continue;
            }
            let (Some(before), Some(_)) = (seen.get(copied..found.start), seen.get(found.end..)) else {
                continue;
            };
            let result = result.get_or_insert_with(|| String::with_capacity(keep + REDACTED.len()));
            result.push_str(before);
            let quotes = seen.get(found.quotes).unwrap_or_default();
            result.extend([quotes, REDACTED, quotes]);
            *redacted = redacted.saturating_add(1);
            copied = found.end;
            position = found.end;
        }
        let mut result = result?;
        result.push_str(seen.get(copied..keep).unwrap_or_default());
        Some(result)
    }

    /// The next place at or after `position` whose two bytes something is noticed by.
    fn next_noticed(&self, bytes: &[u8], mut position: usize) -> Option<(usize, u8)> {
        // Most pairs are noticed by nothing: look at some together, without a decision for each.
        while let Some(together) = bytes
            .get(position..)
            .and_then(<[u8]>::first_chunk::<{ TOGETHER + 1 }>)
        {
            if self.notices_any(together) {
                break;
            }
            position += TOGETHER;
        }
        let rest = bytes.get(position..)?;
        // The last pairs together with some that were looked at before.
        if rest.len() <= TOGETHER
            && let Some(together) = bytes.last_chunk::<{ TOGETHER + 1 }>()
            && !self.notices_any(together)
        {
            return None;
        }
        let bits = rest.windows(2).map(|two| match two {
            [first, second] => self.noticed[pair(*first, *second)],
            _ => 0,
        });
        bits.enumerate()
            .find(|(_, bits)| *bits != 0)
            .map(|(offset, bits)| (position + offset, bits))
    }

    /// Whether something is noticed by one of the pairs of neighbours.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lowest two bytes are what is wanted"
    )]
    fn notices_any(&self, [bytes @ .., last]: &[u8; TOGETHER + 1]) -> bool {
        // Two numbers hold all pairs, four each: taking them apart costs less than putting each pair together.
        let even = u64::from_le_bytes(*bytes);
        let odd = even >> 8 | u64::from(*last) << 56;
        let pairs = [0, 16, 32, 48].map(|shift| {
            let (even, odd) = ((even >> shift) as u16, (odd >> shift) as u16);
            self.noticed[usize::from(even)] | self.noticed[usize::from(odd)]
        });
        pairs.iter().fold(0, |any, bits| any | bits) != 0
    }

    fn recognise(&self, text: &Text<'_>, at: usize, bits: u8, keys: &Keys) -> Option<Found> {
        if bits & ENVIRONMENT != 0
            && let Some(end) = self.environment.find(text.bytes(), at)
        {
            return Some(Found::new(at, end));
        }
        // One after the other, the first shape first.
        let mut wanted = bits & !ENVIRONMENT;
        while wanted != 0 {
            let shape = SHAPES.get(wanted.trailing_zeros() as usize)?;
            if let Some(found) = (shape.find)(text, at, keys) {
                return Some(found);
            }
            wanted &= wanted - 1;
        }
        None
    }
}

/// The number of a pair of bytes, below [`PAIRS`]: little-endian, as several are taken out of one number.
const fn pair(first: u8, second: u8) -> usize {
    u16::from_le_bytes([first, second]) as usize
}
