//! Folding: a report that holds exactly one call of its kind is that call; one that holds several is a step of the program.

use std::collections::{HashMap, HashSet};

use super::Ancestor;
use super::groups::Groups;
use super::joins::{TOLERANCE, same_model, same_tokens};
use super::report::{CallReport, NumberedReport};
use crate::{EventType, Outcome, SpanId};

/// Spans between a call and the one around it; more are not looked through.
const MAX_BETWEEN: usize = 16;

/// The nearest call around a call, when it is of the same type.
pub(super) fn call_around(
    report: &CallReport,
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
) -> Option<SpanId> {
    let mut around = report.parent;
    for _ in 0..MAX_BETWEEN {
        let span_id = around?;
        let outer = ancestor(span_id)?;
        if let Some(event_type) = outer.call {
            return (span_id != report.span_id && event_type == report.event_type).then_some(span_id);
        }
        around = outer.parent;
    }
    None
}

/// Makes reports that nest in each other one group where the outer one holds one call, or the attempts at one. Gives the lines of
/// the reports that hold several calls of models: they are none.
pub(super) fn fold<'a>(
    reports: &[NumberedReport<'a>],
    ancestor: impl Fn(SpanId) -> Option<Ancestor>,
    groups: &mut Groups<'a>,
) -> HashSet<u64> {
    let mut steps = HashSet::new();
    take_places(reports, groups);
    // The calls within each call.
    let mut held: HashMap<SpanId, Vec<NumberedReport<'_>>> = HashMap::new();
    for report in reports.iter().filter(|report| !report.is_addition) {
        if let Some(outer) = call_around(report, &ancestor) {
            held.entry(outer).or_default().push(*report);
        }
    }
    for outer in reports {
        let Some(held) = held.get(&outer.span_id) else {
            continue;
        };
        let mut lasting = held.iter().filter(|held| !has_failed(held));
        let only = match (lasting.next(), lasting.next()) {
            (Some(only), None) => Some(only),
            // All were refused: the last attempt.
            (None, _) => held.iter().max_by_key(|held| (held.start, held.span_id)),
            (Some(_), Some(_)) => {
                let are_recorded = outer.is_own && held.iter().any(|held| held.is_own);
                if outer.event_type == EventType::LlmCall && !outer.is_of_proxy && !are_recorded {
                    steps.insert(outer.place.line);
                }
                None
            }
        };
        if let Some(only) = only.filter(|inner| nests_in(inner, outer)) {
            groups.join(*outer, *only);
        }
    }
    steps
}

/// Joins each span that outlived its run with its stand-in, and what came later of a call with its span: that is its parent, as
/// its ID was taken, and began when it did.
fn take_places<'a>(reports: &[NumberedReport<'a>], groups: &mut Groups<'a>) {
    if !reports
        .iter()
        .any(|report| report.is_stand_in || report.is_addition)
    {
        return;
    }
    let by_span: HashMap<SpanId, NumberedReport<'_>> =
        reports.iter().map(|report| (report.span_id, *report)).collect();
    for report in reports {
        if let Some(outer) = report.parent.and_then(|parent| by_span.get(&parent))
            && (outer.event_type, outer.name, outer.start) == (report.event_type, report.name, report.start)
            && (outer.is_stand_in || report.is_addition)
        {
            groups.join(*outer, *report);
        }
    }
}

fn has_failed(report: &CallReport) -> bool {
    report.outcome == Outcome::Failed
}

/// Returns whether an inner call is the same call as the outer one.
fn nests_in(inner: &CallReport, outer: &CallReport) -> bool {
    // The request itself says in which span it was made.
    if inner.is_on_the_wire && !outer.is_on_the_wire {
        return true;
    }
    let is_within =
        inner.start >= outer.start - TOLERANCE && inner.end <= outer.end.saturating_add(TOLERANCE);
    let is_same = match outer.event_type {
        EventType::LlmCall => {
            same_model(inner, outer) != Some(false) && same_tokens(inner, outer) != Some(false)
        }
        _ => inner.name == outer.name,
    };
    !(inner.is_own && outer.is_own) && is_within && is_same
}
