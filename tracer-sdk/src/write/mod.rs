//! How a run gets to disk.

pub mod payload;
pub mod redact;
