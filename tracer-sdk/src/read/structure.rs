//! Whether the spans of a run fit together: one run, one root, one of each ID, parents that are there and lead to the
//! root (decisions, section 10).

use std::collections::HashMap;

use super::fields::Place;
use super::span::Identity;
use crate::format::{Problem, ProblemCode, SPANS_FILE, SpanId, TraceId};

#[cfg(test)]
mod tests;

/// What is known of the run whose spans are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expectations {
    /// The run's ID in `meta.json`, when it can be read.
    pub(super) trace_id: Option<TraceId>,
    /// Whether the run has ended, so that every span has to be there.
    pub(super) is_completed: bool,
    /// Whether where it stands could be read of every span: what is missing may otherwise lie in a broken line.
    pub(super) is_whole: bool,
}

/// A problem with the number of its line; 0 for what concerns the whole file.
pub(super) type PlacedProblem = (u64, Problem);

/// The problems of the spans with each other. `identities` stand in the order of the file.
pub(super) fn check(identities: &[Identity], expected: Expectations) -> Vec<PlacedProblem> {
    let mut problems = Vec::new();
    let mut report = |line: u64, field: &str, code: ProblemCode, message: String| {
        problems.push((line, Place::Line(line).field_problem(field, code, message)));
    };

    let mut first_lines: HashMap<SpanId, usize> = HashMap::with_capacity(identities.len());
    let mut root_line = None;
    for (index, identity) in identities.iter().enumerate() {
        if let (Some(told), Some(expected)) = (identity.trace_id, expected.trace_id)
            && told != expected
        {
            report(
                identity.line,
                "trace_id",
                ProblemCode::TraceIdMismatch,
                "is not the trace_id of meta.json; a run directory holds the spans of one run".to_owned(),
            );
        }
        if let Some(first) = first_lines
            .get(&identity.span_id)
            .and_then(|first| identities.get(*first))
        {
            report(
                identity.line,
                "span_id",
                ProblemCode::DuplicateSpanId,
                format!(
                    "is also the span_id of line {}; each span has its own",
                    first.line
                ),
            );
        } else {
            first_lines.insert(identity.span_id, index);
        }
        if identity.parent_span_id.is_none() {
            if let Some(first) = root_line {
                report(
                    identity.line,
                    "parent_span_id",
                    ProblemCode::MultipleRoots,
                    format!(
                        "is null, and line {first} holds a root already; a run has one span without parent"
                    ),
                );
            } else {
                root_line = Some(identity.line);
            }
        }
    }

    if expected.is_completed && expected.is_whole {
        for identity in identities {
            if identity
                .parent_span_id
                .is_some_and(|parent| !first_lines.contains_key(&parent))
            {
                report(
                    identity.line,
                    "parent_span_id",
                    ProblemCode::MissingParent,
                    "names a span that is not in the file; a completed run holds every parent".to_owned(),
                );
            }
        }
    }
    for cycle in cycles(identities, &first_lines) {
        report(
            cycle,
            "parent_span_id",
            ProblemCode::ParentCycle,
            "leads back to this span through its parents; parents have to lead to the root".to_owned(),
        );
    }
    if expected.is_completed && expected.is_whole {
        whole_file(identities, root_line, &mut problems);
    }
    problems
}

fn whole_file(identities: &[Identity], root_line: Option<u64>, problems: &mut Vec<PlacedProblem>) {
    if identities.is_empty() {
        let message = "holds no span; a completed run has at least its root";
        problems.push((0, Problem::new(ProblemCode::EmptySpans, SPANS_FILE, message)));
    } else if root_line.is_none() {
        let message = "holds no root: one span of a completed run has the parent_span_id null";
        problems.push((0, Problem::new(ProblemCode::MissingRoot, SPANS_FILE, message)));
    }
}

/// The lowest line of each cycle, where several spans with one ID count as the first of them.
fn cycles(identities: &[Identity], first_lines: &HashMap<SpanId, usize>) -> Vec<u64> {
    let parent_of = |index: usize| -> Option<usize> {
        let parent = identities.get(index)?.parent_span_id?;
        first_lines.get(&parent).copied()
    };
    let line_of = |index: usize| identities.get(index).map_or(0, |identity| identity.line);

    // From which span each was first reached, following parents upwards.
    let mut reached_from: Vec<Option<usize>> = vec![None; identities.len()];
    let mut cycles = Vec::new();
    for start in 0..identities.len() {
        let mut current = Some(start);
        while let Some(index) = current {
            match reached_from.get_mut(index) {
                Some(first @ None) => *first = Some(start),
                // The way has come back to itself: a cycle that no way has met before.
                Some(Some(first)) if *first == start => {
                    let mut lowest = line_of(index);
                    let mut next = parent_of(index);
                    while let Some(member) = next.filter(|member| *member != index) {
                        lowest = lowest.min(line_of(member));
                        next = parent_of(member);
                    }
                    cycles.push(lowest);
                    break;
                }
                _ => break,
            }
            current = parent_of(index);
        }
    }
    cycles
}
