//! Prices of one's own: the table `[prices]` of a settings file.

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
/// assert!(problems[0].to_string().starts_with("config.toml:2:1: prices.openai.gpt-5 must have input and output"));
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

/// The rule that a table of prices must keep.
const PRICE: &str = "must have input and output in dollars per million tokens, zero or more, such as 1.25; it may have \
                     cache_read, cache_write, reasoning, currency (\"USD\"), and the days from and until; \
                     a name with a dot is written in quotes";
/// The rates that a table of prices may have.
const KINDS: [RateKind; 5] = [
    RateKind::Input,
    RateKind::Output,
    RateKind::CacheRead,
    RateKind::CacheWrite,
    RateKind::Reasoning,
];

/// The prices of a settings file. One with a problem is left out.
fn read_file(path: &Path, text: &str, problems: &mut Vec<SettingProblem>) -> Vec<OwnPrice> {
    // Invalid TOML is a problem of the settings as a whole, which report it.
    let Ok(file) = DeTable::parse(text) else {
        return Vec::new();
    };
    let Some((key, value)) = file.get_ref().get_key_value(PRICES_TABLE) else {
        return Vec::new();
    };
    let mut problem = |start: usize, key: &str, allowed: &str| {
        problems.push(SettingProblem {
            source: SettingSource::File(path.to_owned()),
            position: Some(Position::of(text, start)),
            key: key.to_owned(),
            allowed: allowed.to_owned(),
        });
    };
    let mut prices: Vec<OwnPrice> = Vec::new();
    let DeValue::Table(providers) = value.get_ref() else {
        problem(key.span().start, PRICES_TABLE, "must be a table of providers");
        return prices;
    };
    for (provider, models) in providers {
        let full = format!("{PRICES_TABLE}.{}", shown(provider));
        let name_of_provider = name(provider).filter(|name| !name.contains(['/', WILDCARD]));
        let (Some(provider), DeValue::Table(models)) = (&name_of_provider, models.get_ref()) else {
            let allowed = "must be the name of a provider, such as openai, and a table of models";
            problem(provider.span().start, &full, allowed);
            continue;
        };
        for (key, value) in models {
            let full = format!("{full}.{}", shown(key));
            let start = key.span().start;
            let Some(model) =
                name(key).filter(|name| !name.strip_suffix(WILDCARD).unwrap_or(name).contains(WILDCARD))
            else {
                let allowed = "must be the name of a model, or its beginning and one * at the end";
                problem(start, &full, allowed);
                continue;
            };
            let tables: Vec<_> = match value.get_ref() {
                DeValue::Array(items) if !items.is_empty() => {
                    items.iter().map(|item| (item.span().start, item)).collect()
                }
                _ => vec![(start, value)],
            };
            for (start, table) in tables {
                let price = OwnPrice {
                    provider: provider.clone(),
                    model: model.clone(),
                    from: None,
                    until: None,
                    rates: Rates::default(),
                    path: path.to_owned(),
                    line: Position::of(text, start).line,
                };
                match with_rates(price, start, table.get_ref()) {
                    Ok(price) => match prices.iter().find(|other| {
                        (&other.provider, &other.model) == (&price.provider, &price.model)
                            && other.overlaps(&price)
                    }) {
                        Some(other) => {
                            let line = other.line;
                            problem(
                                start,
                                &full,
                                &format!("overlaps with the price of the same model in line {line}"),
                            );
                        }
                        None => prices.push(price),
                    },
                    Err(start) => problem(start, &full, PRICE),
                }
            }
        }
    }
    prices
}

/// The price with what its table, at `start`, says; else the place of what cannot be used.
fn with_rates(mut price: OwnPrice, start: usize, table: &DeValue<'_>) -> Result<OwnPrice, usize> {
    let fields = table.as_table().ok_or(start)?;
    for (key, value) in fields {
        let (field, value) = (key.get_ref(), value.get_ref());
        let is_used = match field.as_ref() {
            "currency" => value.as_str() == Some("USD"),
            "from" => read_day(value).map(|day| price.from = Some(day)).is_some(),
            "until" => read_day(value).map(|day| price.until = Some(day)).is_some(),
            field => KINDS
                .into_iter()
                .find(|kind| kind.name() == field)
                .zip(read_rate(value))
                .map(|(kind, rate)| price.rates.add(kind, rate))
                .is_some(),
        };
        if !is_used {
            return Err(key.span().start);
        }
    }
    let is_whole = fields.contains_key("input") && fields.contains_key("output");
    let has_days = price
        .from
        .zip(price.until)
        .is_none_or(|(from, until)| from < until);
    if is_whole && has_days {
        Ok(price)
    } else {
        Err(start)
    }
}

/// The name of a provider or a model, as names are compared: in lower case.
fn name(key: &Spanned<DeString<'_>>) -> Option<String> {
    let name: &str = key.get_ref();
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.trim() == name
        && !name.chars().any(char::is_control);
    is_name.then(|| name.to_lowercase())
}

/// The start of a name, for a message.
fn shown(key: &Spanned<DeString<'_>>) -> String {
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

fn read_day(value: &DeValue<'_>) -> Option<Day> {
    let datetime = value.as_datetime().filter(|datetime| datetime.time.is_none())?;
    let date = datetime.date?;
    Day::new(date.year, date.month, date.day)
}

#[cfg(test)]
mod tests;
