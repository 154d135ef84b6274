//! Between which numbers a value lies.

/// Between which numbers a value lies, both included.
///
/// ```
/// use tracer_insight::profile::Bounds;
///
/// assert_eq!(Bounds::exactly(3.0).exact(), Some(3.0));
/// assert_eq!(Bounds { least: 3.0, most: 5.0 }.exact(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// At least.
    pub least: f64,
    /// At most; infinite when not known.
    pub most: f64,
}

impl Bounds {
    /// Bounds of an unknown value: every metric counts something, so none is below zero.
    pub const ANYTHING: Self = Self {
        least: 0.0,
        most: f64::INFINITY,
    };

    /// Of a value that is known.
    ///
    /// ```
    /// use tracer_insight::profile::Bounds;
    ///
    /// assert_eq!(Bounds::exactly(3.0), Bounds { least: 3.0, most: 3.0 });
    /// ```
    #[must_use]
    pub const fn exactly(value: f64) -> Self {
        Self {
            least: value,
            most: value,
        }
    }

    /// The value, when it is known.
    ///
    /// ```
    /// use tracer_insight::profile::Bounds;
    ///
    /// assert_eq!(Bounds { least: 0.0, most: 1.0 }.exact(), None);
    /// ```
    #[must_use]
    pub fn exact(self) -> Option<f64> {
        self.least.total_cmp(&self.most).is_eq().then_some(self.least)
    }
}
