//! The example programs, run as a user runs them, and what they record.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod agent;
mod execution;
mod replayed;
mod word_count;
