//! Spans of libraries become runs: callbacks that real libraries made, replayed, and what a program does around them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod calls;
mod conversations;
mod failures;
mod libraries;
mod limits;
mod messages;
mod nesting;
mod readme;
mod replay;
mod report;
mod runs;
mod setup;
mod tool_events;
