//! Record what an AI agent did.

pub mod emit;
pub mod format;
pub mod read;
pub mod write;

pub use format::Usage;
pub use read::spans_to_events;
