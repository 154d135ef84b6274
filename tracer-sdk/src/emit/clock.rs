//! The clock of a run: one reading of the wall clock, then monotonic offsets from it, so that no child starts before
//! its root and no duration is negative, whatever the machine's clock does (decisions, section 1).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracer_format::Timestamp;

/// Source of a run's times.
#[derive(Debug)]
pub(crate) struct RunClock {
    wall: i64,
    source: ElapsedSource,
}

/// Source of the time that has passed since the start.
#[derive(Debug)]
enum ElapsedSource {
    /// The machine's monotonic clock.
    Monotonic(Instant),
    /// A count of the readings: each comes [`STEP`] after the one before.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(dead_code, reason = "for tests only")
    )]
    Counted(AtomicU64),
}

/// When a run with a counted clock starts: 2026-01-01T00:00:00Z, in microseconds since 1970.
#[cfg(any(test, feature = "testing"))]
const COUNTED_START: i64 = 1_767_225_600_000_000;
/// Step of a counted clock from one reading to the next.
const STEP: Duration = Duration::from_millis(1);

impl RunClock {
    /// A clock of a run that started a while ago.
    pub(crate) fn started(ago: Duration) -> Self {
        let now = Instant::now();
        // The machine may not have run for so long.
        let (anchor, ago) = match now.checked_sub(ago) {
            Some(anchor) => (anchor, ago),
            None => (now, Duration::ZERO),
        };
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => microseconds(since),
            // A clock set before 1970.
            Err(error) => -microseconds(error.duration()),
        };
        Self {
            wall: wall.saturating_sub(microseconds(ago)),
            source: ElapsedSource::Monotonic(anchor),
        }
    }

    /// A clock that shows the same times in every run of the same code.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn counted() -> Self {
        Self {
            wall: COUNTED_START,
            source: ElapsedSource::Counted(AtomicU64::new(0)),
        }
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        Timestamp::from_unix_microseconds(self.wall)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.read().1
    }

    /// The time that has passed since the start, and the current time that follows from it.
    pub(crate) fn read(&self) -> (Duration, Timestamp) {
        let elapsed = match &self.source {
            ElapsedSource::Monotonic(anchor) => anchor.elapsed(),
            ElapsedSource::Counted(readings) => {
                let reading = readings.fetch_add(1, Ordering::Relaxed) + 1;
                STEP.saturating_mul(u32::try_from(reading).unwrap_or(u32::MAX))
            }
        };
        let now = self.wall.saturating_add(microseconds(elapsed));
        (elapsed, Timestamp::from_unix_microseconds(now))
    }

    /// Time from the run's start to an instant of this clock, in whole microseconds.
    pub(crate) fn since_start(&self, instant: Timestamp) -> Duration {
        let microseconds = instant.microseconds_since(self.started_at());
        Duration::from_micros(u64::try_from(microseconds).unwrap_or(0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_clock_moves_one_step_a_reading() {
        let clock = RunClock::counted();
        assert_eq!(clock.started_at().to_string(), "2026-01-01T00:00:00.000000Z");
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00.001000Z");
        assert_eq!(clock.read().0, 2 * STEP);
    }
}
