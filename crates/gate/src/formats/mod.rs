//! The gate's report as files for its readers: Markdown for a comment, JUnit and annotations for CI.

pub mod annotations;
pub mod cargo_test;
pub mod comparison;
pub mod junit;
pub mod markdown;
pub mod next;
pub mod size_budget;

/// No document is longer, in bytes and so in characters. A comment on GitHub may have 65,536 characters, and somebody may
/// want to say something above it.
const MARKDOWN_LIMIT: usize = 60_000;
