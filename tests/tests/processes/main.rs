//! Traced programs as processes of their own: how they end, what their environment says, what their system refuses.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[cfg(feature = "aborting-program")]
mod aborts;
#[cfg(target_os = "linux")]
mod disks;
mod endings;
mod environment;
mod joined;
mod kills;
mod limits;
mod many_processes;
mod tags;
mod warning;

/// The traced program: its first argument is what it does.
const TRACED: &str = env!("CARGO_BIN_EXE_traced");
