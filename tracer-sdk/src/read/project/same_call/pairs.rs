//! The groups of spans that are one call each.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{Ancestor, CallFacts};
use crate::format::{EventType, Outcome, SpanId, Usage};

/// Spans between a call and the one around it; more are not looked through.
const MAX_BETWEEN: usize = 16;
/// How far the clocks of two instrumentations may differ, in microseconds.
const TOLERANCE: i64 = 50_000;
/// Instrumentations that are distinguished among spans that share an ID, or a model and tokens.
const MAX_SOURCES: usize = 4;

/// The groups of two and more.
pub(super) fn groups(
    facts: &[CallFacts],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) -> Vec<Vec<&CallFacts>> {
    if facts.len() < 2 || facts.iter().all(|call| call.is_own) {
        return Vec::new();
    }
    let mut sets = Sets::of(facts);
    join_nested(facts, ancestor, &mut sets);
    let of_type = |event_type| (0..facts.len()).filter(move |at| is_type(facts, *at, event_type));
    let by_id = |call: &CallFacts| (call.id != 0).then_some(call.id);
    join_across(facts, of_type(EventType::LlmCall), by_id, 0, &mut sets);
    // Some know the ID of the answer, some that of the request.
    let by_request = |call: &CallFacts| [call.request_id, call.id].into_iter().find(|id| *id != 0);
    join_across(facts, of_type(EventType::LlmCall), by_request, 0, &mut sets);
    join_across(facts, of_type(EventType::ToolCall), by_id, TOLERANCE, &mut sets);
    let models: [fn(&CallFacts) -> u64; 2] = [|call| call.name, |call| call.answered_by];
    for model in models {
        let by_tokens = |call: &CallFacts| {
            let tokens = call.usage.completion_tokens.filter(|tokens| *tokens > 0)?;
            (model(call) != 0).then_some((model(call), tokens))
        };
        join_across(
            facts,
            of_type(EventType::LlmCall),
            by_tokens,
            TOLERANCE,
            &mut sets,
        );
    }
    // A call that failed has no tokens, and the ID that one reports, of the request, is none that all know.
    let failed = failed_alone(facts, &mut sets);
    let by_model = |call: &CallFacts| (call.name != 0).then_some(call.name);
    join_across(facts, failed.into_iter(), by_model, TOLERANCE, &mut sets);
    join_nameless_failures(facts, &mut sets);
    join_derived(facts, &mut sets);
    join_fetches(facts, &mut sets);
    let mut groups: HashMap<usize, Vec<&CallFacts>> = HashMap::new();
    let sizes = sets.sizes();
    for (at, call) in facts.iter().enumerate() {
        let root = sets.root(at);
        // Most calls are recorded once.
        if sizes.get(root) > Some(&1) {
            groups.entry(root).or_default().push(call);
        }
    }
    groups.into_values().collect()
}

fn is_type(facts: &[CallFacts], at: usize, event_type: EventType) -> bool {
    facts.get(at).is_some_and(|call| call.event_type == event_type)
}

/// The nearest call around a call, when it is of the same type.
pub(super) fn call_around(call: &CallFacts, ancestor: impl Fn(SpanId) -> Option<Ancestor>) -> Option<SpanId> {
    let mut around = call.parent;
    for _ in 0..MAX_BETWEEN {
        let span_id = around?;
        let outer = ancestor(span_id)?;
        if let Some(event_type) = outer.call {
            return (span_id != call.span_id && event_type == call.event_type).then_some(span_id);
        }
        around = outer.parent;
    }
    None
}

/// Joins calls that nest in each other, when they agree and the outer one has but one call of its kind in it that is no failed
/// attempt.
fn join_nested(facts: &[CallFacts], ancestor: impl Fn(SpanId) -> Option<Ancestor>, sets: &mut Sets) {
    // The calls within each call.
    let mut inner: HashMap<SpanId, Vec<usize>> = HashMap::new();
    for (at, call) in facts.iter().enumerate() {
        if let Some(outer) = call_around(call, &ancestor) {
            inner.entry(outer).or_default().push(at);
        }
    }
    if inner.is_empty() {
        return;
    }
    for (outer_at, outer) in facts.iter().enumerate() {
        let held = inner.get(&outer.span_id).map(Vec::as_slice).unwrap_or_default();
        if let Some(inner_at) = last_attempt(facts, held)
            && facts.get(inner_at).is_some_and(|inner| nests_in(inner, outer))
        {
            sets.join_nested(outer_at, inner_at);
        }
    }
}

/// The only call of these; of those that the wire saw, the one behind failed attempts.
fn last_attempt(facts: &[CallFacts], held: &[usize]) -> Option<usize> {
    if let [only] = held {
        return Some(*only);
    }
    let call = |at: &usize| facts.get(*at);
    let last = held
        .iter()
        .max_by_key(|at| call(at).map(|call| (call.start, call.place)))?;
    let mut others = held.iter().filter(|at| *at != last);
    (held
        .iter()
        .all(|at| call(at).is_some_and(|call| call.is_on_the_wire))
        && others.all(|at| call(at).is_some_and(|call| call.outcome == Outcome::Failed)))
    .then_some(*last)
}

/// Whether an inner call is the outer one.
fn nests_in(inner: &CallFacts, outer: &CallFacts) -> bool {
    let agree = |one: u64, other: u64| one == 0 || other == 0 || one == other;
    let tokens = |call: &CallFacts| {
        call.usage
            .completion_tokens
            .map_or(0, |tokens| tokens.saturating_add(1))
    };
    let is_within =
        inner.start >= outer.start - TOLERANCE && inner.end <= outer.end.saturating_add(TOLERANCE);
    // The request itself says in which span it was made.
    let is_named = inner.is_on_the_wire && !outer.is_on_the_wire;
    let is_one_model =
        agree(inner.name, outer.name) || inner.answered_by != 0 && inner.answered_by == outer.answered_by;
    let is_one_id = agree(inner.id, outer.id) || inner.request_id != 0 && inner.request_id == outer.id;
    !(inner.is_own && outer.is_own)
        && is_within
        && (is_named || is_one_model && is_one_id && agree(tokens(inner), tokens(outer)))
}

/// Joins calls of different instrumentations that share a key and overlap, each with the first of another one that is left.
fn join_across<K: std::hash::Hash + Eq>(
    facts: &[CallFacts],
    calls: impl Iterator<Item = usize>,
    key: impl Fn(&CallFacts) -> Option<K>,
    tolerance: i64,
    sets: &mut Sets,
) {
    let calls: Vec<usize> = calls.collect();
    let mut sources = calls.iter().filter_map(|at| Some(facts.get(*at)?.source));
    let first = sources.next();
    // One instrumentation alone records each call once, and most runs have no other.
    if sources.all(|source| Some(source) == first) {
        return;
    }
    let mut buckets: HashMap<K, Vec<usize>> = HashMap::new();
    for at in calls {
        if let Some(key) = facts.get(at).and_then(&key) {
            buckets.entry(key).or_default().push(at);
        }
    }
    for mut bucket in buckets.into_values().filter(|bucket| bucket.len() > 1) {
        bucket.sort_by_key(|at| facts.get(*at).map(|call| (call.start, call.place)));
        let mut sources: Vec<u64> = Vec::new();
        // Calls that another instrumentation may have recorded too, by the set of those that did.
        let mut waiting: BTreeMap<u8, VecDeque<UnpairedCall>> = BTreeMap::new();
        for at in bucket {
            let Some(call) = facts.get(at) else { continue };
            let number = sources
                .iter()
                .position(|source| *source == call.source)
                .unwrap_or_else(|| {
                    sources.push(call.source);
                    sources.len() - 1
                });
            if number >= MAX_SOURCES {
                sources.truncate(MAX_SOURCES);
                continue;
            }
            let own = 1 << number;
            let others = waiting
                .iter_mut()
                .filter(|(recorded_by, _)| *recorded_by & own == 0);
            let first = others
                .filter_map(|(recorded_by, queue)| {
                    while queue.front().is_some_and(|other| {
                        other.end.saturating_add(tolerance) < call.start || !sets.may_join(other.at, at)
                    }) {
                        queue.pop_front();
                    }
                    Some((queue.front()?.start, *recorded_by))
                })
                .min();
            let other = first.and_then(|(_, recorded_by)| {
                let other = waiting.get_mut(&recorded_by)?.pop_front()?;
                sets.join(other.at, at);
                Some((recorded_by, other))
            });
            let (recorded_by, start, end) = other
                .map_or((0, call.start, seen_end(call)), |(recorded_by, other)| {
                    (recorded_by, other.start, other.end.max(seen_end(call)))
                });
            let queue = waiting.entry(recorded_by | own).or_default();
            queue.push_back(UnpairedCall { at, start, end });
        }
    }
}

/// When a call ended, as far as anybody saw: one that was derived from the last answer of a conversation has no request behind
/// it that would say, and its agent may have run the tool at any time.
fn seen_end(call: &CallFacts) -> i64 {
    if call.is_derived && call.start == call.end {
        i64::MAX
    } else {
        call.end
    }
}

/// The failed model calls that nothing has matched yet.
fn failed_alone(facts: &[CallFacts], sets: &mut Sets) -> Vec<usize> {
    let sizes = sets.sizes();
    (0..facts.len())
        .filter(|at| is_type(facts, *at, EventType::LlmCall) && sizes.get(sets.root(*at)) == Some(&1))
        .filter(|at| {
            facts
                .get(*at)
                .is_some_and(|call| call.outcome != Outcome::Ok && call.usage == Usage::default())
        })
        .collect()
}

/// Joins failed model calls that nothing else matched, where an instrumentation does not even name the model.
fn join_nameless_failures(facts: &[CallFacts], sets: &mut Sets) {
    let alone = failed_alone(facts, sets);
    if alone
        .iter()
        .any(|at| facts.get(*at).is_some_and(|call| call.name == 0))
    {
        join_across(facts, alone.into_iter(), |_| Some(()), TOLERANCE, sets);
    }
}

/// Joins each derived tool call with the first recorded one of the same tool that ran in its time and is no other's: many
/// instrumentations leave out the call's ID. Those that have no end get theirs last, of what is left.
fn join_derived(facts: &[CallFacts], sets: &mut Sets) {
    if !facts.iter().any(|call| call.is_derived) {
        return;
    }
    join_derived_until(facts, |call| call.end, sets);
    if facts.iter().any(|call| seen_end(call) != call.end) {
        join_derived_until(facts, seen_end, sets);
    }
}

/// Joins them where `end` says until when each may have run.
fn join_derived_until(facts: &[CallFacts], end: impl Fn(&CallFacts) -> i64, sets: &mut Sets) {
    let sizes = sets.sizes();
    let mut derived = Vec::new();
    // The sets of those that an ID has matched already.
    let mut matched = HashSet::new();
    let mut recorded: HashMap<u64, VecDeque<usize>> = HashMap::new();
    let mut in_order: Vec<usize> = (0..facts.len()).collect();
    in_order.sort_by_key(|at| facts.get(*at).map(|call| (call.start, call.place)));
    for at in in_order {
        let Some(call) = facts.get(at) else { continue };
        if call.event_type != EventType::ToolCall {
            continue;
        }
        if !call.is_derived {
            recorded.entry(call.name).or_default().push_back(at);
        } else if sizes.get(sets.root(at)) == Some(&1) {
            derived.push((at, call));
        } else {
            matched.insert(sets.root(at));
        }
    }
    let taken: HashSet<usize> = (0..facts.len())
        .filter(|at| matched.contains(&sets.root(*at)))
        .collect();
    for (at, call) in derived {
        let Some(queue) = recorded.get_mut(&call.name) else {
            continue;
        };
        let end = end(call).saturating_add(TOLERANCE);
        while let Some(other_at) = queue.front().copied() {
            let Some(other) = facts.get(other_at) else { break };
            if other.start > end {
                break;
            }
            queue.pop_front();
            let is_in_time = other.start >= call.start - TOLERANCE && other.end <= end;
            let has_other_id = other.id != 0 && call.id != 0 && other.id != call.id;
            if is_in_time && !has_other_id && !taken.contains(&other_at) {
                sets.join(at, other_at);
                break;
            }
        }
    }
}

/// Joins what asked again for an answer with the call that created it, or else with what asked first, however often and
/// whenever it asked: by the answer's ID.
fn join_fetches(facts: &[CallFacts], sets: &mut Sets) {
    if !facts.iter().any(|call| call.is_fetch) {
        return;
    }
    let mut by_id: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, call) in facts.iter().enumerate() {
        if call.event_type == EventType::LlmCall && call.id != 0 {
            by_id.entry(call.id).or_default().push(at);
        }
    }
    for mut calls in by_id.into_values() {
        calls.sort_by_key(|at| facts.get(*at).map(|call| (call.is_fetch, call.start, call.place)));
        let Some((first, others)) = calls.split_first() else {
            continue;
        };
        for other in others
            .iter()
            .filter(|at| facts.get(**at).is_some_and(|call| call.is_fetch))
        {
            sets.join_nested(*first, *other);
        }
    }
}

/// A call that another instrumentation may have recorded too.
struct UnpairedCall {
    at: usize,
    start: i64,
    end: i64,
}

/// Disjoint sets of places.
struct Sets {
    up: Vec<usize>,
    /// What recorded the members of each set, at the place of its root.
    sources: Vec<Vec<u64>>,
}

impl Sets {
    /// Each call by itself.
    fn of(facts: &[CallFacts]) -> Self {
        Self {
            up: (0..facts.len()).collect(),
            sources: facts.iter().map(|call| vec![call.source]).collect(),
        }
    }

    /// How many places each set has, at the place of its root.
    fn sizes(&mut self) -> Vec<usize> {
        let mut sizes = vec![0; self.up.len()];
        for at in 0..self.up.len() {
            if let Some(size) = sizes.get_mut(self.root(at)) {
                *size += 1;
            }
        }
        sizes
    }

    fn root(&mut self, at: usize) -> usize {
        let mut root = at;
        while let Some(up) = self.up.get(root).copied().filter(|up| *up != root) {
            root = up;
        }
        let mut at = at;
        while let Some(up) = self.up.get_mut(at).filter(|up| **up != root) {
            at = std::mem::replace(up, root);
        }
        root
    }

    /// Whether two sets may be one call: each instrumentation recorded it once, or it was joined before.
    fn may_join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        let sources = |at: usize| self.sources.get(at).map(Vec::as_slice).unwrap_or_default();
        one == other || !sources(one).iter().any(|source| sources(other).contains(source))
    }

    /// Makes two sets one, where they may be.
    fn join(&mut self, one: usize, other: usize) {
        if self.may_join(one, other) {
            self.join_nested(one, other);
        }
    }

    /// Makes two sets one, whatever recorded them.
    fn join_nested(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (kept, moved) = (one.min(other), one.max(other));
        if kept == moved {
            return;
        }
        if let Some(up) = self.up.get_mut(moved) {
            *up = kept;
        }
        let sources = self
            .sources
            .get_mut(moved)
            .map(std::mem::take)
            .unwrap_or_default();
        if let Some(kept) = self.sources.get_mut(kept) {
            kept.extend(sources);
        }
    }
}
