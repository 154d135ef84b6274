//! Joining of the agents that are reported twice.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::groups::Groups;
use super::report::{CallReport, NumberedReport};
use super::{Ancestor, MAX_DEPTH};
use crate::SpanId;

/// The innermost agent of each reporter around a call.
type Around<'a> = HashMap<u64, NumberedReport<'a>>;

/// Joins the spans that are one agent: each reporter tells of its calls. Calls are joined before.
pub(super) fn join<'a>(
    reports: &[NumberedReport<'a>],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
    groups: &mut Groups<'a>,
) {
    let agents = reports.iter().filter(|report| report.agent.is_some());
    let agents: HashMap<SpanId, NumberedReport<'_>> =
        agents.map(|report| (report.span_id, *report)).collect();
    if agents.len() < 2 {
        return;
    }
    let agents_above = |report: &CallReport| {
        std::iter::successors(report.parent, |span| ancestor(*span)?.parent)
            .take(MAX_DEPTH)
            .filter_map(|span| agents.get(&span).copied())
            .collect::<Vec<NumberedReport<'_>>>()
    };
    let mut around: HashMap<usize, Around<'_>> = HashMap::new();
    let mut within: HashMap<SpanId, Vec<NumberedReport<'_>>> = HashMap::new();
    for report in reports {
        let above = agents_above(report);
        if report.agent.is_some() {
            if let Some(outer) = above.first() {
                within.entry(outer.span_id).or_default().push(*report);
            }
            continue;
        }
        let around = around.entry(groups.root(*report)).or_default();
        for agent in above {
            around.entry(agent.source).or_insert(agent);
        }
    }
    // Number of calls that two agents share, and of calls of an agent that another reporter has in one of its own.
    let mut shared: HashMap<(SpanId, SpanId), usize> = HashMap::new();
    let mut reported: HashMap<(SpanId, u64), usize> = HashMap::new();
    let mut has_calls: HashSet<SpanId> = HashSet::new();
    for agents in around.values() {
        has_calls.extend(agents.values().map(|agent| agent.span_id));
        for one in agents.values() {
            for other in agents.values().filter(|other| other.source != one.source) {
                *reported.entry((one.span_id, other.source)).or_default() += 1;
                if one.at < other.at {
                    *shared.entry((one.span_id, other.span_id)).or_default() += 1;
                }
            }
        }
    }
    let mut pairs: Vec<((SpanId, SpanId), usize)> = shared.into_iter().collect();
    pairs.sort_unstable_by_key(|(pair, calls)| (Reverse(*calls), *pair));
    let agent = |span: SpanId| agents.get(&span).copied();
    for ((one, other), calls) in pairs {
        let (Some(one), Some(other)) = (agent(one), agent(other)) else {
            continue;
        };
        let reported_of = |one: &CallReport, other: &CallReport| {
            let reported = reported.get(&(one.span_id, other.source));
            reported.copied().unwrap_or(0)
        };
        let (of_one, of_other) = (reported_of(&one, &other), reported_of(&other, &one));
        let is_one = match have_same_name(&one, &other) {
            // Of calls that nothing tells apart some may be joined crosswise.
            Some(are_equal) => are_equal && 2 * calls > of_one.min(of_other),
            None => calls == of_one.max(of_other),
        };
        if is_one && overlap(&one, &other) && groups.may_join(one, other) {
            groups.join(one, other);
        }
    }
    // Of the others the names say it, where each reporter has one with a name: that was said, and calls may be joined crosswise.
    let mut by_name: HashMap<u64, Vec<NumberedReport<'_>>> = HashMap::new();
    for report in reports {
        if let Some(name) = report.agent.filter(|name| *name != 0)
            && groups.size(*report) == 1
        {
            by_name.entry(name).or_default().push(*report);
        }
    }
    for same in by_name.values() {
        if let [one, other] = *same.as_slice()
            && overlap(&one, &other)
            && groups.may_join(one, other)
        {
            groups.join(one, other);
        }
    }
    for (outer, inner) in within {
        if let ([inner], Some(outer)) = (inner.as_slice(), agent(outer))
            && outer.source == inner.source
            && !has_calls.contains(&outer.span_id)
            && has_calls.contains(&inner.span_id)
            && have_same_name(&outer, inner) == Some(true)
        {
            groups.join(outer, *inner);
        }
    }
}

/// Returns whether two agents have the same name; `None` where one has none.
fn have_same_name(one: &CallReport, other: &CallReport) -> Option<bool> {
    let name = |report: &CallReport| report.agent.filter(|name| *name != 0);
    Some(name(one)? == name(other)?)
}

fn overlap(one: &CallReport, other: &CallReport) -> bool {
    one.start <= other.end && other.start <= one.end
}
