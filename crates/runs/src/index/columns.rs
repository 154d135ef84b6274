//! Per-span columns of [`LogIndex`](super::LogIndex): name, duration, token counts, marks and call signature.

use std::collections::HashMap;

use indexmap::IndexSet;
use memchr::memmem::Finder;

use super::TokenShares;
use super::price_column::PriceColumn;
use tracer_format::names::{self, markers, tag_key};
use tracer_format::parse::{IndexedAttributes, ParsedSpan};
use tracer_format::project::error_class;
use tracer_format::project::{Lookup, SpanView, call_usage, display_name, service_usage, signature, text};
use tracer_format::{Computed, EventType, Usage};
use tracer_sdk::prices::is_refusal;

/// Texts that lines are searched for, and the mark for each; prepared once, not for each line.
static MARKERS: Computed<[(Finder<'static>, u8); 2]> = Computed::new(|| {
    [
        (Finder::new(markers::REDACTED), REDACTED),
        (Finder::new(markers::TRUNCATED), TRUNCATED),
    ]
});

/// Marks of a span.
pub(super) const OPEN: u8 = 1;
pub(super) const REDACTED: u8 = 2;
pub(super) const TRUNCATED: u8 = 4;
pub(super) const PLACED_BY_GUESS: u8 = 8;
pub(super) const NAMES_SESSION: u8 = 16;
pub(super) const HAS_TAGS: u8 = 32;
/// Stored for an unknown number.
const UNKNOWN: u32 = u32::MAX;
const NO_DURATION: u64 = u64::MAX;

/// The columns of one span: 32 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanColumns {
    duration: u64,
    pub(super) name: u32,
    pub(super) signature: u32,
    tokens_in: u32,
    tokens_out: u32,
    tokens_total: u32,
    marks: u8,
}

impl SpanColumns {
    pub(super) fn duration(&self) -> Option<u64> {
        (self.duration != NO_DURATION).then_some(self.duration)
    }

    /// Returns whether the span has one of the marks.
    pub(super) fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub(super) fn tokens_in(&self) -> Option<u32> {
        (self.tokens_in != UNKNOWN).then_some(self.tokens_in)
    }

    pub(super) fn tokens_out(&self) -> Option<u32> {
        (self.tokens_out != UNKNOWN).then_some(self.tokens_out)
    }

    pub(super) fn tokens_total(&self) -> Option<u32> {
        (self.tokens_total != UNKNOWN).then_some(self.tokens_total)
    }
}

/// The columns of all spans.
#[derive(Debug, Default)]
pub(super) struct Columns {
    spans: Vec<SpanColumns>,
    /// Known token shares of a span, by its position: most spans have none.
    shares: HashMap<usize, TokenShares>,
    /// The tokens of calls that say more of them than the columns and the shares hold.
    usages: HashMap<usize, Usage>,
    names: IndexSet<Box<str>>,
    prices: PriceColumn,
}

impl Columns {
    /// Adds the columns of the next span, whose line this is.
    pub(super) fn push(
        &mut self,
        span: &ParsedSpan<'_, IndexedAttributes<'_>>,
        event_type: EventType,
        line: &[u8],
    ) {
        let position = self.spans.len();
        let tokens = match event_type {
            EventType::LlmCall => Some(call_usage(span, &span.facts())),
            _ => service_usage(event_type, &span.facts()),
        };
        if let Some(tokens) = &tokens {
            self.set_details(position, tokens);
            if !is_refused(span, tokens) {
                self.prices.set_of_span(position, span);
            }
        }
        let name = self.number_of(&display_name(&span.name, &span.facts(), event_type));
        self.spans.push(SpanColumns {
            duration: duration(span).unwrap_or(NO_DURATION),
            name,
            signature: signature(span, event_type),
            tokens_in: column(tokens.and_then(|tokens| tokens.prompt_tokens)),
            tokens_out: column(tokens.and_then(|tokens| tokens.completion_tokens)),
            tokens_total: column(tokens.and_then(|tokens| tokens.total_tokens)),
            marks: marks(span, line),
        });
    }

    pub(super) fn get(&self, position: usize) -> Option<&SpanColumns> {
        self.spans.get(position)
    }

    /// Sets the tokens of a span.
    pub(super) fn set_tokens(&mut self, position: usize, usage: &Usage) {
        if let Some(span) = self.spans.get_mut(position) {
            span.tokens_in = column(usage.prompt_tokens);
            span.tokens_out = column(usage.completion_tokens);
            span.tokens_total = column(usage.total_tokens);
        }
        self.set_details(position, usage);
    }

    /// Sets how long a span took, in microseconds.
    pub(super) fn set_duration(&mut self, position: usize, took: u64) {
        if let Some(span) = self.spans.get_mut(position) {
            span.duration = took;
        }
    }

    fn set_details(&mut self, position: usize, usage: &Usage) {
        let shares = TokenShares::of(usage);
        match shares {
            Some(shares) => self.shares.insert(position, shares),
            None => self.shares.remove(&position),
        };
        let totals @ [prompt, completion, total] =
            [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
        let held = usage_of(totals, shares.unwrap_or_default());
        let most = prompt.max(completion).max(total);
        if held != *usage || most >= Some(u64::from(UNKNOWN - 1)) {
            self.usages.insert(position, *usage);
        } else {
            self.usages.remove(&position);
        }
    }

    /// The tokens of a span.
    pub(super) fn usage(&self, position: usize) -> Usage {
        if let Some(usage) = self.usages.get(&position) {
            return *usage;
        }
        let Some(span) = self.spans.get(position) else {
            return Usage::default();
        };
        let shares = self.shares(position).unwrap_or_default();
        let totals = [span.tokens_in(), span.tokens_out(), span.tokens_total()];
        usage_of(totals.map(|tokens| tokens.map(u64::from)), shares)
    }

    /// Price keys of the model calls: all that decides the price of each, apart from its tokens.
    pub(super) fn prices(&self) -> &PriceColumn {
        &self.prices
    }

    pub(super) fn prices_mut(&mut self) -> &mut PriceColumn {
        &mut self.prices
    }

    /// Known token shares of a span.
    pub(super) fn shares(&self, position: usize) -> Option<TokenShares> {
        self.shares.get(&position).copied()
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get_index(number as usize).map_or("", AsRef::as_ref)
    }

    /// The number of a name.
    fn number_of(&mut self, name: &str) -> u32 {
        let known = self.names.get_index_of(name);
        let number = known.unwrap_or_else(|| self.names.insert_full(name.into()).0);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }
}

fn marks(span: &ParsedSpan<'_, IndexedAttributes<'_>>, line: &[u8]) -> u8 {
    let mut marks = if span.end_time.is_none() { OPEN } else { 0 };
    for (finder, mark) in MARKERS.iter() {
        if finder.find(line).is_some() {
            marks |= mark;
        }
    }
    if is_placed_by_guess(&span.attributes) {
        marks |= PLACED_BY_GUESS;
    }
    for key in span.attributes.keys() {
        if names::SESSION.contains(&key) {
            marks |= NAMES_SESSION;
        } else if tag_key(key).is_some() || names::META.is(key) {
            marks |= HAS_TAGS;
        }
    }
    marks
}

/// True of a span whose place nothing said: its emitter took the run or the parent that fits.
fn is_placed_by_guess(attributes: &impl Lookup) -> bool {
    let says =
        |name, word| text(name, attributes).is_some_and(|said| said.split(',').any(|said| said == word));
    says(names::CONTEXT, "inferred") || says(names::INFERRED, "parent")
}

/// True of a model call that was refused and reports no tokens: it has no price.
fn is_refused<A: Lookup>(span: &ParsedSpan<'_, A>, usage: &Usage) -> bool {
    *usage == Usage::default() && is_refusal(error_class(span, &span.facts()).as_deref(), usage)
}

/// Tokens as a column has them.
fn column(tokens: Option<u64>) -> u32 {
    tokens.map_or(UNKNOWN, |tokens| {
        u32::try_from(tokens).unwrap_or(UNKNOWN).min(UNKNOWN - 1)
    })
}

fn duration(span: &ParsedSpan<'_, IndexedAttributes<'_>>) -> Option<u64> {
    let (_, end) = span.end_time.as_ref()?;
    let exact = u64::try_from(end.microseconds_since(span.start_time.1)).ok();
    exact.or_else(|| span.duration_ms?.checked_mul(1_000))
}

/// The usage that the columns hold: of prompt, answer and both, and what is said of shares.
fn usage_of([prompt, completion, total]: [Option<u64>; 3], shares: TokenShares) -> Usage {
    let mut usage = Usage::default();
    (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) = (prompt, completion, total);
    (usage.cache_read_tokens, usage.cache_write_tokens) = (shares.cache_read, shares.cache_write);
    usage.reasoning_tokens = shares.reasoning;
    usage
}
