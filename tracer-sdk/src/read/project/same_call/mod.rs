//! Which spans are one call, recorded more than once: by a library and the recorder around it, by a program and the proxy
//! that it calls, by both sides of a protocol (capture, section 1).
//!
//! Spans whose calls nest in each other are one call when they agree; others when two instrumentations that differ recorded
//! the same response ID, or the same model and as many output tokens at the same time. One instrumentation records a call
//! once, so two of its spans that do not nest are two calls, whatever they share. Everything is linear in the number of
//! calls, and nothing is done for calls of a kind of which no other emitter recorded one.
//!
//! An answer that is made in the background is asked for by its ID until it is there: what asks is the call that created it.

mod packed;
mod pairs;

pub(crate) use packed::PackedCalls;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::classify::{
    has_answer, has_arguments, has_prompt, has_result, is_fetch, is_of_the_format, source_text, tool_name,
};
use super::model_name::normal_model_name;
use super::outcome::{has_reply, outcome};
use super::tokens::{call_usage, fill_usage, take_larger};
use super::values::Lookup;
use super::view::SpanView;
use crate::format::names;
use crate::format::{EventType, Outcome, Record, SpanId, SpanRecord, Timestamp, Usage};
use crate::read::log::{IndexEntry, KeptBytes, KeptCursor, LinePlace};
use crate::read::vocabulary::{CALL_ID, MODEL, NO_CALL_ID, RESPONSE_ID, RESPONSE_MODEL, SOURCE};

/// The [`names::SOURCE`] of what the proxy saw.
const PROXY: &str = "proxy";

/// What has to be known of a call to find the others that it is.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct CallFacts {
    pub(crate) place: LinePlace,
    pub(crate) span_id: SpanId,
    pub(crate) event_type: EventType,
    pub(crate) usage: Usage,
    /// How the call ended.
    pub(crate) outcome: Outcome,
    /// How its span ended, were it no call.
    pub(crate) span_outcome: Outcome,
    parent: Option<SpanId>,
    /// When it was made, in microseconds after 1970.
    start: i64,
    end: i64,
    /// Hash of the tool's name or of the model's, in its normal form; 0 where it is not known.
    name: u64,
    /// Hash of the name of the model that answered; that of the requested one where it is not known. Some instrumentations
    /// know the one, some the other.
    answered_by: u64,
    /// Hash of the ID of the response or the call; 0 where it is not known.
    id: u64,
    /// Hash of the ID that the provider gave the request, where that is known beside the response's; else 0.
    request_id: u64,
    /// Hash of what names the instrumentation that recorded it.
    source: u64,
    is_own: bool,
    is_of_proxy: bool,
    /// Whether the proxy saw it, and its place was not inferred.
    is_on_the_wire: bool,
    is_mcp: bool,
    /// Whether it was derived from messages: nobody saw it run.
    is_derived: bool,
    /// Whether it asked again for an answer, which another call created.
    is_fetch: bool,
    /// How much it says.
    richness: u8,
}

/// Whether a span is a call that a recorder of this format made: those alone are never looked at.
pub(crate) fn is_own_call(span: &impl SpanView) -> bool {
    let facts = span.facts();
    // The proxy writes the format's marks for what others did.
    is_of_the_format(&facts) && !facts.says(names::SOURCE.written())
}

impl CallFacts {
    /// The facts of a model or tool call; `None` for any other span.
    pub(crate) fn of(span: &impl SpanView, event_type: EventType, place: LinePlace) -> Option<Self> {
        let facts = span.facts();
        let hash = |text: Option<&str>| text.map_or(0, hash_of);
        let usage = match event_type {
            EventType::LlmCall => call_usage(span, &facts),
            _ => Usage::default(),
        };
        let is_of_proxy = facts.text_at(names::SOURCE.written()) == Some(PROXY);
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
                // The wire knows best when a call was made, of which model, and what came back.
                richness += 64 * u8::from(is_of_proxy);
                // Who called knows only the model that it asked.
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
                // What was derived from messages gives way to what was recorded.
                richness += 32 * u8::from(!facts.has(names::DERIVED.written()));
                (hash(Some(name)), 0, hash(id), richness)
            }
            _ => return None,
        };
        let is_own = is_own_call(span);
        let is_derived = event_type == EventType::ToolCall && facts.has(names::DERIVED.written());
        let (span_id, parent) = span.ids();
        let (start, end) = span.times();
        let mut source = DefaultHasher::new();
        is_own.hash(&mut source);
        for field in SOURCE {
            facts.text_at(field.key).hash(&mut source);
            facts.truth_at(field.key).hash(&mut source);
        }
        let start = start.unix_microseconds();
        Some(Self {
            place,
            span_id,
            event_type,
            usage,
            outcome: outcome(span, &facts, event_type),
            span_outcome: outcome(span, &facts, EventType::Unknown),
            parent,
            start,
            end: end.map_or(start, Timestamp::unix_microseconds).max(start),
            name,
            answered_by,
            id,
            request_id,
            source: source.finish(),
            is_own,
            is_of_proxy,
            is_on_the_wire: is_of_proxy && !facts.says(names::INFERRED.written()),
            is_mcp: facts.says("mcp.method.name"),
            is_derived,
            is_fetch: event_type == EventType::LlmCall && is_fetch(&facts),
            richness: richness + u8::from(is_own),
        })
    }
}

/// What of a call is kept in bits.
mod kept {
    /// The ID of its request is known.
    pub(super) const HAS_REQUEST_ID: u8 = 1;
    pub(super) const OF_PROXY: u8 = 2;
    pub(super) const OWN: u8 = 4;
    pub(super) const MCP: u8 = 8;
    /// A tool call that was derived, a model call that asked again for an answer.
    pub(super) const DERIVED_OR_FETCH: u8 = 16;
    /// Its parent is that of its entry.
    pub(super) const SAME_PARENT: u8 = 32;
    /// It has another parent than its entry.
    pub(super) const OTHER_PARENT: u8 = 64;
    /// Its ID is known.
    pub(super) const HAS_ID: u8 = 128;
}

/// The hashes of names, each kept once: a run has few models and tools.
#[derive(Debug, Default)]
pub(crate) struct KeptNames {
    numbers: HashMap<u64, u64>,
    hashes: Vec<u64>,
}

impl KeptNames {
    /// Writes a hash: 0 and the hash where it is a new one, else its number from 1.
    fn write(&mut self, hash: u64, bytes: &mut KeptBytes) {
        let next = self.numbers.len() as u64 + 1;
        match self.numbers.entry(hash) {
            Entry::Occupied(known) => bytes.push_number(*known.get()),
            Entry::Vacant(new) => {
                new.insert(next);
                bytes.push_number(0);
                bytes.push_hash(hash);
            }
        }
    }

    fn read(&mut self, cursor: &mut KeptCursor<'_>) -> Option<u64> {
        match cursor.count()? {
            0 => {
                let hash = cursor.hash()?;
                self.hashes.push(hash);
                Some(hash)
            }
            number => self.hashes.get(number - 1).copied(),
        }
    }
}

impl CallFacts {
    /// Writes them, as far as they do not follow from the entry of their span.
    pub(crate) fn write_kept(&self, entry: &IndexEntry, names: &mut KeptNames, bytes: &mut KeptBytes) {
        let is_same_parent = self.parent == entry.parent_span_id();
        let other_parent = self.parent.filter(|_| !is_same_parent);
        let flags = [
            (self.request_id != 0, kept::HAS_REQUEST_ID),
            // No recorder's own call is the proxy's: both bits are a call of the proxy whose place was inferred.
            (self.is_of_proxy, kept::OF_PROXY),
            (self.is_own || self.is_of_proxy && !self.is_on_the_wire, kept::OWN),
            (self.is_mcp, kept::MCP),
            (self.is_derived || self.is_fetch, kept::DERIVED_OR_FETCH),
            (is_same_parent, kept::SAME_PARENT),
            (other_parent.is_some(), kept::OTHER_PARENT),
            (self.id != 0, kept::HAS_ID),
        ];
        bytes.push_byte(
            flags
                .into_iter()
                .filter(|(holds, _)| *holds)
                .fold(0, |flags, (_, bit)| flags | bit),
        );
        bytes.push_byte(self.outcome as u8 | (self.span_outcome as u8) << 4);
        bytes.push_byte(self.richness);
        bytes.push_usage(&self.usage);
        if let Some(parent) = other_parent {
            bytes.push_span_id(parent);
        }
        bytes.push_signed(self.start.wrapping_sub(entry.start().unix_microseconds()));
        bytes.push_signed(self.end.wrapping_sub(self.start));
        for hash in [self.name, self.answered_by, self.source] {
            names.write(hash, bytes);
        }
        for id in [self.id, self.request_id].into_iter().filter(|id| *id != 0) {
            bytes.push_hash(id);
        }
    }

    /// The facts that were written of the call of an entry.
    pub(crate) fn read_kept(
        entry: &IndexEntry,
        names: &mut KeptNames,
        cursor: &mut KeptCursor<'_>,
    ) -> Option<Self> {
        let flags = cursor.byte()?;
        let has = |bit: u8| flags & bit != 0;
        let outcomes = cursor.byte()?;
        let outcome = |number: u8| Outcome::ALL.get(usize::from(number)).copied();
        let (outcome, span_outcome) = (outcome(outcomes & 0xf)?, outcome(outcomes >> 4)?);
        let richness = cursor.byte()?;
        let usage = cursor.usage()?;
        let parent = match (has(kept::SAME_PARENT), has(kept::OTHER_PARENT)) {
            (true, _) => entry.parent_span_id(),
            (false, true) => Some(cursor.span_id()?),
            (false, false) => None,
        };
        let start = entry.start().unix_microseconds().checked_add(cursor.signed()?)?;
        let end = start.checked_add(cursor.signed()?)?;
        let [mut name, mut answered_by, mut source] = [0; 3];
        for hash in [&mut name, &mut answered_by, &mut source] {
            *hash = names.read(cursor)?;
        }
        Some(Self {
            place: entry.place(),
            span_id: entry.span_id(),
            event_type: entry.stored_type(),
            usage,
            outcome,
            span_outcome,
            parent,
            start,
            end,
            name,
            answered_by,
            id: if has(kept::HAS_ID) { cursor.hash()? } else { 0 },
            request_id: if has(kept::HAS_REQUEST_ID) {
                cursor.hash()?
            } else {
                0
            },
            source,
            is_own: has(kept::OWN) && !has(kept::OF_PROXY),
            is_of_proxy: has(kept::OF_PROXY),
            is_on_the_wire: has(kept::OF_PROXY) && !has(kept::OWN),
            is_mcp: has(kept::MCP),
            is_derived: has(kept::DERIVED_OR_FETCH) && entry.stored_type() == EventType::ToolCall,
            is_fetch: has(kept::DERIVED_OR_FETCH) && entry.stored_type() == EventType::LlmCall,
            richness,
        })
    }
}

/// A hash that is never 0; letters count without their case.
fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.to_ascii_lowercase().hash(&mut hasher);
    hasher.finish().max(1)
}

/// The calls of a run that are recorded more than once, by the lines of their spans.
#[derive(Debug, Default)]
pub(crate) struct SameCalls {
    /// Of each span that only repeats a call, the span that is the call.
    calls: HashMap<u64, (LinePlace, SpanId)>,
    /// Of each span that is such a call, those that repeat it, the one that says most first.
    repeats: HashMap<u64, Vec<LinePlace>>,
    /// Of each of those whose own parent says less of where the call was made, the parent that says more.
    parents: HashMap<u64, SpanId>,
    /// Of each span that shares a call with another, the other, which has the call's tokens.
    counted_in: HashMap<SpanId, SpanId>,
    /// The same calls as in `calls`, by the spans that repeat them: what is nested in a repeat is nested in the call.
    calls_by_span: HashMap<SpanId, SpanId>,
    /// The spans that were there for calls whose place was inferred, and that turned out to be elsewhere.
    emptied: HashSet<SpanId>,
}

/// What has to be known of a span around a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ancestor {
    /// The kind of call that it is itself.
    pub(crate) call: Option<EventType>,
    pub(crate) parent: Option<SpanId>,
}

impl From<&IndexEntry> for Ancestor {
    fn from(entry: &IndexEntry) -> Self {
        let event_type = entry.stored_type();
        Self {
            call: matches!(event_type, EventType::LlmCall | EventType::ToolCall).then_some(event_type),
            parent: entry.parent_span_id(),
        }
    }
}

/// The kinds of calls of which another emitter recorded one: the format's own of these kinds alone may be recorded twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RepeatableTypes {
    model_calls: bool,
    tool_calls: bool,
}

impl RepeatableTypes {
    /// The kinds of the calls that other emitters recorded.
    pub(crate) fn of(calls: impl IntoIterator<Item = EventType>) -> Self {
        let mut types = Self::default();
        for event_type in calls {
            types.model_calls |= event_type == EventType::LlmCall;
            types.tool_calls |= event_type == EventType::ToolCall;
        }
        types
    }

    /// Whether a call of this kind may be recorded twice.
    pub(crate) fn contains(self, event_type: EventType) -> bool {
        match event_type {
            EventType::LlmCall => self.model_calls,
            EventType::ToolCall => self.tool_calls,
            _ => false,
        }
    }
}

/// A call that a library reports around the request that the proxy saw.
struct GroupPlace {
    name: u64,
    /// When the library says that it began.
    reported: i64,
    /// When the request was made.
    made: i64,
    parent: SpanId,
}

impl GroupPlace {
    fn of(call: &CallFacts, others: &[&CallFacts], parent: Option<&SpanId>) -> Option<Self> {
        let reported = others.iter().filter(|other| !other.is_of_proxy);
        let is_model_call = call.is_of_proxy && call.event_type == EventType::LlmCall;
        Some(Self {
            name: call.name,
            reported: reported
                .map(|other| other.start)
                .min()
                .filter(|_| is_model_call)?,
            made: call.start,
            parent: *parent?,
        })
    }
}

/// Reports of calls that are looked at for the place of a failed attempt.
const MAX_AROUND: usize = 16;
/// Spans above one that are looked at for its place.
const MAX_DEPTH: usize = 64;

impl SameCalls {
    /// Finds them. `ancestor` gives what is known of a span of the run, call or not.
    pub(crate) fn find(facts: &[CallFacts], ancestor: impl Fn(SpanId) -> Option<Ancestor>) -> Self {
        let mut same = Self::default();
        let mut placed = Vec::new();
        for mut group in pairs::groups(facts, &ancestor) {
            // The one that says most; among equals, and of the two sides of a protocol, the outer one. What asked again for an
            // answer comes behind, in order.
            let is_protocol = group.iter().all(|call| call.is_mcp);
            group.sort_by_key(|call| {
                let is_plain = is_protocol || call.is_fetch;
                let richness = if is_plain { 0 } else { call.richness };
                (
                    call.is_fetch,
                    Reverse(richness),
                    call.start,
                    Reverse(call.end),
                    call.place,
                )
            });
            let Some((first, others)) = group.split_first() else {
                continue;
            };
            // What sends spans while the run goes on cannot take back what it has sent, so the first with tokens keeps them.
            let with_tokens = group.iter().filter(|call| call.usage != Usage::default());
            let counting = with_tokens.min_by_key(|call| call.place).unwrap_or(first);
            for call in group.iter().filter(|call| call.span_id != counting.span_id) {
                same.counted_in.insert(call.span_id, counting.span_id);
            }
            if let Some(parent) = better_parent(first, others, &ancestor) {
                same.parents.insert(first.place.line, parent);
            }
            for other in others {
                same.calls.insert(other.place.line, (first.place, first.span_id));
                same.calls_by_span.insert(other.span_id, first.span_id);
            }
            placed.extend(GroupPlace::of(first, others, same.parents.get(&first.place.line)));
            let others = others.iter().map(|other| other.place).collect();
            same.repeats.insert(first.place.line, others);
        }
        same.place_attempts(facts, placed, &ancestor);
        same.find_emptied(facts, &ancestor);
        same
    }

    /// Finds the spans that were there only for calls whose place was inferred, and that hold none any more.
    fn find_emptied(&mut self, facts: &[CallFacts], ancestor: impl Fn(SpanId) -> Option<Ancestor>) {
        let is_elsewhere = |call: &CallFacts| {
            self.calls.contains_key(&call.place.line) || self.parents.contains_key(&call.place.line)
        };
        let inferred = facts
            .iter()
            .filter(|call| call.is_of_proxy && !call.is_on_the_wire);
        let held = inferred
            .filter(|call| is_elsewhere(call))
            .filter_map(|call| call.parent);
        let mut emptied: HashSet<SpanId> = held
            .filter(|holder| {
                ancestor(*holder).is_some_and(|holder| holder.call.is_none() && holder.parent.is_some())
            })
            .collect();
        if emptied.is_empty() {
            return;
        }
        for call in facts.iter().filter(|call| !is_elsewhere(call)) {
            if let Some(parent) = call.parent {
                emptied.remove(&parent);
            }
        }
        self.emptied = emptied;
    }

    /// Puts each failed request that nothing else reports, and that names no place, where the call is that was its next attempt:
    /// the only one whose report by a library it lies in, of the same model.
    fn place_attempts(
        &mut self,
        facts: &[CallFacts],
        mut placed: Vec<GroupPlace>,
        ancestor: impl Fn(SpanId) -> Option<Ancestor>,
    ) {
        placed.sort_by_key(|group| group.reported);
        let is_root = |span: SpanId| ancestor(span).is_none_or(|ancestor| ancestor.parent.is_none());
        for call in facts {
            let is_alone = call.is_of_proxy
                && call.outcome == Outcome::Failed
                && self.call_of(call.place.line).is_none()
                && self.repeats_of(call.place.line).is_empty();
            if !is_alone || call.is_on_the_wire && !call.parent.is_some_and(is_root) {
                continue;
            }
            let begun = placed.partition_point(|group| group.reported <= call.start);
            let latest_first = placed.get(..begun).unwrap_or_default().iter().rev();
            let mut around = latest_first
                .take(MAX_AROUND)
                .filter(|group| group.name == call.name && call.end <= group.made);
            if let (Some(only), None) = (around.next(), around.next()) {
                self.parents.insert(call.place.line, only.parent);
            }
        }
    }

    /// Whether no call is recorded more than once.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call that the span of a line repeats.
    pub(crate) fn call_of(&self, line: u64) -> Option<SpanId> {
        self.calls.get(&line).map(|(_, span_id)| *span_id)
    }

    /// The spans that repeat the call of a line, the one that says most first.
    pub(crate) fn repeats_of(&self, line: u64) -> &[LinePlace] {
        self.repeats.get(&line).map(Vec::as_slice).unwrap_or_default()
    }

    /// The parent of the span of a line, which stores another one perhaps: a span that repeats the same call has the better
    /// place in the tree, or the parent repeats a call itself.
    pub(crate) fn parent_of(&self, line: u64, stored: Option<SpanId>) -> Option<SpanId> {
        if self.is_empty() {
            return stored;
        }
        let parent = self.parents.get(&line).copied().or(stored)?;
        Some(self.calls_by_span.get(&parent).copied().unwrap_or(parent))
    }

    /// The spans that were there only for calls that turned out to be elsewhere.
    pub(crate) fn emptied(&self) -> impl Iterator<Item = SpanId> {
        self.emptied.iter().copied()
    }

    /// The spans that repeat a call, each with the call.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = (SpanId, SpanId)> {
        self.calls_by_span.iter().map(|(repeat, call)| (*repeat, *call))
    }

    /// Makes the record of a span what it is among the others: the place it has, and whether it is a step. Gives the spans that
    /// repeat its call, with which it is to be filled.
    pub(crate) fn shape(&self, record: &mut Record, span: &SpanRecord, line: u64) -> &[LinePlace] {
        if self.is_empty() {
            return &[];
        }
        if let Some(call) = self.call_of(line) {
            super::make_repeat(record, span, call);
        }
        if self.call_of(line).is_some() || self.emptied.contains(&span.span_id) {
            record.marks.get_or_insert_default().is_leftover = true;
        }
        let parent = self.parent_of(line, span.parent_span_id);
        if parent != span.parent_span_id {
            record.parent_id = parent.map(SpanId::to_text);
        }
        self.repeats_of(line)
    }

    /// The span that has the tokens of a call, of another span that recorded it.
    pub(crate) fn counted_in(&self, span: SpanId) -> Option<SpanId> {
        self.counted_in.get(&span).copied()
    }

    /// The lines of all spans that repeat a call.
    pub(crate) fn repeated_lines(&self) -> impl Iterator<Item = u64> {
        self.calls.keys().copied()
    }

    fn by_line<'a>(&self, facts: &'a [CallFacts]) -> HashMap<u64, &'a CallFacts> {
        if self.is_empty() {
            return HashMap::new();
        }
        facts.iter().map(|call| (call.place.line, call)).collect()
    }

    /// The outcome of the calls that are recorded more than once and whose own span does not know it, by line.
    pub(crate) fn outcomes<'a>(&'a self, facts: &'a [CallFacts]) -> impl Iterator<Item = (u64, Outcome)> {
        let by_line = self.by_line(facts);
        self.repeats.iter().filter_map(move |(line, others)| {
            let own = by_line.get(line)?.outcome;
            let others = others.iter().filter_map(|other| by_line.get(&other.line));
            let known = others.fold(own, |known, other| {
                if takes_outcome(known, other.outcome, other.is_fetch) {
                    other.outcome
                } else {
                    known
                }
            });
            (known != own).then_some((*line, known))
        })
    }

    /// The tokens of each call that is recorded more than once, by its line, with what the others know of it.
    pub(crate) fn usages<'a>(&'a self, facts: &'a [CallFacts]) -> impl Iterator<Item = (u64, Usage)> {
        let by_line = self.by_line(facts);
        self.repeats.iter().filter_map(move |(line, others)| {
            let mut usage = by_line.get(line)?.usage;
            for other in others {
                match by_line.get(&other.line) {
                    Some(other) if other.is_fetch => take_larger(&mut usage, &other.usage),
                    Some(other) => fill_usage(&mut usage, &other.usage),
                    None => {}
                }
            }
            Some((*line, usage))
        })
    }

    /// How long the calls took whose answers were asked for again, in microseconds, by line: until the last time.
    pub(crate) fn durations<'a>(&'a self, facts: &'a [CallFacts]) -> impl Iterator<Item = (u64, u64)> {
        let by_line = self.by_line(facts);
        self.repeats.iter().filter_map(move |(line, others)| {
            let call = by_line.get(line)?;
            let others = others.iter().filter_map(|other| by_line.get(&other.line));
            let last = others
                .filter(|other| other.is_fetch)
                .map(|other| other.end)
                .max()?;
            let took = u64::try_from(last.saturating_sub(call.start)).ok()?;
            (last > call.end).then_some((*line, took))
        })
    }
}

/// Whether the outcome of a call is what another of its spans says: where it is not known, and where the answer of a failed
/// request was asked for again, and came.
pub(super) fn takes_outcome(known: Outcome, other: Outcome, is_fetch: bool) -> bool {
    match known {
        Outcome::Unknown => other != Outcome::Unknown,
        Outcome::Failed => is_fetch && other == Outcome::Ok,
        Outcome::Ok | Outcome::Cancelled => false,
    }
}

/// The place of a call in the tree, where that is not its own span's. One that a report says comes before one that was
/// inferred; a report right below the run says none. Of several it is that of the outermost of its spans that lie in each other,
/// the deepest of those where they do not, as a proxy sees a call from outside and a library where it was made.
fn better_parent(
    call: &CallFacts,
    others: &[&CallFacts],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) -> Option<SpanId> {
    let is_one_of_them =
        |span: SpanId| span == call.span_id || others.iter().any(|other| other.span_id == span);
    // Whether it was said, how many spans are above, without the call's own, and which is the nearest of them.
    let place = |report: &CallFacts| {
        let from = report.parent;
        let (mut nearest, mut above, mut depth) = (from, from, 0);
        for _ in 0..MAX_DEPTH {
            let Some(span) = above else { break };
            above = ancestor(span).and_then(|ancestor| ancestor.parent);
            depth += 1;
            if is_one_of_them(span) {
                (nearest, depth) = (above, 0);
            }
        }
        let is_inferred = report.is_derived || report.is_of_proxy && !report.is_on_the_wire;
        (!is_inferred && depth > 1, depth, nearest)
    };
    let own = place(call);
    let best = others
        .iter()
        .map(|other| place(other))
        .filter(|place| (place.0, place.1) > (own.0, own.1))
        .max_by_key(|(is_said, depth, _)| (*is_said, *depth));
    let (.., parent) = best.unwrap_or(own);
    parent.filter(|parent| Some(*parent) != call.parent)
}
