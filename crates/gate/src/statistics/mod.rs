//! The statistics of a gate: intervals for a rate, how many trials a verdict needs, and how often it is wrong.
//!
//! Plain functions of numbers. What they are used for is told in `docs/what-the-gate-promises.md`.
//!
//! ```
//! use tracer_gate::statistics::{IntervalMethod, Target, minimum_trials};
//!
//! let nine_of_ten = Target::AtLeast(0.9);
//! assert_eq!(minimum_trials(IntervalMethod::Wilson, nine_of_ten, 0.95), Some(25));
//! assert_eq!(minimum_trials(IntervalMethod::Exact, nine_of_ten, 0.95), Some(29));
//! ```

mod aggregate;
mod binomial;
mod characteristic;
mod exceedance;
mod interval;
mod minimum;
mod noise;
mod target;

#[cfg(test)]
mod tests;

pub(super) use aggregate::aggregate;
pub use characteristic::{OperatingCharacteristic, operating_characteristic};
pub use exceedance::{chance_of_exceeding, minimum_baseline_trials};
pub use interval::{RateInterval, StatisticsError};
pub use minimum::minimum_trials;
#[cfg(test)]
pub(super) use noise::noise;
pub(super) use noise::{Noise, chance_beyond, runs_that_tell};
pub use target::{IntervalMethod, Target};
