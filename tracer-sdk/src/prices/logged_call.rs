//! [`LoggedCall`]: what decides the cost of a model call, as readers understand its line of the log.

use std::borrow::Cow;

use super::{CallCost, CallPriceKey, Prices, cost_at};
use tracer_format::parse::{KeyAttributes, ParsedSpan, read_span};
use tracer_format::project::{
    SpanView, UNKNOWN_PROVIDER, call_usage, is_replayed, model, outcome, provider, response_model,
};
use tracer_format::{EventType, Timestamp, Usage};

/// A model call by what decides its cost. Of a call that several spans record, each may know a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedCall {
    provider: String,
    model: String,
    response_model: Option<String>,
    usage: Usage,
    at: Timestamp,
    is_replayed: bool,
    has_failed: bool,
}

impl LoggedCall {
    /// The call that a line of the log holds, from any emitter.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let reading = read_span::<KeyAttributes<'_>>(line.trim_ascii_end(), 0, &mut Vec::new()).ok()?;
        let span: ParsedSpan<'_, KeyAttributes<'_>> = reading.span?;
        let facts = span.facts();
        Some(Self {
            provider: provider(span.name(), &facts).into_owned(),
            model: model(span.name(), &facts).into_owned(),
            response_model: response_model(&facts).map(Cow::into_owned),
            usage: call_usage(&span, &facts),
            at: span.times().0,
            is_replayed: is_replayed(span.attributes()),
            has_failed: outcome(&span, &facts, EventType::LlmCall).is_failure(),
        })
    }

    /// The call, completed with what another span of it knows.
    pub(crate) fn or(self, other: Self) -> Self {
        let is_named = !self.provider.is_empty() && self.provider != UNKNOWN_PROVIDER;
        Self {
            provider: if is_named { self.provider } else { other.provider },
            model: if self.model.is_empty() {
                other.model
            } else {
                self.model
            },
            response_model: self.response_model.or(other.response_model),
            usage: if has_tokens(&self.usage) {
                self.usage
            } else {
                other.usage
            },
            at: self.at,
            is_replayed: self.is_replayed || other.is_replayed,
            has_failed: self.has_failed,
        }
    }

    /// Cost of the call.
    pub(crate) fn cost(&self, prices: &Prices) -> CallCost {
        let key = CallPriceKey::new(
            &self.provider,
            &self.model,
            self.response_model.as_deref(),
            Some(self.at),
            self.is_replayed,
        );
        cost_at(key.price(prices), &self.usage, self.is_replayed)
    }

    /// Returns whether it failed and nothing says that it used tokens: then no price is expected.
    pub(crate) fn brought_nothing(&self) -> bool {
        self.has_failed && !has_tokens(&self.usage)
    }
}

fn has_tokens(usage: &Usage) -> bool {
    usage.prompt_tokens.is_some() && usage.completion_tokens.is_some()
}
