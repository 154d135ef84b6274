//! The release's table of prices, made by `tests/prices/make_table.py`: lines of JSON, a head, then each provider with
//! the lines of its models behind it. The models of a provider are read at the first lookup of one of them.

use std::collections::{BTreeMap, HashMap};

use once_cell::race::OnceBox;
use serde::Deserialize;

use super::Day;
use super::clause::Clause;
use super::period::Hours;
use super::rates::{Rates, Written};
use tracer_format::Computed;
use tracer_format::Timestamp;

static TABLE: Computed<PriceTable> = Computed::new(|| PriceTable::read(include_str!("table.jsonl")));

/// Origin and size of the release's price table.
///
/// ```
/// use tracer_sdk::prices::Prices;
///
/// let release = Prices::release();
/// assert_eq!(release.package, "genai-prices");
/// assert!(release.providers > 40 && release.models > 2_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// The package that the table is made from.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The day on which the table was made.
    pub made: Day,
    /// Number of providers.
    pub providers: usize,
    /// Number of models, the same one of several providers counted for each.
    pub models: usize,
}

/// The table, with providers in lookup order.
#[derive(Debug)]
pub(super) struct PriceTable {
    package: &'static str,
    version: &'static str,
    made: Day,
    pub(super) providers: Vec<PricedProvider>,
}

/// A seller of models.
#[derive(Debug)]
pub(super) struct PricedProvider {
    pub(super) id: &'static str,
    /// Other names of the provider.
    pub(super) called: Option<Clause<'static>>,
    /// The names of models that are its own, where no provider is named.
    pub(super) own_models: Option<Clause<'static>>,
    /// Whose prices are its own where it has none.
    pub(super) fallback: Vec<&'static str>,
    lines: &'static str,
    models: OnceBox<Models>,
}

/// The models of a provider; the first that matches a name is meant.
#[derive(Debug, Default)]
struct Models {
    all: Vec<Model>,
    /// The first model that has a name.
    by_name: HashMap<&'static str, usize>,
    /// Those that are more than names, in order.
    others: Vec<usize>,
}

/// A model with its prices: the last one that is valid counts, and the first one where none is.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) id: &'static str,
    clause: Clause<'static>,
    prices: Vec<PeriodPrice>,
}

#[derive(Debug)]
pub(super) struct PeriodPrice {
    pub(super) from: Option<Day>,
    hours: Option<Hours>,
    pub(super) rates: Rates,
}

#[derive(Debug, Deserialize)]
struct HeadLine<'a> {
    package: &'a str,
    version: &'a str,
    made: &'a str,
}

#[derive(Debug, Deserialize)]
struct ProviderLine<'a> {
    provider: &'a str,
    #[serde(borrow)]
    called: Option<Clause<'a>>,
    #[serde(borrow)]
    models: Option<Clause<'a>>,
    #[serde(borrow, default)]
    fallback: Vec<&'a str>,
}

#[derive(Debug, Deserialize)]
struct ModelLine<'a> {
    model: &'a str,
    #[serde(borrow, rename = "is")]
    clause: Clause<'a>,
    #[serde(borrow)]
    prices: Vec<PriceLine<'a>>,
}

#[derive(Debug, Deserialize)]
struct PriceLine<'a> {
    #[serde(borrow)]
    from: Option<&'a str>,
    #[serde(borrow)]
    hours: Option<[&'a str; 2]>,
    #[serde(flatten, borrow)]
    rates: BTreeMap<&'a str, Written<'a>>,
}

impl PriceTable {
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    /// A line that cannot be read is left out: what it would say is unknown. A test reads all of them.
    fn read(text: &'static str) -> Self {
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        let head = serde_json::from_str::<HeadLine<'static>>(head).ok();
        let made = head.as_ref().and_then(|head| head.made.parse().ok());
        let starts = rest.match_indices("{\"provider\":").map(|(start, _)| start);
        let starts: Vec<usize> = starts.chain([rest.len()]).collect();
        let parts = starts.windows(2).filter_map(|part| rest.get(part[0]..part[1]));
        Self {
            package: head.as_ref().map_or("", |head| head.package),
            version: head.as_ref().map_or("", |head| head.version),
            made: made.unwrap_or_else(|| Day::of(Timestamp::from_unix_microseconds(0))),
            providers: parts.filter_map(PricedProvider::read).collect(),
        }
    }

    pub(super) fn release(&self) -> Release {
        let models = self
            .providers
            .iter()
            .map(|provider| provider.lines.lines().count());
        Release {
            package: self.package,
            version: self.version,
            made: self.made,
            providers: self.providers.len(),
            models: models.sum(),
        }
    }

    /// Every price, and the hours of the day at which it begins and ends.
    #[cfg(test)]
    pub(super) fn all_prices(&self) -> impl Iterator<Item = (&Rates, Option<[u32; 2]>)> {
        let models = self.providers.iter().flat_map(|provider| &provider.models().all);
        let prices = models.flat_map(|model| &model.prices);
        prices.map(|price| (&price.rates, price.hours.map(Hours::minutes)))
    }

    pub(super) fn provider(&self, id: &str) -> Option<&PricedProvider> {
        self.providers.iter().find(|provider| provider.id == id)
    }
}

impl PricedProvider {
    /// A provider's line and those of its models.
    fn read(text: &'static str) -> Option<Self> {
        let (line, lines) = text.split_once('\n').unwrap_or((text, ""));
        let line: ProviderLine<'static> = serde_json::from_str(line).ok()?;
        Some(Self {
            id: line.provider,
            called: line.called,
            own_models: line.models,
            fallback: line.fallback,
            lines,
            models: OnceBox::new(),
        })
    }

    fn models(&self) -> &Models {
        self.models.get_or_init(|| {
            let mut models = Models::default();
            for model in self.lines.lines().filter_map(Model::read) {
                models.push(model);
            }
            Box::new(models)
        })
    }

    /// The model with this name, in lower case.
    pub(super) fn model(&self, name: &str) -> Option<&Model> {
        let Models { all, by_name, others } = self.models();
        let by_name = by_name.get(name).copied();
        let mut earlier = others.iter().copied();
        let other = earlier
            .by_ref()
            .take_while(|number| by_name.is_none_or(|by_name| *number < by_name))
            .find(|number| all.get(*number).is_some_and(|model| model.clause.is_match(name)));
        all.get(other.or(by_name)?)
    }
}

impl Models {
    fn push(&mut self, model: Model) {
        let number = self.all.len();
        match model.clause.names() {
            Some(names) => {
                for name in names {
                    self.by_name.entry(name).or_insert(number);
                }
            }
            None => self.others.push(number),
        }
        self.all.push(model);
    }
}

impl Model {
    fn read(line: &'static str) -> Option<Self> {
        let line: ModelLine<'static> = serde_json::from_str(line).ok()?;
        let prices: Option<Vec<_>> = line.prices.iter().map(PeriodPrice::read).collect();
        Some(Self {
            id: line.model,
            clause: line.clause,
            prices: prices?,
        })
    }

    /// The price at a time.
    pub(super) fn price(&self, at: Timestamp) -> Option<&PeriodPrice> {
        let valid = self.prices.iter().rev().find(|price| price.is_valid(at));
        valid.or(self.prices.first())
    }
}

impl PeriodPrice {
    fn read(line: &PriceLine<'_>) -> Option<Self> {
        Some(Self {
            from: line.from.map(str::parse).transpose().ok()?,
            hours: match line.hours {
                None => None,
                Some([from, until]) => Some(Hours::parse(from, until)?),
            },
            rates: Rates::of_line(&line.rates)?,
        })
    }

    fn is_valid(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= Day::of(at)) && self.hours.is_none_or(|hours| hours.contain(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let text = include_str!("table.jsonl");
        let table = PriceTable::get();
        let read: usize = table
            .providers
            .iter()
            .map(|provider| provider.models().all.len())
            .sum();
        assert_eq!(1 + table.providers.len() + read, text.lines().count());
        assert_eq!(table.release().models, read);
        assert_eq!(table.package, "genai-prices");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_left_out() {
        let table = PriceTable::read(concat!(
            "{}\n",
            "{\"provider\":\"a\"}\n",
            "{\"model\":\"one\",\"is\":\"=one\",\"prices\":[{\"input\":\"x\"}]}\n",
            "{\"model\":\"two\",\"is\":\"=two\",\"prices\":[{\"input\":\"1\"}]}\n",
            "not JSON\n",
        ));
        assert!(table.providers[0].model("one").is_none());
        assert_eq!(table.providers[0].model("two").unwrap().id, "two");
        assert!(PriceTable::read("").providers.is_empty());
    }
}
