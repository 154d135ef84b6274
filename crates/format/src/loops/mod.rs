//! Loop detection (decisions, section 7): the shape of a call's arguments, the signature of a record, what records are
//! compared by, and the search for a block of records that repeats.
//!
//! Pure: no clock, no file, no global. The emitter feeds a `LoopDetector` one record at a time, a reader does it again with what is stored, and the gate compares the same way without a window.

mod asked;
mod branch;
mod detector;
mod limits;
mod numbers;
mod shape;
mod signature;
mod trail;
mod value;
mod warning;

pub use asked::{Asked, Likeness, TrailKind};
pub use branch::is_agent;
pub use detector::{LoopDetector, WarnedPatterns};
pub use numbers::{of_prompt, of_value as number_of_json};
pub use signature::StepSignature;
pub(crate) use trail::{ATTEMPT_OF, CONVERSATION};
pub use trail::{Branch, Judged, Trail, TrailEntry};
pub use trail::{branches, compare_repetitions, first_loop, is_attempt};
pub(crate) use value::mix;
pub use value::{of_scalar, of_text, of_value};
pub use warning::{LoopWarning, PatternType};
