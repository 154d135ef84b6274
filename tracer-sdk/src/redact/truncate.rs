//! Cutting a string to a number of bytes, marker included, on a character boundary.

use std::borrow::Cow;

use tracer_format::names::markers::{REDACTED, TRUNCATED};

/// `text`, or as much of it as fits into `max_bytes` together with the truncation marker.
///
/// Never cuts through a character or through a redaction marker, and never cuts what fits, so its own result stays.
pub(crate) fn cut(text: Cow<'_, str>, max_bytes: usize) -> (Cow<'_, str>, bool) {
    if text.len() <= max_bytes {
        return (text, false);
    }
    let kept = prefix(&text, max_bytes.saturating_sub(TRUNCATED.len()));
    let mut result = String::with_capacity(kept.len() + TRUNCATED.len());
    result.push_str(kept);
    result.push_str(TRUNCATED);
    (Cow::Owned(result), true)
}

/// The longest beginning of `text` that fits into `max_bytes` and ends neither within a character nor within a
/// redaction marker.
pub(crate) fn prefix(text: &str, max_bytes: usize) -> &str {
    let kept = text
        .get(..character_boundary(text, max_bytes))
        .unwrap_or_default();
    // A marker that the cut divides begins less than its own length before the cut.
    let from = character_boundary(text, kept.len().saturating_sub(REDACTED.len() - 1));
    let divided = text
        .get(from..)
        .and_then(|tail| tail.find(REDACTED))
        .map(|offset| from + offset)
        .filter(|&start| start < kept.len() && start + REDACTED.len() > kept.len());
    divided.and_then(|start| text.get(..start)).unwrap_or(kept)
}

/// The last character boundary of `text` at or before `position`.
pub(crate) fn character_boundary(text: &str, position: usize) -> usize {
    let mut boundary = position.min(text.len());
    while !text.is_char_boundary(boundary) {
        boundary -= 1;
    }
    boundary
}
