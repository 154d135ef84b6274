//! The time of a collector, given to it so that tests need not wait.

use std::fmt;
use std::time::{Duration, Instant};

use tracer_insight::units;
use tracer_sdk::format::Timestamp;

/// Clock of a collector.
pub(crate) trait Clock: fmt::Debug + Send + Sync {
    /// The time since some moment, which never goes back.
    fn elapsed(&self) -> Duration;
    /// The time of day.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn now(&self) -> Timestamp {
        units::now()
    }
}
