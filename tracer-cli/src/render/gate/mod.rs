//! What the gate found, for its readers: text for a terminal, Markdown for a comment, JUnit and annotations for CI.

pub mod annotations;
pub mod bounded;
pub mod inert;
pub mod markdown;
