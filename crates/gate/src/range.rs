//! [`AllowedRange`]: the bounds of a rate or of a metric.

use serde::Serialize;

use crate::Direction;

/// Rounding error of doubles in a share of a baseline: 15 % of 100 is 15, and 115 is allowed.
const ROUNDING: f64 = 1e-9;

/// Bounds, each null where there is none.
///
/// ```
/// use tracer_gate::AllowedRange;
///
/// assert_eq!(AllowedRange::at_most(0.9).upper, Some(0.9));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct AllowedRange {
    /// At least.
    pub lower: Option<f64>,
    /// At most.
    pub upper: Option<f64>,
}

impl AllowedRange {
    /// At least this.
    #[must_use]
    pub const fn at_least(lower: f64) -> Self {
        Self {
            lower: Some(lower),
            upper: None,
        }
    }

    /// At most this.
    #[must_use]
    pub const fn at_most(upper: f64) -> Self {
        Self {
            lower: None,
            upper: Some(upper),
        }
    }

    /// Between these.
    #[must_use]
    pub const fn within(lower: f64, upper: f64) -> Self {
        Self {
            lower: Some(lower),
            upper: Some(upper),
        }
    }

    /// The side on which a value is bad.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        match (self.lower, self.upper) {
            (Some(_), None) => Direction::Lower,
            (None, Some(_)) => Direction::Upper,
            _ => Direction::Both,
        }
    }

    /// Checks if a value is above it.
    pub(crate) fn is_below(&self, value: f64) -> bool {
        self.upper
            .is_some_and(|upper| value > upper + upper.abs().max(1.0) * ROUNDING)
    }

    /// Checks if a value is below it.
    pub(crate) fn is_above(&self, value: f64) -> bool {
        self.lower
            .is_some_and(|lower| value < lower - lower.abs().max(1.0) * ROUNDING)
    }

    /// `at most 12`; `value` is the metric's way to write a number.
    pub(crate) fn words(self, value: impl Fn(f64) -> String) -> String {
        match (self.lower, self.upper) {
            (None, None) => "anything".to_owned(),
            (None, Some(upper)) => format!("at most {}", value(upper)),
            (Some(lower), None) => format!("at least {}", value(lower)),
            (Some(lower), Some(upper)) => format!("{} to {}", value(lower), value(upper)),
        }
    }
}
