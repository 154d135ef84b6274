//! The search for secrets in a string: one pass over its bytes, then exact recognisers where something may begin.
//!
//! Every shape names the pairs of neighbouring bytes that it is noticed by; ordinary text has few of them. Where one is,
//! a recogniser decides and tells where the secret begins and ends.
//! Markers are never part of a secret, so that cleaning a cleaned text changes nothing.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::Cleaned;
use super::cut::{character_boundary, cut};
use super::environment::EnvironmentSecrets;
use super::keys::Keys;
use super::noticed::Noticed;
use super::shapes::{Found, SHAPES};
use super::text::{Text, count_work};
use crate::format::names::markers::REDACTED;
use crate::process::Computed;

/// How much of a too long string is looked at past the place where it will be cut, so that a secret across the cut is
/// seen whole.
const OVERLAP: usize = 16 * 1024;

/// A text of which only so much past the cut is given is still known to be longer than what is looked at.
pub(crate) const SEEN_PAST_THE_CUT: usize = OVERLAP + 4;

/// What replacing and cutting changed may, rarely, be noticed by another shape: so often is it looked at again.
const MOST_PASSES: usize = 4;

/// What is noticed within so many bytes of the place before is near.
const NEAR: usize = 8;

/// How far around a marker something else may be noticed because of it, in bytes.
const AROUND: usize = 400;

/// The bit of the environment's values; shapes have the bits below.
const ENVIRONMENT: u16 = 1 << 15;

/// What the shapes are noticed by.
static SHAPES_NOTICED: Computed<Arc<Noticed>> = Computed::new(|| {
    let mut noticed = Noticed::nothing();
    for (number, shape) in SHAPES.iter().enumerate() {
        (shape.noticed_by)(&mut |sign| noticed.add(&sign, 1 << number));
    }
    Arc::new(noticed)
});

/// Finds secrets.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    /// For each shape one bit. Large, and shared by all who know no secrets of the environment.
    noticed: Arc<Noticed>,
    environment: EnvironmentSecrets,
}

impl Scanner {
    pub(super) fn new(environment: EnvironmentSecrets) -> Self {
        let mut noticed = Arc::clone(&SHAPES_NOTICED);
        if !environment.is_empty() {
            let noticed = Arc::make_mut(&mut noticed);
            environment.noticed_by(&mut |sign| noticed.add(&sign, ENVIRONMENT));
        }
        Self { noticed, environment }
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
        let mut places = Vec::new();
        let replaced = self.replace(
            seen,
            keep,
            !whole,
            keys,
            std::iter::once(0..seen.len()),
            &mut places,
        );
        redacted += places.len();
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
        if truncated {
            places.push(text.len());
        }
        for _ in 1..MOST_PASSES {
            if places.is_empty() {
                break;
            }
            let around = around(&places, text.len());
            places.clear();
            let length = text.len();
            let Some(again) = self.replace(&text, length, false, keys, around.into_iter(), &mut places)
            else {
                break;
            };
            redacted += places.len();
            let (shorter, cut_again) = cut(Cow::Owned(again), max_bytes);
            truncated |= cut_again;
            if cut_again {
                places.push(shorter.len());
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

    /// `seen[..keep]` with the secrets replaced that are noticed in `regions`, or nothing when there are none. Where the
    /// markers are is appended to `places`.
    fn replace(
        &self,
        seen: &str,
        keep: usize,
        goes_on: bool,
        keys: &Keys,
        regions: impl Iterator<Item = Range<usize>>,
        places: &mut Vec<usize>,
    ) -> Option<String> {
        let text = Text::new(seen.as_bytes(), goes_on);
        let mut result: Option<String> = None;
        let mut copied = 0;
        let mut position = 0;
        for region in regions {
            position = region.start.max(position);
            let bytes = text.slice(0, region.end.min(keep.saturating_add(1)));
            let mut is_near = false;
            while let Some((at, bits)) = self.noticed.next(bytes, position, is_near) {
                is_near = at < position + NEAR;
                position = at + 1;
                let Some(found) = self.recognise(&text, at, bits, keys) else {
                    continue;
                };
                // What was found may begin in what is replaced already.
                let found = Found {
                    start: found.start.max(copied),
                    ..found
                };
                if found.end <= found.start || found.start >= keep {
                    continue;
                }
                let (Some(before), Some(_)) = (seen.get(copied..found.start), seen.get(found.end..)) else {
                    continue;
                };
                let result = result.get_or_insert_with(|| String::with_capacity(keep + REDACTED.len()));
                result.push_str(before);
                let quotes = seen.get(found.quotes).unwrap_or_default();
                places.push(result.len());
                result.extend([quotes, REDACTED, quotes]);
                copied = found.end;
                position = found.end;
            }
        }
        let mut result = result?;
        result.push_str(seen.get(copied..keep).unwrap_or_default());
        Some(result)
    }

    fn recognise(&self, text: &Text<'_>, at: usize, bits: u16, keys: &Keys) -> Option<Found> {
        count_work(1);
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

/// The parts of a text around some places, in their order, without overlap.
fn around(places: &[usize], length: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for place in places {
        let start = place.saturating_sub(AROUND);
        let end = place.saturating_add(AROUND).min(length);
        match parts.last_mut() {
            Some(last) if last.end >= start => last.end = last.end.max(end),
            _ => parts.push(start..end),
        }
    }
    parts
}
