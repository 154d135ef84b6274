//! [`UsageObject`]: a usage object of a model API or a framework, by the one table of what its numbers are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::token_counts::TokenCounts;
use super::values::{Lookup, whole_number};
use crate::vocabulary::{
    ADDED_ITERATION, BESIDE, Count, FLAT_USAGES, FURTHER, INCLUDED_ITERATION, ITERATIONS, Part, USUAL_TEXTS,
    key_use, normalised, part,
};
use crate::{Usage, UsageGap};

/// The most numbers that are read of an object, and how deep: what has more is no usage, and not understood.
const MAX_NUMBERS: usize = 256;
const MAX_DEPTH: usize = 8;
/// The most numbers without a count that are kept.
const MAX_FURTHER: usize = 32;
/// The most characters of a path that are kept.
const MAX_NAME: usize = 96;

/// Content of a usage object: each of its numbers is in the usage, part of another one, or named as not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageObject {
    /// The counts, and a mark for any further charge.
    pub usage: Usage,
    /// The paths of numbers that have no count and are part of none: those that are not understood, and those that are
    /// charged in addition to tokens.
    pub not_counted: Vec<String>,
    /// Those of them that are whole numbers above zero.
    pub further: Vec<(String, u64)>,
    /// By which prices the call was served, where they are not the usual ones.
    pub service_tier: Option<String>,
}

impl UsageObject {
    /// Reads an object, in the words of any API.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let numbers = UsageNumbers::of("", object);
        Self {
            usage: numbers.usage(),
            not_counted: numbers.not_counted,
            further: numbers.further,
            service_tier: numbers.service_tier,
        }
    }
}

/// Returns whether a text means the usual prices.
pub(super) fn is_usual(name: &str, text: &str) -> bool {
    let usual = USUAL_TEXTS.iter().find(|(known, _)| *known == name);
    usual.is_none_or(|(_, values)| {
        text.is_empty() || values.iter().any(|value| value.eq_ignore_ascii_case(text))
    })
}

/// The numbers of an object, as they are written.
#[derive(Debug, Default)]
pub(super) struct UsageNumbers {
    /// By their normalised paths; those of a list's items are summed.
    known: BTreeMap<String, u64>,
    /// Further usage for the same answer.
    added: Option<Usage>,
    pub(super) not_counted: Vec<String>,
    pub(super) further: Vec<(String, u64)>,
    service_tier: Option<String>,
}

impl UsageNumbers {
    /// The numbers of an object, or of one that is a member of a usage object.
    pub(super) fn of(member: &str, object: &Value) -> Self {
        let mut numbers = Self::default();
        numbers.walk(&normalised(member), object, 0);
        numbers.leave_out_uncounted();
        if let Some(iterations) = object.get(ITERATIONS).and_then(Value::as_array) {
            numbers.iterations(iterations);
        }
        numbers
    }

    /// The numbers of attributes that are a usage object key by key, but for those that the tables of attributes have.
    pub(super) fn of_flat(attributes: &impl Lookup) -> Self {
        let mut numbers = Self::default();
        for (place, namespace) in FLAT_USAGES.iter().enumerate() {
            let longer = FLAT_USAGES.get(..place).unwrap_or_default();
            attributes.numbers_beginning(namespace, &mut |rest, number| {
                let key = format!("{namespace}{rest}");
                let is_read = key_use(&key).is_none_or(|used| used.groups & FURTHER == 0);
                if is_read || longer.iter().any(|longer| key.starts_with(longer)) {
                    return;
                }
                let path: Vec<Cow<'_, str>> = rest.split('.').map(normalised).collect();
                numbers.number(&path.join("."), number);
            });
        }
        numbers.leave_out_uncounted();
        numbers
    }

    /// Lists the numbers that are charged in addition to tokens, or that contradict another number.
    fn leave_out_uncounted(&mut self) {
        let numbers = self;
        let has_input = numbers.source(Count::Input).is_some();
        let uncounted = numbers.known.iter().filter(|(path, number)| match part(path) {
            Some((_, Part::Charged)) => **number > 0,
            Some((_, Part::BesideInput)) => **number > 0 && !has_input,
            _ => false,
        });
        let uncounted: Vec<(String, u64)> = uncounted.map(|(path, number)| (path.clone(), *number)).collect();
        for (path, number) in uncounted {
            numbers.leave_out(&path);
            numbers.keep(&path, number);
        }
        numbers.leave_out_contradictory();
    }

    fn walk(&mut self, path: &str, value: &Value, depth: usize) {
        match value {
            _ if depth > MAX_DEPTH => self.leave_out(path),
            Value::Object(members) => {
                for (key, value) in members {
                    let key = normalised(key);
                    if depth == 0 && key == ITERATIONS {
                        continue;
                    }
                    let path = if path.is_empty() {
                        key.into_owned()
                    } else {
                        format!("{path}.{key}")
                    };
                    self.walk(&path, value, depth + 1);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.item(path, item, depth + 1)),
            Value::Number(_) => self.number(path, whole_number(value)),
            Value::String(text) => self.text(path, text, value),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// An item of a list: tokens of a modality, a cache of a lifetime, or anything else.
    fn item(&mut self, path: &str, item: &Value, depth: usize) {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        if let Some(modality) = text("modality") {
            let modality = format!("{path}.{}_tokens", modality.to_lowercase());
            for (key, value) in item.as_object().into_iter().flatten() {
                match key.as_str() {
                    "modality" => {}
                    "tokenCount" | "token_count" | "tokens" => self.walk(&modality, value, depth + 1),
                    key => self.walk(&format!("{path}.{key}"), value, depth + 1),
                }
            }
        } else if let Some(ttl) = text("ttl") {
            self.walk(&format!("{path}.{ttl}"), item, depth);
        } else {
            self.walk(path, item, depth);
        }
    }

    /// A number, if it is a whole one.
    fn number(&mut self, path: &str, number: Option<u64>) {
        let part = part(path).map(|(_, part)| part);
        match number {
            Some(number) if part.is_some() && self.known.len() < MAX_NUMBERS => {
                let sum = self.known.entry(path.to_owned()).or_default();
                *sum = sum.saturating_add(number);
            }
            Some(0) => {}
            // Seconds and dollars have fractions.
            None if matches!(part, Some(Part::Uncharged | Part::Within)) => {}
            _ => {
                self.leave_out(path);
                if let Some(number) = number {
                    self.keep(path, number);
                }
            }
        }
    }

    /// Keeps a number that has no count; those of one name are summed.
    fn keep(&mut self, path: &str, number: u64) {
        let path = cut(path);
        if let Some((_, sum)) = self.further.iter_mut().find(|(known, _)| *known == path) {
            *sum = sum.saturating_add(number);
        } else if self.further.len() < MAX_FURTHER {
            self.further.push((path, number));
        }
    }

    /// A count as text, or a word for the prices.
    fn text(&mut self, path: &str, text: &str, value: &Value) {
        if USUAL_TEXTS.iter().any(|(name, _)| *name == path) {
            if !is_usual(path, text) {
                self.service_tier.get_or_insert_with(|| cut(text));
            }
        } else if let Some(number) = whole_number(value) {
            self.number(path, Some(number));
        }
    }

    fn leave_out(&mut self, path: &str) {
        let path = cut(path);
        if self.not_counted.len() < MAX_NUMBERS && !self.not_counted.contains(&path) {
            self.not_counted.push(path);
        }
    }

    /// The paths that give a count, in the order of the table, with their numbers.
    fn sources(&self, wanted: Count) -> Vec<(&str, u64)> {
        let mut sources: Vec<(usize, &str, u64)> = self
            .known
            .iter()
            .filter_map(|(path, number)| match part(path)? {
                (place, Part::Counted(count)) if count == wanted => Some((place, path.as_str(), *number)),
                _ => None,
            })
            .collect();
        sources.sort_unstable();
        sources
            .into_iter()
            .map(|(_, path, number)| (path, number))
            .collect()
    }

    /// The path that gives a count, and its number: the first that is not zero.
    fn source(&self, count: Count) -> Option<(&str, u64)> {
        let sources = self.sources(count);
        let first = sources.first().copied();
        sources.into_iter().find(|(_, number)| *number > 0).or(first)
    }

    /// The sum of the numbers that are a part of this kind; `None` where there is none.
    fn sum_of(&self, wanted: Part) -> Option<u64> {
        let numbers = self
            .known
            .iter()
            .filter(|(path, _)| part(path).is_some_and(|(_, part)| part == wanted));
        numbers.map(|(_, number)| *number).reduce(u64::saturating_add)
    }

    /// Numbers that say another one of the same: which is right is not known.
    fn leave_out_contradictory(&mut self) {
        let mut others = Vec::new();
        for count in Count::ALL {
            let Some((_, taken)) = self.source(count) else {
                continue;
            };
            let sources = self.sources(count).into_iter();
            let contradictory = sources.filter(|(_, number)| *number != taken && *number > 0);
            others.extend(contradictory.map(|(path, _)| path.to_owned()));
        }
        let written = self
            .source(Count::CacheWrite)
            .map_or(u64::MAX, |(_, written)| written);
        if self.written_by_lifetime() > Some(written) {
            others.push("cache_creation".to_owned());
        }
        for path in &others {
            self.leave_out(path);
        }
    }

    /// Tokens written to the cache, where only its lifetimes are counted.
    fn written_by_lifetime(&self) -> Option<u64> {
        let hour = self.source(Count::CacheWrite1h).map(|(_, tokens)| tokens);
        match (hour, self.sum_of(Part::WrittenFor5m)) {
            (None, None) => None,
            (hour, minutes) => Some(hour.unwrap_or(0).saturating_add(minutes.unwrap_or(0))),
        }
    }

    /// Reads the requests that Anthropic made to the model for one answer: the usage around it has that of the
    /// messages, and not that of earlier compaction; anything else may be another model's.
    fn iterations(&mut self, iterations: &[Value]) {
        let (mut included, mut added) = (Usage::default(), None::<Usage>);
        for iteration in iterations {
            let read = UsageObject::read(iteration);
            let kind = iteration.get("type").and_then(Value::as_str);
            match kind.unwrap_or(INCLUDED_ITERATION) {
                INCLUDED_ITERATION => included.add(&read.usage),
                ADDED_ITERATION => added.get_or_insert_default().add(&read.usage),
                other => self.leave_out(&format!("{ITERATIONS}.{other}")),
            }
            for path in &read.not_counted {
                self.leave_out(&format!("{ITERATIONS}.{path}"));
            }
            self.service_tier = self.service_tier.take().or(read.service_tier);
        }
        let around = self.counts().usage();
        if included
            .parts()
            .iter()
            .zip(around.parts())
            .any(|(part, whole)| *part > whole)
        {
            self.leave_out(ITERATIONS);
        }
        self.added = added;
    }

    /// The counts of the object.
    pub(super) fn counts(&self) -> TokenCounts {
        let mut counts = TokenCounts::default();
        for count in Count::ALL {
            counts.set(count, self.source(count).map(|(_, number)| number));
        }
        let mut write = self.source(Count::CacheWrite).map(|(path, _)| path);
        if counts.get(Count::CacheWrite).is_none() {
            counts.set(Count::CacheWrite, self.written_by_lifetime());
            let is_own = self.known.keys().any(|path| path.starts_with("cache_creation."));
            write = is_own.then_some("cache_creation_input_tokens");
        }
        let source = |count| self.source(count).map(|(path, _)| path);
        let is_beside = |whole: Count, share: Option<&str>| {
            let whole = source(whole);
            let mut pairs = BESIDE.iter().filter(|(_, beside)| share == Some(*beside));
            pairs.any(|(known, _)| whole.is_none_or(|whole| whole == *known))
        };
        counts.is_read_beside = is_beside(Count::Input, source(Count::CacheRead));
        counts.is_write_beside = is_beside(Count::Input, write);
        counts.is_reasoning_beside = is_beside(Count::Output, source(Count::Reasoning));
        counts.beside_input = self.sum_of(Part::BesideInput).unwrap_or(0);
        // The output is what the total leaves, where only that is missing.
        let found = counts.usage();
        if let (Some(input), None, Some(total)) = (
            found.prompt_tokens,
            found.completion_tokens,
            counts.get(Count::Total),
        ) && total >= input
        {
            counts.set(Count::Output, Some(total - input));
        }
        if !self.not_counted.is_empty() {
            counts.gap = Some(UsageGap::Parts);
        }
        if self.service_tier.is_some() {
            counts.gap = Some(UsageGap::ServiceTier);
        }
        counts
    }

    /// The usage of the object.
    fn usage(&self) -> Usage {
        let mut usage = self.counts().usage();
        if let Some(added) = &self.added {
            let gap = usage.gap;
            usage.add(added);
            usage.gap = gap;
        }
        usage
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_NAME).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;
