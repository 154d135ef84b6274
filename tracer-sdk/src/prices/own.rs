//! [`OwnPrice`]: a price of the settings, which goes before those of the release.

use std::cmp::Reverse;
use std::path::PathBuf;

use super::{Day, Rates};

/// Wildcard at the end of a name that matches all names with its beginning.
pub(crate) const WILDCARD: char = '*';

/// A price of the settings.
///
/// ```
/// use tracer_sdk::settings::{SettingsFile, Sources, read_prices};
///
/// let text = "[prices.openai.\"ft:gpt-4o:*\"]\ninput = 3.75\noutput = 15".to_owned();
/// let user = SettingsFile { path: "config.toml".into(), text: Ok(text) };
/// let (prices, _) = read_prices(&Sources { user: Some(user), ..Sources::default() });
/// let own = &prices.own()[0];
/// assert_eq!((own.provider.as_str(), own.model.as_str(), own.line), ("openai", "ft:gpt-4o:*", 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnPrice {
    /// The provider, in lower case.
    pub provider: String,
    /// The model, in lower case; one that ends in `*` is for all names that begin so.
    pub model: String,
    /// The first day on which the price is valid.
    pub from: Option<Day>,
    /// The first day on which it is not valid any more.
    pub until: Option<Day>,
    /// Rates of its tokens.
    pub rates: Rates,
    /// The settings file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
}

impl OwnPrice {
    /// Returns whether it is the price of a provider's model on a day, both names in lower case.
    pub(crate) fn is_for(&self, provider: &str, model: &str, day: Day) -> bool {
        let is_model = match self.model.strip_suffix(WILDCARD) {
            Some(start) => model.starts_with(start),
            None => model == self.model,
        };
        is_model
            && self.provider == provider
            && self.from.is_none_or(|from| from <= day)
            && self.until.is_none_or(|until| day < until)
    }

    /// Returns whether there is a day on which both are valid.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let begins_before_end = |one: &Self, other: &Self| match (one.from, other.until) {
            (Some(from), Some(until)) => from < until,
            _ => true,
        };
        begins_before_end(self, other) && begins_before_end(other, self)
    }
}

/// Puts what counts first to the front: whole names before beginnings, longer before shorter, files in their order.
pub(super) fn sort(prices: &mut [OwnPrice]) {
    prices.sort_by_key(|price| (price.model.ends_with(WILDCARD), Reverse(price.model.len())));
}
