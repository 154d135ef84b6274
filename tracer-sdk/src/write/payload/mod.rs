//! From any `serde::Serialize` value to redacted, cut JSON text, in one pass (decisions, section 6).
//!
//! The value's own `Serialize` drives a serializer that writes straight into the caller's buffer; no tree is built.
//! Whatever the value does — too deep, too large, endless, failing, panicking — the text is valid JSON.

mod interrupted;
mod keys;
mod output;
mod raw;
mod values;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use crate::redact::Redactor;
use output::Output;
pub(crate) use output::name_of_non_finite;

/// The most that one value takes, in bytes of JSON text.
pub(crate) const MAX_VALUE_BYTES: usize = 256 * 1024;

/// The least that a value is given, in bytes of JSON text: room for the markers and the closing brackets.
pub(crate) const MIN_VALUE_BYTES: usize = 256;

/// Outcome of writing a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WrittenValue {
    /// Number of secrets that were replaced.
    pub redacted: u32,
    /// `true` when something was cut: a long string, deep structure, or the rest of a large value.
    pub truncated: bool,
    /// `true` when the value's own `Serialize` failed or panicked somewhere.
    pub failed: bool,
}

/// Appends `value` to `out` as JSON text, redacted and cut; at most [`MAX_VALUE_BYTES`].
///
/// Never fails and never panics: what cannot be serialised is `"__UNSERIALIZABLE__"` in the text.
pub(crate) fn write_json<T: Serialize + ?Sized>(
    value: &T,
    redactor: &Redactor,
    out: &mut Vec<u8>,
) -> WrittenValue {
    write_json_limited(value, redactor, MAX_VALUE_BYTES, out)
}

/// As [`write_json`], with at most `max_bytes` of JSON text, and never less than [`MIN_VALUE_BYTES`].
pub(crate) fn write_json_limited<T: Serialize + ?Sized>(
    value: &T,
    redactor: &Redactor,
    max_bytes: usize,
    out: &mut Vec<u8>,
) -> WrittenValue {
    write_json_cut(value, redactor, max_bytes, usize::MAX, out)
}

/// As [`write_json_limited`], with strings of at most `max_string` bytes, or as the settings say where that is less.
pub(crate) fn write_json_cut<T: Serialize + ?Sized>(
    value: &T,
    redactor: &Redactor,
    max_bytes: usize,
    max_string: usize,
    out: &mut Vec<u8>,
) -> WrittenValue {
    let start = out.len();
    let mut output = Output::new(out, redactor, max_bytes.max(MIN_VALUE_BYTES), max_string);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| values::write_root(&mut output, value))) {
        // Dropping what the user's code panicked with could panic again.
        std::mem::forget(panic);
        output.fail();
    }
    let written = output.finish();
    if out.len() == start {
        // Not reachable: `finish` fills an empty place. An empty text would not be JSON.
        out.extend_from_slice(b"null");
    }
    written
}
