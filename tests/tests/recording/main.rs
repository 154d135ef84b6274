//! What recorders, spans, runs, guards and `#[trace]` leave in a run directory, within one process.
//!
//! All tests share the process, and with it the list of live runs: each records within a run of its own, and gives its
//! context to the threads and tasks that it starts. What needs the process for itself is in `one_at_a_time`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail by panicking"
)]

mod after_the_end;
mod branches;
mod errors;
mod faults;
mod guardrails;
mod left_out;
mod lifecycle;
mod lifecycle_async;
mod macros;
mod property;
mod recorders;
mod secrets;
mod sizes;
mod tasks;
mod threads;
