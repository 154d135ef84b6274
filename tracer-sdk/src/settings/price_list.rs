//! Prices of one's own: the table `[prices]` of a settings file.

use std::collections::HashMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::files::Sources;
use super::problem::{Position, SettingProblem, SettingSource};
use super::unknown_keys::PRICES_TABLE;
use crate::prices::{Day, OwnPrice, Prices, Rate, RateKind, Rates, WILDCARD};
use tracer_format::Usd;

/// The longest name of a provider or a model, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// The highest price of a million tokens, in dollars.
const MAX_DOLLARS: u64 = 1_000_000;

/// The release's prices and those of the settings files, and what could not be used: a price with a problem counts as
/// not given. The project's file goes before the user's.
///
/// ```
/// use tracer_sdk::settings::{SettingsFile, Sources, read_prices};
///
/// let text = "[prices.openai.gpt-5]\ninput = -1\noutput = 2".to_owned();
/// let user = SettingsFile { path: "config.toml".into(), text: Ok(text) };
/// let (_, problems) = read_prices(&Sources { user: Some(user), ..Sources::default() });
/// assert_eq!(
///     problems[0].to_string(),
///     "config.toml:2:1: prices.openai.gpt-5.input must be dollars per million tokens, zero or more, such as 1.25"
/// );
/// ```
#[must_use]
pub fn read_prices(sources: &Sources) -> (Prices, Vec<SettingProblem>) {
    let mut problems = Vec::new();
    let mut own = Vec::new();
    for file in [&sources.project, &sources.user].into_iter().flatten() {
        // A file that cannot be read is a problem of the settings as a whole, which report it.
        if let Ok(text) = &file.text {
            own.extend(read_file(&file.path, text, &mut problems));
        }
    }
    (Prices::with_own(own), problems)
}

/// The prices of a settings file. One with a problem is left out.
fn read_file(path: &Path, text: &str, problems: &mut Vec<SettingProblem>) -> Vec<OwnPrice> {
    // Invalid TOML is a problem of the settings as a whole, which report it.
    let Ok(file) = DeTable::parse(text) else {
        return Vec::new();
    };
    let Some((key, value)) = file.get_ref().get_key_value(PRICES_TABLE) else {
        return Vec::new();
    };
    let mut reader = Reader {
        path,
        text,
        problems,
        prices: Vec::new(),
        by_name: HashMap::new(),
    };
    reader.read_all(key, value);
    reader.prices
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    problems: &'a mut Vec<SettingProblem>,
    prices: Vec<OwnPrice>,
    /// The prices of each provider and model.
    by_name: HashMap<(String, String), Vec<usize>>,
}

type PriceKey<'a> = Spanned<DeString<'a>>;

impl Reader<'_> {
    fn read_all(&mut self, key: &PriceKey<'_>, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(providers) = value.get_ref() else {
            self.problem(key.span().start, PRICES_TABLE, "must be a table of providers");
            return;
        };
        for (provider, models) in providers {
            let full = format!("{PRICES_TABLE}.{}", shown(provider));
            let start = provider.span().start;
            let Some(name) = name(provider).filter(|name| !name.contains(['/', WILDCARD])) else {
                self.problem(start, &full, "must be the name of a provider, such as openai");
                continue;
            };
            let DeValue::Table(models) = models.get_ref() else {
                self.problem(start, &full, "must be a table of models");
                continue;
            };
            for (model, prices) in models {
                self.read_model(&name, &full, model, prices);
            }
        }
    }

    fn read_model(&mut self, provider: &str, parent: &str, key: &PriceKey<'_>, value: &Spanned<DeValue<'_>>) {
        let full = format!("{parent}.{}", shown(key));
        let start = key.span().start;
        let is_model =
            |name: &String| !name.trim_end_matches(WILDCARD).contains(WILDCARD) && !name.ends_with("**");
        let Some(model) = name(key).filter(is_model) else {
            self.problem(
                start,
                &full,
                "must be the name of a model, or its beginning and one * at the end",
            );
            return;
        };
        let tables: Vec<(usize, &DeTable<'_>)> = match value.get_ref() {
            DeValue::Table(fields) => vec![(start, fields)],
            DeValue::Array(items) => {
                let tables = items.iter().map(|item| match item.get_ref() {
                    DeValue::Table(fields) => Some((item.span().start, fields)),
                    _ => None,
                });
                tables.collect::<Option<Vec<_>>>().unwrap_or_default()
            }
            _ => Vec::new(),
        };
        if tables.is_empty() {
            self.problem(
                start,
                &full,
                "must be a table with input and output, or several with from and until",
            );
        }
        for (start, fields) in tables {
            if let Some(price) = self.read_price(provider, &model, &full, start, fields) {
                self.add(price, start, &full);
            }
        }
    }

    fn read_price(
        &mut self,
        provider: &str,
        model: &str,
        full: &str,
        start: usize,
        fields: &DeTable<'_>,
    ) -> Option<OwnPrice> {
        let problems_before = self.problems.len();
        let mut price = OwnPrice {
            provider: provider.to_owned(),
            model: model.to_owned(),
            from: None,
            until: None,
            rates: Rates::default(),
            path: self.path.to_owned(),
            line: Position::of(self.text, start).line,
        };
        for (key, value) in fields {
            let field: &str = key.get_ref();
            let value = value.get_ref();
            let kind = match field {
                "input" => RateKind::Input,
                "output" => RateKind::Output,
                "cache_read" => RateKind::CacheRead,
                "cache_write" => RateKind::CacheWrite,
                "reasoning" => RateKind::Reasoning,
                _ => {
                    let is_good = match field {
                        "currency" => matches!(value, DeValue::String(text) if text.as_ref() == "USD"),
                        "from" => read_day(value, &mut price.from),
                        "until" => read_day(value, &mut price.until),
                        _ => false,
                    };
                    if !is_good {
                        let allowed = match field {
                            "currency" => "must be \"USD\": prices are in dollars",
                            "from" | "until" => "must be a day, such as 2026-12-01",
                            _ => {
                                "is not a field of a price: these are input, output, cache_read, cache_write, reasoning, \
                                 currency, from and until; a name with a dot is written in quotes"
                            }
                        };
                        self.problem(key.span().start, &format!("{full}.{}", shown(key)), allowed);
                    }
                    continue;
                }
            };
            if let Some(rate) = read_rate(value) {
                price.rates.add(kind, rate);
            } else {
                let allowed = "must be dollars per million tokens, zero or more, such as 1.25";
                self.problem(key.span().start, &format!("{full}.{field}"), allowed);
            }
        }
        if !(fields.contains_key("input") && fields.contains_key("output")) {
            self.problem(start, full, "must have input and output");
        }
        if let (Some(from), Some(until)) = (price.from, price.until)
            && from >= until
        {
            self.problem(start, full, "must have from before until");
        }
        (self.problems.len() == problems_before).then_some(price)
    }

    /// Adds a price, unless the model has one for the same days.
    fn add(&mut self, price: OwnPrice, start: usize, full: &str) {
        let name = (price.provider.clone(), price.model.clone());
        let same = self.by_name.entry(name).or_default();
        let mut others = same.iter().filter_map(|number| self.prices.get(*number));
        if let Some(other) = others.find(|other| other.overlaps(&price)) {
            let allowed = format!("overlaps with the price of the same model in line {}", other.line);
            self.problem(start, full, &allowed);
            return;
        }
        same.push(self.prices.len());
        self.prices.push(price);
    }

    fn problem(&mut self, start: usize, key: &str, allowed: &str) {
        self.problems.push(SettingProblem {
            source: SettingSource::File(self.path.to_owned()),
            position: Some(Position::of(self.text, start)),
            key: key.to_owned(),
            allowed: allowed.to_owned(),
        });
    }
}

/// A key that is the name of a provider or a model, in lower case.
fn name(key: &PriceKey<'_>) -> Option<String> {
    let name: &str = key.get_ref();
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.trim() == name
        && !name.chars().any(char::is_control);
    is_name.then(|| name.to_lowercase())
}

/// A key, as it is repeated in a problem.
fn shown(key: &PriceKey<'_>) -> String {
    key.get_ref()
        .chars()
        .take(64)
        .flat_map(char::escape_debug)
        .collect()
}

fn read_rate(value: &DeValue<'_>) -> Option<Rate> {
    let dollars: Usd = match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok()?,
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => return None,
    };
    let is_price = dollars <= Usd::from_cents(MAX_DOLLARS * 100);
    is_price.then(|| Rate::per_million(dollars))?
}

/// Reads a day; one with a time is none.
fn read_day(value: &DeValue<'_>, day: &mut Option<Day>) -> bool {
    if let DeValue::Datetime(datetime) = value
        && datetime.time.is_none()
        && let Some(date) = datetime.date
    {
        *day = Day::new(date.year, date.month, date.day);
        return day.is_some();
    }
    false
}

#[cfg(test)]
mod tests;
