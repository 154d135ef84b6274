//! The gate: its files, its vectors, and `tracer run` with real programs.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod assert_baseline;
mod schemas;
#[cfg(target_os = "linux")]
mod trials;
mod vectors;
