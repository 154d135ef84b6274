//! [`TokenBudget`]: how long a text for a model may be.

/// Bytes of UTF-8 that count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// The most tokens that a text for a model may have, where a token is four bytes of UTF-8.
///
/// ```
/// use tracer_insight::outline::TokenBudget;
///
/// assert_eq!(TokenBudget::new(500).bytes(), 2_000);
/// assert_eq!(TokenBudget::new(1), TokenBudget::MIN); // less than this says nothing
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenBudget(usize);

impl TokenBudget {
    /// The smallest budget.
    pub const MIN: Self = Self(300);
    /// The largest one.
    pub const MAX: Self = Self(50_000);

    /// A budget; one that is too small or too large becomes the nearest that is not.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        Self(tokens.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// The tokens.
    #[must_use]
    pub const fn tokens(self) -> usize {
        self.0
    }

    /// The bytes that these are.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0 * BYTES_PER_TOKEN
    }
}
