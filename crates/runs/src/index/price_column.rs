//! [`PriceColumn`]: what decides the price of each model call of a log, apart from its tokens.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexSet;
use tracer_format::project::{SpanView, model};
use tracer_sdk::prices::{CallPriceKey, NoPrice, Price, Prices};

/// The price of a call, as its span says it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReportedPriceKey {
    key: CallPriceKey,
    /// True where its model is the name of the span, as it says none.
    is_of_name: bool,
}

/// The keys of the calls, each key once: a run has few models.
#[derive(Debug, Default)]
pub(super) struct PriceColumn {
    keys: IndexSet<ReportedPriceKey>,
    /// The number of the key of each call, by the position of its span.
    calls: BTreeMap<usize, u32>,
    /// The same of calls that other spans recorded too; `None` of those other spans.
    joined: HashMap<usize, Option<u32>>,
}

impl PriceColumn {
    /// Sets the key of the call of a span.
    pub(super) fn set_of_span(&mut self, position: usize, span: &impl SpanView) {
        let key = CallPriceKey::of_span(span);
        let is_of_name = *model(span.name(), &span.facts()) == *span.name();
        let number = self.number(&ReportedPriceKey { key, is_of_name });
        self.calls.insert(position, number);
    }

    /// Gives a call the model, the provider and the mark of a replay that any of its spans has. One that failed and has no
    /// tokens, and that one of them was refused, has no price, as one that all were refused.
    pub(super) fn join(&mut self, position: usize, repeats: &[usize], is_unpaid: bool) {
        let spans = std::iter::once(&position).chain(repeats);
        let keys: Option<Vec<&ReportedPriceKey>> = spans
            .map(|span| self.keys.get_index(*self.calls.get(span)? as usize))
            .filter(|key| is_unpaid || key.is_some())
            .collect();
        let joined = keys
            .unwrap_or_default()
            .into_iter()
            .cloned()
            .reduce(|one, other| {
                let is_of_name = one.is_of_name && other.is_of_name;
                let key = if one.is_of_name && !is_of_name {
                    other.key.or(one.key)
                } else {
                    one.key.or(other.key)
                };
                ReportedPriceKey { key, is_of_name }
            });
        let number = joined.map(|joined| self.number(&joined));
        self.joined.insert(position, number);
    }

    /// Leaves out a span that repeats a call.
    pub(super) fn leave_out(&mut self, position: usize) {
        self.joined.insert(position, None);
    }

    /// Gives each call its own key again.
    pub(super) fn part_all(&mut self) {
        self.joined.clear();
    }

    fn number(&mut self, key: &ReportedPriceKey) -> u32 {
        let known = self.keys.get_index_of(key);
        let number = known.unwrap_or_else(|| self.keys.insert_full(key.clone()).0);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The key of each call, by the position of its span.
    pub(super) fn keys(&self) -> impl Iterator<Item = (usize, &CallPriceKey)> {
        let calls = self.numbers().into_iter();
        calls.filter_map(|(position, number)| Some((position, &self.keys.get_index(number as usize)?.key)))
    }

    /// The price of each call, and whether a recorded answer answered it, by the position of its span.
    pub(super) fn priced<'a>(
        &'a self,
        prices: &'a Prices,
    ) -> impl Iterator<Item = (usize, Result<Price<'a>, NoPrice>, bool)> {
        let known: Vec<(Result<Price<'a>, NoPrice>, bool)> = self
            .keys
            .iter()
            .map(|ReportedPriceKey { key, .. }| (key.price(prices), key.is_replayed()))
            .collect();
        self.numbers().into_iter().filter_map(move |(position, number)| {
            let (price, is_replayed) = known.get(number as usize)?;
            Some((position, price.clone(), *is_replayed))
        })
    }

    /// The number of the key of each call, by the position of its span.
    fn numbers(&self) -> Vec<(usize, u32)> {
        let own = self.calls.iter().map(|(position, number)| (*position, *number));
        let own = own.filter(|(position, _)| !self.joined.contains_key(position));
        let joined = self
            .joined
            .iter()
            .filter_map(|(position, number)| Some((*position, (*number)?)));
        let mut all: Vec<(usize, u32)> = own.chain(joined).collect();
        all.sort_unstable();
        all
    }
}
