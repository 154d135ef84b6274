//! How much of a value its shape shows: length, depth, items of an array.

/// Replaces the part that is left out.
pub(super) const REST: &str = "...";

/// A shape is at most this long, in bytes; a longer one is cut at a character and ended with `...`.
///
/// Keys come in sorted order, so the cut does not depend on the order in which an object gives them.
pub(super) const MAX_SHAPE_BYTES: usize = 2048;

/// Containers nest this deep in a shape; what lies deeper is `...`.
pub(super) const MAX_DEPTH: usize = 4;

/// How many items of an array are looked at.
pub(super) const MAX_ITEMS: usize = 3;

/// The longest beginning of `text`, which is UTF-8, that has at most `length` bytes and ends at a character.
pub(super) fn beginning(text: &[u8], length: usize) -> &[u8] {
    if text.len() <= length {
        return text;
    }
    let goes_on = |end: &usize| matches!(text.get(*end), Some(0x80..=0xbf));
    let boundary = (0..=length.min(text.len())).rev().find(|end| !goes_on(end));
    text.get(..boundary.unwrap_or(0)).unwrap_or_default()
}
