//! What is demanded of a rate, and by which interval it is shown.

use serde::Serialize;

/// A demand on a rate, from 0 to 1.
///
/// ```
/// use tracer_gate::statistics::Target;
///
/// let nine_of_ten = Target::AtLeast(0.9);
/// assert_ne!(nine_of_ten, Target::AtMost(0.9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The rate is at least this.
    AtLeast(f64),
    /// The rate is at most this.
    AtMost(f64),
    /// The rate is in this range.
    Within {
        /// The least rate.
        lower: f64,
        /// The greatest rate.
        upper: f64,
    },
}

/// The interval behind a verdict on a rate: `decision` of a policy (gate, section 2).
///
/// ```
/// use tracer_gate::statistics::IntervalMethod;
///
/// assert_eq!(IntervalMethod::default(), IntervalMethod::Wilson);
/// assert_eq!(IntervalMethod::Exact.as_str(), "exact");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Wilson's one-sided score interval: short, and wrong more often than it says at small samples.
    #[default]
    Wilson,
    /// Clopper and Pearson's one-sided interval: never wrong more often than it says.
    Exact,
}

impl IntervalMethod {
    /// The method as a policy writes it.
    ///
    /// ```
    /// use tracer_gate::statistics::IntervalMethod;
    ///
    /// assert_eq!(IntervalMethod::Wilson.as_str(), "wilson");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wilson => "wilson",
            Self::Exact => "exact",
        }
    }
}
