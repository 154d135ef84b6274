//! The clock of a run: one reading of the wall clock, then monotonic offsets from it, so that no child starts before
//! its root and no duration is negative, whatever the machine's clock does (decisions, section 1).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::format::Timestamp;

/// Where a run gets its times from.
#[derive(Debug)]
pub(crate) struct RunClock {
    wall: i64,
    anchor: Instant,
}

impl RunClock {
    pub(crate) fn start() -> Self {
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => microseconds(since),
            // A clock set before 1970.
            Err(error) => -microseconds(error.duration()),
        };
        Self {
            wall,
            anchor: Instant::now(),
        }
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        Timestamp::from_unix_microseconds(self.wall)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.after(self.elapsed())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.anchor.elapsed()
    }

    fn after(&self, elapsed: Duration) -> Timestamp {
        Timestamp::from_unix_microseconds(self.wall.saturating_add(microseconds(elapsed)))
    }

    /// The instant so long before `end`, never before the run's start.
    pub(crate) fn before(&self, end: Timestamp, duration: Duration) -> Timestamp {
        let start = end.unix_microseconds().saturating_sub(microseconds(duration));
        Timestamp::from_unix_microseconds(start.max(self.wall))
    }
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
