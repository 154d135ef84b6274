//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

/// How long a condition may take to come true.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until a condition holds, and fails the test when it does not within [`DEADLINE`].
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
