//! The search for secrets in a string: one pass over its bytes, then exact recognisers where something may begin.
//!
//! Every shape names the pairs of neighbouring bytes that it is noticed by; ordinary text has few of them. Where one is,
//! a recogniser decides and tells where the secret begins and ends.
//! What is written otherwise is looked for in the [decoded](super::decoded) text.
//! Markers are never part of a secret, so that cleaning a cleaned text changes nothing.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use super::Cleaned;
use super::cut::{character_boundary, cut, prefix};
use super::decoded::{self, Decoded};
use super::edits::{Edit, Edits};
use super::environment::EnvironmentSecrets;
use super::keys::RedactKeys;
use super::noticed::Noticed;
use super::shapes::{SHAPES, SecretPlace};
use super::text::{ASKED_WORK, Text};
use crate::format::names::markers::REDACTED;
use crate::process::Computed;

/// No text is kept that is longer, whatever is asked for: places in it are numbers of 32 bits, also where markers made it longer.
const MAX_BYTES: usize = 1 << 28;

/// How much of a too long string is looked at past the place where it will be cut, so that a secret across the cut is
/// seen whole.
const OVERLAP: usize = 16 * 1024;

/// How much of it is decoded: enough to judge a value.
const DECODED_OVERLAP: usize = 1024;

/// A text of which only so much past the cut is given is still known to be longer than what is looked at.
pub(crate) const SEEN_PAST_THE_CUT: usize = OVERLAP + 4;

/// What replacing and cutting changed may, rarely, be noticed by another shape: so often is it looked at again.
const MAX_PASSES: usize = 4;

/// What is noticed within this many bytes of the place before is near: the next few bytes are looked at first. Without that a log
/// takes 2 % more instructions.
const NEAR: usize = 8;

/// How far before a cut something else may be noticed because of it, in bytes.
const AROUND_CUT: usize = 400;

/// The work that any text may take, and what it may take for the length that is kept of it, in all passes, see [`Text::spend`]. It
/// keeps the costliest texts at ten times what prose takes as part of a recorded call. What takes more is redacted from there on: to
/// stop looking would let a secret through, and to go on would stall the program.
const LIMIT: WorkLimit = WorkLimit {
    free: 3_000,
    per_64_bytes: 418,
};

/// The most bytes around a place that are examined for the work of one, and those that are examined for none.
const MAX_BYTES_FOR_WORK: usize = 2;
const MAX_AHEAD: usize = 8;
const MAX_BEHIND: usize = 32;

/// How far before the place where it is noticed a secret may begin.
const MAX_LOOK_BEHIND: usize = 512;

/// The work of looking at a place, and of looking for one in the bytes around it.
const PLACE_WORK: usize = 9;
const LOOKED_AT_WORK: usize = 7;

/// The work of replacing a secret, and one that was decoded.
const FOUND_WORK: usize = 130;
const DECODED_WORK: usize = 550;

/// The work of noticing a sign that is written otherwise, and of decoding it; and what a colour or an entity takes beyond that.
const ENCODED_WORK: usize = 16;
const LONG_SIGN_WORK: usize = 8;

/// The bit of the environment's values; that of what is written otherwise and those of shapes are below.
const ENVIRONMENT: u16 = 1 << 15;

/// That of what is written otherwise.
const ENCODED: u16 = 1 << 14;

/// What the shapes are noticed by.
static SHAPES_NOTICED: Computed<Arc<Noticed>> = Computed::new(|| {
    let mut noticed = Noticed::nothing();
    for (number, shape) in SHAPES.iter().enumerate() {
        (shape.noticed_by)(&mut |sign| noticed.add(&sign, 1 << number));
    }
    decoded::noticed_by(&mut |sign| noticed.add(&sign, ENCODED));
    Arc::new(noticed)
});

/// Finds secrets.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    /// For each shape one bit. Large, and shared by all who know no secrets of the environment.
    noticed: Arc<Noticed>,
    environment: EnvironmentSecrets,
    limit: WorkLimit,
}

impl Scanner {
    pub(super) fn new(environment: EnvironmentSecrets) -> Self {
        let mut noticed = Arc::clone(&SHAPES_NOTICED);
        if !environment.is_empty() {
            let noticed = Arc::make_mut(&mut noticed);
            environment.noticed_by(&mut |sign| noticed.add(&sign, ENVIRONMENT));
        }
        Self {
            noticed,
            environment,
            limit: LIMIT,
        }
    }

    /// Where its tables are.
    #[cfg(test)]
    pub(super) fn tables(&self) -> *const Noticed {
        Arc::as_ptr(&self.noticed)
    }

    /// The secrets of the environment that are known.
    pub(super) fn environment(&self) -> &EnvironmentSecrets {
        &self.environment
    }

    /// From now on texts are not passed in steps.
    #[cfg(test)]
    pub(super) fn look_everywhere(&mut self) {
        Arc::make_mut(&mut self.noticed).look_everywhere();
    }

    /// From now on a text may take any work.
    #[cfg(test)]
    pub(super) const fn take_any_work(&mut self) {
        self.limit.free = usize::MAX / 2;
    }

    /// `text` without secrets, then cut to `max_bytes`.
    pub(super) fn clean<'a>(&self, text: &'a str, max_bytes: usize, keys: &RedactKeys) -> Cleaned<'a> {
        let max_bytes = max_bytes.min(MAX_BYTES);
        let window = character_boundary(text, max_bytes + OVERLAP);
        let seen = text.get(..window).unwrap_or_default();
        let goes_on = seen.len() < text.len();
        // Nothing is noticed past the cut, and none of that is kept, unless redaction makes room for all of it.
        let fits = text.len() <= max_bytes;
        let keep = character_boundary(seen, max_bytes);

        let mut pass = Pass {
            keys,
            limit: self.limit,
            spent: 0,
            is_encoded: false,
        };
        let everything = 0..seen.len();
        let first = self.pass(&mut pass, seen, keep, goes_on, slice::from_ref(&everything));
        let mut rest = "";
        let (replaced, mut redacted, mut again) = match first {
            Some(first) => {
                rest = seen.get(first.copied..).unwrap_or_default();
                (Some(first.text), first.count, first.again)
            }
            None => (None, 0, Vec::new()),
        };
        let (mut text, mut truncated) = match replaced {
            None if fits => (Cow::Borrowed(seen), false),
            None => (cut(Cow::Borrowed(seen), max_bytes).0, true),
            Some(replaced) if fits => cut(Cow::Owned(replaced), max_bytes),
            // There is room for the rest, which the next pass looks at.
            Some(mut replaced) if !goes_on && replaced.len() + rest.len() <= max_bytes => {
                look_around_cut(&mut again, &replaced);
                again.push(replaced.len()..replaced.len() + rest.len());
                replaced.push_str(rest);
                (Cow::Owned(replaced), false)
            }
            Some(mut replaced) => {
                let room = max_bytes.saturating_sub(super::cut::MARKER.len());
                replaced.truncate(super::cut::prefix(&replaced, room).len());
                replaced.push_str(super::cut::MARKER);
                (Cow::Owned(replaced), true)
            }
        };
        if truncated {
            look_around_cut(&mut again, &text);
        }
        // What changed is looked at again with what is left.
        pass.limit = pass.limit.whole(keep);
        for _ in 1..MAX_PASSES {
            if again.is_empty() {
                break;
            }
            let length = text.len();
            let Some(next) = self.pass(&mut pass, &text, length, false, &again) else {
                break;
            };
            redacted += next.count;
            again = next.again;
            let (shorter, cut_again) = cut(Cow::Owned(next.text), max_bytes);
            truncated |= cut_again;
            if cut_again {
                look_around_cut(&mut again, &shorter);
            }
            text = shorter;
        }
        let redacted = u32::try_from(redacted).unwrap_or(u32::MAX);
        Cleaned {
            text,
            redacted,
            truncated,
        }
    }

    /// `seen[..keep]` with the secrets replaced that are noticed in `regions`, as it stands and decoded, or nothing when there are
    /// none.
    fn pass(
        &self,
        pass: &mut Pass<'_>,
        seen: &str,
        keep: usize,
        goes_on: bool,
        regions: &[Range<usize>],
    ) -> Option<Replaced> {
        let was_encoded = pass.is_encoded;
        let start = Start {
            goes_on,
            found_work: FOUND_WORK,
            regions,
        };
        let plain = self.replace(pass, seen, keep, &start, WorkLimit::at);
        if !pass.is_encoded {
            return plain;
        }
        let mut plain = plain.unwrap_or_else(|| Replaced {
            text: seen.get(..keep).unwrap_or_default().to_owned(),
            ..Replaced::default()
        });
        // A secret that goes on behind what is kept is seen whole, or as far as it takes to know it.
        let decoded_end = character_boundary(seen, keep.saturating_add(DECODED_OVERLAP));
        let behind = seen.get(plain.copied.max(keep)..decoded_end);
        let keep = plain.text.len();
        plain.text.push_str(behind.unwrap_or_default());
        // What changed in the text, when it was decoded before.
        let changed = was_encoded.then(|| plain.moved(regions));
        let decoded = match &changed {
            Some(changed) => Decoded::near(&plain.text, changed),
            None => Decoded::of(&plain.text, 0),
        };
        let found = decoded.and_then(|decoded| {
            let regions = match &changed {
                Some(changed) => decoded.around_changes(changed),
                None => decoded.around_signs(),
            };
            let start = Start {
                goes_on: goes_on || decoded_end < seen.len(),
                found_work: DECODED_WORK,
                regions: &regions,
            };
            // What is left of the work that the text may take.
            let found = self.replace(pass, &decoded.text, decoded.position(keep), &start, |limit, _| {
                limit.at(keep)
            })?;
            Some(plain.with(&decoded, &found))
        });
        let keep = found.as_ref().map_or(keep, |found| found.edits.after(keep));
        let mut all = found.unwrap_or(plain);
        let kept = prefix(&all.text, keep).len();
        // What is behind that stands as in the original.
        all.copied = decoded_end - (all.text.len() - kept);
        all.text.truncate(kept);
        all.again.retain(|region| region.start < keep);
        (all.count > 0).then_some(all)
    }

    /// `seen[..keep]` with the secrets replaced that are noticed where `start` says, or nothing when there are none.
    fn replace(
        &self,
        pass: &mut Pass<'_>,
        seen: &str,
        keep: usize,
        start: &Start<'_>,
        most: impl Fn(WorkLimit, usize) -> usize,
    ) -> Option<Replaced> {
        let Start {
            goes_on,
            found_work,
            regions,
        } = *start;
        let (keys, limit) = (pass.keys, pass.limit);
        let text = Text::new(seen.as_bytes(), goes_on);
        let mut result = Replaced::default();
        let mut position = 0;
        // How many blocks of the text were looked at closely.
        let mut looked_at = 0;
        'regions: for region in regions {
            position = region.start.max(position);
            let bytes = text.slice(0, region.end.min(seen.len()).min(keep.saturating_add(1)));
            let mut is_near = false;
            while let Some((at, bits)) = self.noticed.next(bytes, position, is_near, &mut looked_at) {
                is_near = at < position + NEAR;
                if result.push_ahead(seen, at) {
                    position = result.copied;
                    continue;
                }
                let bits = if bits & ENCODED == 0 {
                    bits
                } else {
                    text.spend(ENCODED_WORK);
                    if matches!(text.at(at), decoded::ESCAPE | b'&') {
                        text.spend(LONG_SIGN_WORK);
                    }
                    pass.is_encoded = pass.is_encoded || decoded::is_at(bytes, at);
                    bits & !ENCODED
                };
                position = at + 1;
                let before = text.work();
                let (recognised, tried) = if bits == 0 {
                    (None, 0)
                } else {
                    self.recognise(&text, at, bits, keys)
                };
                if pass.spent + text.work() + LOOKED_AT_WORK * looked_at > most(limit, at) {
                    let rest = prefix(seen, at.saturating_sub(MAX_LOOK_BEHIND)).len();
                    result.push_redacted(seen, rest..keep, 0..0);
                    break 'regions;
                }
                if bits == 0 {
                    continue;
                }
                // Without that of the place, and of asking each shape.
                let work = (text.work() - before).saturating_sub(PLACE_WORK + ASKED_WORK * (1 + tried));
                let found = match recognised {
                    Some(found) if found.start < keep => found,
                    _ => {
                        result.reject(at, work);
                        continue;
                    }
                };
                if !found.apart.is_empty() {
                    text.spend(found_work * found.apart.len());
                    result.look_ahead(found.apart.into_iter().filter(|secret| secret.start < keep));
                    result.push_ahead(seen, at);
                    continue;
                }
                result.push_ahead(seen, found.start);
                if result.push_redacted(seen, found.start..found.end, found.quotes) {
                    text.spend(found_work);
                    position = found.end;
                }
            }
        }
        result.push_ahead(seen, keep);
        #[cfg(test)]
        work::add(text.all_work() + LOOKED_AT_WORK * looked_at);
        pass.spent += text.work() + LOOKED_AT_WORK * looked_at;
        (result.count > 0).then(|| {
            result
                .text
                .push_str(seen.get(result.copied..keep).unwrap_or_default());
            result.copied = result.copied.max(keep);
            result
        })
    }

    /// The secret that is noticed at `at` by these bits, and how many shapes were tried.
    fn recognise(
        &self,
        text: &Text<'_>,
        at: usize,
        bits: u16,
        keys: &RedactKeys,
    ) -> (Option<SecretPlace>, usize) {
        text.spend(PLACE_WORK);
        if bits & ENVIRONMENT != 0
            && let Some(end) = self.environment.find(text.bytes(), at)
        {
            return (Some(SecretPlace::new(at, end)), 0);
        }
        // One after the other, the first shape first.
        let mut wanted = bits & !ENVIRONMENT;
        let mut tried = 0;
        while let Some(shape) = SHAPES.get(wanted.trailing_zeros() as usize) {
            text.spend(0);
            tried += 1;
            let found = (shape.find)(text, at, keys);
            if found.is_some() {
                return (found, tried);
            }
            wanted &= wanted - 1;
        }
        (None, tried)
    }
}

/// How a text is passed.
struct Pass<'k> {
    keys: &'k RedactKeys,
    limit: WorkLimit,
    /// The work that the text took so far.
    spent: usize,
    /// Whether something was seen that is written otherwise.
    is_encoded: bool,
}

/// Where one begins.
struct Start<'r> {
    /// The text goes on.
    goes_on: bool,
    /// The work of replacing a secret.
    found_work: usize,
    regions: &'r [Range<usize>],
}

/// A text with some secrets replaced.
#[derive(Default)]
struct Replaced {
    text: String,
    /// How many secrets were replaced.
    count: usize,
    /// The parts of it in which something may be noticed now that was not before.
    again: Vec<Range<usize>>,
    /// How much of the original was passed over or copied.
    copied: usize,
    /// The part of the original before which nothing came of the last places, as far as they were looked around, and how
    /// far one of them was at most. A secret that is replaced within that may change what they are.
    rejected: Range<usize>,
    reach: usize,
    /// Where secrets are in the original that are replaced when what is before them was looked at, the first last.
    ahead: Vec<Range<usize>>,
    /// What was replaced.
    edits: Edits,
}

impl Replaced {
    /// This, and what was found when it was decoded.
    fn with(&self, decoded: &Decoded, found: &Self) -> Self {
        let mut all = Self {
            count: self.count + found.count,
            ..Self::default()
        };
        for edit in found.edits.iter() {
            let (old, quotes) = (decoded.in_text(&edit.old), decoded.in_text(&edit.quotes));
            let start = old.start.max(all.copied);
            all.text
                .push_str(self.text.get(all.copied..start).unwrap_or_default());
            let from = all.text.len();
            let around = self.text.get(quotes.clone()).unwrap_or_default();
            all.text.extend([around, REDACTED, around]);
            all.copied = old.end.max(start);
            all.edits.push(Edit {
                old: start..all.copied,
                new: from..all.text.len(),
                quotes,
            });
        }
        all.text.push_str(self.text.get(all.copied..).unwrap_or_default());
        let in_text = |at: usize| all.edits.after(decoded.start_in_text(found.edits.before(at)));
        let of_found = found.again.iter();
        let of_found = of_found.map(|region| in_text(region.start)..in_text(region.end) + 2);
        let of_text = self.again.iter();
        let of_text = of_text.map(|region| all.edits.after(region.start)..all.edits.after(region.end));
        let mut again: Vec<Range<usize>> = of_found.chain(of_text).collect();
        again.sort_unstable_by_key(|region| (region.start, region.end));
        all.again = again;
        all
    }

    /// These regions of the original and those in which something may be noticed now, where they are in this text.
    fn moved(&self, regions: &[Range<usize>]) -> Vec<Range<usize>> {
        let moved = regions
            .iter()
            .map(|region| self.edits.after(region.start)..self.edits.after(region.end));
        moved.chain(self.again.iter().cloned()).collect()
    }

    /// Takes secrets that are ahead, until what is before them was looked at.
    fn look_ahead(&mut self, secrets: impl Iterator<Item = Range<usize>>) {
        self.ahead.extend(secrets);
        self.ahead
            .sort_unstable_by_key(|secret| Reverse((secret.start, secret.end)));
        self.ahead.dedup();
    }

    /// Replaces those of them that begin at `end` at the latest. Whether `end` is within one.
    #[inline]
    fn push_ahead(&mut self, seen: &str, end: usize) -> bool {
        while let Some(secret) = self.ahead.pop_if(|secret| secret.start <= end) {
            self.push_redacted(seen, secret, 0..0);
        }
        end < self.copied
    }

    /// Nothing came of a place in the original, after this much work.
    fn reject(&mut self, at: usize, work: usize) {
        let around = work * MAX_BYTES_FOR_WORK;
        let reach = around + MAX_AHEAD;
        if self.rejected.end <= at {
            self.rejected.start = at;
            self.reach = 0;
        }
        self.rejected.end = self.rejected.end.max(at + reach);
        self.reach = self.reach.max(reach);
        if self.count > 0 && at < self.copied + around + MAX_BEHIND {
            let start = self.in_text(at);
            self.look_again(start..start + 2);
        }
    }

    /// Adds a part in which something may be noticed now. They stay in order, and apart from each other, as hardly any begins
    /// before the last one: a text of many secrets has thousands.
    fn look_again(&mut self, mut region: Range<usize>) {
        while let Some(last) = self.again.pop_if(|last| last.end >= region.start) {
            region = last.start.min(region.start)..last.end.max(region.end);
        }
        self.again.push(region);
    }

    /// Where a place is that was not copied yet.
    fn in_text(&self, at: usize) -> usize {
        self.text.len() + at.saturating_sub(self.copied)
    }

    /// Copies the original up to a secret, and puts the marker in its place, within what is at `quotes`; unless the
    /// secret is part of what was replaced before.
    fn push_redacted(&mut self, seen: &str, secret: Range<usize>, quotes: Range<usize>) -> bool {
        let start = secret.start.max(self.copied);
        let (Some(before), Some(_)) = (seen.get(self.copied..start), seen.get(secret.end..)) else {
            return false;
        };
        if secret.end <= start {
            return false;
        }
        if self.count == 0 {
            self.text.reserve(seen.len());
        }
        if self.rejected.end > start && self.rejected.start < start {
            let first = self.rejected.start.max(start.saturating_sub(self.reach));
            let from = self.in_text(first.max(self.copied));
            self.look_again(from..self.in_text(start));
        }
        self.rejected = secret.end..secret.end;
        self.text.push_str(before);
        let from = self.text.len();
        let around = seen.get(quotes.clone()).unwrap_or_default();
        self.text.extend([around, REDACTED, around]);
        self.edits.push(Edit {
            old: start..secret.end,
            new: from..self.text.len(),
            quotes,
        });
        self.look_again(from.saturating_sub(2)..self.text.len() + 2);
        self.copied = secret.end;
        self.count += 1;
        true
    }
}

/// Adds the part before a cut in which something may be noticed because of it, in its place: of regions that overlap, the one
/// that begins first comes first.
fn look_around_cut(again: &mut Vec<Range<usize>>, text: &str) {
    again.push(text.len().saturating_sub(AROUND_CUT)..text.len());
    again.sort_unstable_by_key(|region| (region.start, region.end));
}

/// How much work a text may take up to a place of a pass.
#[derive(Debug, Clone, Copy)]
struct WorkLimit {
    free: usize,
    per_64_bytes: usize,
}

impl WorkLimit {
    /// The most work up to a position: what is left of a text whose rest was redacted may be looked through again.
    const fn at(self, position: usize) -> usize {
        self.free + self.per_64_bytes * (position / 64)
    }

    /// The same for a text of which all was passed once: any part of it may take what is left.
    const fn whole(self, length: usize) -> Self {
        Self {
            free: self.at(length),
            per_64_bytes: 0,
        }
    }
}

#[cfg(test)]
pub(super) mod work {
    use std::cell::Cell;

    thread_local! {
        static DONE: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(work: usize) {
        DONE.with(|done| done.set(done.get() + work));
    }

    /// How much work `run` does on this thread.
    pub(crate) fn during(run: impl FnOnce()) -> usize {
        let before = DONE.with(Cell::get);
        run();
        DONE.with(Cell::get) - before
    }
}
