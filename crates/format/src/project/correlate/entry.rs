//! [`IndexEntry`]: the 48 bytes that are kept of every span while a log of any size is read.

use crate::parse::Identity;
use crate::{EventType, Outcome, SpanId, Timestamp};

/// A span's place in the file, in time, and among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    start_seconds: i64,
    start_nanoseconds: u32,
    length: u32,
    offset: u64,
    /// The number of the line, and flags in the lowest two bytes.
    line_and_flags: u64,
}

/// Its span reports a call of a model which it is not: it is a step.
const STEP: u64 = 1 << 9;
/// The outcome is none that is known: a failure with it was cancelled, anything else is unknown.
const UNSETTLED: u64 = 1 << 8;
/// The span can be read; one that cannot has no start.
const READABLE: u64 = 1 << 7;
/// The span belongs to another run.
const FOREIGN: u64 = 1 << 6;
/// The span failed.
const FAILED: u64 = 1 << 4;
/// Its span repeats a call that another span is, or held calls that are elsewhere.
const LEFTOVER: u64 = 1 << 3;
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
pub struct LinePlace {
    /// Its first byte.
    pub offset: u64,
    /// Length of the line without its newline, in bytes.
    pub length: u32,
    /// Its number, from 1.
    pub line: u64,
}

/// A record without its payload: what an index knows of it.
///
/// ```
/// use tracer_sdk::format::{EventType, Outcome};
/// use tracer_runs::{RunReader, Strictness};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let failed = capture(|| tracer_sdk::tool_call("search").fail("out of reach").record());
/// let directory = failed.save(folder.path())?;
/// let records = RunReader::open(&directory, Strictness::Strict)?.records;
/// // RUN_START, the call, RUN_END
/// let call = records.header(1).unwrap();
/// assert_eq!((call.event_type, call.outcome), (EventType::ToolCall, Outcome::Failed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordHeader {
    /// The type of the record.
    pub event_type: EventType,
    /// The instant of the record.
    pub instant: Timestamp,
    /// Outcome of its span; an error is a failure.
    pub outcome: Outcome,
    /// True of what is no step, see [`Record::is_leftover`](crate::Record::is_leftover).
    pub is_leftover: bool,
}

impl RecordHeader {
    /// The header of a step.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(event_type: EventType, instant: Timestamp, outcome: Outcome) -> Self {
        Self {
            event_type,
            instant,
            outcome,
            is_leftover: false,
        }
    }
}

impl IndexEntry {
    /// The entry of the span on a line; `header` of one that can be read.
    pub fn new(identity: Identity, place: LinePlace, header: Option<RecordHeader>, is_foreign: bool) -> Self {
        let mut flags = if is_foreign { FOREIGN } else { 0 };
        if let Some(header) = header {
            let number = TYPES
                .iter()
                .position(|event_type| *event_type == header.event_type);
            // At most eight types: what is none of them is `UNKNOWN`.
            flags |= READABLE | number.unwrap_or(TYPES.len()) as u64;
            flags |= outcome_flags(header.outcome);
        }
        let (start_seconds, start_nanoseconds) = header.map_or((0, 0), |header| header.instant.to_parts());
        Self {
            span_id: identity.span_id,
            parent_span_id: identity.parent_span_id,
            start_seconds,
            start_nanoseconds,
            offset: place.offset,
            length: place.length,
            line_and_flags: place.line << 16 | flags,
        }
    }

    /// The span's ID.
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// The ID of the span that it is in.
    pub fn parent_span_id(&self) -> Option<SpanId> {
        self.parent_span_id
    }

    /// The header of the span's own record; nothing of a span that cannot be read.
    pub fn header(&self) -> RecordHeader {
        RecordHeader {
            event_type: self.event_type(),
            instant: self.start(),
            outcome: self.outcome(),
            is_leftover: self.is_leftover(),
        }
    }

    /// When the span began.
    pub fn start(&self) -> Timestamp {
        Timestamp::from_parts(self.start_seconds, self.start_nanoseconds)
    }

    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.line_and_flags >> 16
    }

    /// Place of the line in the log.
    pub fn place(&self) -> LinePlace {
        LinePlace {
            offset: self.offset,
            length: self.length,
            line: self.line(),
        }
    }

    /// The type of the span's record, as a root's or a child's.
    pub fn event_type(&self) -> EventType {
        if self.line_and_flags & (LEFTOVER | STEP) != 0 {
            return EventType::Unknown;
        }
        self.stored_type()
    }

    /// The type that the span's record has, or would have if no other span were the call that it reports.
    pub fn stored_type(&self) -> EventType {
        // Three bits always fit.
        TYPES
            .get((self.line_and_flags & TYPE) as usize)
            .copied()
            .unwrap_or(EventType::Unknown)
    }

    /// Outcome of the span.
    pub fn outcome(&self) -> Outcome {
        match self.line_and_flags & (FAILED | UNSETTLED) {
            0 => Outcome::Ok,
            FAILED => Outcome::Failed,
            UNSETTLED => Outcome::Unknown,
            _ => Outcome::Cancelled,
        }
    }

    /// True where all of the span can be read.
    pub fn is_readable(&self) -> bool {
        self.line_and_flags & READABLE != 0
    }

    /// True where it can be read and belongs to the run.
    pub fn is_own(&self) -> bool {
        self.line_and_flags & (READABLE | FOREIGN) == READABLE
    }

    /// Says whether the span repeats a call, or held calls that are elsewhere, so that its record has no type and is no step.
    pub fn mark_leftover(&mut self, is_leftover: bool) {
        self.line_and_flags &= !LEFTOVER;
        self.line_and_flags |= if is_leftover { LEFTOVER } else { 0 };
    }

    /// Says whether the span reports a call of a model which it is not, so that its record has no type.
    pub fn mark_step(&mut self, is_step: bool) {
        self.line_and_flags &= !STEP;
        self.line_and_flags |= if is_step { STEP } else { 0 };
    }

    /// Says how the span ended.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.line_and_flags &= !(FAILED | UNSETTLED);
        self.line_and_flags |= outcome_flags(outcome);
    }

    /// Returns whether the span repeats a call, or held calls that are elsewhere.
    pub fn is_leftover(&self) -> bool {
        self.line_and_flags & LEFTOVER != 0
    }
}

const fn outcome_flags(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Failed => FAILED,
        Outcome::Cancelled => FAILED | UNSETTLED,
        Outcome::Unknown => UNSETTLED,
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
            line: (1 << 48) - 1,
        };
        for event_type in TYPES.into_iter().chain([EventType::Unknown]) {
            for outcome in Outcome::ALL {
                let header = RecordHeader {
                    instant: Timestamp::from_unix_microseconds(-5),
                    event_type,
                    outcome,
                    is_leftover: false,
                };
                let entry = IndexEntry::new(identity, place, Some(header), false);
                assert_eq!(
                    (entry.place(), entry.event_type(), entry.outcome()),
                    (place, event_type, outcome)
                );
                assert!(entry.is_readable() && entry.is_own());
                assert!(!IndexEntry::new(identity, place, Some(header), true).is_own());
            }
        }
        assert!(!IndexEntry::new(identity, place, None, false).is_own());
    }
}
