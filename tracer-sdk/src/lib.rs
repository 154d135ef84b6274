//! Record what an AI agent did.

pub mod emit;
pub mod format;
pub mod guardrails;
pub mod loops;
pub mod read;
pub mod settings;
pub mod write;

pub use format::Usage;
pub use read::spans_to_events;
