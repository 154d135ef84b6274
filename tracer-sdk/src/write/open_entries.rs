//! The timed spans of a run that have started and not ended, and how `.live` tells them (decisions, section 5).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::escape::push_string;
use tracer_format::{EventType, SpanId, Timestamp};

/// Timed spans that have started and not ended.
pub(crate) type OpenEntries = HashMap<SpanId, OpenEntry, BuildHasherDefault<IdHasher>>;

/// A timed span that has started and not ended.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is found out for itself")]
pub(crate) struct OpenEntry {
    pub(crate) parent: SpanId,
    pub(crate) name: Arc<str>,
    pub(crate) event_type: EventType,
    pub(crate) start: Timestamp,
    /// Arguments of a tool as JSON text, redacted, where they were set before it started; else empty.
    pub(crate) arguments: String,
    /// It may hold concurrent work of others: every span but a model call.
    pub(crate) is_holder: bool,
    /// A span in the file names it as its parent.
    pub(crate) is_named: bool,
    /// A span under its ID is in the file in its place, and the call that it is was counted with that.
    pub(crate) has_stand_in: bool,
    /// It was open when its run ended.
    pub(crate) outlives_run: bool,
    /// A library opened it, and not a recorder.
    #[cfg(feature = "tracing")]
    pub(crate) is_library: bool,
}

impl OpenEntry {
    /// Arguments of a tool, where they are known.
    pub(crate) fn given_arguments(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok()
    }

    /// Appends a further line. Written by hand, because every timed span writes one.
    pub(super) fn append_line(&self, id: SpanId, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"span_id":""#);
        out.extend_from_slice(&id.to_hex());
        out.extend_from_slice(br#"","parent_span_id":""#);
        out.extend_from_slice(&self.parent.to_hex());
        out.extend_from_slice(br#"","name":"#);
        push_string(out, &self.name);
        out.extend_from_slice(br#","type":""#);
        // A word of the format, which needs no escape.
        out.extend_from_slice(self.event_type.as_str().as_bytes());
        out.extend_from_slice(br#"","start_time":""#);
        self.start.write(out);
        out.push(b'"');
        if !self.arguments.is_empty() {
            out.extend_from_slice(br#","arguments":"#);
            out.extend_from_slice(self.arguments.as_bytes());
        }
        out.extend_from_slice(b"}\n");
    }
}

/// Spreads the IDs of a run, which are not chosen outside of it: the standard library's guard against chosen keys takes
/// 8 % of the instructions of a timed tool call.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Counted IDs are small: multiplying brings their bits to the top, where the map looks, too.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
