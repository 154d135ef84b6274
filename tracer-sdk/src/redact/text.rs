//! A string as recognisers see it: bytes, runs of bytes, and the end of what is looked at.
//!
//! What a place costs is counted ([`Text::spend`]), and the scanner stops where a text takes too much. Two rules keep
//! ordinary texts far from that:
//! - What rejects a place looks at a bounded part of the text around it ([`Text::run_within`]); only what accepts one
//!   goes on to the end of the secret, and the search continues behind that.
//! - What lies far ahead is looked up once and remembered ([`Ahead`]).

use crate::process::Computed;
use std::cell::Cell;

use memchr::memmem::Finder;

use super::keys::RedactKeys;
use super::name_words::{MAX_BYTES_WITH_ROLE, NameMeaning, NameRole, may_have_role};
use super::names::Said;
use super::values::{MAX_JUDGED, MIN_RANDOM_BYTES};
use crate::format::names::markers::{REDACTED, TRUNCATED};

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

/// What finds the markers.
static MARKERS: Computed<[Finder<'static>; 2]> =
    Computed::new(|| [REDACTED, TRUNCATED].map(|marker| Finder::new(marker.as_bytes())));

/// How much of a run is looked at before markers are looked for in it: little at first, then as much as before.
const MIN_PART_OF_RUN: usize = 32;
const MAX_PART_OF_RUN: usize = 256;

/// How many bytes the search for a word passes for the work of one: it compares many at once.
const SEARCHED_AT_ONCE: usize = 16;

/// The work of being asked something, and that of beginning a run, of judging a value, and of comparing a name, whatever their length.
pub(super) const ASKED_WORK: usize = 2;
const RUN_WORK: usize = 7;
const JUDGED_WORK: usize = 8;
const NAME_WORK: usize = 70;

/// How many names are remembered.
const NAMES: usize = 32;

/// The bytes of a string, or of its beginning when it is too long to be looked at whole.
#[derive(Debug)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// The string goes on past these bytes.
    goes_on: bool,
    /// What was spent on it so far.
    work: Cell<usize>,
    /// What was spent on it once and for all.
    ahead: Cell<usize>,
    /// The next marker of each kind, the next login in a URL, the end of a private key block.
    markers: [Ahead; 2],
    pub(super) at_sign: Ahead,
    pub(super) key_end: Ahead,
    /// The end of a URL, of the two parts of a web token, of the text in an element, and of a bare value.
    pub(super) runs: [Ahead; 5],
    /// Which commands are in the line before an option, and as far as that is known.
    pub(super) commands: Cell<(usize, u16)>,
    /// What names said that were met last, each in the place that it may have: logs and hostile texts repeat theirs. Without them
    /// 2 kB of a log take 1.2 times the instructions.
    names: [Cell<Option<RememberedName>>; NAMES],
}

/// A name that was met before.
#[derive(Debug, Clone, Copy)]
struct RememberedName {
    start: usize,
    end: usize,
    /// Its last bytes, see [`Text::last_eight`]: they distinguish most names, and short ones are no more than that.
    last_eight: u64,
    said: Said,
}

/// What was found when the text was last searched for something: from where, and where it is.
#[derive(Debug, Default)]
pub(super) struct Ahead(Cell<Option<(usize, usize)>>);

impl Ahead {
    /// The next place at or after `from`, which `search` finds. Between the last search and what that found, the answer
    /// is known.
    fn next(&self, from: usize, search: impl FnOnce() -> usize) -> usize {
        match self.0.get() {
            Some((start, found)) if (start..=found).contains(&from) => found,
            _ => {
                let found = search();
                self.0.set(Some((from, found)));
                found
            }
        }
    }
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8], goes_on: bool) -> Self {
        Self {
            bytes,
            goes_on,
            work: Cell::new(0),
            ahead: Cell::new(0),
            markers: Default::default(),
            at_sign: Ahead::default(),
            key_end: Ahead::default(),
            runs: Default::default(),
            commands: Cell::default(),
            names: Default::default(),
        }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The byte at `position`; 0 past the end.
    pub(super) fn at(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or_default()
    }

    /// The byte before `position`; 0 at the beginning.
    pub(super) fn before(&self, position: usize) -> u8 {
        position.checked_sub(1).map_or(0, |before| self.at(before))
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn has(&self, position: usize, expected: &[u8]) -> bool {
        self.bytes
            .get(position..)
            .is_some_and(|rest| rest.starts_with(expected))
    }

    pub(super) fn has_ignoring_case(&self, position: usize, expected: &[u8]) -> bool {
        self.slice(position, position + expected.len())
            .eq_ignore_ascii_case(expected)
    }

    /// Whether `position` is the end of what is looked at, and the string goes on.
    pub(super) fn is_open_end(&self, position: usize) -> bool {
        self.goes_on && position >= self.bytes.len()
    }

    /// Where the run of bytes that `belongs` accepts, beginning at `start`, ends. A marker ends it too.
    pub(super) fn run(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        self.run_within(start, usize::MAX, belongs)
    }

    /// As [`run`](Self::run), but at most `most` bytes of it: longer runs are all the same.
    pub(super) fn run_within(&self, start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let limit = start.saturating_add(most).min(self.len()).max(start);
        if start == limit || !belongs(self.at(start)) {
            return start;
        }
        let may_hold_marker = belongs(b'_');
        let mut position = start;
        // In parts, so that no more is looked at behind a marker than before it, or little.
        while position < limit {
            let most = (position - start).clamp(MIN_PART_OF_RUN, MAX_PART_OF_RUN);
            let part = self.slice(position, limit.min(position + most));
            let length = part.iter().position(|&byte| !belongs(byte));
            let end = position + length.unwrap_or(part.len());
            self.spend(RUN_WORK + (end - position) / 2);
            let before_marker = if may_hold_marker {
                self.before_marker(position, end)
            } else {
                end
            };
            if before_marker < end || length.is_some() {
                return before_marker;
            }
            position = end;
        }
        limit
    }

    /// Where the run of bytes that `belongs` accepts, and that ends at `end`, begins: of at most `most` bytes.
    pub(super) fn run_before(&self, end: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let mut start = end;
        while start > 0 && end - start < most && belongs(self.before(start)) {
            start -= 1;
        }
        self.spend(end - start);
        start
    }

    /// As [`run`](Self::run), remembered: within a run that was seen before its end is known.
    pub(super) fn run_remembered(&self, memory: &Ahead, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        memory.next(start, || {
            let before = self.work.get();
            let end = self.run(start, belongs);
            self.count_ahead(self.work.replace(before) - before);
            end
        })
    }

    /// Counts work that is done once for a part of the text, and remembered: it is limited by that, so that a long run
    /// takes nothing from what may be spent on the places before its end.
    fn count_ahead(&self, work: usize) {
        self.ahead.set(self.ahead.get() + work + 1);
    }

    /// `end`, or the beginning of the first marker in `start..end`.
    pub(super) fn before_marker(&self, start: usize, end: usize) -> usize {
        let part = self.slice(start, end);
        match memchr::memchr(b'_', part) {
            Some(offset) => end.min(self.next_marker(start + offset)).max(start),
            None => end,
        }
    }

    /// Where the first marker at or after `from` begins; the end of the text without any.
    pub(super) fn next_marker(&self, from: usize) -> usize {
        let [redacted, truncated] = &self.markers;
        let [find_redacted, find_truncated] = &*MARKERS;
        self.next_of_two_ways(redacted, from, find_redacted)
            .min(self.next_of_two_ways(truncated, from, find_truncated))
    }

    /// As [`next_of`](Self::next_of), for what is not looked for from left to right.
    fn next_of_two_ways(&self, memory: &Ahead, from: usize, marker: &Finder<'_>) -> usize {
        if let Some((start, found)) = memory.0.get()
            && from < start
        {
            // Only what is before the part that is known.
            self.count_ahead((start - from) / SEARCHED_AT_ONCE);
            let part = self.slice(from, (start + marker.needle().len() - 1).min(self.len()));
            return marker.find(part).map_or_else(
                || {
                    memory.0.set(Some((from, found)));
                    found
                },
                |offset| from + offset,
            );
        }
        self.next_of(memory, from, marker)
    }

    /// Where `sought` is next, at or after `from`; the end of the text when it is nowhere. What is looked for with one
    /// memory is looked for from left to right.
    pub(super) fn next_of(&self, memory: &Ahead, from: usize, sought: &Finder<'_>) -> usize {
        memory.next(from, || {
            let rest = self.bytes.get(from..).unwrap_or_default();
            let found = sought
                .find(rest)
                .map_or(self.len().max(from), |offset| from + offset);
            self.count_ahead((found - from) / SEARCHED_AT_ONCE);
            found
        })
    }

    /// The part `start..end`, or its beginning that a value is judged by.
    pub(super) fn judged(&self, start: usize, end: usize) -> &'a [u8] {
        let value = self.slice(start, end.min(start + MAX_JUDGED));
        // What is long is looked through for what looks random.
        let passes = if value.len() < MIN_RANDOM_BYTES { 1 } else { 4 };
        self.spend(JUDGED_WORK + passes * value.len());
        value
    }

    /// Counts work in about nanoseconds, and what being asked takes. How much each kind takes was fitted to the times of 12,000
    /// hostile texts and 400 files, and is more where some of them took longer: none that comes to the limit takes half again as long.
    pub(super) fn spend(&self, work: usize) {
        self.work.set(self.work.get() + work + ASKED_WORK);
    }

    /// The work that was done so far.
    pub(super) fn work(&self) -> usize {
        self.work.get()
    }

    /// All of it, for tests.
    #[cfg(test)]
    pub(super) fn all_work(&self) -> usize {
        self.work.get() + self.ahead.get()
    }

    /// What the name `start..end` says.
    pub(super) fn said_by(&self, start: usize, end: usize, keys: &RedactKeys) -> Said {
        let name = self.slice(start, end);
        let last_eight = self.last_eight(start, end);
        // Multiplying spreads what names differ in over the high bits.
        let mixed = last_eight.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - NAMES.ilog2());
        // A number of five bits is below the length.
        let place = &self.names[usize::try_from(mixed).unwrap_or_default()];
        match place.get() {
            Some(known)
                if known.last_eight == last_eight
                    && known.end - known.start == name.len()
                    && (name.len() <= 8 || self.slice(known.start, known.end) == name) =>
            {
                known.said
            }
            _ => {
                self.spend(NAME_WORK + 3 * name.len());
                let said = Said::by(name, keys);
                place.set(Some(RememberedName {
                    start,
                    end,
                    last_eight,
                    said,
                }));
                said
            }
        }
    }

    /// What the member whose name is `start..end` says of its neighbours, in markup or not.
    pub(super) fn role(&self, start: usize, end: usize, is_markup: bool, keys: &RedactKeys) -> NameRole {
        let name = self.slice(start, end);
        if is_markup && name.len() <= MAX_BYTES_WITH_ROLE {
            self.said_by(start, end, keys).role_in_markup()
        } else if may_have_role(name) {
            self.said_by(start, end, keys).role
        } else {
            NameRole::Other
        }
    }

    /// The last eight bytes of `start..end` as a number; of a shorter part all of them, below zeros.
    fn last_eight(&self, start: usize, end: usize) -> u64 {
        let length = end - start;
        match self.slice(0, end).last_chunk() {
            Some(last) if length >= 8 => u64::from_le_bytes(*last),
            Some(last) if length > 0 => u64::from_le_bytes(*last) >> (8 * (8 - length)),
            // At the beginning of the text.
            _ => self
                .slice(start, end)
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        }
    }

    /// What the name `start..end` says of its value.
    pub(super) fn class(&self, start: usize, end: usize, keys: &RedactKeys) -> Option<NameMeaning> {
        let last = self.slice(start.max(end.saturating_sub(END_OF_NAME)), end);
        keys.may_name(last)
            .then(|| self.said_by(start, end, keys).class())
            .flatten()
    }

    /// Whether a word may begin at `position`: not after a letter, digit, `_` or `-`, unless that is an escape like `\n`.
    pub(super) fn is_token_start(&self, position: usize) -> bool {
        let before = self.before(position);
        let is_word = before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-');
        !is_word
            || (matches!(before, b'n' | b't' | b'r')
                && position
                    .checked_sub(2)
                    .is_some_and(|slash| self.at(slash) == b'\\'))
            || self.slice(position.saturating_sub(REDACTED.len()), position) == REDACTED.as_bytes()
    }
}

/// Letters and digits.
pub(super) const fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// What base64 for URLs is made of.
pub(super) const fn is_url_safe(byte: u8) -> bool {
    is_alphanumeric(byte) || matches!(byte, b'-' | b'_')
}
