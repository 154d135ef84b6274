//! [`CallReport`]: what is known of a span that tells of a call, without its content.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::classify::{
    has_answer, has_arguments, has_prompt, has_result, is_fetch, is_of_the_format, source_text, tool_name,
};
use super::super::model_name::normal_model_name;
use super::super::outcome::{has_reply, outcome};
use super::super::tokens::call_usage;
use super::super::values::Lookup;
use super::super::view::SpanView;
use crate::names;
use crate::project::correlate::{IndexEntry, LinePlace, PackedBytes, PackedCursor};
use crate::vocabulary::{CALL_ID, MODEL, NO_CALL_ID, RESPONSE_ID, RESPONSE_MODEL, SOURCE};
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
    /// How the call ended.
    pub outcome: Outcome,
    /// How its span ended, were it no call.
    pub span_outcome: Outcome,
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
    /// Hash of the ID that the provider gave the request, where that is known beside the response's; else 0.
    pub(super) request_id: u64,
    /// The failed request that it tries again.
    pub(super) retry_of: Option<SpanId>,
    /// Hash of what names the instrumentation that recorded it.
    pub(super) source: u64,
    pub(super) is_own: bool,
    pub(super) is_of_proxy: bool,
    /// Whether the proxy saw it, and its place was not inferred.
    pub(super) is_on_the_wire: bool,
    pub(super) is_mcp: bool,
    /// Whether it was derived from messages: nobody saw it run.
    pub(super) is_derived: bool,
    /// Whether it asked again for an answer, which another call created.
    pub(super) is_fetch: bool,
    /// How much it says.
    pub(super) richness: u8,
}

/// Whether a span is a call that a recorder of this format made: those alone are never looked at.
pub fn is_own_call(span: &impl SpanView) -> bool {
    let facts = span.facts();
    // The proxy writes the format's marks for what others did.
    is_of_the_format(&facts) && !facts.says(names::SOURCE.written())
}

impl CallReport {
    /// The facts of a model or tool call; `None` for any other span.
    pub fn of(span: &impl SpanView, event_type: EventType, place: LinePlace) -> Option<Self> {
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
                (hash(Some(&normal_tool_name(name))), 0, hash(id), richness)
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
            retry_of: facts
                .text_at(names::RETRY_OF.written())
                .and_then(|id| id.parse().ok()),
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

/// Bits of a packed call.
mod packed {
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
    /// Beside the outcomes: it tries a failed request again.
    pub(super) const RETRY: u8 = 128;
}

/// The hashes of names, each packed once: a run has few models and tools.
#[derive(Debug, Default)]
pub(crate) struct PackedNames {
    numbers: HashMap<u64, u64>,
    hashes: Vec<u64>,
}

impl PackedNames {
    /// Writes a hash: 0 and the hash where it is a new one, else its number from 1.
    fn write(&mut self, hash: u64, bytes: &mut PackedBytes) {
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

    fn read(&mut self, cursor: &mut PackedCursor<'_>) -> Option<u64> {
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

impl CallReport {
    /// Writes them, as far as they do not follow from the entry of their span.
    pub(crate) fn pack(&self, entry: &IndexEntry, names: &mut PackedNames, bytes: &mut PackedBytes) {
        let is_same_parent = self.parent == entry.parent_span_id();
        let other_parent = self.parent.filter(|_| !is_same_parent);
        let flags = [
            (self.request_id != 0, packed::HAS_REQUEST_ID),
            // No recorder's own call is the proxy's: both bits are a call of the proxy whose place was inferred.
            (self.is_of_proxy, packed::OF_PROXY),
            (
                self.is_own || self.is_of_proxy && !self.is_on_the_wire,
                packed::OWN,
            ),
            (self.is_mcp, packed::MCP),
            (self.is_derived || self.is_fetch, packed::DERIVED_OR_FETCH),
            (is_same_parent, packed::SAME_PARENT),
            (other_parent.is_some(), packed::OTHER_PARENT),
            (self.id != 0, packed::HAS_ID),
        ];
        bytes.push_byte(
            flags
                .into_iter()
                .filter(|(holds, _)| *holds)
                .fold(0, |flags, (_, bit)| flags | bit),
        );
        let retry = if self.retry_of.is_some() { packed::RETRY } else { 0 };
        bytes.push_byte(self.outcome as u8 | (self.span_outcome as u8) << 4 | retry);
        bytes.push_byte(self.richness);
        bytes.push_usage(&self.usage);
        for span in other_parent.into_iter().chain(self.retry_of) {
            bytes.push_span_id(span);
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
    pub(crate) fn unpack(
        entry: &IndexEntry,
        names: &mut PackedNames,
        cursor: &mut PackedCursor<'_>,
    ) -> Option<Self> {
        let flags = cursor.byte()?;
        let has = |bit: u8| flags & bit != 0;
        let outcomes = cursor.byte()?;
        let outcome = |number: u8| Outcome::ALL.get(usize::from(number)).copied();
        let (outcome, span_outcome) = (outcome(outcomes & 0xf)?, outcome(outcomes >> 4 & 7)?);
        let richness = cursor.byte()?;
        let usage = cursor.usage()?;
        let parent = match (has(packed::SAME_PARENT), has(packed::OTHER_PARENT)) {
            (true, _) => entry.parent_span_id(),
            (false, true) => Some(cursor.span_id()?),
            (false, false) => None,
        };
        let is_retry = outcomes & packed::RETRY != 0;
        let retry_of = if is_retry { Some(cursor.span_id()?) } else { None };
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
            id: if has(packed::HAS_ID) { cursor.hash()? } else { 0 },
            request_id: if has(packed::HAS_REQUEST_ID) {
                cursor.hash()?
            } else {
                0
            },
            retry_of,
            source,
            is_own: has(packed::OWN) && !has(packed::OF_PROXY),
            is_of_proxy: has(packed::OF_PROXY),
            is_on_the_wire: has(packed::OF_PROXY) && !has(packed::OWN),
            is_mcp: has(packed::MCP),
            is_derived: has(packed::DERIVED_OR_FETCH) && entry.stored_type() == EventType::ToolCall,
            is_fetch: has(packed::DERIVED_OR_FETCH) && entry.stored_type() == EventType::LlmCall,
            richness,
        })
    }
}

impl CallReport {
    /// When the call ended, as far as was seen: one that was derived from the last answer of a conversation has no request
    /// behind it that would say, and its agent may have run the tool at any time.
    pub(super) fn seen_end(&self) -> i64 {
        if self.is_derived && self.start == self.end {
            i64::MAX
        } else {
            self.end
        }
    }

    /// Whether it says anything of the call but that it was and of which model: what was asked, what came back, an ID, tokens.
    pub(super) fn tells(&self) -> bool {
        // The bits of prompt and answer.
        let has_content = self.richness & (8 | 16) != 0;
        let has_tokens = self.usage.parts().into_iter().flatten().any(|tokens| tokens > 0);
        has_content || self.id != 0 || has_tokens
    }
}

/// The letters and digits of a tool's name, without the method that runs it and what it belongs to.
fn normal_tool_name(name: &str) -> String {
    const METHODS: [&str; 4] = [".__call__", ".acall", ".call", ".invoke"];
    let name = METHODS
        .iter()
        .find_map(|method| name.strip_suffix(method))
        .unwrap_or(name);
    let last = name
        .rsplit(['.', '/', ':'])
        .find(|part| !part.is_empty())
        .unwrap_or(name);
    let kept: String = last.chars().filter(|char| char.is_alphanumeric()).collect();
    if kept.is_empty() { name.to_owned() } else { kept }
}

/// A hash that is never 0; letters count without their case.
fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.to_ascii_lowercase().hash(&mut hasher);
    hasher.finish().max(1)
}
