//! The branches of a run: what agents and tasks at the same time did, each by itself (decisions, section 7).
//!
//! A branch begins with a span of an agent, and with a span that starts while a sibling is open. Calls belong to the
//! nearest such span around them; steps that come one after the other stay in the branch of what is around them. Of calls on the
//! wire each conversation is a branch, too.

use std::collections::{HashMap, HashSet};

use super::value;
use crate::{Payload, Record, Timestamp};

/// Attributes that mark the span of an agent, each with its value.
const AGENT_MARKS: [(&str, &str); 3] = [
    ("gen_ai.operation.name", "invoke_agent"),
    ("openinference.span.kind", "AGENT"),
    ("traceloop.span.kind", "agent"),
];

/// The number of the branch of each call, by the span with which its branch began and its conversation on the wire. Where several
/// conversations are in one such span, each is a branch of its own.
pub(super) fn number_branches(places: Vec<(Option<u64>, Option<u64>)>) -> Vec<usize> {
    let mut conversations: HashMap<Option<u64>, HashSet<u64>> = HashMap::new();
    for (span, conversation) in &places {
        conversations.entry(*span).or_default().extend(conversation);
    }
    let mut numbers = HashMap::new();
    places
        .into_iter()
        .map(|(span, conversation)| {
            let has_several = conversations.get(&span).is_some_and(|known| known.len() > 1);
            let next = numbers.len();
            *numbers
                .entry((span, conversation.filter(|_| has_several)))
                .or_insert(next)
        })
        .collect()
}

/// Returns whether a span is an agent's, by its attributes, which `text` looks up.
pub fn is_agent<'a>(text: impl Fn(&str) -> Option<&'a str>) -> bool {
    AGENT_MARKS
        .iter()
        .any(|(key, word)| text(key).is_some_and(|text| text.eq_ignore_ascii_case(word)))
}

/// The spans of a run, reduced to the fields that its branches need.
#[derive(Debug, Default)]
pub(super) struct SpanTree {
    spans: Vec<BranchSpan>,
}

#[derive(Debug)]
struct BranchSpan {
    id: u64,
    parent: Option<u64>,
    start: Option<Timestamp>,
    /// `None` while it is open.
    end: Option<Timestamp>,
    /// `None` for a model call, which is no place where others work at the same time.
    holds: Option<Holder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Agent,
    Other,
}

/// The number of a record's ID.
pub(super) fn number(event_id: &str) -> u64 {
    value::of_text(event_id.as_bytes())
}

impl SpanTree {
    /// Adds the span of a record.
    pub(super) fn add(&mut self, record: &Record) {
        let holds = match &record.payload {
            Payload::Unknown { attributes, .. } => {
                let is_agent = is_agent(|key| attributes.get(key)?.as_str());
                Some(if is_agent { Holder::Agent } else { Holder::Other })
            }
            Payload::ToolCall { .. } => Some(Holder::Other),
            Payload::LlmCall { .. } => None,
            _ => return,
        };
        self.spans.push(BranchSpan {
            id: number(&record.event_id),
            parent: record.parent_id.as_deref().map(number),
            start: record.ts.parse().ok(),
            end: record.end,
            holds,
        });
    }

    /// For each span with this parent the span with which its branch began; the root's own branch has none.
    pub(crate) fn branches(&self) -> Branches {
        let mut by_parent: HashMap<Option<u64>, Vec<&BranchSpan>> = HashMap::new();
        for span in self.spans.iter().filter(|span| span.holds.is_some()) {
            by_parent.entry(span.parent).or_default().push(span);
        }
        let mut began: HashMap<u64, bool> = self.spans.iter().map(|span| (span.id, false)).collect();
        for siblings in by_parent.values_mut() {
            siblings.sort_by_key(|span| span.start);
            let mut open_until: Option<Option<Timestamp>> = None;
            for span in siblings {
                let is_beside = match open_until {
                    None => false,
                    Some(None) => true,
                    Some(until) => until > span.start,
                };
                began.insert(span.id, is_beside || span.holds == Some(Holder::Agent));
                open_until = Some(match (open_until, span.end) {
                    (None, end) => end,
                    (Some(until), end) => until.zip(end).map(|(until, end)| until.max(end)),
                });
            }
        }
        let parents = self.spans.iter().map(|span| (span.id, span.parent)).collect();
        Branches {
            parents,
            began,
            found: HashMap::new(),
        }
    }
}

/// The branch of each span.
#[derive(Debug)]
pub(super) struct Branches {
    parents: HashMap<u64, Option<u64>>,
    /// `true` for a span that starts a branch, by span ID.
    began: HashMap<u64, bool>,
    /// Cache of the branches found so far, by span ID.
    found: HashMap<u64, Option<u64>>,
}

impl Branches {
    /// The span with which the branch began that a child of `parent` belongs to; `None` for the root's own.
    pub(super) fn of_child(&mut self, parent: Option<u64>) -> Option<u64> {
        let mut path = Vec::new();
        let mut next = parent;
        let branch = loop {
            let Some(id) = next else { break None };
            if let Some(known) = self.found.get(&id) {
                break *known;
            }
            // Parents of a damaged run may form a circle.
            self.found.insert(id, None);
            path.push(id);
            if self.began.get(&id) == Some(&true) {
                break Some(id);
            }
            next = self.parents.get(&id).copied().flatten();
        };
        for id in path {
            self.found.insert(id, branch);
        }
        branch
    }
}
