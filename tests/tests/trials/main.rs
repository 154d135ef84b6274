//! `tracer run` with real programs: good ones, bad ones, and a user who has enough (`spec/gate.md`, sections 1 and 3).

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]
#![cfg(target_os = "linux")]

mod agents;
mod exit_codes;
mod interruption;
mod isolation;
mod misbehaviour;
mod workshop;
