//! Correlation: which spans report one call, each call where it was said to be.
//!
//! A call is what happened, a report tells of it: the wire (the proxy), a recorder (this library in the program), a
//! library (anything else that traces), messages (a tool that only a conversation shows). [`correlate`] is a pure
//! function of the reports of a run: [folding](folds), [joining](joins), [places]; a `fetch_response` is the call that
//! created its answer; the other spans of a library are steps where there is a wire. The order of lines does not
//! matter. Everything is linear in the number of reports, except for those that are open at once, where the search is
//! bounded; and nothing is done for calls of a kind that no other emitter reports.

mod agents;
mod arguments;
mod entry;
mod folds;
mod groups;
mod inner_steps;
mod joins;
mod places;
mod report;

pub use arguments::ReportedArguments;
pub use entry::{IndexEntry, LinePlace, RecordHeader, SpanRole};
use report::NumberedReport;
pub(crate) use report::PROXY;
pub use report::{CallReport, is_own_call, may_be_reported_twice};

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use groups::Groups;
use joins::{JoinEvidence, TOLERANCE};

use super::tokens::{fill_usage, take_larger};
use crate::{EventType, Outcome, Payload, Record, SpanId, SpanRecord, Usage};

/// The clocks of the proxy and of a library differ by less, in microseconds.
const CLOCK_DIFFERENCE: i64 = 2_000_000;

/// Spans above one among which something is looked for.
const MAX_DEPTH: usize = 64;

/// Fields of a span around a call that correlation needs.
#[derive(Debug, Clone, Copy)]
pub struct Ancestor {
    /// The kind of call that it is itself.
    pub(crate) call: Option<EventType>,
    pub(crate) parent: Option<SpanId>,
}

impl From<&IndexEntry> for Ancestor {
    fn from(entry: &IndexEntry) -> Self {
        let event_type = entry.stored_type();
        Self {
            call: super::is_call(event_type).then_some(event_type),
            parent: entry.parent_span_id(),
        }
    }
}

/// The place of a span among the reports of its call, and that of the call in the tree.
#[derive(Debug, Default)]
struct FoundSpan {
    role: SpanRole,
    /// The call that it repeats.
    call: Option<SpanId>,
    /// Of a call the spans that repeat it, the one that says most first.
    repeats: Vec<LinePlace>,
    /// The parent of the call, where that says more than its own span's.
    parent: Option<SpanId>,
    /// `true` where the parent is only the row of its conversation, in the place that its own span has.
    is_only_in_row: bool,
    /// Nothing said that parent.
    is_guess: bool,
    /// Of a failed request that a call tries again that call: the last one that does.
    attempt_of: Option<SpanId>,
    /// It was left while that call was made: a hedged request.
    is_hedged: bool,
}

/// Result of correlation: the calls with the spans that repeat each.
#[derive(Debug, Default)]
pub struct Correlation {
    /// By the lines of the spans; spans that are calls of their own have none.
    spans: HashMap<u64, FoundSpan>,
    /// The call of each span that repeats one: what is nested in a repeat is nested in the call.
    calls: HashMap<SpanId, SpanId>,
    /// Of each span that shares a call with another, the other, which has the call's tokens.
    counted_in: HashMap<SpanId, SpanId>,
}

/// Facts of a call that is reported more than once, by all of its reports.
#[derive(Debug, Clone, Copy)]
pub struct JoinedCall {
    /// Its tokens.
    pub usage: Usage,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its duration until its answer was fetched again for the last time, in microseconds, where it was.
    pub took: Option<u64>,
}

/// Finds the calls of a run. `ancestor` looks up a span of the run, call or not; `arguments` reads those of the span of
/// a tool, and is called only where they decide.
pub fn correlate(
    reports: &[CallReport],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
    arguments: impl FnMut(LinePlace) -> Option<ReportedArguments>,
) -> Correlation {
    let mut found = Correlation::default();
    let is_left_out = |report: &CallReport| report.is_inner_step || report.is_row();
    if reports.len() < 2 && !reports.iter().any(is_left_out) {
        return found;
    }
    let inner_steps = inner_steps::find(reports);
    let is_row = |report: &CallReport| !inner_steps.contains_key(&report.span_id);
    let mut numbered = NumberedReport::all(reports);
    numbered.retain(|report| is_row(report));
    let mut groups = Groups::of(reports);
    let mut steps = folds::fold(&numbered, &ancestor, &mut groups);
    let calls: Vec<NumberedReport<'_>> = numbered
        .iter()
        .copied()
        .filter(|report| !steps.contains(&report.place.line))
        .collect();
    let mut evidence = JoinEvidence::of(&numbered);
    joins::join(&mut evidence, calls, arguments, &mut groups);
    if evidence.has_wire() {
        steps.extend(left_of_libraries(&numbered, &groups));
    }
    agents::join(&numbered, &ancestor, &mut groups);
    for line in steps {
        found.of(line).role = SpanRole::Step;
    }
    let joined: Vec<Vec<&CallReport>> = groups
        .joined()
        .filter(|members| members.iter().all(|member| found.is_call(member.place.line)))
        .map(in_order)
        .collect();
    for group in &joined {
        found.add(group);
    }
    found.find_attempts(reports);
    places::place(&mut found, reports, &joined, &evidence, &ancestor);
    for report in reports.iter().filter(|report| !is_row(report)) {
        found.of(report.place.line).role = SpanRole::Leftover;
    }
    found.leave_out(&inner_steps);
    found
}

/// Returns whether the calls of a type that recorders of this format made can be part of what these reports tell twice: others
/// report such calls, too, or two agents may be one, which their calls show.
pub fn needs_own_calls(reports: &[CallReport], event_type: EventType) -> bool {
    let is_of_others = |report: &CallReport| report.event_type == event_type && !report.is_own_report();
    let mut agents = reports.iter().filter(|report| report.agent.is_some());
    agents.nth(1).is_some() || reports.iter().any(is_of_others)
}

/// The reports of one call, the one that is the call first: the one that says most; among equals, and of the two sides
/// of a protocol, the outer one. Spans that fetched the answer again follow, in order.
fn in_order(mut group: Vec<&CallReport>) -> Vec<&CallReport> {
    let is_protocol = group.iter().all(|report| report.is_mcp);
    group.sort_by_key(|report| {
        let is_plain = is_protocol || report.is_fetch;
        let richness = if is_plain { 0 } else { report.richness };
        (
            report.is_fetch,
            Reverse(richness),
            report.start,
            Reverse(report.end),
            report.span_id,
        )
    });
    group
}

/// The reports of calls of models by libraries that nothing joined with what the wire saw, and that are no calls: the wire saw
/// each that was made. They are steps of the program: what the library did around a request, or an answer from its cache.
fn left_of_libraries(reports: &[NumberedReport<'_>], groups: &Groups<'_>) -> Vec<u64> {
    let models = || {
        let models = reports.iter();
        models.filter(|report| report.event_type == EventType::LlmCall)
    };
    if models().all(|report| report.is_of_proxy) {
        return Vec::new();
    }
    let wire = || models().filter(|report| report.is_of_proxy);
    let seen: HashSet<u64> = wire()
        .flat_map(|report| [report.name, report.answered_by])
        .collect();
    let last = wire().map(|report| report.end).max().unwrap_or(i64::MIN);
    // Of those that began at some time or later, the first that ended.
    let mut whole: Vec<(i64, i64)> = wire()
        .filter(|report| report.outcome != Outcome::Failed)
        .map(|report| (report.start, report.end))
        .collect();
    whole.sort_unstable();
    let mut first_end = i64::MAX;
    for (_, end) in whole.iter_mut().rev() {
        first_end = first_end.min(*end);
        *end = first_end;
    }
    let holds_a_request = |report: &CallReport| {
        let from = whole.partition_point(|(start, _)| *start < report.start - TOLERANCE);
        whole
            .get(from)
            .is_some_and(|(_, end)| *end <= report.end.saturating_add(TOLERANCE))
    };
    let mut left = Vec::new();
    for report in models() {
        let mut members = groups.members(*report);
        if members.any(|member| member.is_of_proxy || member.is_own) {
            continue;
        }
        let mut names = [report.name, report.answered_by]
            .into_iter()
            .filter(|name| *name != 0)
            .peekable();
        let names_none = names.peek().is_none();
        let is_seen = names.any(|name| seen.contains(&name));
        let mut members = groups.members(*report);
        let tells = members.any(|member| member.tells());
        // A model that the wire never saw was called some other way, and so was one behind its end: but clocks differ.
        let is_of_wire = names_none || is_seen;
        if !tells
            || is_of_wire && holds_a_request(report)
            || is_seen && report.start <= last.saturating_add(CLOCK_DIFFERENCE)
        {
            left.push(report.place.line);
        }
    }
    left
}

impl Correlation {
    /// Adds the reports of one call, the one that is the call first.
    fn add(&mut self, group: &[&CallReport]) {
        let Some((first, others)) = group.split_first() else {
            return;
        };
        // A sender of spans of a running run cannot take one back, so the first with tokens keeps them. Zero is
        // what libraries say that do not know.
        let is_zero = |usage: &Usage| usage.parts().into_iter().flatten().all(|tokens| tokens == 0);
        let with_tokens = group.iter().filter(|report| report.usage != Usage::default());
        let counting = with_tokens
            .min_by_key(|report| (is_zero(&report.usage), report.place))
            .unwrap_or(first);
        for report in group.iter().filter(|report| report.span_id != counting.span_id) {
            self.counted_in.insert(report.span_id, counting.span_id);
        }
        for other in others {
            let repeat = self.of(other.place.line);
            (repeat.role, repeat.call) = (SpanRole::Leftover, Some(first.span_id));
            self.calls.insert(other.span_id, first.span_id);
        }
        self.of(first.place.line).repeats = others.iter().map(|other| other.place).collect();
    }

    /// Makes what is in these spans be in what is around them.
    fn leave_out(&mut self, inner_steps: &HashMap<SpanId, SpanId>) {
        let mut around: HashMap<SpanId, SpanId> = HashMap::new();
        // The place of those in a circle depends on the first.
        let mut spans: Vec<SpanId> = inner_steps.keys().copied().collect();
        spans.sort_unstable();
        for span in spans {
            let mut passed = Vec::new();
            let mut at = span;
            // Each span is passed once, also where spans are in each other.
            while let Some(outer) = inner_steps.get(&at).filter(|_| !around.contains_key(&at)) {
                around.insert(at, at);
                passed.push(at);
                at = *outer;
            }
            let end = around.get(&at).copied().unwrap_or(at);
            let end = self.calls.get(&end).copied().unwrap_or(end);
            around.extend(passed.into_iter().map(|span| (span, end)));
        }
        self.calls.extend(around);
    }

    fn of(&mut self, line: u64) -> &mut FoundSpan {
        self.spans.entry(line).or_default()
    }

    fn get(&self, line: u64) -> Option<&FoundSpan> {
        self.spans.get(&line)
    }

    fn find_attempts(&mut self, reports: &[CallReport]) {
        let mut retries: Vec<&CallReport> = reports
            .iter()
            .filter(|report| report.retry_of.is_some())
            .collect();
        retries.sort_by_key(|retry| Reverse((retry.start, retry.span_id)));
        let mut last: HashMap<SpanId, (SpanId, i64)> = HashMap::new();
        for retry in &retries {
            let call = last.get(&retry.span_id).map_or(retry.span_id, |(call, _)| *call);
            last.extend(retry.retry_of.map(|failed| (failed, (call, retry.start))));
        }
        if retries.is_empty() {
            return;
        }
        let by_span: HashMap<SpanId, &CallReport> =
            reports.iter().map(|report| (report.span_id, report)).collect();
        for failed in reports {
            let Some((call, start)) = last.get(&failed.span_id) else {
                continue;
            };
            let is_hedge = *start < failed.end;
            // A client that left all of its requests left none of them for another.
            if is_hedge && by_span.get(call).is_some_and(|call| call.outcome.is_failure()) {
                continue;
            }
            let call = self.calls.get(call).copied().unwrap_or(*call);
            let attempt = self.of(failed.place.line);
            (attempt.attempt_of, attempt.is_hedged) = (Some(call), is_hedge);
        }
    }

    /// The role of the span of a line.
    pub fn role(&self, line: u64) -> SpanRole {
        self.get(line).map_or(SpanRole::Itself, |found| found.role)
    }

    /// The call that tries the failed request of a line again: the last one that does.
    pub fn attempt_of(&self, line: u64) -> Option<SpanId> {
        let found = self.get(line).filter(|found| !found.is_hedged);
        found.and_then(|found| found.attempt_of)
    }

    /// True if each report is a call of its own, made once.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns whether the span of a line is a call, provided that it reports one.
    pub fn is_call(&self, line: u64) -> bool {
        self.role(line) == SpanRole::Itself
    }

    /// Returns whether no other span reports the call of a line, or gives another place for it.
    pub fn is_reported_once(&self, line: u64) -> bool {
        let is_one =
            |found: &FoundSpan| found.repeats.is_empty() && (found.parent.is_none() || found.is_only_in_row);
        self.role(line) != SpanRole::Leftover && self.get(line).is_none_or(is_one)
    }

    /// Returns whether the place of the call of a line was inferred here.
    pub fn is_placed_by_guess(&self, line: u64) -> bool {
        self.get(line).is_some_and(|found| found.is_guess)
    }

    /// The spans that repeat the call of a line, the one that says most first.
    pub fn repeats_of(&self, line: u64) -> &[LinePlace] {
        self.get(line).map(|found| &*found.repeats).unwrap_or_default()
    }

    /// The place that was found here for the call of a line.
    fn found_parent(&self, line: u64) -> Option<SpanId> {
        self.get(line)?.parent
    }

    /// The parent of the span of a line, which stores another one perhaps: a span that repeats the same call has the better
    /// place in the tree, or the parent repeats a call itself.
    pub fn parent_of(&self, line: u64, stored: Option<SpanId>) -> Option<SpanId> {
        let parent = self.found_parent(line).or(stored)?;
        Some(self.calls.get(&parent).copied().unwrap_or(parent))
    }

    /// The spans that repeat a call, each with the call.
    pub fn repeats(&self) -> impl Iterator<Item = (SpanId, SpanId)> {
        self.calls.iter().map(|(repeat, call)| (*repeat, *call))
    }

    /// Makes the record of a span what it is among the others: the place it has, and whether it is a call, a step or neither.
    /// Gives the spans that repeat its call, with which it is to be filled.
    pub fn shape(&self, record: &mut Record, span: &SpanRecord, line: u64) -> &[LinePlace] {
        if self.is_empty() {
            return &[];
        }
        let role = self.role(line);
        if role != SpanRole::Itself {
            super::make_no_call(record, span, self.get(line).and_then(|found| found.call));
        }
        if role == SpanRole::Leftover {
            record.marks.get_or_insert_default().is_leftover = true;
        }
        if let Some(call) = self.attempt_of(line) {
            super::mark_attempt(record, &call.to_text());
        }
        if self.get(line).is_some_and(|found| found.is_hedged) {
            super::payload::cancel(&mut record.payload);
        }
        if let Payload::LoopWarning {
            evidence_event_ids, ..
        } = &mut record.payload
        {
            // A recorder warns of the spans that it wrote itself.
            for id in evidence_event_ids {
                let call = id.parse().ok().and_then(|span: SpanId| self.calls.get(&span));
                if let Some(call) = call {
                    *id = call.to_text();
                }
            }
        }
        let parent = self.parent_of(line, span.parent_span_id);
        if parent != span.parent_span_id {
            record.parent_id = parent.map(SpanId::to_text);
        }
        self.repeats_of(line)
    }

    /// The span that has the tokens of a call, of another span that recorded it.
    pub fn counted_in(&self, span: SpanId) -> Option<SpanId> {
        self.counted_in.get(&span).copied()
    }

    /// The calls of which several reports, or a hedge, tell something else than their own span, by line.
    pub fn joined<'a>(&'a self, reports: &'a [CallReport]) -> impl Iterator<Item = (u64, JoinedCall)> {
        let by_line: HashMap<u64, &CallReport> =
            reports.iter().map(|report| (report.place.line, report)).collect();
        self.spans.iter().filter_map(move |(line, found)| {
            let report = by_line
                .get(line)
                .filter(|_| found.is_hedged || !found.repeats.is_empty())?;
            let mut joined = JoinedCall {
                usage: report.usage,
                outcome: report.outcome,
                took: None,
            };
            for other in found.repeats.iter().filter_map(|other| by_line.get(&other.line)) {
                if takes_outcome(report.event_type, joined.outcome, other.outcome, other.is_fetch) {
                    joined.outcome = other.outcome;
                }
                if other.is_fetch {
                    take_larger(&mut joined.usage, &other.usage);
                    let took = u64::try_from(other.end.saturating_sub(report.start)).ok();
                    joined.took = joined.took.max(took.filter(|_| other.end > report.end));
                } else {
                    fill_usage(&mut joined.usage, &other.usage);
                }
            }
            if found.is_hedged {
                joined.outcome = Outcome::Cancelled;
            }
            Some((*line, joined))
        })
    }
}

/// Returns whether the known outcome of a call gives way to that of another report: an unknown one always does; a
/// failed one where the answer of the request was fetched again, and came; and a tool has failed when the program that
/// ran it or the messages say so. For a model call, the wire is the best source.
pub(super) fn takes_outcome(event_type: EventType, known: Outcome, other: Outcome, is_fetch: bool) -> bool {
    match (known, other) {
        (Outcome::Unknown, other) => other != Outcome::Unknown,
        (Outcome::Failed, Outcome::Ok) => is_fetch,
        (Outcome::Ok, Outcome::Failed) => event_type == EventType::ToolCall,
        _ => false,
    }
}
