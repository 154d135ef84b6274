//! The shapes of secrets: one recogniser for each family, in one table.

pub(super) mod names;
mod provider_keys;

use super::keys::Keys;
use super::text::Text;

/// Where a secret is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it.
    pub(super) end: usize,
    /// What to set around the marker: a bare number in JSON text becomes a string.
    pub(super) quote: String,
}

impl Found {
    pub(super) const fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quote: String::new(),
        }
    }
}

/// A family of secrets.
pub(super) struct Shape {
    /// Names the pairs of bytes that one is noticed by.
    pub(super) noticed_by: fn(&mut dyn FnMut([u8; 2])),
    /// The secret noticed by the pair at a position, if it is one.
    pub(super) find: fn(&Text<'_>, usize, &Keys) -> Option<Found>,
}

/// Every shape, the one that takes most first. At most seven: each is a bit in the scanner's table.
pub(super) const SHAPES: &[Shape] = &[Shape {
    noticed_by: provider_keys::noticed_by,
    find: provider_keys::find,
}];
