//! The outcome of a span: by its own status, OpenTelemetry's, a mark of its vocabulary, and of a call where none of them says
//! anything, by what was seen of its end (decisions, section 1).

use std::borrow::Cow;

use super::classify::{has_answer, has_result, is_own, passes, source_text, tool_name};
use super::remarks::is_closing_tool;
use super::tokens::usage;
use super::values::{Lookup, text};
use super::view::{SpanFacts, SpanView};
use crate::names::{self, events};
use crate::vocabulary::{
    ERROR_TYPE, EXIT_CODE, FAILURES, FINISH_REASON, FOREIGN, RESPONSE_ID, RESPONSE_MODEL, SUCCESSES,
    SourceForm, Test, UNFINISHED, Vocabulary, WAITS,
};
use crate::{EventType, Outcome, RecordedStatus, StatusCode, Usage, error_type};

/// Outcome of a span, and a flag for a span that only waits for a person, which is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanOutcome {
    pub(crate) outcome: Outcome,
    pub(crate) is_waiting: bool,
}

/// The outcome of a span that is read as this type.
pub fn outcome<S: SpanView>(
    span: &S,
    facts: &SpanFacts<'_, S::Attributes>,
    event_type: EventType,
) -> Outcome {
    span_outcome(span, facts, event_type).outcome
}

/// The same, with what it waits for.
pub(super) fn span_outcome<S: SpanView>(
    span: &S,
    facts: &SpanFacts<'_, S::Attributes>,
    event_type: EventType,
) -> SpanOutcome {
    let known = |outcome| SpanOutcome {
        outcome,
        is_waiting: false,
    };
    let is_own = is_own(facts.groups(), facts);
    let fits = |table| !is_own && has_mark(table, span.name(), facts);
    let status = text(names::STATUS, facts);
    let waiting = SpanOutcome {
        outcome: Outcome::Unknown,
        is_waiting: true,
    };
    if span.status_code() == StatusCode::Error
        || event_type == EventType::Error
        || status == Some(RecordedStatus::Error.as_str())
        || fits(FAILURES)
        || (event_type == EventType::ToolCall && has_failed_exit(facts))
    {
        let class = error_class(span, facts);
        let class = class.as_deref().unwrap_or_default();
        return if error_type::is_wait(class) {
            waiting
        } else if error_type::is_hand_over(class) {
            known(Outcome::Ok)
        } else {
            known(Outcome::from_error_type(class))
        };
    }
    // A status that was set is never overruled by what is absent.
    if status.is_some() || span.status_code() == StatusCode::Ok || fits(SUCCESSES) {
        return known(Outcome::Ok);
    }
    let is_seen = match event_type {
        EventType::LlmCall => has_reply(span, facts),
        // Content is often not captured, so an ended span without an error is ok. A tool that only messages show may not
        // have run.
        EventType::ToolCall => {
            has_result(span, facts)
                || if facts.has(names::DERIVED.written()) {
                    is_closing_tool(&tool_name(span.name(), facts))
                } else {
                    span.times().1.is_some()
                }
        }
        _ => true,
    };
    match is_seen {
        _ if fits(WAITS) => waiting,
        _ if fits(UNFINISHED) || facts.has(names::UNFINISHED.written()) => known(Outcome::Unknown),
        true => known(Outcome::Ok),
        false => known(Outcome::Unknown),
    }
}

/// Returns whether the program of a tool exited with another code than 0. An outline has no negative numbers, which are
/// none.
pub(super) fn has_failed_exit(attributes: &impl Lookup) -> bool {
    let text = attributes.text_at(EXIT_CODE);
    attributes.says(EXIT_CODE)
        && attributes.truth_at(EXIT_CODE).is_none()
        && text.is_none_or(|text| text.trim().parse::<i64>().is_ok())
        && attributes.whole_number_at(EXIT_CODE) != Some(0)
}

fn has_mark(table: &[(Vocabulary, &[Test])], name: &str, attributes: &impl Lookup) -> bool {
    let is_tried = |vocabulary| attributes.groups() & FOREIGN != 0 || vocabulary == Vocabulary::OtelGenAi;
    table.iter().any(|(vocabulary, tests)| {
        is_tried(*vocabulary) && tests.iter().all(|test| passes(test, name, attributes))
    })
}

/// The class of the error that a span names, as its record has it.
pub fn error_class<'a, S: SpanView>(
    span: &'a S,
    facts: &'a SpanFacts<'_, S::Attributes>,
) -> Option<Cow<'a, str>> {
    let in_exception = || {
        let exception = span.events().rfind(|(name, _)| events::EXCEPTION.is(name));
        exception.and_then(|(_, attributes)| text(names::ERROR_TYPE, attributes))
    };
    text(names::ERROR_TYPE, facts)
        .map(Cow::Borrowed)
        .or_else(|| source_text(ERROR_TYPE, facts))
        .or_else(|| in_exception().map(Cow::Borrowed))
}

/// Returns whether anything of a model call's reply was seen: an answer, its ID, its finish reason, its tokens.
pub(super) fn has_reply<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    has_answer(span, facts)
        || [RESPONSE_ID, RESPONSE_MODEL, FINISH_REASON]
            .into_iter()
            .flatten()
            .any(|source| !matches!(source.form, SourceForm::Within(_)) && facts.says(source.key))
        || facts.says("gen_ai.response.time_to_first_chunk")
        || usage(facts) != Usage::default()
}
