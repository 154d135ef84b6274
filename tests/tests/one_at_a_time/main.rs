//! Tests that need a process without other recording in it: how many runs are live, which threads there are, which panic was
//! the last and what hears of it concern all of it. They take turns.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[cfg(target_os = "linux")]
mod batching;
mod live_runs;
mod panics;
mod recording_within_recording;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test holds its turn.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
