//! Functions of SQL that compare texts in any script, and price calls.

use std::sync::Arc;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};
use tracer_sdk::format::Usd;
use tracer_sdk::prices::{CallGroups, CostSum, Prices};

use super::text_match::TextMatch;
use super::{NumberComparison, TextComparison};
use crate::latencies::Latencies;
use crate::run_row::agent;

const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);
/// Digits of the largest number of whole dollars.
const DOLLAR_DIGITS: usize = 20;

/// Adds the functions to a connection; calls cost what `prices` say.
pub(crate) fn register(connection: &Connection, prices: &Prices) -> Result<()> {
    for (name, comparison) in [
        ("is_like", TextComparison::Is),
        ("has_part", TextComparison::Contains),
    ] {
        let is_like = move |context: &mut Context<'_>| compares(context, comparison, TextMatch::holds);
        connection.create_scalar_function(name, 2, PURE, is_like)?;
        let is_error = move |context: &mut Context<'_>| compares(context, comparison, TextMatch::holds_error);
        connection.create_scalar_function(format!("error_{name}").as_str(), 2, PURE, is_error)?;
    }
    connection.create_scalar_function("agent", 1, PURE, |context| {
        Ok(agent(text(context, 0)?).map(str::to_owned))
    })?;
    connection.create_scalar_function("folded", 1, PURE, |context| {
        Ok(text(context, 0)?.map(str::to_lowercase))
    })?;
    connection.create_scalar_function("slowest", 1, PURE, |context| {
        let latencies: Option<Latencies> = json(context, 0)?;
        let slowest = latencies.and_then(|latencies| latencies.slowest());
        Ok(slowest.map(|slowest| i64::try_from(slowest).unwrap_or(i64::MAX)))
    })?;
    let prices = Arc::new(prices.clone());
    let of_calls = Arc::clone(&prices);
    connection.create_scalar_function("cost_compares", 3, PURE, move |context| {
        let comparison = text(context, 1)?.and_then(NumberComparison::from_word);
        let limit = text(context, 2)?.and_then(|number| dollars(number.parse().ok()?));
        let cost = cost(context, &of_calls)?;
        let compared = comparison.zip(limit);
        Ok(compared.and_then(|(comparison, limit)| compare_cost(&cost, comparison, limit)))
    })?;
    connection.create_scalar_function("known_cost", 1, PURE, move |context| {
        let cost = cost(context, &prices)?;
        let is_known = cost.unpriced == 0 || cost.has_known();
        Ok(is_known.then(|| sortable(cost.known)))
    })
}

/// Compares the second argument with the first one; NULL with anything is NULL.
fn compares(
    context: &Context<'_>,
    comparison: TextComparison,
    holds: impl Fn(&TextMatch, &str) -> bool,
) -> Result<Option<bool>> {
    let wanted = context.get_or_create_aux(0, |value: ValueRef<'_>| {
        value.as_str().map(|text| TextMatch::new(comparison, text))
    })?;
    Ok(text(context, 1)?.map(|text| holds(&wanted, text)))
}

fn text<'a>(context: &'a Context<'_>, place: usize) -> Result<Option<&'a str>> {
    let text = context.get_raw(place).as_str_or_null();
    text.map_err(|error| Error::UserFunctionError(error.into()))
}

/// The value of an argument that is JSON; what cannot be read is unknown.
fn json<T: serde::de::DeserializeOwned>(context: &Context<'_>, place: usize) -> Result<Option<T>> {
    Ok(text(context, place)?.and_then(|text| serde_json::from_str(text).ok()))
}

fn cost(context: &Context<'_>, prices: &Prices) -> Result<CostSum> {
    let calls: CallGroups = json(context, 0)?.unwrap_or_default();
    Ok(calls.cost(prices))
}

/// Dollars as a text whose order is theirs.
fn sortable(usd: Usd) -> String {
    let decimal = usd.to_decimal();
    let whole = decimal.find('.').unwrap_or(decimal.len());
    "0".repeat(DOLLAR_DIGITS.saturating_sub(whole)) + &decimal
}

/// Millionths of a dollar; `None` of more than there is.
fn dollars(millionths: u64) -> Option<Usd> {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.parse().ok()
}

/// Compares a cost; `None` where its known part does not decide.
fn compare_cost(cost: &CostSum, comparison: NumberComparison, limit: Usd) -> Option<bool> {
    if let Some(usd) = cost.usd() {
        return Some(comparison.holds(usd, limit));
    }
    // It is at least its known part.
    let least = cost.known;
    match comparison {
        NumberComparison::MoreThan => (least > limit).then_some(true),
        NumberComparison::AtLeast => (least >= limit).then_some(true),
        NumberComparison::LessThan => (least >= limit).then_some(false),
        NumberComparison::AtMost | NumberComparison::Exactly => (least > limit).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_known_in_part_is_at_least_that() {
        use NumberComparison::{AtLeast, AtMost, Exactly, LessThan, MoreThan};
        let mut cost = CostSum::default();
        cost.known = Usd::from_cents(12);
        let compared = |cost: &CostSum| {
            [MoreThan, AtLeast, LessThan, AtMost, Exactly].map(|comparison| {
                [11, 12, 13].map(|cents| compare_cost(cost, comparison, Usd::from_cents(cents)))
            })
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(
            compared(&cost),
            [
                [yes, no, no],
                [yes, yes, no],
                [no, no, yes],
                [no, yes, yes],
                [no, yes, no]
            ]
        );
        cost.unpriced = 1;
        assert_eq!(
            compared(&cost),
            [
                [yes, None, None],
                [yes, yes, None],
                [no, no, None],
                [no, None, None],
                [no, None, None]
            ]
        );
        assert_eq!(dollars(120_000), Some(Usd::from_cents(12)));
        let most = dollars(u64::MAX).unwrap();
        assert_eq!(compare_cost(&cost, MoreThan, most), None);
    }
}
