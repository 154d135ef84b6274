//! Whether a span failed: by its own status, OpenTelemetry's, a mark of its vocabulary, or for want of an answer.

use super::classify::{has_answer, is_own, passes};
use super::tokens::usage;
use super::values::{Lookup, text};
use super::view::{SpanFacts, SpanView};
use crate::format::names;
use crate::format::{EventType, RecordedStatus, StatusCode, Usage};
use crate::read::vocabulary::{
    FAILURES, FINISH_REASON, FOREIGN, RESPONSE_ID, RESPONSE_MODEL, SourceForm, Vocabulary,
};

/// The class of a failure that only the missing answer shows.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Whether a span failed: as its own status, OpenTelemetry's or a mark of its vocabulary says, or as a model call that
/// brought nothing back.
pub(crate) fn has_failed<S: SpanView>(
    span: &S,
    facts: &SpanFacts<'_, S::Attributes>,
    event_type: EventType,
) -> bool {
    span.status_code() == StatusCode::Error
        || text(names::STATUS, facts) == Some(RecordedStatus::Error.as_str())
        || (!is_own(facts.groups(), facts)
            && (has_failure(span.name(), facts) || is_incomplete(span, facts, event_type)))
}

fn has_failure(name: &str, attributes: &impl Lookup) -> bool {
    let is_tried = |vocabulary| attributes.groups() & FOREIGN != 0 || vocabulary == Vocabulary::OtelGenAi;
    FAILURES.iter().any(|(vocabulary, tests)| {
        is_tried(*vocabulary) && tests.iter().all(|test| passes(test, name, attributes))
    })
}

/// Whether a model call of another emitter ended without a trace of an answer: some libraries mark no failure. The model
/// that was asked has to be known, so that the span of a call about which nothing is recorded is not taken for one.
pub(super) fn is_incomplete<S: SpanView>(
    span: &S,
    facts: &SpanFacts<'_, S::Attributes>,
    event_type: EventType,
) -> bool {
    event_type == EventType::LlmCall
        && span.has_ended()
        && (facts.says(names::REQUEST_MODEL.written()) || facts.says("gcp.vertex.agent.llm_request"))
        && !has_answer(span, facts)
        && [RESPONSE_ID, RESPONSE_MODEL, FINISH_REASON]
            .into_iter()
            .flatten()
            .all(|source| matches!(source.form, SourceForm::Within(_)) || !facts.says(source.key))
        && !facts.says("gen_ai.response.time_to_first_chunk")
        && usage(facts) == Usage::default()
}
