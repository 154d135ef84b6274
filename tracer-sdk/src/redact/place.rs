//! Places of secrets in a text.

use std::ops::Range;

use tracer_format::names::markers::REDACTED;

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SecretPlace {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The quotes that the marker needs around it: a number in JSON becomes a string.
    pub(super) quotes: (usize, usize),
}

impl SecretPlace {
    pub(super) const fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quotes: (0, 0),
        }
    }
}

/// The secrets found so far.
#[derive(Debug, Default)]
pub(super) struct SecretPlaces {
    pub(super) all: Vec<SecretPlace>,
    /// Bytes that markers in their places save.
    pub(super) saved: usize,
    /// The one that ends last.
    pub(super) covered: Range<usize>,
    /// Offset up to which a list or an object was searched for random texts.
    pub(super) nested_until: usize,
}

impl Extend<SecretPlace> for SecretPlaces {
    fn extend<I: IntoIterator<Item = SecretPlace>>(&mut self, places: I) {
        places.into_iter().for_each(|place| self.push(place));
    }
}

impl SecretPlaces {
    pub(super) fn push(&mut self, place: SecretPlace) {
        let further = place.end.saturating_sub(place.start.max(self.covered.end));
        self.saved += further.saturating_sub(REDACTED.len());
        if place.end > self.covered.end {
            self.covered = place.start..place.end;
        }
        self.all.push(place);
    }
}
