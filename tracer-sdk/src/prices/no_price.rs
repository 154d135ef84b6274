//! [`NoPrice`]: why it is not known what a call costs.

use std::error::Error;
use std::fmt;

/// Why it is not known what a call costs.
///
/// ```
/// use tracer_sdk::prices::{NoPrice, Prices};
///
/// let at = "2026-11-01T12:00:00Z".parse()?;
/// let unknown = Prices::default().find("my-gateway", "gpt-4o", at).unwrap_err();
/// assert_eq!(unknown, NoPrice::UnknownProvider); // the model's name alone says nothing of another seller's price
/// assert_eq!(unknown.to_string(), "no prices of this provider");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoPrice {
    /// The call names no model.
    NoModel,
    /// The call names a provider that has no prices.
    UnknownProvider,
    /// The provider, or any where the call names none, has no model of this name.
    UnknownModel,
    /// The model is known; what its tokens cost is not.
    NoRate,
    /// The call does not report both its input and its output tokens.
    NoUsage,
    /// The reported counts exclude each other: more tokens are cached than there are, or more than can be.
    ContradictoryUsage,
    /// When the call was made is not known.
    NoTime,
    /// The provider served the call by other prices than the usual ones: as a batch, flexibly, with preference.
    ServiceTier,
    /// The provider charges for more than is counted, or reports a number that is not understood: what the counts cost is
    /// the least.
    InPart,
}

impl fmt::Display for NoPrice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoModel => "the call names no model",
            Self::UnknownProvider => "no prices of this provider",
            Self::UnknownModel => "no price of this model",
            Self::NoRate => "no price per token of this model",
            Self::NoUsage => "input and output tokens are not both reported",
            Self::ContradictoryUsage => "the reported tokens contradict each other",
            Self::NoTime => "the time of the call is not known",
            Self::ServiceTier => "the prices of its service tier are not known",
            Self::InPart => "not all that is charged is known",
        })
    }
}

impl Error for NoPrice {}
