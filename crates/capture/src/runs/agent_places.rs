//! Places of calls on the wire in the agents that were open when they began.

use std::collections::HashMap;

use tracer_runs::import::{ImportError, RunWriter};
use tracer_sdk::format::{SpanId, SpanRecord, Timestamp, names};
use tracer_sdk::loops::is_agent;

use super::attributes::text;

/// Among more agents, or conversations, nothing is placed: each call is compared with each of them.
const MAX_COMPARED: usize = 1_000;
/// Spans above an agent among which the agents around it are looked for.
const MAX_DEPTH: usize = 64;

/// A span of an agent, or a call on the wire whose place nothing said.
#[derive(Debug)]
struct TimedSpan {
    id: SpanId,
    start: Timestamp,
    end: Timestamp,
    /// Of a call on the wire, the number of its conversation.
    conversation: u64,
}

impl TimedSpan {
    fn of(span: &SpanRecord, conversation: u64) -> Option<Self> {
        Some(Self {
            id: span.span_id,
            start: span.start_time.instant(),
            end: span.end_time.as_ref()?.instant(),
            conversation,
        })
    }
}

/// Puts each call on the wire that is right below `root` into the innermost agent that was open when it began, marked as
/// inferred: where the open agents lie in each other, and no other conversation overlaps with the call.
pub(super) fn place(run: &mut RunWriter, root: SpanId) -> Result<(), ImportError> {
    let (mut agents, mut calls) = (Vec::new(), Vec::new());
    run.for_each_span(|span| {
        let conversation = span.attributes.get(names::THREAD.written());
        if let Some(conversation) = conversation.and_then(serde_json::Value::as_u64) {
            let is_placed = span.attributes.contains_key(names::INFERRED.written());
            if span.parent_span_id == Some(root) && !is_placed {
                calls.extend(TimedSpan::of(&span, conversation));
            }
        } else if span.span_id != root && is_agent(|key| text(&span.attributes, key)) {
            agents.extend(TimedSpan::of(&span, 0));
        }
    })?;
    if agents.is_empty() || calls.is_empty() || agents.len() > MAX_COMPARED {
        return Ok(());
    }
    let mut parents = HashMap::new();
    run.for_each_span(|span| {
        parents.extend(span.parent_span_id.map(|parent| (span.span_id, parent)));
    })?;
    let mut conversations: HashMap<u64, (Timestamp, Timestamp)> = HashMap::new();
    for call in &calls {
        let (start, end) = conversations
            .entry(call.conversation)
            .or_insert((call.start, call.end));
        (*start, *end) = (call.start.min(*start), call.end.max(*end));
    }
    if conversations.len() > MAX_COMPARED {
        return Ok(());
    }
    let is_alone = |call: &TimedSpan| {
        conversations.iter().all(|(number, (start, end))| {
            *number == call.conversation || *end < call.start || call.end < *start
        })
    };
    let is_within = |inner: SpanId, outer: SpanId| {
        let above = std::iter::successors(Some(inner), |span| parents.get(span).copied());
        above.take(MAX_DEPTH).any(|span| span == outer)
    };
    let innermost = |call: &TimedSpan| {
        let is_open = |agent: &&TimedSpan| agent.start <= call.start && call.start <= agent.end;
        let open = agents.iter().filter(is_open);
        let lies_in_all = |inner: &&TimedSpan| open.clone().all(|outer| is_within(inner.id, outer.id));
        open.clone().find(lies_in_all)
    };
    let places: HashMap<SpanId, SpanId> = calls
        .iter()
        .filter(|call| is_alone(call))
        .filter_map(|call| Some((call.id, innermost(call)?.id)))
        .collect();
    if places.is_empty() {
        return Ok(());
    }
    run.rewrite(|span| {
        if let Some(agent) = places.get(&span.span_id) {
            span.parent_span_id = Some(*agent);
            let mark = names::INFERRED.written().to_owned();
            span.attributes.insert(mark, "parent".into());
        }
        true
    })
}
