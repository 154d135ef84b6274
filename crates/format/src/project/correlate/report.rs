//! [`CallReport`]: the facts about a call from one span, without content.

use std::ops::Deref;

use super::super::classify::{
    TOOL_METHODS, has_answer, has_arguments, has_prompt, has_result, is_fetch, is_of_the_format, passes,
    source_text, tool_name,
};
use super::super::model_name::normal_model_name;
use super::super::outcome::{has_reply, outcome};
use super::super::remarks::agent_in_name;
use super::super::tokens::call_usage;
use super::super::values::Lookup;
use super::super::view::SpanView;
use crate::loops::{is_agent, mix, of_text};
use crate::names;
use crate::project::correlate::LinePlace;
use crate::vocabulary::{
    AGENT_NAME, BARE_KEYS, CALL_ID, INNER_STEPS, MODEL, NO_CALL_ID, RESPONSE_ID, RESPONSE_MODEL, SOURCE,
    STRUCTURE, Test,
};
use crate::{EventType, Outcome, SpanId, Timestamp, Usage};

/// The [`names::SOURCE`] of what the proxy saw.
pub(crate) const PROXY: &str = "proxy";

/// A report of a call: what has to be known of it to find the others.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct CallReport {
    /// The line of its span.
    pub place: LinePlace,
    /// The ID of its span.
    pub span_id: SpanId,
    /// The kind of call.
    pub event_type: EventType,
    /// Its tokens.
    pub usage: Usage,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Outcome of its span, were it no call.
    pub span_outcome: Outcome,
    /// Hash of the name of the agent that it is; 0 where it has none.
    pub(super) agent: Option<u64>,
    pub(super) parent: Option<SpanId>,
    /// When it was made, in microseconds after 1970.
    pub(super) start: i64,
    pub(super) end: i64,
    /// Hash of the tool's name or of the model's, in its normal form; 0 where it is not known.
    pub(super) name: u64,
    /// Hash of the name of the model that answered; that of the requested one where it is not known. Some instrumentations
    /// know the one, some the other.
    pub(super) answered_by: u64,
    /// Hash of the ID of the response or the call; 0 where it is not known.
    pub(super) id: u64,
    /// Hash of the ID that the provider gave the request, where it is known in addition to the response's; else 0.
    pub(super) request_id: u64,
    /// The failed request that it tries again.
    pub(super) retry_of: Option<SpanId>,
    /// Number of its conversation on the wire; 0 where it has none.
    pub(super) conversation: u64,
    /// Hash of what names the instrumentation that recorded it.
    pub(super) source: u64,
    pub(super) is_own: bool,
    pub(super) is_of_proxy: bool,
    /// `true` when the proxy saw it, and its place was not inferred.
    pub(super) is_on_the_wire: bool,
    pub(super) is_mcp: bool,
    /// `true` when it was derived from messages: its execution was not observed.
    pub(super) is_derived: bool,
    /// `true` when it only adds to the report that its parent is.
    pub(super) is_addition: bool,
    /// `true` when it replaces a span that had not ended when its run did.
    pub(super) is_stand_in: bool,
    /// `true` when a library wrote it for a step of its own.
    pub(super) is_inner_step: bool,
    /// `true` when a library says nothing of it but its kind and its name.
    pub(super) is_bare: bool,
    /// `true` when it fetched an answer again, which another call created.
    pub(super) is_fetch: bool,
    /// Rank of the amount of information; the higher, the more.
    pub(super) richness: u8,
}

/// A report by its number among those of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedReport<'a> {
    pub(super) at: usize,
    report: &'a CallReport,
}

impl<'a> NumberedReport<'a> {
    pub(super) fn get(reports: &'a [CallReport], at: usize) -> Option<Self> {
        reports.get(at).map(|report| Self { at, report })
    }

    pub(super) fn all(reports: &'a [CallReport]) -> Vec<Self> {
        let numbered = reports.iter().enumerate();
        numbered.map(|(at, report)| Self { at, report }).collect()
    }

    pub(super) fn report(self) -> &'a CallReport {
        self.report
    }
}

impl Deref for NumberedReport<'_> {
    type Target = CallReport;

    fn deref(&self) -> &CallReport {
        self.report
    }
}

/// Returns whether a span is a call that a recorder of this format made: these alone are never correlated.
pub fn is_own_call(span: &impl SpanView) -> bool {
    let facts = span.facts();
    // The proxy writes the format's marks for what others did.
    is_of_the_format(&facts) && !facts.says(names::SOURCE.written())
}

/// Returns whether a span may be a report of what another span is: a call that no recorder of this format made, a fetched
/// answer, an agent, the row of a conversation, the stand-in of a span that outlived its run, what is no call and came after the
/// run's end, perhaps in the place of a stand-in, and what a library wrote for itself.
pub fn may_be_reported_twice(span: &impl SpanView, event_type: EventType) -> bool {
    match event_type {
        EventType::LlmCall | EventType::ToolCall => {
            let facts = span.facts();
            !is_own_call(span) || facts.has(names::UNFINISHED.written()) || is_fetch(&facts)
        }
        EventType::Unknown => {
            let facts = span.facts();
            let marks = [names::UNFINISHED, names::AFTER_END];
            marks.iter().any(|mark| facts.has(mark.written()))
                || is_agent(|key| facts.text_at(key))
                || conversation_of(&facts) > 0
                || is_inner_step(span, &facts)
                || is_bare(span, &facts)
        }
        _ => false,
    }
}

impl CallReport {
    /// The facts of a call, an agent, a row, or a step that may have a stand-in; `None` for any other span.
    pub fn of(span: &impl SpanView, event_type: EventType, place: LinePlace) -> Option<Self> {
        let facts = span.facts();
        let hash = |text: Option<&str>| text.map_or(0, hash_of);
        let usage = match event_type {
            EventType::LlmCall => call_usage(span, &facts),
            _ => Usage::default(),
        };
        let is_of_proxy = is_of_proxy(&facts);
        let mut request_id = 0;
        let (name, answered_by, id, richness) = match event_type {
            EventType::LlmCall => {
                let answered_by = source_text(RESPONSE_MODEL, &facts);
                let model = source_text(MODEL, &facts).or_else(|| answered_by.clone());
                let model = model.as_deref();
                let answered_by = answered_by.as_deref().or(model);
                let id = source_text(RESPONSE_ID, &facts);
                request_id = hash(facts.text_at(names::REQUEST_ID.written()));
                let mut richness =
                    8 * u8::from(has_prompt(span, &facts)) + 8 * u8::from(has_answer(span, &facts));
                richness += 4 * u8::from(usage != Usage::default());
                richness += 2 * u8::from(id.is_some());
                richness += 32 * u8::from(has_reply(span, &facts));
                // The wire is the best source for the time of a call, its model and its response.
                richness += 64 * u8::from(is_of_proxy);
                // The caller knows only the model that it asked.
                let asked = facts.text_at(names::CLIENT_MODEL.written()).or(model);
                let of_model = |model: Option<&str>| hash(model.map(normal_model_name).as_deref());
                (
                    of_model(asked),
                    of_model(answered_by),
                    hash(id.as_deref()),
                    richness,
                )
            }
            EventType::ToolCall => {
                let stored = tool_name(span.name(), &facts);
                let name = stored.strip_prefix("execute_tool ").unwrap_or(&stored);
                let id = source_text(CALL_ID, &facts);
                let id = id.filter(|id| NO_CALL_ID.iter().all(|(_, none)| id != none));
                // The Gemini CLI puts the tool before the ID that the model gave.
                let id = id.as_deref().map(|id| {
                    let given = id.strip_prefix(name).and_then(|rest| rest.strip_prefix("__"));
                    given.unwrap_or(id)
                });
                let mut richness =
                    8 * u8::from(has_arguments(span, &facts)) + 8 * u8::from(has_result(span, &facts));
                // A derived report gives way to a recorded one.
                richness += 32 * u8::from(!facts.has(names::DERIVED.written()));
                (hash(Some(&normal_tool_name(name))), 0, hash(id), richness)
            }
            EventType::Unknown => (hash(Some(span.name())), 0, 0, 0),
            _ => return None,
        };
        let agent = (event_type == EventType::Unknown && is_agent(|key| facts.text_at(key)))
            .then(|| hash(source_text(AGENT_NAME, &facts).as_deref()));
        let is_own = is_own_call(span);
        let is_derived = event_type == EventType::ToolCall && facts.has(names::DERIVED.written());
        let (span_id, parent) = span.ids();
        let (start, end) = span.times();
        let source = SOURCE.iter().fold(u64::from(is_own), |source, field| {
            let text = facts
                .text_at(field.key)
                .map_or(0, |text| of_text(text.as_bytes()));
            mix(
                mix(source, text),
                facts.truth_at(field.key).map_or(0, |truth| 1 + u64::from(truth)),
            )
        });
        let start = start.unix_microseconds();
        Some(Self {
            place,
            span_id,
            event_type,
            usage,
            outcome: outcome(span, &facts, event_type),
            span_outcome: outcome(span, &facts, EventType::Unknown),
            agent,
            parent,
            start,
            end: end.map_or(start, Timestamp::unix_microseconds).max(start),
            name,
            answered_by,
            id,
            request_id,
            retry_of: facts
                .text_at(names::RETRY_OF.written())
                .and_then(|id| id.parse().ok()),
            conversation: conversation_of(&facts),
            source,
            is_own,
            is_of_proxy,
            is_on_the_wire: is_of_proxy && !facts.says(names::INFERRED.written()),
            is_mcp: facts.says("mcp.method.name"),
            is_derived: is_derived && is_of_proxy,
            is_addition: is_derived && !is_of_proxy,
            is_stand_in: facts.has(names::UNFINISHED.written()),
            is_inner_step: is_inner_step(span, &facts),
            is_bare: is_bare(span, &facts),
            is_fetch: event_type == EventType::LlmCall && is_fetch(&facts),
            richness: richness + u8::from(is_own),
        })
    }
}

impl CallReport {
    /// Observed end of the call: one that was derived from the last answer of a conversation has no request behind it
    /// that would say, and its agent may have run the tool at any time.
    pub(super) fn seen_end(&self) -> i64 {
        if self.is_derived && self.start == self.end {
            i64::MAX
        } else {
            self.end
        }
    }

    /// Returns whether it is a call or an agent of a recorder of this format, which is one of several reports only beside others:
    /// a run with no other reports is not correlated.
    pub fn is_own_report(&self) -> bool {
        let is_call = self.event_type != EventType::Unknown;
        self.is_own && (is_call || self.agent.is_some()) && !self.is_stand_in && !self.is_fetch
    }

    /// Returns whether it is no call, but holds those of a conversation.
    pub(super) fn is_row(&self) -> bool {
        self.event_type == EventType::Unknown && self.conversation > 0
    }

    /// Returns whether it has more than the existence of the call and its model: a prompt, an answer, an ID, tokens.
    pub(super) fn tells(&self) -> bool {
        // The bits of prompt and answer.
        let has_content = self.richness & (8 | 16) != 0;
        let has_tokens = self.usage.parts().into_iter().flatten().any(|tokens| tokens > 0);
        has_content || self.id != 0 || has_tokens
    }
}

/// Returns whether a library wrote a span for a step of its own, which no program that uses it knows.
fn is_inner_step(span: &impl SpanView, facts: &impl Lookup) -> bool {
    let is_one = |(_, tests): &(_, &[Test])| tests.iter().all(|test| passes(test, span.name(), facts));
    INNER_STEPS.iter().any(is_one)
}

/// Returns whether a library says nothing of a span but its kind and its name.
fn is_bare(span: &impl SpanView, facts: &impl Lookup) -> bool {
    passes(&STRUCTURE, span.name(), facts)
        && span.events().next().is_none()
        && facts.all_keys(&|key| BARE_KEYS.iter().any(|bare| bare.fits(key)))
}

fn is_of_proxy(facts: &impl Lookup) -> bool {
    facts.text_at(names::SOURCE.written()) == Some(PROXY)
}

/// The number of a conversation, which the proxy gives; 0 of any other span.
fn conversation_of(facts: &impl Lookup) -> u64 {
    let number = is_of_proxy(facts).then(|| facts.whole_number_at(names::THREAD.written()));
    number.flatten().unwrap_or(0)
}

/// The letters and digits of a tool's name, without the method that runs it and what it belongs to. A hand-over is named
/// by its agent: the tool that a model asked for is `transfer_to_weather`, and the span of its library `handoff to weather`.
fn normal_tool_name(name: &str) -> String {
    let last = name
        .rsplit(['.', '/', ':'])
        .find(|part| !part.is_empty() && !TOOL_METHODS.contains(part))
        .unwrap_or(name);
    let kept = |text: &str| -> String { text.chars().filter(|char| char.is_alphanumeric()).collect() };
    match (kept(last), agent_in_name(last)) {
        (_, Some(agent)) => format!("to {}", kept(agent)),
        (none, None) if none.is_empty() => name.to_owned(),
        (kept, None) => kept,
    }
}

/// A hash that is never 0; letters count without their case.
fn hash_of(text: &str) -> u64 {
    of_text(text.to_ascii_lowercase().as_bytes()).max(1)
}
