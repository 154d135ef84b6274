//! Limits of a value's shape: length, depth, array items.

/// Replaces the part that is left out.
pub(super) const REST: &str = "...";

/// A shape is at most this long, in bytes; a longer one is cut at a character and ended with `...`.
///
/// Keys come in sorted order, so the cut does not depend on the order in which an object gives them.
pub(super) const MAX_SHAPE_BYTES: usize = 2048;

/// Containers nest this deep in a shape; what lies deeper is `...`.
pub(super) const MAX_DEPTH: usize = 4;

/// Maximum number of array items in a shape.
pub(super) const MAX_ITEMS: usize = 3;
