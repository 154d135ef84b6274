//! [`StoreClock`]: the time by the store's own clock, which all shippers share, whatever those of their machines say.

use std::cell::Cell;
use std::time::{Duration, Instant};

use object_store::path::Path;
use tracer_insight::units;
use tracer_sdk::format::Timestamp;

use crate::bucket::OpenBucket;

/// The difference of the clocks that is the time of a request.
const MAX_CLOCK_NOISE: Duration = Duration::from_secs(2);
/// How long the difference to the store's clock is believed.
const CLOCK_TRUST: Duration = Duration::from_secs(3600);

/// How the clock of the store differs from that of this machine.
#[derive(Debug, Default)]
pub(crate) struct StoreClock(Cell<ClockState>);

#[derive(Debug, Clone, Copy, Default)]
struct ClockState {
    /// What is added to the time of this machine, in microseconds.
    offset_us: i64,
    asked: Option<Instant>,
    last_us: i64,
}

impl StoreClock {
    /// Learns from an object that was just written how the clocks differ.
    pub(crate) async fn ask(&self, bucket: &OpenBucket, written: &Path) {
        let mut state = self.0.get();
        if state.asked.is_some_and(|asked| asked.elapsed() < CLOCK_TRUST) {
            return;
        }
        state.asked = Some(Instant::now());
        // Whoever goes on at the same time does not ask, too.
        self.0.set(state);
        if let Ok(found) = bucket.head(written).await {
            let offset = found.last_modified.timestamp_micros() - units::now().unix_microseconds();
            let noise = i64::try_from(MAX_CLOCK_NOISE.as_micros()).unwrap_or(i64::MAX);
            let mut state = self.0.get();
            state.offset_us = if offset.abs() <= noise { 0 } else { offset };
            self.0.set(state);
        }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_unix_microseconds(self.now_us())
    }

    /// The time now, but later than what this gave before.
    pub(crate) fn next(&self) -> Timestamp {
        let mut state = self.0.get();
        state.last_us = self.now_us().max(state.last_us + 1);
        self.0.set(state);
        Timestamp::from_unix_microseconds(state.last_us)
    }

    fn now_us(&self) -> i64 {
        units::now()
            .unix_microseconds()
            .saturating_add(self.0.get().offset_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_later_than_the_one_before() {
        let clock = StoreClock::default();
        let times: Vec<Timestamp> = (0..1000).map(|_| clock.next()).collect();
        assert!(times.is_sorted_by(|before, after| before < after));
    }

    #[test]
    fn a_store_that_is_hours_ahead_is_believed() {
        let clock = StoreClock::default();
        let mut state = clock.0.get();
        state.offset_us = 7_200_000_000;
        clock.0.set(state);
        let ahead = clock.next().unix_microseconds() - units::now().unix_microseconds();
        assert!((7_100_000_000..=7_200_000_000).contains(&ahead), "{ahead}");
    }
}
