//! What the gate found, for its readers: text for a terminal, Markdown for a comment, JUnit and annotations for CI.

pub mod annotations;
pub mod bounded;
pub mod changes;
pub mod checks;
pub mod comparison;
pub mod inert;
pub mod junit;
pub mod markdown;
pub mod next;
pub mod numbers;
pub mod phrase;
pub mod replacement;
pub mod text;
pub mod verdict;

/// No document is longer, in bytes and so in characters. A comment on GitHub may have 65,536 characters, and somebody may
/// want to say something above it.
const MARKDOWN_LIMIT: usize = 60_000;

#[cfg(test)]
mod samples;
