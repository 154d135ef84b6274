//! The search for secrets in a string: one pass over its bytes, then exact recognisers where something may begin.
//!
//! Every shape names the pairs of neighbouring bytes that it is noticed by; ordinary text has few of them. Where one is,
//! a recogniser decides and tells where the secret begins and ends.
//! Markers are never part of a secret, so that cleaning a cleaned text changes nothing.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::Cleaned;
use super::cut::{character_boundary, cut};
use super::environment::EnvironmentSecrets;
use super::keys::Keys;
use super::noticed::Noticed;
use super::shapes::{Found, SHAPES};
use super::text::{Text, count_work};
use crate::format::names::markers::REDACTED;

/// How much of a too long string is looked at past the place where it will be cut, so that a secret across the cut is
/// seen whole.
const OVERLAP: usize = 16 * 1024;

/// A text of which only so much past the cut is given is still known to be longer than what is looked at.
pub(crate) const SEEN_PAST_THE_CUT: usize = OVERLAP + 4;

/// What replacing and cutting changed may, rarely, be noticed by another shape: so often is it looked at again.
const MOST_PASSES: usize = 4;

/// The bit of the environment's values; shapes have the bits below.
const ENVIRONMENT: u16 = 1 << 15;

/// What the shapes are noticed by.
static SHAPES_NOTICED: LazyLock<Arc<Noticed>> = LazyLock::new(|| {
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
        while let Some((at, bits)) = self.noticed.next(text.bytes(), position) {
            if at >= keep {
                break;
            }
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
            result.extend([quotes, REDACTED, quotes]);
            *redacted = redacted.saturating_add(1);
            copied = found.end;
            position = found.end;
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
