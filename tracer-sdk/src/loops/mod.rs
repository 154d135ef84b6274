//! Loop detection (decisions, section 7): the shape of a call's arguments, the signature of a record, and the search
//! for a block of records that repeats.
//!
//! Pure: no clock, no file, no global. The emitter feeds a [`LoopDetector`] one record at a time.

mod detector;
mod entries;
mod shape;
mod signature;
mod visitor;
mod warning;

pub use detector::{LoopDetector, MAX_PATTERNS};
pub use shape::{MAX_SHAPE_BYTES, ShapeWriter, shape_of_json, shape_of_value};
pub use signature::{STATE_SIGNATURE, llm_signature, tool_signature};
pub use warning::{LoopWarning, PatternType};
