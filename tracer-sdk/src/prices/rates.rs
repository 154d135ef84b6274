//! [`Rates`]: what tokens cost, and the sum for those of a call.

use serde::{Deserialize, Serialize};

use super::NoPrice;
use crate::format::{Usage, Usd};

/// How many tokens a price is for.
const MILLION: u128 = 1_000_000;
/// How many requests a price is for.
const THOUSAND: u128 = 1_000;

/// What a rate is for.
///
/// ```
/// use tracer_sdk::prices::RateKind;
///
/// assert_eq!(RateKind::CacheRead.name(), "cache_read");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RateKind {
    /// Tokens of the prompt, but for those that have a rate of their own.
    Input,
    /// Tokens of the prompt that the provider read from its cache.
    CacheRead,
    /// Tokens of the prompt that the provider wrote to its cache.
    CacheWrite,
    /// Tokens of the answer, but for those that have a rate of their own.
    Output,
    /// Tokens of the answer that the model used for reasoning.
    Reasoning,
    /// Each request, whatever its tokens.
    Requests,
    /// Tokens of sound in the prompt; records do not count them apart.
    InputAudio,
    /// Tokens of images in the prompt; records do not count them apart.
    InputImage,
    /// Tokens of video in the prompt; records do not count them apart.
    InputVideo,
    /// Tokens of sound in the answer; records do not count them apart.
    OutputAudio,
    /// Tokens of images in the answer; records do not count them apart.
    OutputImage,
    /// Tokens of video in the answer; records do not count them apart.
    OutputVideo,
}

impl RateKind {
    /// The name in the settings and in JSON.
    ///
    /// ```
    /// use tracer_sdk::prices::RateKind;
    ///
    /// assert_eq!(RateKind::InputAudio.name(), "input_audio");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::Requests => "requests",
            Self::InputAudio => "input_audio",
            Self::InputImage => "input_image",
            Self::InputVideo => "input_video",
            Self::OutputAudio => "output_audio",
            Self::OutputImage => "output_image",
            Self::OutputVideo => "output_video",
        }
    }
}

/// The price of one kind of tokens, which may depend on how many the prompt has.
///
/// ```
/// use tracer_sdk::prices::{Prices, RateKind};
///
/// let prices = Prices::default();
/// let price = prices.find("google", "gemini-2.5-pro", "2026-11-01T12:00:00Z".parse()?)?;
/// let (_, input) = price.rates().iter().find(|(kind, _)| *kind == RateKind::Input).unwrap();
/// assert_eq!(input.base().to_decimal(), "1.25"); // dollars per million
/// let (above, price) = input.tiers().next().unwrap();
/// assert_eq!((above, price.to_decimal().as_str()), (200_000, "2.5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// What the price is for: a million tokens, a thousand requests.
    per: u128,
    /// Of one.
    base: Usd,
    /// Above how many tokens of the prompt another price is that of all of them, smallest first.
    tiers: Vec<(u64, Usd)>,
}

/// A rate as the table has it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    #[serde(borrow)]
    Flat(&'a str),
    #[serde(borrow)]
    Tiered(Vec<WrittenTier<'a>>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenTier<'a> {
    #[serde(borrow)]
    Base(&'a str),
    #[serde(borrow)]
    Above((u64, &'a str)),
}

impl Rate {
    /// A price for a number of tokens, whatever the prompt; `None` where one of them costs a part of the smallest amount.
    fn new(price: Usd, per: u128) -> Option<Self> {
        Some(Self {
            per,
            base: price.checked_div_exact(per)?,
            tiers: Vec::new(),
        })
    }

    /// A price per million tokens.
    pub(crate) fn per_million(price: Usd) -> Option<Self> {
        Self::new(price, MILLION)
    }

    fn written(written: &Written<'_>, per: u128) -> Option<Self> {
        let tiers = match written {
            Written::Flat(price) => return Self::new(price.parse().ok()?, per),
            Written::Tiered(tiers) => tiers,
        };
        let [WrittenTier::Base(base), tiers @ ..] = tiers.as_slice() else {
            return None;
        };
        let mut rate = Self::new(base.parse().ok()?, per)?;
        for tier in tiers {
            let WrittenTier::Above((start, price)) = tier else {
                return None;
            };
            let price: Usd = price.parse().ok()?;
            rate.tiers.push((*start, price.checked_div_exact(per)?));
        }
        Some(rate)
    }

    /// The price of a million tokens, or of a thousand requests, where the prompt is short.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// let (_, input) = price.rates().iter().next().unwrap();
    /// assert_eq!(input.base().to_decimal(), "2.5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn base(&self) -> Usd {
        self.of_many(self.base)
    }

    /// The prices of a million tokens where the prompt has more than a number of tokens; then all tokens cost as much.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// let (_, input) = price.rates().iter().next().unwrap();
    /// assert_eq!(input.tiers().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tiers(&self) -> impl Iterator<Item = (u64, Usd)> {
        self.tiers
            .iter()
            .map(|(above, price)| (*above, self.of_many(*price)))
    }

    fn of_many(&self, price: Usd) -> Usd {
        // It was divided by this before.
        u64::try_from(self.per)
            .ok()
            .and_then(|per| price.checked_mul(per))
            .unwrap_or(Usd::MAX)
    }

    /// The price of one, for a prompt of `input` tokens.
    fn of_one(&self, input: u64) -> Usd {
        let reached = self.tiers.iter().rev().find(|(above, _)| input > *above);
        reached.map_or(self.base, |(_, price)| *price)
    }
}

/// What the tokens of a model cost.
///
/// ```
/// use tracer_sdk::prices::{Prices, RateKind};
///
/// let prices = Prices::default();
/// let price = prices.find("openai", "gpt-4o", "2026-11-01T12:00:00Z".parse()?)?;
/// let kinds: Vec<RateKind> = price.rates().iter().map(|(kind, _)| kind).collect();
/// assert_eq!(kinds, [RateKind::Input, RateKind::CacheRead, RateKind::Output]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    pub(crate) input: Option<Rate>,
    pub(crate) cache_read: Option<Rate>,
    pub(crate) cache_write: Option<Rate>,
    pub(crate) output: Option<Rate>,
    pub(crate) reasoning: Option<Rate>,
    requests: Option<Rate>,
    media: Vec<(RateKind, Rate)>,
}

/// Rates as the table has them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WrittenRates<'a> {
    #[serde(borrow)]
    input: Option<Written<'a>>,
    #[serde(borrow)]
    cache_read: Option<Written<'a>>,
    #[serde(borrow)]
    cache_write: Option<Written<'a>>,
    #[serde(borrow)]
    output: Option<Written<'a>>,
    #[serde(borrow)]
    reasoning: Option<Written<'a>>,
    #[serde(borrow)]
    requests: Option<Written<'a>>,
    #[serde(borrow)]
    input_audio: Option<Written<'a>>,
    #[serde(borrow)]
    input_image: Option<Written<'a>>,
    #[serde(borrow)]
    input_video: Option<Written<'a>>,
    #[serde(borrow)]
    output_audio: Option<Written<'a>>,
    #[serde(borrow)]
    output_image: Option<Written<'a>>,
    #[serde(borrow)]
    output_video: Option<Written<'a>>,
}

impl WrittenRates<'_> {
    /// The rates; `None` where one of them is no price.
    pub(super) fn rates(&self) -> Option<Rates> {
        let rate = |written: &Option<Written<'_>>, per| match written {
            None => Some(None),
            Some(written) => Rate::written(written, per).map(Some),
        };
        let media = [
            (RateKind::InputAudio, &self.input_audio),
            (RateKind::InputImage, &self.input_image),
            (RateKind::InputVideo, &self.input_video),
            (RateKind::OutputAudio, &self.output_audio),
            (RateKind::OutputImage, &self.output_image),
            (RateKind::OutputVideo, &self.output_video),
        ];
        let mut rates = Rates {
            input: rate(&self.input, MILLION)?,
            cache_read: rate(&self.cache_read, MILLION)?,
            cache_write: rate(&self.cache_write, MILLION)?,
            output: rate(&self.output, MILLION)?,
            reasoning: rate(&self.reasoning, MILLION)?,
            requests: rate(&self.requests, THOUSAND)?,
            media: Vec::new(),
        };
        for (kind, written) in media {
            rates
                .media
                .extend(rate(written, MILLION)?.map(|rate| (kind, rate)));
        }
        Some(rates)
    }
}

impl Rates {
    /// The rates that are known, input first.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.rates().iter().next().unwrap().0.name(), "input");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (RateKind, &Rate)> {
        let rates = [
            (RateKind::Input, &self.input),
            (RateKind::CacheRead, &self.cache_read),
            (RateKind::CacheWrite, &self.cache_write),
            (RateKind::Output, &self.output),
            (RateKind::Reasoning, &self.reasoning),
            (RateKind::Requests, &self.requests),
        ];
        let known = rates
            .into_iter()
            .filter_map(|(kind, rate)| Some((kind, rate.as_ref()?)));
        known.chain(self.media.iter().map(|(kind, rate)| (*kind, rate)))
    }

    /// What the tokens of one call cost. Cached tokens and reasoning are among the prompt's and the answer's, and leave
    /// these where they have a rate of their own.
    pub(super) fn cost(&self, usage: &Usage) -> Result<Usd, NoPrice> {
        let has_rates = self.input.is_some() || self.output.is_some() || self.requests.is_some();
        let (Some(input), Some(output)) = (usage.prompt_tokens, usage.completion_tokens) else {
            return Err(NoPrice::NoUsage);
        };
        if !has_rates || (self.input.is_none() && input > 0) || (self.output.is_none() && output > 0) {
            return Err(NoPrice::NoRate);
        }
        let tokens = CallTokens::of(usage)?;
        // More than there is money for is the largest amount.
        Ok(self.sum(&tokens, input, 1).unwrap_or(Usd::MAX))
    }

    /// What calls cost together whose prompts have the price of one of `prompt` tokens; the largest amount where that is
    /// more than there is money for.
    pub(super) fn cost_of_calls(&self, tokens: &CallTokens, prompt: u64, calls: u64) -> Result<Usd, NoPrice> {
        let has_rates = self.input.is_some() || self.output.is_some() || self.requests.is_some();
        let is_unpriced =
            (self.input.is_none() && tokens.input > 0) || (self.output.is_none() && tokens.output > 0);
        if !has_rates || is_unpriced {
            return Err(NoPrice::NoRate);
        }
        Ok(self.sum(tokens, prompt, calls).unwrap_or(Usd::MAX))
    }

    fn sum(&self, tokens: &CallTokens, prompt: u64, calls: u64) -> Option<Usd> {
        let CallTokens {
            input,
            output,
            read,
            written,
            reasoning,
        } = *tokens;
        let apart = |rate: &Option<Rate>, tokens| if rate.is_some() { tokens } else { 0 };
        let (read, written) = (apart(&self.cache_read, read), apart(&self.cache_write, written));
        let reasoning = apart(&self.reasoning, reasoning);
        let parts = [
            // Saturating, for sums of very many calls: the parts of one call are never more than their whole.
            (&self.input, input.saturating_sub(read).saturating_sub(written)),
            (&self.cache_read, read),
            (&self.cache_write, written),
            (&self.output, output.saturating_sub(reasoning)),
            (&self.reasoning, reasoning),
            (&self.requests, calls),
        ];
        let costs = parts
            .into_iter()
            .filter_map(|(rate, count)| Some((rate.as_ref()?, count)));
        costs
            .map(|(rate, count)| rate.of_one(prompt).checked_mul(count))
            .try_fold(Usd::ZERO, |sum, cost| sum.checked_add(cost?))
    }
}

/// The most tokens on one side of a call, the largest number that JSON keeps exactly everywhere: more is a mistake of the
/// emitter, and has no cost.
const MAX_SIDE_TOKENS: u64 = (1 << 53) - 1;

/// The tokens of calls that have a price: those in the cache and of reasoning are among the input and the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct CallTokens {
    #[serde(rename = "i")]
    pub(super) input: u64,
    #[serde(rename = "o")]
    pub(super) output: u64,
    #[serde(rename = "r")]
    pub(super) read: u64,
    #[serde(rename = "w")]
    pub(super) written: u64,
    #[serde(rename = "z")]
    pub(super) reasoning: u64,
}

impl CallTokens {
    /// The tokens of one call, if they are reported and can be.
    pub(super) fn of(usage: &Usage) -> Result<Self, NoPrice> {
        let (Some(input), Some(output)) = (usage.prompt_tokens, usage.completion_tokens) else {
            return Err(NoPrice::NoUsage);
        };
        let tokens = Self {
            input,
            output,
            read: usage.cache_read_tokens.unwrap_or(0),
            written: usage.cache_write_tokens.unwrap_or(0),
            reasoning: usage.reasoning_tokens.unwrap_or(0),
        };
        let cached = tokens.read.checked_add(tokens.written);
        let is_possible = input.max(output) <= MAX_SIDE_TOKENS // so that both together fit, too
            && cached.is_some_and(|cached| cached <= input)
            && tokens.reasoning <= output
            && usage.total_tokens.is_none_or(|total| input + output <= total);
        is_possible.then_some(tokens).ok_or(NoPrice::ContradictoryUsage)
    }

    /// Adds those of other calls.
    pub(super) fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.read, other.read),
            (&mut self.written, other.written),
            (&mut self.reasoning, other.reasoning),
        ];
        for (sum, part) in sums {
            *sum = sum.saturating_add(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Rates {
        serde_json::from_str::<WrittenRates<'_>>(text)
            .unwrap()
            .rates()
            .unwrap()
    }

    fn cost(rates: &Rates, usage: &Usage) -> Result<String, NoPrice> {
        rates.cost(usage).map(Usd::to_decimal)
    }

    #[test]
    fn cached_tokens_and_reasoning_have_rates_of_their_own() {
        let rates =
            rates(r#"{"input":"1","cache_read":"0.1","cache_write":"1.25","output":"10","reasoning":"20"}"#);
        let usage = Usage::new(1_000_000, 100_000);
        assert_eq!(cost(&rates, &usage).unwrap(), "2");
        assert_eq!(cost(&rates, &usage.cache_read(400_000)).unwrap(), "1.64");
        assert_eq!(
            cost(&rates, &usage.cache_read(400_000).cache_write(600_000)).unwrap(),
            "1.79"
        );
        assert_eq!(cost(&rates, &usage.reasoning(50_000)).unwrap(), "2.5");
    }

    #[test]
    fn a_share_without_a_rate_costs_as_its_whole() {
        let rates = rates(r#"{"input":"1","output":"10"}"#);
        let usage = Usage::new(1_000_000, 100_000)
            .cache_read(400_000)
            .reasoning(50_000);
        assert_eq!(cost(&rates, &usage).unwrap(), "2");
    }

    #[test]
    fn a_long_prompt_changes_the_rate_of_all_tokens() {
        let rates = rates(r#"{"input":["1",[200000,"2"],[500000,"3"]],"output":["10",[200000,"15"]]}"#);
        assert_eq!(cost(&rates, &Usage::new(200_000, 100)).unwrap(), "0.201");
        assert_eq!(cost(&rates, &Usage::new(200_001, 100)).unwrap(), "0.401502");
        assert_eq!(cost(&rates, &Usage::new(500_001, 0)).unwrap(), "1.500003");
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        let rates = rates(r#"{"input":"1"}"#);
        assert_eq!(cost(&rates, &Usage::new(1, 0)).unwrap(), "0.000001");
        assert_eq!(cost(&rates, &Usage::new(1, 1)), Err(NoPrice::NoRate));
        assert_eq!(cost(&Rates::default(), &Usage::new(0, 0)), Err(NoPrice::NoRate));
        let half = Usage {
            prompt_tokens: Some(3),
            total_tokens: Some(3),
            ..Usage::default()
        };
        assert_eq!(cost(&rates, &half), Err(NoPrice::NoUsage));
        assert_eq!(cost(&rates, &Usage::default()), Err(NoPrice::NoUsage));
    }

    #[test]
    fn counts_that_exclude_each_other_have_no_cost() {
        let rates = rates(r#"{"input":"1","output":"10"}"#);
        let mut low_total = Usage::new(10, 10);
        low_total.total_tokens = Some(19);
        for usage in [
            Usage::new(10, 10).cache_read(11),
            Usage::new(10, 10).cache_read(6).cache_write(5),
            Usage::new(10, 10).cache_read(u64::MAX).cache_write(5),
            Usage::new(10, 10).reasoning(11),
            Usage::new(u64::MAX, u64::MAX),
            low_total,
        ] {
            assert_eq!(
                cost(&rates, &usage),
                Err(NoPrice::ContradictoryUsage),
                "{usage:?}"
            );
        }
    }
}
