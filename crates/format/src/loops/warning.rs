//! Report of a loop (specification, *Payloads*, `LOOP_WARNING`).

use crate::SpanId;

/// Kind of a loop: one repeated call, or several in turn (specification, *Payloads*).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternType {
    /// The block is a single record.
    RepeatedCall,
    /// The block is two or more records.
    Cycle,
}

impl PatternType {
    /// The word in the record: `repeated_call` or `cycle`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RepeatedCall => "repeated_call",
            Self::Cycle => "cycle",
        }
    }
}

/// A block of records that repeats (specification, *Payloads*, `LOOP_WARNING`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopWarning<Id = SpanId> {
    /// The signatures of the block, joined by ` -> `.
    pub pattern: String,
    /// Kind of the block: one record or more.
    pub pattern_type: PatternType,
    /// Length of the block, in records.
    pub pattern_length: usize,
    /// Number of repetitions in the evidence: the threshold that the detector was created with.
    pub repetitions: usize,
    /// Size of the window, in records.
    pub window_size: usize,
    /// The records of all repetitions, oldest first.
    pub evidence_event_ids: Vec<Id>,
}
