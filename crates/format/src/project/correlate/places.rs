//! Places: where each call is in the tree. One that was said comes before one that was inferred, and how deep it is decides
//! only between equals.

use std::collections::{HashMap, HashSet};

use super::joins::JoinEvidence;
use super::report::CallReport;
use super::{Ancestor, Correlation, MAX_DEPTH, SpanRole};
use crate::SpanId;

/// Among more agents, or conversations, no call is placed by time: each is compared with each of them.
const MAX_COMPARED: usize = 1_000;

/// Finds the place of each call that is reported more than once, of the attempts at these, and of the tools that they asked for;
/// `groups` are the reports of each, the one that is the call first.
pub(super) fn place(
    found: &mut Correlation,
    reports: &[CallReport],
    groups: &[Vec<&CallReport>],
    evidence: &JoinEvidence<'_>,
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) {
    for group in groups {
        let Some((first, others)) = group.split_first() else {
            continue;
        };
        let mut members = group.iter().copied();
        let unsure = members.find_map(|report| Some((report, evidence.unsure(report.place.line)?)));
        let parent = match unsure {
            None => better_parent(first, others, &ancestor),
            Some((wire, unsure)) => {
                let mut others = group.clone();
                others.retain(|other| other.span_id != wire.span_id);
                let around = better_parent(wire, &others, &ancestor);
                others.retain(|other| !unsure.sources.contains(&other.source));
                let parent = better_parent(wire, &others, &ancestor)
                    .or_else(|| around_all(around?, &unsure.places, &ancestor));
                parent
                    .or(wire.parent)
                    .filter(|parent| Some(*parent) != first.parent)
            }
        };
        if let Some(parent) = parent {
            found.of(first.place.line).parent = Some(parent);
        }
    }
    place_in_agents(found, reports, &ancestor);
    place_attempts(found, reports, &ancestor);
    place_tools(found, reports, evidence);
    place_in_rows(found, reports);
}

/// The deepest span that all of these are, or lie in.
fn around_all(
    first: SpanId,
    others: &[SpanId],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) -> Option<SpanId> {
    let above =
        |span: SpanId| std::iter::successors(Some(span), |span| ancestor(*span)?.parent).take(MAX_DEPTH);
    let mut around: Option<SpanId> = Some(first);
    for other in others {
        let of_other: HashSet<SpanId> = above(*other).collect();
        around = around.and_then(|around| above(around).find(|span| of_other.contains(span)));
    }
    around
}

/// Puts each call on the wire that nothing gives a place into the innermost agent that was open when it began: where the open
/// agents lie in each other, and no other conversation overlaps with the call.
fn place_in_agents(
    found: &mut Correlation,
    reports: &[CallReport],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) {
    let agents = reports
        .iter()
        .filter(|report| report.agent.is_some() && found.is_call(report.place.line));
    let agents: Vec<&CallReport> = agents.collect();
    if agents.is_empty() {
        return;
    }
    let mut conversations: HashMap<u64, (i64, i64)> = HashMap::new();
    for call in reports.iter().filter(|report| report.conversation > 0) {
        let (start, end) = conversations
            .entry(call.conversation)
            .or_insert((call.start, call.end));
        (*start, *end) = (call.start.min(*start), call.end.max(*end));
    }
    if agents.len().max(conversations.len()) > MAX_COMPARED {
        return;
    }
    let is_root = |span: SpanId| ancestor(span).is_none_or(|ancestor| ancestor.parent.is_none());
    let is_within = |inner: SpanId, outer: SpanId| {
        let above = std::iter::successors(Some(inner), |span| ancestor(*span)?.parent);
        above.take(MAX_DEPTH).any(|span| span == outer)
    };
    for call in reports {
        let line = call.place.line;
        let is_lost = call.is_on_the_wire
            && !call.is_derived
            && call.conversation > 0
            && call.parent.is_some_and(is_root)
            && found.is_call(line)
            && found.found_parent(line).is_none();
        let is_alone = |(number, (start, end)): (&u64, &(i64, i64))| {
            *number == call.conversation || *end < call.start || call.end < *start
        };
        if !is_lost || !conversations.iter().all(is_alone) {
            continue;
        }
        let is_open = |agent: &&&CallReport| (agent.start..=agent.end).contains(&call.start);
        let open = agents.iter().filter(is_open);
        let lies_in_all =
            |inner: &&&CallReport| open.clone().all(|outer| is_within(inner.span_id, outer.span_id));
        if let Some(agent) = open.clone().find(lies_in_all) {
            let call = found.of(line);
            (call.parent, call.is_guess) = (Some(agent.span_id), true);
        }
    }
}

/// Puts each failed request that nothing else reports, and that names no place, where the call is that tries it again.
fn place_attempts(
    found: &mut Correlation,
    reports: &[CallReport],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) {
    if found.spans.values().all(|span| span.attempt_of.is_none()) {
        return;
    }
    let calls: HashMap<SpanId, &CallReport> = reports.iter().map(|report| (report.span_id, report)).collect();
    let is_root = |span: SpanId| ancestor(span).is_none_or(|ancestor| ancestor.parent.is_none());
    for report in reports {
        let line = report.place.line;
        let is_alone = found.is_call(line) && found.repeats_of(line).is_empty();
        if !is_alone || report.is_on_the_wire && !report.parent.is_some_and(is_root) {
            continue;
        }
        let call = found.get(line).and_then(|found| calls.get(&found.attempt_of?));
        if let Some(parent) = call.and_then(|call| found.parent_of(call.place.line, call.parent)) {
            found.of(line).parent = Some(parent);
        }
    }
}

/// Puts each tool that only messages show where the call is now that asked for it.
fn place_tools(found: &mut Correlation, reports: &[CallReport], evidence: &JoinEvidence<'_>) {
    if found.is_empty() {
        return;
    }
    for tool in reports.iter().filter(|report| report.is_derived) {
        let line = tool.place.line;
        if !found.is_call(line) || found.found_parent(line).is_some() {
            continue;
        }
        let Some(asking) = evidence
            .asked_by(tool)
            .filter(|asking| asking.parent == tool.parent)
        else {
            continue;
        };
        let asking = found
            .get(asking.place.line)
            .map(|call| (call.parent, call.is_guess));
        if let Some((parent @ Some(_), is_guess)) = asking {
            let tool = found.of(line);
            (tool.parent, tool.is_guess) = (parent, is_guess);
        }
    }
}

/// Puts the calls of each conversation with a row into that, where nothing else says where they were made. A row that holds none
/// is no step. A proxy that was restarted within a run counts its conversations from 1 again: of rows of one number in one place
/// a call is in the last one that had begun.
fn place_in_rows(found: &mut Correlation, reports: &[CallReport]) {
    let mut rows: HashMap<(u64, Option<SpanId>), Vec<&CallReport>> = HashMap::new();
    for row in reports.iter().filter(|report| report.is_row()) {
        found.of(row.place.line).role = SpanRole::Leftover;
        let parent = found.parent_of(row.place.line, row.parent);
        rows.entry((row.conversation, parent)).or_default().push(row);
    }
    if rows.is_empty() {
        return;
    }
    for rows in rows.values_mut() {
        rows.sort_unstable_by_key(|row| (row.start, row.span_id));
    }
    let by_span: HashMap<SpanId, &CallReport> =
        reports.iter().map(|report| (report.span_id, report)).collect();
    let members = reports.iter();
    let mut members: Vec<&CallReport> = members
        .filter(|report| report.conversation > 0 && !report.is_row())
        .collect();
    members.sort_unstable_by_key(|member| (member.start, member.span_id));
    for member in members {
        // The report that knows the conversation may be another one than the call.
        let call = found.calls.get(&member.span_id).unwrap_or(&member.span_id);
        let Some(call) = by_span.get(call) else { continue };
        let line = call.place.line;
        let place = (member.conversation, found.parent_of(line, call.parent));
        let Some(rows) = rows.get(&place).filter(|_| found.is_call(line)) else {
            continue;
        };
        let begun = rows.partition_point(|row| row.start <= member.start);
        if let Some(row) = rows.get(begun.saturating_sub(1)) {
            let call = found.of(line);
            call.is_only_in_row = call.parent.is_none();
            call.parent = Some(row.span_id);
            found.of(row.place.line).role = SpanRole::Itself;
        }
    }
}

/// The place of a call in the tree, where that is not its own span's. One that a report says comes before one that was
/// inferred; a report right below the run says none. Of several it is that of the outermost of its spans that lie in each other,
/// the deepest of those where they do not, as a proxy sees a call from outside and a library where it was made.
fn better_parent(
    call: &CallReport,
    others: &[&CallReport],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) -> Option<SpanId> {
    let mut members: Vec<SpanId> = others.iter().map(|other| other.span_id).collect();
    members.push(call.span_id);
    members.sort_unstable();
    let is_one_of_them = |span: SpanId| members.binary_search(&span).is_ok();
    // Sort key of a place: `true` where it was reported; the number of spans above, without the call's own; and the
    // nearest of them.
    let place = |report: &CallReport| {
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
