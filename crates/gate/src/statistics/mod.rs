//! The statistics of a gate: intervals for a rate, how many trials a verdict needs, and how often it is wrong.
//!
//! Plain functions of numbers. `docs/policy.md` describes their use.
//!
//! ```
//! use tracer_gate::AllowedRange;
//! use tracer_gate::statistics::{IntervalMethod, minimum_trials};
//!
//! let nine_of_ten = AllowedRange::at_least(0.9);
//! assert_eq!(minimum_trials(IntervalMethod::Wilson, nine_of_ten, 0.95), Some(25));
//! assert_eq!(minimum_trials(IntervalMethod::Exact, nine_of_ten, 0.95), Some(29));
//! ```

mod interval;
mod noise;
mod sample_size;

#[cfg(test)]
pub(crate) mod tests;

pub use interval::{IntervalMethod, RateInterval, StatisticsError};
pub use noise::Aggregate;
#[cfg(test)]
pub(crate) use noise::noise;
pub(crate) use noise::{Noise, aggregate, chance_beyond, min_sample_size};
pub use sample_size::{chance_of_exceeding, minimum_baseline_trials, minimum_trials};
