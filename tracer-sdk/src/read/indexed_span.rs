//! What the index of a log gives: spans and the records that roots promote, without what they hold.

use crate::format::{EventType, SpanId, Timestamp};

/// What is known of a span without reading it again.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// use tracer_sdk::format::EventType;
///
/// let index = tracer_sdk::read::LogIndex::open(&directory, None, false)?;
/// let call = index.span(0).unwrap();
/// assert_eq!((call.event_type, index.name(&call)), (EventType::ToolCall, "search"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct IndexedSpan {
    /// Its ID.
    pub span_id: SpanId,
    /// The span that it is nested in; `None` for a root.
    pub parent_span_id: Option<SpanId>,
    /// When it started.
    pub start: Timestamp,
    /// How long it took, in microseconds: from its times, else from its whole milliseconds.
    pub duration_us: Option<u64>,
    /// What it tells about.
    pub event_type: EventType,
    /// Whether it failed.
    pub is_failed: bool,
    /// Whether it has no end.
    pub is_open: bool,
    /// Whether a value in it was redacted.
    pub is_redacted: bool,
    /// Whether a value in it was cut.
    pub is_truncated: bool,
    /// The number of its name, which [`LogIndex::name`](super::LogIndex::name) gives.
    pub name: u32,
    /// Equal for calls of one kind and name with the same arguments; 0 for what is no call, state or error.
    pub signature: u32,
    /// Tokens of the prompt, of a model call that says so.
    pub tokens_in: Option<u32>,
    /// Tokens of the answer, of a model call that says so.
    pub tokens_out: Option<u32>,
    /// All tokens of a model call, as it says or as its parts come to.
    pub tokens_total: Option<u32>,
    /// Its line in the log, from 1.
    pub line: u64,
    /// Where its line begins, in bytes.
    pub offset: u64,
}

/// A record that a root gives besides its own, and the end of the run.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// use tracer_sdk::format::EventType;
///
/// let index = tracer_sdk::read::LogIndex::open(&directory, None, false)?;
/// let end = index.promoted().next().unwrap();
/// assert_eq!((end.event_type, end.span), (EventType::RunEnd, 1));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromotedRecord {
    /// The place of the root in the index.
    pub span: usize,
    /// Its number among the records that the root gives, where the root's own has 0.
    pub number: u32,
    /// When.
    pub instant: Timestamp,
    /// What it tells about.
    pub event_type: EventType,
}
