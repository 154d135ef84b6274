//! The example programs, run as a user runs them, and what they record.

mod agent;
mod execution;
mod word_count;
