//! Sums over a run while its log goes by: [`Tally`], what its roots promote, and warnings about times that disagree.

#[cfg(feature = "prices")]
use crate::prices::{CallGroups, CallPriceKey, is_refusal};
use crate::read::check::{self, RootSpan};
use crate::read::log::Problems;
use tracer_format::parse::{KeyAttributes, ParsedSpan};
use tracer_format::project::{
    CallReport, Lookup, PackedReports, SpanView, is_call, is_own_call, outcome, promoted_type, span_type,
    text,
};
use tracer_format::project::{LinePlace, RecordHeader};
#[cfg(feature = "prices")]
use tracer_format::project::{error_class, is_replayed, model, provider, response_model};
use tracer_format::{EventType, Outcome, Timestamp, Usage, names};

/// Sums over the spans that belong to the run. A duplicate of an ID is in it until it is taken out again.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Tokens of all model calls.
    pub(super) tokens: TokenSums,
    /// The first root in the file.
    pub(super) root: Option<RootSpan>,
    /// The records that roots give besides their own.
    pub(super) promoted: Vec<Promoted>,
    /// The lines of the spans whose place is a guess of who recorded them.
    pub(super) guessed: Vec<u64>,
    /// Spans whose times disagree.
    pub(super) warnings: Problems,
    /// The calls that other emitters recorded, which may be recorded more than once.
    pub(super) calls: PackedReports,
    /// The model calls by what decides their price.
    #[cfg(feature = "prices")]
    pub(super) model_calls: CallGroups,
}

/// A record that a root gives besides its own: a promoted span event, or the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promoted {
    pub(crate) instant: Timestamp,
    pub(crate) place: LinePlace,
    /// Its number among the records of the root, whose own has 0.
    pub(crate) number: u32,
    pub(crate) event_type: EventType,
}

impl Promoted {
    pub(super) fn header(&self) -> RecordHeader {
        RecordHeader::new(self.event_type, self.instant, promoted_outcome(self.event_type))
    }
}

impl Tally {
    /// Adds a span of this run, with the tokens of a model call.
    pub(super) fn add(
        &mut self,
        span: &ParsedSpan<'_, KeyAttributes<'_>>,
        header: RecordHeader,
        usage: Option<&Usage>,
        place: LinePlace,
    ) {
        check::span_times(span, place.line, &mut self.warnings);
        if let Some(usage) = usage {
            self.tokens = self.tokens.and((*usage).into());
            #[cfg(feature = "prices")]
            if !is_refused(span, usage) {
                self.model_calls.add_call(&price_key(span), usage);
            }
        }
        if is_call(header.event_type)
            && !is_own_call(span)
            && let Some(call) = CallReport::of(span, header.event_type, place)
        {
            self.calls.push(&call);
        }
        if is_placed_by_guess(&span.attributes) {
            self.guessed.push(place.line);
        }
        if span.parent_span_id.is_none() {
            self.root.get_or_insert(RootSpan {
                start: header.instant,
                status_code: span.status_code,
            });
            self.promoted.extend(promoted_records(span, place));
        }
    }
}

/// Whether nothing said what the span belongs under: it had no context of its own, or a proxy took the place that fits.
pub(crate) fn is_placed_by_guess(attributes: &impl Lookup) -> bool {
    let says =
        |name, word| text(name, attributes).is_some_and(|said| said.split(',').any(|said| said == word));
    says(names::CONTEXT, "inferred") || says(names::INFERRED, "parent")
}

/// What decides the price of a model call.
#[cfg(feature = "prices")]
pub(crate) fn price_key(span: &impl SpanView) -> CallPriceKey {
    let facts = span.facts();
    CallPriceKey::new(
        &provider(span.name(), &facts),
        &model(span.name(), &facts),
        response_model(&facts).as_deref(),
        Some(span.times().0),
        is_replayed(span.attributes()),
    )
}

/// Whether the provider refused a model call.
#[cfg(feature = "prices")]
pub(crate) fn is_refused<A: Lookup>(span: &ParsedSpan<'_, A>, usage: &Usage) -> bool {
    *usage == Usage::default() && is_refusal(error_class(span, &span.facts()).as_deref(), usage)
}

/// How a record ended that a root gives besides its own.
pub(crate) fn promoted_outcome(event_type: EventType) -> Outcome {
    match event_type {
        EventType::Error => Outcome::Failed,
        _ => Outcome::Ok,
    }
}

/// The header of a span's own record.
pub(crate) fn span_header<A: Lookup>(span: &ParsedSpan<'_, A>) -> RecordHeader {
    let facts = span.facts();
    let event_type = span_type(span, &facts);
    RecordHeader::new(event_type, span.start_time.1, outcome(span, &facts, event_type))
}

/// The records that a root gives besides its own.
pub(crate) fn promoted_records<A>(
    span: &ParsedSpan<'_, A>,
    place: LinePlace,
) -> impl Iterator<Item = Promoted> {
    let events = span
        .events
        .iter()
        .filter_map(|event| Some((event.timestamp.1, promoted_type(&event.name)?.event_type())));
    let end = span.end_time.as_ref().map(|(_, end)| (*end, EventType::RunEnd));
    (1..)
        .zip(events.chain(end))
        .map(move |(number, (instant, event_type))| Promoted {
            instant,
            place,
            number,
            event_type,
        })
}

/// The tokens of model calls together, in the order of [`Usage`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenSums([TokenSum; Usage::PARTS]);

/// A sum, and the number of calls that report a part of it: where none does, there is no sum.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct TokenSum {
    tokens: u64,
    reporting: u64,
}

impl TokenSum {
    fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            reporting: self.reporting + other.reporting,
        }
    }

    fn without(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            reporting: self.reporting.saturating_sub(other.reporting),
        }
    }

    fn get(self) -> Option<u64> {
        (self.reporting > 0).then_some(self.tokens)
    }
}

impl From<Option<u64>> for TokenSum {
    fn from(tokens: Option<u64>) -> Self {
        Self {
            tokens: tokens.unwrap_or(0),
            reporting: u64::from(tokens.is_some()),
        }
    }
}

impl From<Usage> for TokenSums {
    fn from(usage: Usage) -> Self {
        Self(usage.parts().map(TokenSum::from))
    }
}

impl TokenSums {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        self.each(other, TokenSum::and)
    }

    /// These without some that are in them.
    pub(super) fn without(self, other: Self) -> Self {
        self.each(other, TokenSum::without)
    }

    fn each(mut self, other: Self, combine: fn(TokenSum, TokenSum) -> TokenSum) -> Self {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum = combine(*sum, other);
        }
        self
    }

    /// The sums; `None` where no call reports any.
    pub(super) fn usage(self) -> Usage {
        Usage::from_parts(self.0.map(TokenSum::get))
    }
}
