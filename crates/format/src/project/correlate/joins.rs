//! Joining: the reports of one call by different reporters, one to one, the strongest evidence first.
//!
//! A report joins a group when no two members contradict each other, and no group has two reports of one reporter. Each
//! pass compares pairs near each other in time, never all pairs, and takes those first that agree in most.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use super::arguments::ReportedArguments;
use super::groups::Groups;
use super::report::{CallReport, NumberedReport};
use crate::project::LinePlace;
use crate::{EventType, Outcome, SpanId, Usage};

/// Maximum clock difference of two reporters, in microseconds.
pub(super) const TOLERANCE: i64 = 50_000;
/// Margin, in microseconds, by which the gap of a second report must exceed three times that of the nearest one for the
/// nearest one to be taken without doubt.
const CLEAR_GAP: i64 = 5_000;
/// Reports that are open at once among which one is looked for.
const MAX_OPEN: usize = 64;

/// The reports that a call may be, where one of them is taken for it because some must be.
#[derive(Default)]
pub(super) struct Unsure {
    /// The reporters.
    pub(super) sources: HashSet<u64>,
    /// Places of the call, by those reporters.
    pub(super) places: Vec<SpanId>,
}

/// Two reports that may be one call: how much speaks for it, less is more.
type Worth = (Reverse<u8>, u8, i64, i64, SpanId, SpanId);

/// Such a pair.
type Pair<'a> = (Worth, NumberedReport<'a>, NumberedReport<'a>);

/// Evidence about the reports of a run for joining them.
pub(super) struct JoinEvidence<'a> {
    /// IDs that the wire knows: those that others made up prove nothing.
    wire_ids: HashSet<u64>,
    /// IDs that one reporter has in several calls.
    shared_ids: HashSet<u64>,
    /// The calls of models on the wire, in the order of their ends.
    asking: Vec<NumberedReport<'a>>,
    /// When the first attempt began at each call on the wire that tries one again.
    begun: HashMap<SpanId, i64>,
    /// Those of the tools, by the places of their reports.
    arguments: Vec<Option<ReportedArguments>>,
    /// Places, by libraries, of the model call that asked for a tool, by the index of the tool's report; `true` where
    /// it is certain that the library reports that call.
    asked_in: HashMap<usize, Vec<(SpanId, bool)>>,
    /// Reports of the wire that differ in nothing but their time, by line.
    unsure: HashMap<u64, Unsure>,
}

impl<'a> JoinEvidence<'a> {
    pub(super) fn of(reports: &[NumberedReport<'a>]) -> Self {
        let mut evidence = Self {
            wire_ids: HashSet::new(),
            shared_ids: HashSet::new(),
            asking: Vec::new(),
            begun: HashMap::new(),
            arguments: Vec::new(),
            asked_in: HashMap::new(),
            unsure: HashMap::new(),
        };
        let of_type = |event_type| move |report: &&NumberedReport<'_>| report.event_type == event_type;
        let are_several = [EventType::LlmCall, EventType::ToolCall]
            .into_iter()
            .any(|event_type| has_several_sources(reports.iter().filter(of_type(event_type))));
        let mut seen = HashSet::new();
        for report in reports {
            if are_several
                && report.id != 0
                && !report.is_fetch
                && !seen.insert((report.source, report.event_type, report.id))
            {
                evidence.shared_ids.insert(report.id);
            }
            if !report.is_of_proxy {
                continue;
            }
            if are_several {
                let ids = [report.id, report.request_id].into_iter();
                evidence.wire_ids.extend(ids.filter(|id| *id != 0));
            }
            if report.event_type == EventType::LlmCall {
                evidence.asking.push(*report);
            }
        }
        if are_several {
            evidence.find_first_attempts();
        }
        evidence.asking.sort_by_key(|report| report.end);
        evidence
    }

    fn find_first_attempts(&mut self) {
        let mut retries: Vec<NumberedReport<'_>> = self.asking.clone();
        retries.retain(|report| report.retry_of.is_some());
        let failed: HashSet<SpanId> = retries.iter().filter_map(|retry| retry.retry_of).collect();
        let failed = self
            .asking
            .iter()
            .filter(|report| failed.contains(&report.span_id));
        self.begun = failed.map(|failed| (failed.span_id, failed.start)).collect();
        retries.sort_by_key(|retry| (retry.start, retry.span_id));
        for retry in retries {
            let begun = retry.retry_of.and_then(|failed| self.begun.get(&failed).copied());
            self.begun.insert(retry.span_id, begun.unwrap_or(retry.start));
        }
    }

    /// The call of a model that asked for a tool that only messages show.
    pub(super) fn asked_by(&self, tool: &CallReport) -> Option<NumberedReport<'a>> {
        let from = self.asking.partition_point(|asking| asking.end < tool.start);
        let mut ended_then = self
            .asking
            .iter()
            .skip(from)
            .take_while(|asking| asking.end == tool.start);
        match (ended_then.next().filter(|_| tool.is_derived), ended_then.next()) {
            (Some(asking), None) => Some(*asking),
            _ => None,
        }
    }

    pub(super) fn has_wire(&self) -> bool {
        !self.asking.is_empty()
    }

    /// The other calls that the call on a line may be; `None` where that is known.
    pub(super) fn unsure(&self, line: u64) -> Option<&Unsure> {
        self.unsure.get(&line)
    }

    /// Finds where the calls of models were made that asked for tools.
    fn find_asked_in(&mut self, tools: &[NumberedReport<'_>], groups: &Groups<'_>) {
        for tool in tools {
            let Some(asking) = self.asked_by(tool) else {
                continue;
            };
            let unsure = self.unsure(asking.place.line);
            let is_sure = |source: &u64| unsure.is_none_or(|unsure| !unsure.sources.contains(source));
            let libraries = groups.members(asking).filter(|member| !member.is_of_proxy);
            let said: Vec<(SpanId, bool)> = libraries
                .filter_map(|library| Some((library.parent?, is_sure(&library.source))))
                .collect();
            self.asked_in.insert(tool.at, said);
        }
    }

    /// Returns whether both reports have the same arguments; `None` where that is not known.
    fn same_arguments(&self, one: NumberedReport<'_>, other: NumberedReport<'_>) -> Option<bool> {
        let of = |report: NumberedReport<'_>| self.arguments.get(report.at)?.as_ref();
        of(one)?.agree(of(other)?)
    }

    /// Returns whether the evidence shows that two reports are two calls.
    fn contradict(&self, a: NumberedReport<'_>, b: NumberedReport<'_>) -> bool {
        let is_elsewhere = |report: &CallReport, other: &CallReport| {
            other.is_of_proxy && report.id != 0 && other.id != 0 && self.wire_ids.contains(&report.id)
        };
        if !have_same_id(&a, &b) && (is_elsewhere(&a, &b) || is_elsewhere(&b, &a)) {
            return true;
        }
        match a.event_type {
            EventType::LlmCall if a.is_fetch || b.is_fetch => false,
            EventType::LlmCall => same_model(&a, &b) == Some(false) || same_tokens(&a, &b) == Some(false),
            _ => match self.same_arguments(a, b) {
                Some(are_same) => !are_same,
                None => a.name != b.name && a.name != 0 && b.name != 0,
            },
        }
    }
}

/// Returns whether two reports have one ID, of the answer or of the request.
fn have_same_id(one: &CallReport, other: &CallReport) -> bool {
    let ids = |report: &CallReport| [report.id, report.request_id].into_iter().filter(|id| *id != 0);
    ids(one).any(|id| ids(other).any(|same| same == id))
}

/// Returns whether two reports name one model; `None` where one names none.
pub(super) fn same_model(one: &CallReport, other: &CallReport) -> Option<bool> {
    let names = |report: &CallReport| {
        [report.name, report.answered_by]
            .into_iter()
            .filter(|name| *name != 0)
    };
    names(one).next()?;
    names(other).next()?;
    Some(names(one).any(|name| names(other).any(|same| same == name)))
}

/// Returns whether two reports count the same tokens, above zero; `None` where one counts none. Some reporters do not
/// include cached or reasoning tokens in the other counts.
pub(super) fn same_tokens(one: &CallReport, other: &CallReport) -> Option<bool> {
    let known = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
    let output = |usage: &Usage| {
        let whole = known(usage.completion_tokens)?;
        let reasoning = usage.reasoning_tokens.unwrap_or(0);
        Some([
            whole,
            whole.saturating_sub(reasoning),
            whole.saturating_add(reasoning),
        ])
    };
    let input = |usage: &Usage| {
        let whole = known(usage.prompt_tokens)?;
        let cached = usage
            .cache_read_tokens
            .unwrap_or(0)
            .saturating_add(usage.cache_write_tokens.unwrap_or(0));
        Some([whole, whole.saturating_sub(cached), whole.saturating_add(cached)])
    };
    let same = |one: Option<[u64; 3]>, other: Option<[u64; 3]>| {
        let (one, other) = (one?, other?);
        Some(one.iter().any(|tokens| other.contains(tokens)))
    };
    let of_output = same(output(&one.usage), output(&other.usage));
    let of_input = same(input(&one.usage), input(&other.usage));
    match (of_output, of_input) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), _) => Some(true),
        (None, _) => None,
    }
}

/// Ranks the distance of two reports in time: one within the other, overlapping, near; `None` for any other pair.
fn nearness(one: &CallReport, other: &CallReport) -> Option<u8> {
    let holds = |outer: &CallReport, inner: &CallReport| outer.start <= inner.start && inner.end <= outer.end;
    let overlap = one.start <= other.end && other.start <= one.end;
    let near = one.start - TOLERANCE <= other.end && other.start - TOLERANCE <= one.end;
    match (holds(one, other) || holds(other, one), overlap, near) {
        (true, ..) => Some(0),
        (_, true, _) => Some(1),
        (.., true) => Some(2),
        _ => None,
    }
}

/// Distance between two reports: that of their starts plus that of their ends, in microseconds.
fn gap(one: &CallReport, other: &CallReport) -> i64 {
    (one.start - other.start)
        .saturating_abs()
        .saturating_add((one.end - other.end).saturating_abs())
}

/// A kind of evidence: whether it speaks for a pair, and how strongly.
type Speaks = fn(&JoinEvidence<'_>, NumberedReport<'_>, NumberedReport<'_>) -> Option<Worth>;

fn worth(agreeing: u8, near: u8, gap: i64, one: &CallReport, other: &CallReport) -> Worth {
    let (first, second) = if (one.start, one.span_id) <= (other.start, other.span_id) {
        (one, other)
    } else {
        (other, one)
    };
    (
        Reverse(agreeing),
        near,
        gap,
        first.start,
        first.span_id,
        second.span_id,
    )
}

/// Joins the reports of one call, see the module.
pub(super) fn join<'a>(
    evidence: &mut JoinEvidence<'a>,
    mut calls: Vec<NumberedReport<'a>>,
    mut content: impl FnMut(LinePlace) -> Option<ReportedArguments>,
    groups: &mut Groups<'a>,
) {
    calls.sort_by_key(|report| (report.start, report.span_id));
    let of_type = |event_type| {
        let calls = calls.iter().copied();
        calls
            .filter(move |report| report.event_type == event_type)
            .collect::<Vec<_>>()
    };
    let models = of_type(EventType::LlmCall);
    join_fetches(&models, groups);
    if has_several_sources(models.iter()) {
        join_by_id(evidence, &models, groups);
        join_near(evidence, &models, of_measure, groups);
        let candidates = join_near(evidence, &models, of_set, groups);
        find_unsure(
            evidence,
            candidates,
            |(agreeing, near, gap, ..), best| {
                *agreeing > best.0
                    || *near > best.1
                    || *gap > best.2.saturating_mul(3).saturating_add(CLEAR_GAP)
            },
            groups,
        );
    }
    let tools = of_type(EventType::ToolCall);
    if has_several_sources(tools.iter()) {
        evidence.find_asked_in(&tools, groups);
        join_by_id(evidence, &tools, groups);
        let mut unfinished = unfinished(&tools, groups);
        // In the order of the file, where most of them are read at once.
        unfinished.sort_unstable_by_key(|tool| tool.place);
        let end = unfinished.iter().map(|tool| tool.at + 1).max().unwrap_or(0);
        evidence.arguments.resize_with(end, || None);
        for tool in unfinished {
            let arguments = content(tool.place).unwrap_or_default();
            if let Some(slot) = evidence.arguments.get_mut(tool.at) {
                *slot = Some(arguments);
            }
        }
        // A tool may run at any time until its result is there; and a place that is not sure, the last bit, makes no other so.
        let says_more = |worth: &Worth, best: &Worth| worth.0.0 / 2 < best.0.0 / 2;
        let candidates = join_near(evidence, &tools, of_frame, groups);
        find_unsure(evidence, candidates, says_more, groups);
    }
}

/// Joins what asked again for an answer with the call that created it, or else with what asked first, however often and
/// whenever it asked: by the answer's ID.
fn join_fetches<'a>(models: &[NumberedReport<'a>], groups: &mut Groups<'a>) {
    let mut created: HashMap<u64, NumberedReport<'_>> = HashMap::new();
    for fetch in models.iter().filter(|report| report.is_fetch && report.id != 0) {
        created.entry(fetch.id).or_insert(*fetch);
    }
    if created.is_empty() {
        return;
    }
    for report in models {
        if let Some(first) = created.get_mut(&report.id) {
            let rank =
                |report: &CallReport| (report.is_fetch, !report.is_of_proxy, report.start, report.span_id);
            *first = if rank(report) < rank(first) {
                *report
            } else {
                *first
            };
        }
    }
    for fetch in models.iter().filter(|report| report.is_fetch) {
        if let Some(first) = created.get(&fetch.id) {
            groups.join(*first, *fetch);
        }
    }
}

fn has_several_sources<'r>(mut calls: impl Iterator<Item = &'r NumberedReport<'r>>) -> bool {
    calls
        .next()
        .is_some_and(|first| calls.any(|call| call.source != first.source))
}

/// The reports whose group some reporter has no part in yet.
fn unfinished<'a>(calls: &[NumberedReport<'a>], groups: &Groups<'_>) -> Vec<NumberedReport<'a>> {
    let mut sources: Vec<u64> = calls.iter().map(|call| call.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let lacks = |call: NumberedReport<'_>| sources.iter().any(|source| !groups.has_source(call, *source));
    let is_open = |call: &NumberedReport<'_>| groups.size(*call) < sources.len() || lacks(*call);
    calls.iter().copied().filter(is_open).collect()
}

/// Returns whether two groups may be one call.
fn may_join(
    evidence: &JoinEvidence<'_>,
    one: NumberedReport<'_>,
    other: NumberedReport<'_>,
    groups: &Groups<'_>,
) -> bool {
    let contradicts = |one| groups.members(other).any(|other| evidence.contradict(one, other));
    groups.may_join(one, other) && !groups.members(one).any(contradicts)
}

/// Joins reports that have one ID, at any time, where no reporter has it twice.
fn join_by_id<'a>(evidence: &JoinEvidence<'_>, calls: &[NumberedReport<'a>], groups: &mut Groups<'a>) {
    let mut first_with: HashMap<u64, NumberedReport<'_>> = HashMap::new();
    for report in calls {
        let ids = [report.id, report.request_id].into_iter();
        for id in ids.filter(|id| *id != 0 && !evidence.shared_ids.contains(id)) {
            let first = *first_with.entry(id).or_insert(*report);
            // Such an ID is one call's, whatever else is said of it; but no tool runs when its result is there.
            let is_in_time = begins_before_result(&first, report) && begins_before_result(report, &first);
            if is_in_time && groups.may_join(first, *report) {
                groups.join(first, *report);
            }
        }
    }
}

/// As many tokens of one model at the same time, or an ID that a reporter has several times.
fn of_measure(_: &JoinEvidence<'_>, a: NumberedReport<'_>, b: NumberedReport<'_>) -> Option<Worth> {
    let (a, b) = (a.report(), b.report());
    let near = nearness(a, b)?;
    let has_id = have_same_id(a, b) && near < 2;
    let is_same = same_tokens(a, b) == Some(true) && same_model(a, b) == Some(true);
    let agreeing = 4 * u8::from(has_id)
        + 2 * u8::from(a.usage.prompt_tokens == b.usage.prompt_tokens)
        + u8::from(a.outcome == b.outcome);
    (has_id || is_same).then(|| worth(agreeing, near, gap(a, b), a, b))
}

/// Weighs a report of the wire and one of a library at the same time, where nothing shows that they are two calls.
/// A library may report all attempts at a call as one.
fn of_set(evidence: &JoinEvidence<'_>, a: NumberedReport<'_>, b: NumberedReport<'_>) -> Option<Worth> {
    let (a, b) = (a.report(), b.report());
    if a.is_of_proxy == b.is_of_proxy {
        return None;
    }
    let (wire, library) = if a.is_of_proxy { (a, b) } else { (b, a) };
    let is_same = same_model(wire, library);
    let is_within = library.start <= wire.start && wire.end <= library.end;
    if is_same.is_none() && !is_within {
        return None;
    }
    nearness(wire, library)?;
    // Recorders run beside the wire, by its clock: none has ended before the call that it reports.
    if library.is_own && library.end < wire.start {
        return None;
    }
    let agreeing = 2 * u8::from(is_same == Some(true)) + u8::from(has_failed(wire) == has_failed(library));
    let begun = evidence.begun.get(&wire.span_id).copied().unwrap_or(wire.start);
    let from_start = |start: i64| (start - library.start).saturating_abs();
    let to_start = from_start(wire.start).min(from_start(begun));
    // A span that does not hold the request may have ended at any time.
    let gap = if is_within {
        to_start.saturating_add((wire.end - library.end).saturating_abs())
    } else {
        (wire.start - library.start).saturating_abs()
    };
    Some(worth(agreeing, u8::from(!is_within), gap, a, b))
}

fn has_failed(report: &CallReport) -> bool {
    report.outcome == Outcome::Failed
}

/// Returns whether a tool began before the messages show its result; always `true` for a report that was not derived.
fn begins_before_result(asked: &CallReport, ran: &CallReport) -> bool {
    !asked.is_derived || ran.start <= asked.seen_end().saturating_add(TOLERANCE)
}

/// A tool that ran between when it was asked for and its result, by its name or its arguments; it may have begun before the
/// answer had ended that asks for it.
fn of_frame(
    evidence: &JoinEvidence<'_>,
    one: NumberedReport<'_>,
    other: NumberedReport<'_>,
) -> Option<Worth> {
    let (a, b) = (one.report(), other.report());
    let arguments = evidence.same_arguments(one, other);
    let is_same_name = a.name == b.name && a.name != 0;
    let has_id = have_same_id(a, b);
    let (asked, ran) = match (a.is_derived, b.is_derived) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        (true, true) => return None,
        // Neither says when it was asked for: two that ran at once.
        (false, false) => {
            let near = nearness(a, b).filter(|near| *near < 2 || has_id)?;
            let is_same = has_id || is_same_name && arguments == Some(true);
            let agreeing = 2 * u8::from(arguments == Some(true)) + u8::from(a.outcome == b.outcome);
            return is_same.then(|| worth(agreeing, near, gap(a, b), a, b));
        }
    };
    if !has_id && !is_same_name && arguments != Some(true) {
        return None;
    }
    let ends_in_time = ran.end <= asked.seen_end().saturating_add(TOLERANCE);
    let is_framed =
        ends_in_time && ran.start >= asked.start - TOLERANCE || has_id && begins_before_result(&asked, &ran);
    let may_begin = || {
        evidence
            .asked_by(&asked)
            .map_or(asked.start, |asking| asking.start)
    };
    let is_in_frame = is_framed || ends_in_time && ran.start >= may_begin();
    if !is_in_frame {
        return None;
    }
    let places = evidence.asked_in.get(&asked.at).into_iter().flatten();
    let is_same_place = places
        .filter(|(place, _)| ran.parent == Some(*place))
        .map(|(_, is_sure)| *is_sure)
        .max();
    let is_between = asked.start <= ran.start && ran.end <= asked.seen_end();
    let agreeing = 128 * u8::from(is_framed)
        + 64 * u8::from(has_id)
        + 32 * u8::from(arguments == Some(true))
        + 16 * u8::from(is_same_place == Some(true))
        + 8 * u8::from(is_same_name)
        + 4 * u8::from(is_between)
        + 2 * u8::from(has_failed(&asked) == has_failed(&ran))
        + u8::from(is_same_place == Some(false));
    let near = u8::from(asked.seen_end() == i64::MAX);
    Some(worth(
        agreeing,
        near,
        (ran.start - asked.start).saturating_abs(),
        a,
        b,
    ))
}

/// Joins the pairs of reports near each other in time that some evidence speaks for, the strongest first.
fn join_near<'a>(
    evidence: &JoinEvidence<'_>,
    calls: &[NumberedReport<'a>],
    speaks: Speaks,
    groups: &mut Groups<'a>,
) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let unfinished = unfinished(calls, groups).into_iter();
    let spans = unfinished.map(|call| (call, call.start, call.seen_end().saturating_add(TOLERANCE)));
    each_at_once(spans, |one, other| {
        if let Some(worth) = speaks(evidence, one, other)
            && may_join(evidence, one, other, groups)
        {
            pairs.push((worth, one, other));
        }
    });
    pairs.sort_unstable_by_key(|(worth, one, other)| (*worth, one.at, other.at));
    for (_, one, other) in &pairs {
        if may_join(evidence, *one, *other, groups) {
            groups.join(*one, *other);
        }
    }
    pairs
}

/// Gives each span, of those in the order of their starts, with the latest ones that are open then.
fn each_at_once<C: Copy, T: Ord>(spans: impl Iterator<Item = (C, T, T)>, mut pair: impl FnMut(C, C)) {
    let mut open: BTreeMap<usize, C> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(T, usize)>> = BinaryHeap::new();
    for (number, (call, start, end)) in spans.enumerate() {
        while let Some(first) = ends.peek_mut().filter(|first| first.0.0 < start) {
            let Reverse((_, ended)) = PeekMut::pop(first);
            open.remove(&ended);
        }
        let latest_first = open.values().rev().take(MAX_OPEN);
        latest_first.for_each(|other| pair(*other, call));
        open.insert(number, call);
        ends.push(Reverse((end, number)));
    }
}

/// Finds what the wire saw that may be several reports of one library, as nothing but nearly the same time tells these apart: it
/// is not known where it was made, then, but that it was in what lies around all of them.
fn find_unsure(
    evidence: &mut JoinEvidence<'_>,
    candidates: Vec<Pair<'_>>,
    is_clear: impl Fn(&Worth, &Worth) -> bool,
    groups: &Groups<'_>,
) {
    let pairs =
        candidates
            .into_iter()
            .filter_map(|(worth, one, other)| match (one.is_of_proxy, other.is_of_proxy) {
                (true, false) => Some((worth, one, other)),
                (false, true) => Some((worth, other, one)),
                _ => None,
            });
    let (taken, left): (Vec<Pair<'_>>, Vec<Pair<'_>>) =
        pairs.partition(|(_, wire, library)| groups.root(*wire) == groups.root(*library));
    // Of each call on the wire and each library the report that was taken for it.
    let mut joined: HashMap<(usize, u64), (Worth, NumberedReport<'_>)> = HashMap::new();
    for (worth, wire, library) in taken {
        joined
            .entry((wire.at, library.source))
            .or_insert((worth, library));
    }
    for (worth, wire, other) in left {
        if let Some((best, taken)) = joined.get(&(wire.at, other.source))
            && taken.parent != other.parent
            && !is_clear(&worth, best)
        {
            let unsure = evidence.unsure.entry(wire.place.line).or_default();
            unsure.sources.insert(other.source);
            unsure.places.extend(taken.parent.into_iter().chain(other.parent));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    thread_local!(static COMPARED: Cell<u64> = const { Cell::new(0) });

    /// A time that counts how often it is compared.
    #[derive(PartialEq, Eq)]
    struct Time(u64);

    impl Ord for Time {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Time {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn spans_at_once_cost_their_number() {
        let compared = |spans: u64| {
            COMPARED.set(0);
            let mut pairs = 0;
            // All are open until the end, as are tools without a result.
            let spans = (0..spans).map(|start| (0, Time(start), Time(u64::MAX - start)));
            each_at_once(spans, |_, _| pairs += 1);
            (COMPARED.get(), pairs)
        };
        let ((few, _), (many, pairs)) = (compared(1_000), compared(8_000));
        // The logarithm grows by three tenths.
        assert!(many < few * 8 * 14 / 10, "{few} {many}");
        assert_eq!(pairs, 64 * 8_000 - 64 * 65 / 2);
    }

    #[test]
    fn spans_that_have_ended_are_not_at_once() {
        let mut pairs = Vec::new();
        let spans = [(7, 0, 10), (5, 1, 3), (6, 3, 4), (4, 5, 5), (3, 11, 12)];
        each_at_once(spans.into_iter(), |one, other| pairs.push((one, other)));
        assert_eq!(pairs, [(7, 5), (5, 6), (7, 6), (7, 4)]);
    }
}
