//! [`Rates`]: what tokens cost, and the sum for those of a call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::NoPrice;
use tracer_format::{Usage, UsageGap, Usd, is_default};

/// Number of tokens that a price is for.
const MILLION: u128 = 1_000_000;
/// Number of requests that a price is for.
const THOUSAND: u128 = 1_000;

/// Kind of tokens or requests that a rate is for.
///
/// ```
/// use tracer_sdk::prices::RateKind;
///
/// assert_eq!(RateKind::CacheRead.name(), "cache_read");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RateKind {
    // The numbers are those of the counts of a call, as they are stored.
    /// Tokens of the prompt, but for those that have a rate of their own.
    Input = 0,
    /// Tokens of the prompt that the provider read from its cache.
    CacheRead = 2,
    /// Tokens of the prompt that the provider wrote to its cache.
    CacheWrite = 3,
    /// Tokens of the answer, but for those that have a rate of their own.
    Output = 1,
    /// Tokens of the answer that the model used for reasoning.
    Reasoning = 4,
    /// Each request, whatever its tokens.
    Requests = 14,
    /// Tokens of sound in the prompt.
    InputAudio = 7,
    /// Tokens of images in the prompt.
    InputImage = 8,
    /// Tokens of video in the prompt.
    InputVideo = 9,
    /// Tokens of sound in the answer.
    OutputAudio = 10,
    /// Tokens of images in the answer.
    OutputImage = 11,
    /// Tokens of video in the answer.
    OutputVideo = 12,
    /// Tokens of the prompt that the provider wrote to its cache for an hour.
    CacheWrite1h = 5,
    /// Tokens of sound in the prompt that the provider read from its cache.
    CacheReadAudio = 6,
    /// Each search of the web that the provider made for the answer.
    WebSearches = 13,
}

impl RateKind {
    const ALL: [Self; 15] = [
        Self::Input,
        Self::CacheRead,
        Self::CacheWrite,
        Self::Output,
        Self::Reasoning,
        Self::Requests,
        Self::InputAudio,
        Self::InputImage,
        Self::InputVideo,
        Self::OutputAudio,
        Self::OutputImage,
        Self::OutputVideo,
        Self::CacheWrite1h,
        Self::CacheReadAudio,
        Self::WebSearches,
    ];

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
            Self::CacheWrite1h => "cache_write_1h",
            Self::CacheReadAudio => "cache_read_audio",
            Self::WebSearches => "web_searches",
        }
    }

    /// Number of units that a price is for.
    const fn per(self) -> u128 {
        match self {
            Self::Requests | Self::WebSearches => THOUSAND,
            _ => MILLION,
        }
    }

    const fn is_of_input(self) -> bool {
        matches!(self, Self::InputAudio | Self::InputImage | Self::InputVideo)
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
    /// Number of units that the price is for: a million tokens, a thousand requests.
    per: u128,
    /// Of one.
    base: Usd,
    /// Above how many tokens of the prompt another price is that of all of them, smallest first.
    tiers: Vec<(u64, Usd)>,
}

/// A rate as the table has it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Written<'a> {
    #[serde(borrow)]
    Flat(&'a str),
    #[serde(borrow)]
    Tiered(Vec<WrittenTier<'a>>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenTier<'a> {
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

/// Token rates of a model.
///
/// ```
/// use tracer_sdk::prices::{Prices, RateKind};
///
/// let prices = Prices::default();
/// let price = prices.find("openai", "gpt-4o", "2026-11-01T12:00:00Z".parse()?)?;
/// let kinds: Vec<RateKind> = price.rates().iter().map(|(kind, _)| kind).collect();
/// assert_eq!(kinds, [RateKind::Input, RateKind::CacheRead, RateKind::Output, RateKind::WebSearches]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates(Vec<(RateKind, Rate)>);

impl Rates {
    /// The rates as a line of the table has them, by their names; `None` where one of them is no price.
    pub(super) fn of_line(line: &BTreeMap<&str, Written<'_>>) -> Option<Self> {
        let written = RateKind::ALL.map(|kind| Some((kind, line.get(kind.name())?)));
        let rates = written.into_iter().flatten();
        let rates = rates.map(|(kind, written)| Some((kind, Rate::written(written, kind.per())?)));
        rates.collect::<Option<_>>().map(Self)
    }

    /// Adds the rate of a kind that has none.
    pub(crate) fn add(&mut self, kind: RateKind, rate: Rate) {
        self.0.push((kind, rate));
        self.0
            .sort_by_key(|(kind, _)| RateKind::ALL.iter().position(|other| other == kind));
    }

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
        self.0.iter().map(|(kind, rate)| (*kind, rate))
    }

    fn get(&self, kind: RateKind) -> Option<&Rate> {
        self.iter()
            .find(|(known, _)| *known == kind)
            .map(|(_, rate)| rate)
    }

    /// Cost of one call, see [`charge_of_calls`](Self::charge_of_calls).
    pub(super) fn charge(&self, usage: &Usage, are_media_text: bool) -> Result<Charge, NoPrice> {
        let (tokens, kinds) = CallTokens::of(usage)?;
        self.charge_of_calls(&tokens, kinds, tokens.get(RateKind::Input), 1, are_media_text)
    }

    /// Total cost of calls whose prompts have the price of one of `prompt` tokens and whose tokens are of the same
    /// kinds; the largest amount where that is more than there is money for. Cached tokens, media and reasoning are
    /// among the prompt's and the answer's, and leave these where they have a rate of their own. Where media have none
    /// they cost at least what text does, or just that, as the caller knows of the provider.
    pub(super) fn charge_of_calls(
        &self,
        tokens: &CallTokens,
        kinds: TokenKinds,
        prompt: u64,
        calls: u64,
        are_media_text: bool,
    ) -> Result<Charge, NoPrice> {
        let has_rates = self.get(RateKind::Input).is_some()
            || self.get(RateKind::Output).is_some()
            || self.get(RateKind::Requests).is_some();
        let is_unpriced = (self.get(RateKind::Input).is_none() && tokens.get(RateKind::Input) > 0)
            || (self.get(RateKind::Output).is_none() && tokens.get(RateKind::Output) > 0);
        if !has_rates || is_unpriced {
            return Err(NoPrice::NoRate);
        }
        let mut sum = ChargeSum {
            prompt,
            usd: Usd::ZERO,
            is_least: kinds.is_least,
        };
        let mut input = tokens.get(RateKind::Input);
        let mut output = tokens.get(RateKind::Output);
        let mut read = tokens.get(RateKind::CacheRead);
        let mut written = tokens.get(RateKind::CacheWrite);
        // Saturating, for sums of very many calls: the parts of one call are never more than their whole.
        let take = |whole: &mut u64, part: u64| *whole = whole.saturating_sub(part);
        let heard_again = tokens.get(RateKind::CacheReadAudio);
        for kind in MEDIA {
            let mut part = tokens.get(kind);
            let is_input = kind.is_of_input();
            match self.get(kind) {
                None => sum.is_least |= part > 0 && !are_media_text,
                // Which of the cached tokens are such is not known: as few are charged for as can be.
                Some(_) if is_input && kind != RateKind::InputAudio && kinds.has(RateKind::CacheRead) => {
                    sum.is_least |= part > 0;
                }
                Some(rate) => {
                    if kind == RateKind::InputAudio {
                        take(&mut part, heard_again);
                    }
                    sum.add(rate, part, 1);
                    take(if is_input { &mut input } else { &mut output }, part);
                }
            }
        }
        if let (Some(rate), true) = (self.get(RateKind::CacheReadAudio), heard_again > 0) {
            sum.add(rate, heard_again, 1);
            take(&mut input, heard_again);
            take(&mut read, heard_again);
        } else {
            sum.is_least |= heard_again > 0 && !are_media_text;
        }
        let hour = tokens.get(RateKind::CacheWrite1h);
        match (
            self.get(RateKind::CacheWrite1h),
            self.get(RateKind::CacheWrite),
            self.get(RateKind::Input),
        ) {
            (Some(rate), ..) => sum.add(rate, hour, 1),
            // Wherever a cache is kept for an hour, this is its price.
            (None, Some(_), Some(rate)) => sum.add(rate, hour, 2),
            _ => sum.is_least |= hour > 0,
        }
        if self.get(RateKind::CacheWrite).is_some() || self.get(RateKind::CacheWrite1h).is_some() {
            take(&mut written, hour);
            take(&mut input, hour);
        }
        match self.get(RateKind::WebSearches) {
            Some(rate) => sum.add(rate, tokens.get(RateKind::WebSearches), 1),
            None => sum.is_least |= tokens.get(RateKind::WebSearches) > 0,
        }
        for (rate, is_input, part) in [
            (self.get(RateKind::CacheRead), true, read),
            (self.get(RateKind::CacheWrite), true, written),
            (
                self.get(RateKind::Reasoning),
                false,
                tokens.get(RateKind::Reasoning),
            ),
        ] {
            if let Some(rate) = rate {
                sum.add(rate, part, 1);
                take(if is_input { &mut input } else { &mut output }, part);
            }
        }
        for (rate, part) in [
            (self.get(RateKind::Input), input),
            (self.get(RateKind::Output), output),
            (self.get(RateKind::Requests), calls),
        ] {
            if let Some(rate) = rate {
                sum.add(rate, part, 1);
            }
        }
        Ok(Charge {
            usd: sum.usd,
            is_least: sum.is_least,
        })
    }
}

/// Cost of calls: exact, or a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) usd: Usd,
    pub(crate) is_least: bool,
}

struct ChargeSum {
    /// Tokens of the prompt, which decide the prices.
    prompt: u64,
    /// `None` where it is more than there is money for.
    usd: Usd,
    is_least: bool,
}

impl ChargeSum {
    fn add(&mut self, rate: &Rate, count: u64, times: u64) {
        let cost = rate
            .of_one(self.prompt)
            .checked_mul(times)
            .and_then(|each| each.checked_mul(count));
        // More than there is money for is the largest amount.
        self.usd = self.usd.saturating_add(cost.unwrap_or(Usd::MAX));
    }
}

/// Kinds of tokens that are no text.
const MEDIA: [RateKind; 6] = [
    RateKind::InputAudio,
    RateKind::InputImage,
    RateKind::InputVideo,
    RateKind::OutputAudio,
    RateKind::OutputImage,
    RateKind::OutputVideo,
];

/// The most tokens on one side of a call, the largest number that JSON keeps exactly everywhere: more is a mistake of the
/// emitter, and has no cost. Those of 2,000 such calls fit in a sum.
const MAX_SIDE_TOKENS: u64 = (1 << 53) - 1;

/// Number of token counts: those of a usage without its total.
const COUNTS: usize = Usage::PARTS - 1;

/// The counts of calls that have a price: shares are among the input and the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub(super) struct CallTokens([u64; COUNTS]);

/// Counts that calls have, apart from input and output, where these decide whether the cost is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct TokenKinds {
    /// A bit for each count that is not zero.
    #[serde(rename = "k", default, skip_serializing_if = "is_default")]
    counts: u16,
    /// `true` when something is charged that the counts do not say.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub(super) is_least: bool,
}

impl TokenKinds {
    const fn has(self, count: RateKind) -> bool {
        self.counts >> count as u16 & 1 == 1
    }
}

impl CallTokens {
    /// The counts of one call, if they are reported and can be.
    pub(super) fn of(usage: &Usage) -> Result<(Self, TokenKinds), NoPrice> {
        if usage.gap == Some(UsageGap::ServiceTier) {
            return Err(NoPrice::ServiceTier);
        }
        let (Some(input), Some(output)) = (usage.prompt_tokens, usage.completion_tokens) else {
            return Err(NoPrice::NoUsage);
        };
        let mut tokens = Self::default();
        let parts = usage.parts();
        let counted = parts.iter().take(2).chain(parts.iter().skip(3));
        for (count, part) in tokens.0.iter_mut().zip(counted) {
            *count = part.unwrap_or(0);
        }
        let fits = |parts: &[RateKind], whole: u64| {
            let mut parts = parts.iter().map(|part| tokens.get(*part));
            parts
                .try_fold(0_u64, u64::checked_add)
                .is_some_and(|sum| sum <= whole)
        };
        let heard = usage.cache_read_audio_tokens;
        let (read, audio) = (tokens.get(RateKind::CacheRead), tokens.get(RateKind::InputAudio));
        let is_possible = input.max(output) <= MAX_SIDE_TOKENS // so that both together fit, too
            && fits(&[RateKind::CacheRead, RateKind::CacheWrite], input)
            && fits(&[RateKind::CacheWrite1h], tokens.get(RateKind::CacheWrite))
            && fits(&[RateKind::InputAudio, RateKind::InputImage, RateKind::InputVideo], input)
            && fits(&[RateKind::Reasoning], output)
            && fits(&[RateKind::OutputAudio, RateKind::OutputImage, RateKind::OutputVideo], output)
            && fits(&[RateKind::CacheReadAudio], read.min(audio))
            && tokens.get(RateKind::WebSearches) <= MAX_SIDE_TOKENS
            && usage.total_tokens.is_none_or(|total| input + output <= total);
        if !is_possible {
            return Err(NoPrice::ContradictoryUsage);
        }
        let mut kinds = TokenKinds {
            counts: 0,
            // The excess of a total over its parts is charged, too.
            is_least: usage.gap.is_some() || usage.total_tokens.is_some_and(|total| total > input + output),
        };
        if heard.is_none() && read > 0 && audio > 0 {
            // Which of both the cache had is not known: sound costs more than text.
            tokens.set(RateKind::CacheReadAudio, read.min(audio));
            kinds.is_least = true;
        }
        let has_others = tokens
            .0
            .iter()
            .skip(RateKind::CacheWrite1h as usize)
            .any(|count| *count > 0);
        if has_others {
            let known = (0..).zip(tokens.0).filter(|(_, count)| *count > 0);
            kinds.counts = known.fold(0, |known, (bit, _)| known | 1 << bit);
        }
        Ok((tokens, kinds))
    }

    pub(super) fn get(&self, count: RateKind) -> u64 {
        self.0.get(count as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, count: RateKind, tokens: u64) {
        if let Some(counted) = self.0.get_mut(count as usize) {
            *counted = tokens;
        }
    }

    /// Adds those of other calls.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(part);
        }
    }
}

impl From<Vec<u64>> for CallTokens {
    fn from(written: Vec<u64>) -> Self {
        let mut tokens = Self::default();
        for (count, written) in tokens.0.iter_mut().zip(written) {
            *count = written;
        }
        tokens
    }
}

impl From<CallTokens> for Vec<u64> {
    /// Without the zeros at the end.
    fn from(tokens: CallTokens) -> Self {
        let length = tokens
            .0
            .iter()
            .rposition(|count| *count > 0)
            .map_or(0, |last| last + 1);
        tokens.0.into_iter().take(length).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Rates {
        Rates::of_line(&serde_json::from_str(text).unwrap()).unwrap()
    }

    fn cost(rates: &Rates, usage: &Usage) -> Result<String, NoPrice> {
        let charge = rates.charge(usage, false);
        super::super::CallCost::new(charge, false)
            .usd()
            .map(Usd::to_decimal)
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
    fn an_hour_in_the_cache_costs_twice_the_input() {
        let known = r#""input":["3",[200000,"6"]],"output":"15","cache_read":"0.3","cache_write":["3.75",[200000,"7.5"]]"#;
        for rates in [
            rates(&format!("{{{known}}}")),
            rates(&format!(r#"{{{known},"cache_write_1h":["6",[200000,"12"]]}}"#)),
        ] {
            let mut usage = Usage::new(110_000, 0).cache_write(100_000);
            assert_eq!(
                cost(&rates, &usage).unwrap(),
                "0.405",
                "10000 x 3 + 100000 x 3.75"
            );
            usage.cache_write_1h_tokens = Some(60_000);
            assert_eq!(
                cost(&rates, &usage).unwrap(),
                "0.54",
                "10000 x 3 + 40000 x 3.75 + 60000 x 6"
            );
            usage.prompt_tokens = Some(300_000);
            usage.total_tokens = None;
            assert_eq!(
                cost(&rates, &usage).unwrap(),
                "2.22",
                "200000 x 6 + 40000 x 7.5 + 60000 x 12"
            );
        }
        let mut usage = Usage::new(10, 0).cache_write(10);
        usage.cache_write_1h_tokens = Some(10);
        let uncached = rates(r#"{"input":"1","output":"1"}"#);
        assert_eq!(cost(&uncached, &usage), Err(NoPrice::InPart));
    }

    #[test]
    fn sound_leaves_the_text_where_it_has_a_rate() {
        let rates = rates(
            r#"{"input":"1","cache_read":"0.1","output":"10","input_audio":"5","cache_read_audio":"0.5","output_audio":"20","web_searches":"10"}"#,
        );
        let mut usage = Usage::new(1_000_000, 100_000);
        usage.input_audio_tokens = Some(400_000);
        usage.output_audio_tokens = Some(50_000);
        assert_eq!(cost(&rates, &usage).unwrap(), "4.1", "0.6 + 2 + 0.5 + 1");
        usage.web_searches = Some(3);
        assert_eq!(cost(&rates, &usage).unwrap(), "4.13");
        let cached = usage.cache_read(200_000);
        let charge = rates.charge(&cached, false).unwrap();
        assert_eq!(
            (charge.usd.to_decimal().as_str(), charge.is_least),
            ("3.23", true),
            "0.6 + 1 + 0.1 + 0.5 + 1 + 0.03: all that was cached may be sound"
        );
        let known = {
            let mut usage = cached;
            usage.cache_read_audio_tokens = Some(100_000);
            usage
        };
        assert_eq!(
            cost(&rates, &known).unwrap(),
            "3.59",
            "0.5 + 0.01 + 0.05 + 1.5 + 0.5 + 1 + 0.03"
        );
    }

    #[test]
    fn what_has_no_rate_makes_a_cost_the_least() {
        let rates = rates(r#"{"input":"1","output":"10"}"#);
        let usage = Usage::new(1_000_000, 100_000);
        let least = |usage: Usage| {
            let charge = rates.charge(&usage, false).unwrap();
            assert_eq!(charge.usd.to_decimal(), "2");
            charge.is_least
        };
        assert!(!least(usage));
        let mut total = usage;
        total.total_tokens = Some(1_100_001);
        for usage in [
            total,
            {
                let mut usage = usage;
                usage.gap = Some(UsageGap::Parts);
                usage
            },
            {
                let mut usage = usage;
                usage.input_image_tokens = Some(1);
                usage
            },
            {
                let mut usage = usage;
                usage.output_audio_tokens = Some(1);
                usage
            },
            {
                let mut usage = usage;
                usage.web_searches = Some(1);
                usage
            },
        ] {
            assert!(least(usage), "{usage:?}");
            assert_eq!(cost(&rates, &usage), Err(NoPrice::InPart));
        }
        let image = {
            let mut usage = usage;
            usage.input_image_tokens = Some(1);
            usage
        };
        assert!(
            !rates.charge(&image, true).unwrap().is_least,
            "text and images cost the same"
        );
        let flexible = {
            let mut usage = usage;
            usage.gap = Some(UsageGap::ServiceTier);
            usage
        };
        assert_eq!(rates.charge(&flexible, true), Err(NoPrice::ServiceTier));
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        let rates = rates(r#"{"input":"1"}"#);
        assert_eq!(cost(&rates, &Usage::new(1, 0)).unwrap(), "0.000001");
        assert_eq!(cost(&rates, &Usage::new(1, 1)), Err(NoPrice::NoRate));
        assert_eq!(cost(&Rates::default(), &Usage::new(0, 0)), Err(NoPrice::NoRate));
        let half = {
            let mut usage = Usage::default();
            usage.prompt_tokens = Some(3);
            usage.total_tokens = Some(3);
            usage
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
