//! Strings as JSON.

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    // Writing to a `Vec` does not fail.
    let _ = serde_json::to_writer(out, text);
}
