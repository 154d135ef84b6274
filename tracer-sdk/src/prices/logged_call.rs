//! [`LoggedCall`]: what decides the cost of a model call, as readers understand its line of the log.

use super::{CallCost, CallPriceKey, Prices, cost_at};
use tracer_format::parse::{KeyAttributes, ParsedSpan, read_span};
use tracer_format::project::{SpanView, call_usage, outcome};
use tracer_format::{EventType, Usage};

/// A model call by what decides its cost. Of a call that several spans record, each may know a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedCall {
    key: CallPriceKey,
    usage: Usage,
    has_failed: bool,
}

impl LoggedCall {
    /// The call that a line of the log holds, from any emitter.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let reading = read_span::<KeyAttributes<'_>>(line.trim_ascii_end(), 0, &mut Vec::new()).ok()?;
        let span: ParsedSpan<'_, KeyAttributes<'_>> = reading.span?;
        let facts = span.facts();
        Some(Self {
            key: CallPriceKey::of_span(&span),
            usage: call_usage(&span, &facts),
            has_failed: outcome(&span, &facts, EventType::LlmCall).is_failure(),
        })
    }

    /// The call, completed with what another span of it knows.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            key: self.key.or(other.key),
            usage: if has_tokens(&self.usage) {
                self.usage
            } else {
                other.usage
            },
            has_failed: self.has_failed,
        }
    }

    /// Cost of the call.
    pub(crate) fn cost(&self, prices: &Prices) -> CallCost {
        cost_at(self.key.price(prices), &self.usage, self.key.is_replayed())
    }

    /// Returns whether it failed and nothing says that it used tokens: then no price is expected.
    pub(crate) fn brought_nothing(&self) -> bool {
        self.has_failed && !has_tokens(&self.usage)
    }
}

fn has_tokens(usage: &Usage) -> bool {
    usage.prompt_tokens.is_some() && usage.completion_tokens.is_some()
}
