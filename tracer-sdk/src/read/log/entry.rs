//! [`IndexEntry`]: the 48 bytes that are kept of every span while a log of any size is read.

use crate::format::{EventType, SpanId, Timestamp};
use crate::read::parse::Identity;

/// A span's place in the file, in time, and among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    start_seconds: i64,
    start_nanoseconds: u32,
    length: u32,
    offset: u64,
    /// The number of the line, and flags in the lowest byte.
    line_and_flags: u64,
}

/// The span can be read; one that cannot has no start.
const READABLE: u64 = 1 << 7;
/// The span belongs to another run.
const FOREIGN: u64 = 1 << 6;
/// A span with the same ID comes before this one and is shown.
const DUPLICATE: u64 = 1 << 5;
/// The span failed.
const FAILED: u64 = 1 << 4;
/// Its span repeats a call that another span is.
const REPEAT: u64 = 1 << 3;
/// The type of the span's record.
const TYPE: u64 = 0b111;

/// The types of spans, by the number under which the index keeps them.
const TYPES: [EventType; 6] = [
    EventType::RunStart,
    EventType::LlmCall,
    EventType::ToolCall,
    EventType::StateUpdate,
    EventType::LoopWarning,
    EventType::Error,
];

/// The place of a line in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    /// Its first byte.
    pub(crate) offset: u64,
    /// How many bytes it has, without its newline.
    pub(crate) length: u32,
    /// Its number, from 1.
    pub(crate) line: u64,
}

/// A record without its payload: what an index knows of it.
///
/// ```
/// use tracer_sdk::format::EventType;
/// use tracer_sdk::read::{RunReader, Strictness};
///
/// # let folder = tempfile::tempdir()?;
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// # let run = tracer_sdk::Run::new("example").config(&config).start();
/// # let directory = run.dir().unwrap();
/// # tracer_sdk::tool_call("search").fail("out of reach").record()?;
/// # run.finish();
/// let records = RunReader::open(&directory, Strictness::Strict)?.records;
/// // RUN_START, the call, RUN_END
/// let call = records.header(1).unwrap();
/// assert_eq!((call.event_type, call.is_failed), (EventType::ToolCall, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordHeader {
    /// The type of the record.
    pub event_type: EventType,
    /// The instant of the record.
    pub instant: Timestamp,
    /// Whether it is an error, or of a span that failed.
    pub is_failed: bool,
}

impl IndexEntry {
    /// The entry of the span on a line; `header` of one that can be read.
    pub(crate) fn new(
        identity: Identity,
        place: LinePlace,
        header: Option<RecordHeader>,
        is_foreign: bool,
    ) -> Self {
        let mut flags = if is_foreign { FOREIGN } else { 0 };
        if let Some(header) = header {
            let number = TYPES
                .iter()
                .position(|event_type| *event_type == header.event_type);
            // At most eight types: what is none of them is `UNKNOWN`.
            flags |= READABLE | number.unwrap_or(TYPES.len()) as u64;
            flags |= if header.is_failed { FAILED } else { 0 };
        }
        let (start_seconds, start_nanoseconds) = header.map_or((0, 0), |header| header.instant.to_parts());
        Self {
            span_id: identity.span_id,
            parent_span_id: identity.parent_span_id,
            start_seconds,
            start_nanoseconds,
            offset: place.offset,
            length: place.length,
            line_and_flags: place.line << 8 | flags,
        }
    }

    pub(crate) fn span_id(&self) -> SpanId {
        self.span_id
    }

    pub(crate) fn parent_span_id(&self) -> Option<SpanId> {
        self.parent_span_id
    }

    /// The header of the span's own record; nothing of a span that cannot be read.
    pub(crate) fn header(&self) -> RecordHeader {
        RecordHeader {
            event_type: self.event_type(),
            instant: self.start(),
            is_failed: self.is_failed(),
        }
    }

    pub(crate) fn start(&self) -> Timestamp {
        Timestamp::from_parts(self.start_seconds, self.start_nanoseconds)
    }

    pub(crate) fn line(&self) -> u64 {
        self.line_and_flags >> 8
    }

    pub(crate) fn place(&self) -> LinePlace {
        LinePlace {
            offset: self.offset,
            length: self.length,
            line: self.line(),
        }
    }

    /// The type of the span's record, as a root's or a child's.
    pub(crate) fn event_type(&self) -> EventType {
        if self.is_repeat() {
            return EventType::Unknown;
        }
        self.stored_type()
    }

    /// The type that the span's record has, or would have if the span did not repeat a call.
    pub(crate) fn stored_type(&self) -> EventType {
        // Three bits always fit.
        TYPES
            .get((self.line_and_flags & TYPE) as usize)
            .copied()
            .unwrap_or(EventType::Unknown)
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.line_and_flags & FAILED != 0
    }

    /// Whether the span is shown: it can be read, belongs to the run, and is the first of its ID.
    pub(crate) fn is_shown(&self) -> bool {
        self.line_and_flags & (READABLE | FOREIGN | DUPLICATE) == READABLE
    }

    /// Whether the span would be shown if it were the first of its ID.
    pub(crate) fn is_own(&self) -> bool {
        self.line_and_flags & (READABLE | FOREIGN) == READABLE
    }

    pub(crate) fn is_duplicate(&self) -> bool {
        self.line_and_flags & DUPLICATE != 0
    }

    /// Says that the span repeats a call, so that its record has no type, and whether that is a failed one.
    pub(crate) fn mark_repeat(&mut self, is_repeat: bool, is_failed: bool) {
        self.line_and_flags &= !(REPEAT | FAILED);
        self.line_and_flags |= if is_repeat { REPEAT } else { 0 };
        self.line_and_flags |= if is_failed { FAILED } else { 0 };
    }

    /// Whether the span repeats a call.
    pub(crate) fn is_repeat(&self) -> bool {
        self.line_and_flags & REPEAT != 0
    }

    pub(crate) fn mark_duplicate(&mut self) {
        self.line_and_flags |= DUPLICATE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_48_bytes_and_gives_back_what_it_was_given() {
        assert_eq!(size_of::<IndexEntry>(), 48);
        let identity = Identity {
            trace_id: None,
            span_id: SpanId::from_u64(u64::MAX).unwrap(),
            parent_span_id: SpanId::from_u64(3),
        };
        let place = LinePlace {
            offset: u64::MAX,
            length: u32::MAX,
            line: (1 << 56) - 1,
        };
        for event_type in TYPES.into_iter().chain([EventType::Unknown]) {
            for is_failed in [false, true] {
                let header = RecordHeader {
                    instant: Timestamp::from_unix_microseconds(-5),
                    event_type,
                    is_failed,
                };
                let mut entry = IndexEntry::new(identity, place, Some(header), false);
                assert_eq!(
                    (entry.place(), entry.event_type(), entry.is_failed()),
                    (place, event_type, is_failed)
                );
                assert!(entry.is_shown() && entry.is_own());
                entry.mark_duplicate();
                assert!(!entry.is_shown() && entry.is_own() && entry.is_duplicate());
                assert!(!IndexEntry::new(identity, place, Some(header), true).is_own());
            }
        }
        assert!(!IndexEntry::new(identity, place, None, false).is_own());
    }
}
