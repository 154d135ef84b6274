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
    line: u32,
    stored_type: EventType,
    outcome: Outcome,
    role: SpanRole,
    reading: LineReading,
}

/// The part of a log that a span can be read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineReading {
    Own,
    OtherRun,
    Unreadable,
}

/// The role of a span among those of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpanRole {
    /// It is what its attributes say.
    #[default]
    Itself,
    /// It repeats a call that another span is, or is a row whose calls are elsewhere: no step.
    Leftover,
    /// It reports a call of a model which it is not.
    Step,
}

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
        let (start_seconds, start_nanoseconds) = header.map_or((0, 0), |header| header.instant.to_parts());
        Self {
            span_id: identity.span_id,
            parent_span_id: identity.parent_span_id,
            start_seconds,
            start_nanoseconds,
            length: place.length,
            offset: place.offset,
            // A log of more lines is longer than a disk.
            line: u32::try_from(place.line).unwrap_or(u32::MAX),
            stored_type: header.map_or(EventType::Unknown, |header| header.event_type),
            outcome: header.map_or(Outcome::Ok, |header| header.outcome),
            role: SpanRole::Itself,
            reading: match header {
                None => LineReading::Unreadable,
                Some(_) if is_foreign => LineReading::OtherRun,
                Some(_) => LineReading::Own,
            },
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
        u64::from(self.line)
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
        match self.role {
            SpanRole::Itself => self.stored_type,
            SpanRole::Leftover | SpanRole::Step => EventType::Unknown,
        }
    }

    /// The type that the span's record has, or would have if no other span were the call that it reports.
    pub fn stored_type(&self) -> EventType {
        self.stored_type
    }

    /// Outcome of the span.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// True where all of the span can be read.
    pub fn is_readable(&self) -> bool {
        self.reading != LineReading::Unreadable
    }

    /// True where it can be read and belongs to the run.
    pub fn is_own(&self) -> bool {
        self.reading == LineReading::Own
    }

    /// Sets what was found of the span among the others.
    pub fn set(&mut self, role: SpanRole, outcome: Outcome) {
        (self.role, self.outcome) = (role, outcome);
    }

    /// Returns whether the span is no step.
    pub fn is_leftover(&self) -> bool {
        self.role == SpanRole::Leftover
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
            line: u64::from(u32::MAX),
        };
        for event_type in [EventType::RunStart, EventType::LlmCall, EventType::Unknown] {
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
