//! [`Prices`]: the price of a model of a provider at a time.

use std::borrow::Cow;
use std::path::PathBuf;

use super::own::{self, OwnPrice};
use super::rates::{CallTokens, Charge, TokenKinds};
use super::table::{Model, PriceTable, PricedProvider, Release};
use super::{CallCost, Day, NoPrice, Rates};
use tracer_format::{Timestamp, Usage};

/// A name that is longer is no name of the table's.
const MAX_NAME_BYTES: usize = 256;

/// The provider of a record that names none.
const UNNAMED: &str = "unknown";

/// Passes calls on to the provider that stands before the model's name.
const GATEWAY: &str = "litellm";

/// The provider whose table has a rate for each kind of media that does not cost as text does.
const ALL_MEDIA_LISTED: &str = "google";

/// Provider names of OpenTelemetry and widespread libraries that the table does not know.
const PROVIDER_NAMES: &[(&str, &str)] = &[
    ("az.ai.inference", "azure"),
    ("az.ai.openai", "azure"),
    ("azure-openai", "azure"),
    ("azure.ai.inference", "azure"),
    ("azure.ai.openai", "azure"),
    ("azure_openai", "azure"),
    ("fireworks-ai", "fireworks"),
    ("fireworks_ai", "fireworks"),
    ("gcp.gen_ai", "google"),
    ("togetherai", "together"),
    ("x_ai", "x-ai"),
];

/// The prices of the release, and those of the settings before them.
///
/// The default is the release's alone.
///
/// ```
/// use tracer_sdk::settings::{SettingsFile, Sources, read_prices};
///
/// let text = "[prices.local.\"llama-4\"]\ninput = 0.02\noutput = 0.05".to_owned();
/// let user = SettingsFile { path: "/home/me/.tracer/config.toml".into(), text: Ok(text) };
/// let (prices, problems) = read_prices(&Sources { user: Some(user), ..Sources::default() });
/// assert!(problems.is_empty());
/// assert!(prices.find("local", "llama-4", "2026-11-01T12:00:00Z".parse()?).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices {
    /// Own prices, in order of precedence.
    own: Vec<OwnPrice>,
}

/// Origin of a price.
///
/// ```
/// use tracer_sdk::prices::{PriceSource, Prices};
///
/// let prices = Prices::default();
/// let price = prices.find("openai", "gpt-4o", "2026-11-01T12:00:00Z".parse()?)?;
/// assert_eq!(price.source(), PriceSource::Release);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriceSource {
    /// The table of the release.
    Release,
    /// A settings file, and the line in it.
    Settings {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
}

/// The price of a model at a time.
///
/// ```
/// use tracer_sdk::prices::Prices;
///
/// let prices = Prices::default();
/// let price = prices.find("anthropic", "claude-sonnet-4-5-20250929", "2026-11-01T12:00:00Z".parse()?)?;
/// assert_eq!((price.provider(), price.model()), ("anthropic", "claude-sonnet-4-5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price<'a> {
    provider: Cow<'a, str>,
    model: &'a str,
    source: PriceSource,
    from: Option<Day>,
    until: Option<Day>,
    rates: &'a Rates,
}

impl Price<'_> {
    /// The provider, as the table or the settings call it.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.provider(), "openai");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model, as the table or the settings call it: all names of a model have one price.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.model(), "gpt-4o");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn model(&self) -> &str {
        self.model
    }

    /// Origin of the price.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.source(), tracer_sdk::prices::PriceSource::Release);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn source(&self) -> PriceSource {
        self.source.clone()
    }

    /// The day on which the price came into force, where that is known.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.from(), None); // from the beginning
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from(&self) -> Option<Day> {
        self.from
    }

    /// The day from which the price is not in force any more, where one is set.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.until(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(&self) -> Option<Day> {
        self.until
    }

    /// Token rates of the price.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// let prices = Prices::default();
    /// let price = prices.find("openai", "gpt-4o-2024-08-06", "2026-11-01T12:00:00Z".parse()?)?;
    /// assert_eq!(price.rates().iter().count(), 4); // input, cached input, output, searches
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rates(&self) -> &Rates {
        self.rates
    }

    /// Cost of a call: exact, or a lower bound.
    pub(crate) fn charge(&self, usage: &Usage) -> Result<Charge, NoPrice> {
        self.rates.charge(usage, self.are_media_text())
    }

    /// Total cost of calls, see [`Rates::charge_of_calls`].
    pub(super) fn charge_of_calls(
        &self,
        tokens: &CallTokens,
        kinds: TokenKinds,
        prompt: u64,
        calls: u64,
    ) -> Result<Charge, NoPrice> {
        self.rates
            .charge_of_calls(tokens, kinds, prompt, calls, self.are_media_text())
    }

    /// Returns whether media cost as much as text where the table has no other rate: Google lists what differs.
    fn are_media_text(&self) -> bool {
        self.provider == ALL_MEDIA_LISTED
    }
}

/// A provider that has prices.
struct KnownProvider<'a> {
    /// The ID of the table, or the settings' own.
    id: Cow<'a, str>,
    table: Option<&'static PricedProvider>,
}

impl Prices {
    /// Origin of the release's prices.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// assert_eq!(Prices::release().package, "genai-prices");
    /// ```
    #[must_use]
    pub fn release() -> Release {
        PriceTable::get().release()
    }

    /// The release's prices, and others before them. Of these, too, whole names go before beginnings, longer before
    /// shorter, and then the first.
    ///
    /// ```
    /// use tracer_sdk::prices::Prices;
    ///
    /// assert_eq!(Prices::with_own(Vec::new()), Prices::default());
    /// ```
    #[must_use]
    pub fn with_own(mut own: Vec<OwnPrice>) -> Self {
        for price in &mut own {
            if let Some(provider) = table_provider(&price.provider) {
                provider.id.clone_into(&mut price.provider);
            }
        }
        own::sort(&mut own);
        Self { own }
    }

    /// The prices of the settings; what counts first comes first.
    ///
    /// ```
    /// assert!(tracer_sdk::prices::Prices::default().own().is_empty());
    /// ```
    #[must_use]
    pub fn own(&self) -> &[OwnPrice] {
        &self.own
    }

    /// The price of a model at a time.
    ///
    /// A provider that is named and has no prices is not guessed from the model's name. An empty one, or `unknown`, names
    /// none: then the name of the model decides, as `provider/model` or because one provider's models are called so.
    ///
    /// ```
    /// use tracer_sdk::prices::{NoPrice, Prices};
    ///
    /// let prices = Prices::default();
    /// let at = "2026-11-01T12:00:00Z".parse()?;
    /// assert_eq!(prices.find("", "anthropic/claude-sonnet-4-5", at)?.provider(), "anthropic");
    /// assert_eq!(prices.find("", "gpt-4o", at)?.provider(), "openai");
    /// assert_eq!(prices.find("ollama", "gpt-4o", at), Err(NoPrice::UnknownProvider));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoPrice::NoModel`], [`NoPrice::UnknownProvider`] or [`NoPrice::UnknownModel`].
    pub fn find(&self, provider: &str, model: &str, at: Timestamp) -> Result<Price<'_>, NoPrice> {
        let provider = provider.trim().to_lowercase();
        let model = model.trim().to_lowercase();
        if model.is_empty() {
            return Err(NoPrice::NoModel);
        }
        if model.len() > MAX_NAME_BYTES || provider.len() > MAX_NAME_BYTES {
            return Err(NoPrice::UnknownModel);
        }
        let is_named = !provider.is_empty() && provider != UNNAMED && provider != GATEWAY;
        if is_named {
            let provider = self.provider(&provider).ok_or(NoPrice::UnknownProvider)?;
            return self.find_of(&provider, &model, at).ok_or(NoPrice::UnknownModel);
        }
        let prefixed = model
            .split_once('/')
            .and_then(|(first, rest)| Some((self.provider(first)?, rest)));
        let found = if let Some((provider, rest)) = prefixed {
            let by_rest = self.find_of(&provider, rest, at);
            by_rest.or_else(|| self.find_of(&provider, &model, at))
        } else {
            let providers = &PriceTable::get().providers;
            let owner = providers.iter().find(|provider| {
                let own_models = provider.own_models.as_ref();
                own_models.is_some_and(|clause| clause.is_match(&model))
            });
            owner.and_then(|owner| {
                let provider = KnownProvider {
                    id: owner.id.into(),
                    table: Some(owner),
                };
                self.find_of(&provider, &model, at)
            })
        };
        found.ok_or(NoPrice::UnknownModel)
    }

    /// Cost of a model's call that was not replayed, at the price of the model that answered, where that is known and has
    /// one, or else of the requested one: exact, or a lower bound.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    /// use tracer_sdk::format::Usd;
    /// use tracer_sdk::prices::{NoPrice, Prices};
    ///
    /// let mut usage = Usage::new(1_000_000, 0);
    /// usage.web_searches = Some(1); // this model's are not in the table
    /// let at = "2026-11-01T12:00:00Z".parse().ok();
    /// let cost = Prices::default().call_cost("deepseek", "deepseek-chat", None, &usage, at);
    /// assert!(cost.is_least && cost.priced.is_ok_and(|usd| usd > Usd::ZERO));
    /// assert_eq!(cost.usd(), Err(NoPrice::InPart));
    /// ```
    #[must_use]
    pub fn call_cost(
        &self,
        provider: &str,
        model: &str,
        response_model: Option<&str>,
        usage: &Usage,
        at: Option<Timestamp>,
    ) -> CallCost {
        let price = at
            .ok_or(NoPrice::NoTime)
            .and_then(|at| self.price_of_call(provider, model, response_model, at));
        cost_at(price, usage, false)
    }

    /// The price of a call of a model, see [`call_cost`](Self::call_cost).
    pub(crate) fn price_of_call(
        &self,
        provider: &str,
        model: &str,
        response_model: Option<&str>,
        at: Timestamp,
    ) -> Result<Price<'_>, NoPrice> {
        let answered = response_model.and_then(|answered| self.find(provider, answered, at).ok());
        answered.map_or_else(|| self.find(provider, model, at), Ok)
    }

    /// The provider with this name, in lower case.
    fn provider<'a>(&self, name: &'a str) -> Option<KnownProvider<'a>> {
        if let Some(provider) = table_provider(name) {
            return Some(KnownProvider {
                id: provider.id.into(),
                table: Some(provider),
            });
        }
        let is_own = self.own.iter().any(|price| price.provider == name);
        is_own.then(|| KnownProvider {
            id: name.into(),
            table: None,
        })
    }

    /// The price of a provider's model, with or without the provider before its name.
    fn find_of(&self, provider: &KnownProvider<'_>, model: &str, at: Timestamp) -> Option<Price<'_>> {
        let without_prefix = model.split_once('/').and_then(|(first, rest)| {
            let is_prefix = first == "models" || self.provider(first)?.id == provider.id;
            is_prefix.then_some(rest)
        });
        let names = [Some(model), without_prefix];
        let day = Day::of(at);
        let own = |name: &str| {
            let price = self
                .own
                .iter()
                .find(|price| price.is_for(&provider.id, name, day))?;
            Some(price.price())
        };
        names.into_iter().flatten().find_map(own).or_else(|| {
            let table = provider.table?;
            names
                .into_iter()
                .flatten()
                .find_map(|name| in_table(table, name, at))
        })
    }
}

/// The provider of the table with this name, in lower case.
fn table_provider(name: &str) -> Option<&'static PricedProvider> {
    let table = PriceTable::get();
    let called = |name: &str| {
        let by_id = table.provider(name);
        by_id
            .or_else(|| {
                let (_, id) = PROVIDER_NAMES.iter().find(|(known, _)| *known == name)?;
                table.provider(id)
            })
            .or_else(|| {
                let is_called = |provider: &&PricedProvider| {
                    provider
                        .called
                        .as_ref()
                        .is_some_and(|clause| clause.is_match(name))
                };
                table.providers.iter().find(is_called)
            })
    };
    // Some libraries add the API: `xai.chat`.
    called(name).or_else(|| called(name.split_once('.')?.0))
}

fn in_table(provider: &'static PricedProvider, name: &str, at: Timestamp) -> Option<Price<'static>> {
    let model = model_of(provider, name).or_else(|| {
        let dashed = with_dashed_days(name);
        matches!(dashed, Cow::Owned(_)).then(|| model_of(provider, &dashed))?
    })?;
    let price = model.price(at)?;
    Some(Price {
        provider: provider.id.into(),
        model: model.id,
        source: PriceSource::Release,
        from: price.from,
        until: None,
        rates: &price.rates,
    })
}

/// A provider's model; where it has none of this name, that of those whose models it sells.
fn model_of(provider: &'static PricedProvider, name: &str) -> Option<&'static Model> {
    let others = provider
        .fallback
        .iter()
        .filter_map(|id| PriceTable::get().provider(id));
    std::iter::once(provider)
        .chain(others)
        .find_map(|provider| provider.model(name))
}

/// A name with `-20251211` written as `-2025-12-11`.
fn with_dashed_days(name: &str) -> Cow<'_, str> {
    const COMPACT: usize = "-20251211".len();
    let mut dashed = Cow::Borrowed(name);
    for (start, _) in name.match_indices('-') {
        let Some(digits) = name.get(start + 1..start + COMPACT) else {
            break;
        };
        let is_end = matches!(name.as_bytes().get(start + COMPACT), None | Some(b'-' | b':'));
        let is_compact =
            is_end && digits.starts_with("20") && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_compact {
            continue;
        }
        let day = format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]);
        if day.parse::<Day>().is_ok() {
            dashed = dashed.replace(&format!("-{digits}"), &format!("-{day}")).into();
        }
    }
    dashed
}

impl OwnPrice {
    fn price(&self) -> Price<'_> {
        Price {
            provider: self.provider.as_str().into(),
            model: &self.model,
            source: PriceSource::Settings {
                path: self.path.clone(),
                line: self.line,
            },
            from: self.from,
            until: self.until,
            rates: &self.rates,
        }
    }
}

/// The cost of a call's tokens at a price, if there is one.
pub fn cost_at(price: Result<Price<'_>, NoPrice>, usage: &Usage, is_replayed: bool) -> CallCost {
    CallCost::new(price.and_then(|price| price.charge(usage)), is_replayed)
}
