//! [`CallGroups`]: the model calls of a run, those together that have one price.
//!
//! What a run costs is computed when somebody asks, with the prices of that moment; so what is kept of its calls must not
//! depend on prices. Calls with the same model, within half an hour, whose prompts are between the same lengths, have
//! one price, whichever that is: their tokens are summed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rates::{CallTokens, RateKind, TokenKinds};
use super::refused::{asked_model, is_refused};
use super::{CallCost, CostSum, NoPrice, Price, Prices, cost_at};
use tracer_format::project::{self, SpanView, UNKNOWN_PROVIDER};
use tracer_format::{Record, StoredTime, Timestamp, Usage, is_default};

/// Above how many tokens of a prompt some price of the release's table is another. A test compares.
const PROMPT_LENGTHS: [u64; 9] = [
    32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288,
];
/// Prices change at midnight, or at the full or half hour. A test compares.
const SLOT_SECONDS: i64 = 1_800;
/// Bytes of a name that are kept: no price has a name as long.
const MAX_NAME_BYTES: usize = 1_024;

/// Key that decides the price of a call, together with its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallPriceKey {
    #[serde(rename = "p", default, skip_serializing_if = "String::is_empty")]
    provider: String,
    #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
    model: String,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    response_model: Option<String>,
    /// The half hour, counted from 1970; `None` where the time is not known.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    slot: Option<i64>,
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    is_replayed: bool,
}

impl CallPriceKey {
    /// The key of a call.
    pub fn new(
        provider: &str,
        model: &str,
        response_model: Option<&str>,
        at: Option<Timestamp>,
        is_replayed: bool,
    ) -> Self {
        fn copy(text: &str) -> String {
            let text = text.trim();
            let mut end = text.len().min(MAX_NAME_BYTES);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.get(..end).unwrap_or_default().to_owned()
        }
        Self {
            provider: copy(provider),
            model: copy(model),
            response_model: response_model.map(copy),
            slot: at.map(|at| at.unix_microseconds().div_euclid(SLOT_SECONDS * 1_000_000)),
            is_replayed,
        }
    }

    /// The key of the call that a span of a log reports.
    pub fn of_span(span: &impl SpanView) -> Self {
        let facts = span.facts();
        Self::new(
            &project::provider(span.name(), &facts),
            &project::model(span.name(), &facts),
            project::response_model(&facts).as_deref(),
            Some(span.times().0),
            project::is_replayed(span.attributes()),
        )
    }

    /// The key of two reports of one call: what the first leaves out is that of the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let is_named = !self.provider.is_empty() && self.provider != UNKNOWN_PROVIDER;
        Self {
            provider: if is_named { self.provider } else { other.provider },
            model: if self.model.is_empty() {
                other.model
            } else {
                self.model
            },
            response_model: self.response_model.or(other.response_model),
            slot: self.slot,
            is_replayed: self.is_replayed || other.is_replayed,
        }
    }

    /// The key of a record; `None` of what is no model call.
    pub fn of(record: &Record) -> Option<Self> {
        let (provider, model, response_model) = asked_model(record)?;
        if is_refused(record) {
            return None;
        }
        let at: Option<StoredTime> = record.ts.parse().ok();
        let at = at.map(|time| time.instant());
        Some(Self::new(
            provider,
            model,
            response_model,
            at,
            record.is_replayed(),
        ))
    }

    /// Returns whether a recorded answer answered the call.
    pub const fn is_replayed(&self) -> bool {
        self.is_replayed
    }

    /// The price of its model at its time.
    pub fn price<'a>(&self, prices: &'a Prices) -> Result<Price<'a>, NoPrice> {
        let slot = self.slot.ok_or(NoPrice::NoTime)?;
        let at = Timestamp::from_unix_microseconds(slot.saturating_mul(SLOT_SECONDS * 1_000_000));
        prices.price_of_call(&self.provider, &self.model, self.response_model.as_deref(), at)
    }
}

impl Prices {
    /// Cost of a model call, by its record: at the price of the model that answered, or else of the requested one.
    /// Other requests to a model, such as embeddings, have a cost too. `None` for any other record, or one that a
    /// guardrail refused before it was made.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// let run = capture(|| llm_call("gpt-4o").provider("openai").usage(Usage::new(12_000, 800)).record());
    /// let cost = Prices::default().cost(&run.records[1]).unwrap();
    /// assert_eq!(cost.usd().unwrap().to_string(), "$0.038");
    /// ```
    #[must_use]
    pub fn cost(&self, record: &Record) -> Option<CallCost> {
        let (key, usage) = (CallPriceKey::of(record)?, record.usage()?);
        Some(cost_at(key.price(self), usage, key.is_replayed()))
    }
}

/// Features of a call's token counts that decide which price it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct TokenClass {
    /// The largest of [`PROMPT_LENGTHS`] that the prompt exceeds, or 0.
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    above: u64,
    /// Presence of input, and of output: a price may be for one alone.
    #[serde(rename = "s", default)]
    sides: (bool, bool),
    /// `true` when the tokens are not known, or cannot be.
    #[serde(rename = "x", default, skip_serializing_if = "is_default")]
    is_unusable: bool,
    /// Other counts that it has, apart from input and output.
    #[serde(flatten)]
    kinds: TokenKinds,
}

impl TokenClass {
    fn of(tokens: Option<(&CallTokens, TokenKinds)>) -> Self {
        let Some((tokens, kinds)) = tokens else {
            return Self {
                is_unusable: true,
                ..Self::default()
            };
        };
        let (input, output) = (tokens.get(RateKind::Input), tokens.get(RateKind::Output));
        let exceeded = PROMPT_LENGTHS.iter().rev().find(|length| input > **length);
        Self {
            above: exceeded.copied().unwrap_or(0),
            sides: (input > 0, output > 0),
            is_unusable: false,
            kinds,
        }
    }
}

/// The calls of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct GroupSums {
    calls: u64,
    tokens: CallTokens,
}

/// The model calls of a run, reduced to what their cost depends on: it is computed with the prices that the caller
/// gives. As JSON it is a list of groups of calls, for caches; its form may change with any release.
///
/// ```
/// use tracer_sdk::prices::{CallGroups, Prices};
/// use tracer_sdk::testing::capture;
/// use tracer_sdk::{Usage, llm_call};
///
/// let run = capture(|| {
///     llm_call("gpt-4o").provider("openai").usage(Usage::new(12_000, 800)).record()?;
///     llm_call("gpt-4o").provider("openai").usage(Usage::new(12_000, 800)).record()
/// });
/// let calls = CallGroups::of(&run.records);
/// assert_eq!(calls.cost(&Prices::default()).usd().unwrap().to_string(), "$0.076");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<WrittenGroup>", into = "Vec<WrittenGroup>")]
pub struct CallGroups {
    groups: BTreeMap<CallPriceKey, BTreeMap<TokenClass, GroupSums>>,
}

impl CallGroups {
    /// The calls among records.
    ///
    /// ```
    /// assert!(tracer_sdk::prices::CallGroups::of(&[]).is_empty());
    /// ```
    #[must_use]
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut groups = Self::default();
        for record in records {
            groups.add(record);
        }
        groups
    }

    /// Returns whether there is no call.
    ///
    /// ```
    /// assert!(tracer_sdk::prices::CallGroups::default().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Number of groups: of a run with one model, within half an hour, one for each range of prompt lengths.
    ///
    /// ```
    /// assert_eq!(tracer_sdk::prices::CallGroups::default().len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.values().map(BTreeMap::len).sum()
    }

    /// Adds the call of a record; any other record is none.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-4o").record());
    /// let mut calls = tracer_sdk::prices::CallGroups::default();
    /// run.records.iter().for_each(|record| calls.add(record));
    /// assert_eq!(calls.len(), 1);
    /// ```
    pub fn add(&mut self, record: &Record) {
        if let (Some(key), Some(usage)) = (CallPriceKey::of(record), record.usage()) {
            self.add_call(&key, usage);
        }
    }

    /// Adds a call with a key.
    #[doc(hidden)]
    pub fn add_call(&mut self, key: &CallPriceKey, usage: &Usage) {
        let tokens = CallTokens::of(usage).ok();
        let class = TokenClass::of(tokens.as_ref().map(|(tokens, kinds)| (tokens, *kinds)));
        let (tokens, _) = tokens.unwrap_or_default();
        self.add_sums(key, class, 1, &tokens);
    }

    fn add_sums(&mut self, key: &CallPriceKey, class: TokenClass, calls: u64, tokens: &CallTokens) {
        let classes = match self.groups.get_mut(key) {
            Some(classes) => classes,
            None => self.groups.entry(key.clone()).or_default(),
        };
        let sums = classes.entry(class).or_default();
        sums.calls = sums.calls.saturating_add(calls);
        sums.tokens.add(tokens);
    }

    /// Keeps at most a number of groups, whose calls have a price or not as before; the calls of the others count as
    /// calls without one.
    ///
    /// ```
    /// use tracer_sdk::prices::{CallGroups, Prices};
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// let run = capture(|| llm_call("gpt-4o").provider("openai").usage(Usage::new(1, 1)).record());
    /// let mut calls = CallGroups::of(&run.records);
    /// calls.truncate(0);
    /// assert_eq!(calls.cost(&Prices::default()).unpriced, 1);
    /// ```
    pub fn truncate(&mut self, max_groups: usize) {
        if self.len() <= max_groups {
            return;
        }
        let all = std::mem::take(&mut self.groups);
        let mut kept = 0;
        for (mut key, classes) in all {
            for (class, sums) in classes {
                if kept < max_groups {
                    kept += 1;
                    self.add_sums(&key, class, sums.calls, &sums.tokens);
                } else {
                    key = CallPriceKey::new("", "", None, None, key.is_replayed);
                    self.add_sums(&key, TokenClass::of(None), sums.calls, &CallTokens::default());
                }
            }
        }
    }

    /// Total cost of the calls.
    ///
    /// ```
    /// use tracer_sdk::prices::{CallGroups, CostSum, Prices};
    ///
    /// assert_eq!(CallGroups::default().cost(&Prices::default()), CostSum::default());
    /// ```
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> CostSum {
        let mut sum = CostSum::default();
        for (_, cost) in self.costs(prices) {
            sum.add(&cost);
        }
        sum
    }

    /// Total cost of the calls of each model, by the requested name.
    ///
    /// ```
    /// use tracer_sdk::prices::{CallGroups, Prices};
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("my-model").record());
    /// let (calls, prices) = (CallGroups::of(&run.records), Prices::default());
    /// assert_eq!(calls.cost_by_model(&prices)["my-model"].unpriced, 1);
    /// ```
    #[must_use]
    pub fn cost_by_model<'a>(&'a self, prices: &'a Prices) -> BTreeMap<&'a str, CostSum> {
        let mut models: BTreeMap<&str, CostSum> = BTreeMap::new();
        for (key, cost) in self.costs(prices) {
            models.entry(&key.model).or_default().add(&cost);
        }
        models
    }

    fn costs<'a>(&'a self, prices: &'a Prices) -> impl Iterator<Item = (&'a CallPriceKey, CostSum)> {
        self.groups.iter().map(|(key, classes)| {
            let price = key.price(prices);
            let mut sum = CostSum::default();
            for (class, sums) in classes {
                let prompt = class.above.saturating_add(1);
                let charge = match &price {
                    _ if class.is_unusable => Err(NoPrice::NoUsage),
                    Err(unknown) => Err(*unknown),
                    Ok(price) => price.charge_of_calls(&sums.tokens, class.kinds, prompt, sums.calls),
                };
                let call = CallCost::new(charge, key.is_replayed);
                sum.add_calls(call, sums.calls, call.priced.unwrap_or_default());
            }
            (key, sum)
        })
    }
}

/// A group as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WrittenGroup {
    #[serde(flatten)]
    key: CallPriceKey,
    #[serde(flatten)]
    class: TokenClass,
    /// Calls, then their counts, see [`RateKind`].
    n: Vec<u64>,
}

impl From<Vec<WrittenGroup>> for CallGroups {
    fn from(written: Vec<WrittenGroup>) -> Self {
        let mut groups = Self::default();
        for WrittenGroup { key, class, n } in written {
            let mut numbers = n.into_iter();
            let calls = numbers.next().unwrap_or(0);
            groups.add_sums(
                &key,
                class,
                calls,
                &CallTokens::from(numbers.collect::<Vec<u64>>()),
            );
        }
        groups
    }
}

impl From<CallGroups> for Vec<WrittenGroup> {
    fn from(groups: CallGroups) -> Self {
        let mut written = Self::new();
        for (key, classes) in groups.groups {
            for (class, GroupSums { calls, tokens }) in classes {
                written.push(WrittenGroup {
                    key: key.clone(),
                    class,
                    n: std::iter::once(calls).chain(Vec::from(tokens)).collect(),
                });
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::table::PriceTable;
    use super::*;
    use tracer_format::{UsageGap, Usd};

    /// Whoever changes these changes what caches of groups mean: the version of the facts' database must grow.
    #[test]
    fn groups_are_divided_where_prices_change() {
        let mut lengths = std::collections::BTreeSet::new();
        for (rates, hours) in PriceTable::get().all_prices() {
            lengths.extend(
                rates
                    .iter()
                    .flat_map(|(_, rate)| rate.tiers().map(|(above, _)| above)),
            );
            for minute in hours.into_iter().flatten() {
                assert_eq!(
                    i64::from(minute) * 60 % SLOT_SECONDS,
                    0,
                    "a price that changes at minute {minute}"
                );
            }
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), PROMPT_LENGTHS);
    }

    /// A call by its parts: the names and counts of a property's case.
    #[derive(Debug, Clone)]
    struct Call {
        key: CallPriceKey,
        usage: Usage,
    }

    fn calls() -> impl Strategy<Value = Vec<Call>> {
        let provider = prop::sample::select(vec![
            "openai",
            "anthropic",
            "google",
            "deepseek",
            "unknown",
            "mine",
            "",
        ]);
        let model = prop::sample::select(vec![
            "gpt-4o",
            "gpt-4o-mini",
            "claude-sonnet-4-5",
            "gemini-2.5-pro",
            "gemini-2.5-flash",
            "gpt-realtime",
            "claude-haiku-5-5",
            "deepseek-chat",
            "text-embedding-3-small",
            "nobody's",
            "",
        ]);
        let answered = prop::option::of(prop::sample::select(vec!["gpt-4o-2024-08-06", "odd"]));
        let count = || {
            prop_oneof![
                Just(None),
                Just(Some(0)),
                (0_u64..300_000).prop_map(Some),
                prop::sample::select(vec![
                    u64::MAX,
                    (1 << 53) - 1,
                    u64::from(u32::MAX),
                    4_000_000_000,
                    200_000
                ])
                .prop_map(Some),
            ]
        };
        let counts = prop::array::uniform6(count());
        // What few calls have: shares of the largest counts that there can be, so that most are possible.
        let other = || prop_oneof![4 => Just(None), 1 => (0_u64..9_000).prop_map(Some)];
        let gap = prop_oneof![
            8 => Just(None),
            1 => Just(Some(UsageGap::Parts)),
            1 => Just(Some(UsageGap::ServiceTier)),
        ];
        let others = (prop::array::uniform9(other()), gap);
        let minutes = prop_oneof![0_i64..3_000, Just(-60_000_000), Just(29_600_000)];
        let call = (
            provider,
            model,
            answered,
            (counts, others),
            minutes,
            any::<bool>(),
        );
        let call = call.prop_map(
            |(provider, model, answered, (counts, (others, gap)), minutes, is_replayed)| {
                let start: Timestamp = "2025-09-05T00:00:00Z".parse().unwrap();
                let at = Timestamp::from_unix_microseconds(start.unix_microseconds() + minutes * 60_000_000);
                let [prompt, completion, total, read, written, reasoning] = counts;
                Call {
                    key: CallPriceKey::new(provider, model, answered, Some(at), is_replayed),
                    usage: {
                        let mut parts = [None; Usage::PARTS];
                        parts[..6].copy_from_slice(&[
                            prompt,
                            completion,
                            total,
                            read.map(|read| read.min(prompt.unwrap_or(0) / 2)),
                            written.map(|written| written / 1_000),
                            reasoning.map(|reasoning| reasoning / 100),
                        ]);
                        parts[6..].copy_from_slice(&others);
                        {
                            let mut usage = Usage::from_parts(parts);
                            usage.gap = gap;
                            usage
                        }
                    },
                }
            },
        );
        prop::collection::vec(call, 0..40)
    }

    fn own_prices() -> Prices {
        use crate::settings::{SettingsFile, Sources, read_prices};
        let text = "[prices.mine.\"*\"]\ninput = 1000000\noutput = 1000000\n[prices.openai.\"nobody's\"]\ninput = 0\noutput = 0";
        let user = SettingsFile {
            path: "config.toml".into(),
            text: Ok(text.to_owned()),
        };
        let (prices, problems) = read_prices(&Sources {
            user: Some(user),
            ..Sources::default()
        });
        assert_eq!(problems, []);
        prices
    }

    fn sum_of_calls(calls: &[Call], prices: &Prices) -> CostSum {
        let mut sum = CostSum::default();
        sum.extend(calls.iter().map(|call| CallCost {
            is_replayed: call.key.is_replayed,
            ..CallCost::new(
                call.key.price(prices).and_then(|price| price.charge(&call.usage)),
                false,
            )
        }));
        sum
    }

    proptest! {
        /// Whatever the order.
        #[test]
        fn a_sum_is_that_of_its_calls(calls in calls(), seed in any::<u64>()) {
            let prices = own_prices();
            let mut shuffled = calls.clone();
            shuffled.sort_by_key(|call| {
                use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
                BuildHasherDefault::<DefaultHasher>::default().hash_one((seed, format!("{call:?}")))
            });
            let mut groups = CallGroups::default();
            for call in &shuffled {
                groups.add_call(&call.key, &call.usage);
            }
            prop_assert_eq!(groups.cost(&prices), sum_of_calls(&calls, &prices));
            let by_model = groups.cost_by_model(&prices);
            let mut all = CostSum::default();
            for cost in by_model.values() {
                all.add(cost);
            }
            prop_assert_eq!(all, groups.cost(&prices));

            let written = serde_json::to_string(&groups).unwrap();
            prop_assert_eq!(serde_json::from_str::<CallGroups>(&written).unwrap(), groups);
        }
    }

    #[test]
    fn huge_sums_stay_the_largest_amount() {
        let prices = own_prices();
        let at = "2026-11-23T12:00:00Z".parse().ok();
        let key = CallPriceKey::new("mine", "any", None, at, false);
        let mut groups = CallGroups::default();
        for _ in 0..2 {
            groups.add_sums(
                &key,
                TokenClass::of(Some((&CallTokens::from(vec![1]), TokenKinds::default()))),
                u64::MAX,
                &CallTokens::from(vec![u64::MAX]),
            );
        }
        groups.add_call(&key, &Usage::new((1 << 53) - 1, 0));
        let cost = groups.cost(&prices);
        assert_eq!((cost.known, cost.priced), (Usd::MAX, u64::MAX));
        assert!(cost.known.dollars().is_finite());
    }

    #[test]
    fn long_names_are_cut_and_have_no_price() {
        let name = format!("gpt-4o{}", "\u{212a}".repeat(10_000));
        let at = "2026-11-23T12:00:00Z".parse().ok();
        let mut groups = CallGroups::default();
        groups.add_call(
            &CallPriceKey::new("openai", &name, None, at, false),
            &Usage::new(1, 1),
        );
        assert_eq!(groups.cost(&Prices::default()).unpriced, 1);
        assert!(serde_json::to_string(&groups).unwrap().len() < 1_500);
    }

    #[test]
    fn what_is_beyond_a_number_of_groups_has_no_price() {
        let at = "2026-11-23T12:00:00Z".parse().ok();
        let mut groups = CallGroups::default();
        for number in 0..10 {
            let model = format!("gpt-4o-{number}");
            groups.add_call(
                &CallPriceKey::new("openai", &model, None, at, false),
                &Usage::new(1, 1),
            );
        }
        groups.add_call(
            &CallPriceKey::new("openai", "gpt-4o", None, at, false),
            &Usage::new(1, 1),
        );
        groups.truncate(3);
        let cost = groups.cost(&Prices::default());
        assert_eq!((groups.len(), cost.calls(), cost.unpriced >= 8), (4, 11, true));
        assert_eq!(cost.usd(), None);
    }
}
