//! Joining of the agents that are reported twice.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::groups::Groups;
use super::report::CallReport;
use super::{Ancestor, MAX_DEPTH};
use crate::SpanId;

/// The innermost agent of a reporter around a call.
type Around = HashMap<u64, usize>;

/// Joins the spans that are one agent: each reporter tells of its calls. Calls are joined before.
pub(super) fn join(
    reports: &[CallReport],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
    groups: &mut Groups<'_>,
) {
    let numbered = || reports.iter().enumerate();
    let agents: HashMap<SpanId, usize> = numbered()
        .filter(|(_, report)| report.agent.is_some())
        .map(|(at, report)| (report.span_id, at))
        .collect();
    if agents.len() < 2 {
        return;
    }
    let agents_above = |report: &CallReport| {
        std::iter::successors(report.parent, |span| ancestor(*span)?.parent)
            .take(MAX_DEPTH)
            .filter_map(|span| agents.get(&span).copied())
            .collect::<Vec<usize>>()
    };
    let source = |at: usize| reports.get(at).map_or(0, |report| report.source);
    let mut around: HashMap<usize, Around> = HashMap::new();
    let mut within: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, report) in numbered() {
        let above = agents_above(report);
        if report.agent.is_some() {
            if let Some(outer) = above.first() {
                within.entry(*outer).or_default().push(at);
            }
            continue;
        }
        let around = around.entry(groups.root(at)).or_default();
        for agent in above {
            around.entry(source(agent)).or_insert(agent);
        }
    }
    // Number of calls that two agents share, and of calls of an agent that another reporter has in one of its own.
    let mut shared: HashMap<(usize, usize), usize> = HashMap::new();
    let mut reported: HashMap<(usize, u64), usize> = HashMap::new();
    let mut has_calls: HashSet<usize> = HashSet::new();
    for agents in around.values() {
        has_calls.extend(agents.values());
        for (source, one) in agents {
            for (other_source, other) in agents.iter().filter(|(other, _)| *other != source) {
                *reported.entry((*one, *other_source)).or_default() += 1;
                if one < other {
                    *shared.entry((*one, *other)).or_default() += 1;
                }
            }
        }
    }
    let mut pairs: Vec<((usize, usize), usize)> = shared.into_iter().collect();
    pairs.sort_unstable_by_key(|(pair, calls)| {
        let (one, other) = (reports.get(pair.0), reports.get(pair.1));
        (
            Reverse(*calls),
            one.map(|one| one.span_id),
            other.map(|other| other.span_id),
        )
    });
    for ((one, other), calls) in pairs {
        let reported_of =
            |one: usize, other: usize| reported.get(&(one, source(other))).copied().unwrap_or(0);
        let (of_one, of_other) = (reported_of(one, other), reported_of(other, one));
        let is_one = match names(reports, one, other) {
            // Of calls that nothing tells apart some may be joined crosswise.
            Some(are_equal) => are_equal && 2 * calls > of_one.min(of_other),
            None => calls == of_one.max(of_other),
        };
        if is_one && overlap(reports, one, other) && groups.may_join(one, other) {
            groups.join(one, other);
        }
    }
    // Of the others the names say it, where each reporter has one with a name: that was said, and calls may be joined crosswise.
    let mut by_name: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, report) in numbered() {
        if let Some(name) = report.agent.filter(|name| *name != 0)
            && groups.members(at).len() == 1
        {
            by_name.entry(name).or_default().push(at);
        }
    }
    for same in by_name.values() {
        if let [one, other] = *same.as_slice()
            && overlap(reports, one, other)
            && groups.may_join(one, other)
        {
            groups.join(one, other);
        }
    }
    for (outer, inner) in within {
        if let [inner] = inner.as_slice()
            && source(outer) == source(*inner)
            && !has_calls.contains(&outer)
            && has_calls.contains(inner)
            && names(reports, outer, *inner) == Some(true)
        {
            groups.join(outer, *inner);
        }
    }
}

/// Returns whether two agents have the same name; `None` where one has none.
fn names(reports: &[CallReport], one: usize, other: usize) -> Option<bool> {
    let name = |at: usize| reports.get(at)?.agent.filter(|name| *name != 0);
    Some(name(one)? == name(other)?)
}

fn overlap(reports: &[CallReport], one: usize, other: usize) -> bool {
    let pair = reports.get(one).zip(reports.get(other));
    pair.is_some_and(|(one, other)| one.start <= other.end && other.start <= one.end)
}
