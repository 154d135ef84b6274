//! Loop detection (decisions, section 7): the shape of a call's arguments, the signature of a record, and the search
//! for a block of records that repeats.
//!
//! Pure: no clock, no file, no global. The emitter feeds a [`LoopDetector`] one record at a time.

mod detector;
mod entries;
mod reader;
mod shape;
mod signature;
mod warning;

pub(crate) use detector::LoopDetector;
pub(crate) use shape::ShapeWriter;
#[cfg(test)]
pub(crate) use shape::shape_of_value;
pub(crate) use signature::{STATE_SIGNATURE, llm_signature, tool_signature};
pub(crate) use warning::{LoopWarning, PatternType};
