//! Problems of the spans with each other: duplicate IDs, several roots or none, missing parents, parents in a circle
//! (decisions, section 10).

use crate::log::{IdTable, Problems};
use tracer_format::parse::{Location, no_spans};
use tracer_format::project::IndexEntry;
use tracer_format::{Problem, ProblemCode, SPANS_FILE};

#[cfg(test)]
mod tests;

/// The demands on the spans of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expectations {
    /// `true` when the run has ended, so that every span has to be there.
    pub(crate) is_completed: bool,
    /// `true` when this includes parents: those of another process that died are not there.
    pub(crate) needs_parents: bool,
    /// `true` when the IDs of every span could be read: a missing span may otherwise be in a broken line.
    pub(crate) is_whole: bool,
}

/// A parent that is not there, or none.
const NONE: u32 = u32::MAX;

/// The problems of the spans with each other. `entries` are in the order of the file.
pub(crate) fn structure_problems(entries: &[IndexEntry], expected: Expectations) -> Problems {
    let mut table = IdTable::with_room_for(entries.len());
    let mut problems = identities(entries, &mut table);
    let (parents, missing) = parents(entries, &table);
    drop(table);
    if expected.is_completed && expected.needs_parents && expected.is_whole {
        problems.merge(missing);
    }
    let mut others = cycles(entries, &parents);
    if expected.is_completed && expected.is_whole {
        whole_file(entries, &mut others);
    }
    problems.merge(others);
    problems
}

/// Spans with the ID of another one, and roots behind the first.
fn identities(entries: &[IndexEntry], table: &mut IdTable) -> Problems {
    let mut problems = Problems::default();
    let mut root_line = None;
    for position in 0..u32::try_from(entries.len()).unwrap_or(NONE) {
        let first = table
            .insert(entries, position)
            .and_then(|first| entries.get(first as usize));
        let Some(entry) = entries.get(position as usize) else {
            break;
        };
        let line = entry.line();
        if let Some(first_line) = first.map(IndexEntry::line) {
            problems.push_with(line, || {
                problem(
                    line,
                    "span_id",
                    ProblemCode::DuplicateSpanId,
                    format!("is also the span_id of line {first_line}; each span has its own"),
                )
            });
        }
        if entry.parent_span_id().is_none() {
            if let Some(first) = root_line {
                problems.push_with(line, || {
                    let message = format!(
                        "is null, and line {first} holds a root already; a run has one span without parent"
                    );
                    problem(line, "parent_span_id", ProblemCode::MultipleRoots, message)
                });
            } else {
                root_line = Some(line);
            }
        }
    }
    problems
}

/// The position of every span's parent, and a problem for each that is not there.
fn parents(entries: &[IndexEntry], table: &IdTable) -> (Vec<u32>, Problems) {
    let mut problems = Problems::default();
    let parents = entries.iter().map(|entry| {
        let Some(parent) = entry.parent_span_id() else {
            return NONE;
        };
        table.find(entries, parent).unwrap_or_else(|| {
            problems.push_with(entry.line(), || {
                problem(
                    entry.line(),
                    "parent_span_id",
                    ProblemCode::MissingParent,
                    "names a span that is not in the file; a completed run holds every parent".to_owned(),
                )
            });
            NONE
        })
    });
    (parents.collect(), problems)
}

fn whole_file(entries: &[IndexEntry], problems: &mut Problems) {
    if entries.is_empty() {
        problems.push(0, no_spans());
    } else if entries.iter().all(|entry| entry.parent_span_id().is_some()) {
        let message = "holds no root: one span of a completed run has the parent_span_id null";
        problems.push(0, Problem::new(ProblemCode::MissingRoot, SPANS_FILE, message));
    }
}

/// A problem at the lowest line of each cycle, where several spans with one ID count as the first of them.
fn cycles(entries: &[IndexEntry], parents: &[u32]) -> Problems {
    let parent_of = |position: u32| {
        parents
            .get(position as usize)
            .copied()
            .filter(|parent| *parent != NONE)
    };
    let line_of = |position: u32| entries.get(position as usize).map_or(0, IndexEntry::line);

    // From which span each was first reached, following parents upwards.
    let mut reached_from = vec![NONE; parents.len()];
    let mut problems = Problems::default();
    for start in 0..u32::try_from(parents.len()).unwrap_or(NONE) {
        let mut current = Some(start);
        while let Some(position) = current {
            match reached_from.get_mut(position as usize) {
                Some(first) if *first == NONE => *first = start,
                // The way has come back to itself: a cycle that no way has met before.
                Some(first) if *first == start => {
                    let mut lowest = line_of(position);
                    let mut next = parent_of(position);
                    while let Some(member) = next.filter(|member| *member != position) {
                        lowest = lowest.min(line_of(member));
                        next = parent_of(member);
                    }
                    problems.push_with(lowest, || {
                        problem(
                            lowest,
                            "parent_span_id",
                            ProblemCode::ParentCycle,
                            "leads back to this span through its parents; parents have to lead to the root"
                                .to_owned(),
                        )
                    });
                    break;
                }
                _ => break,
            }
            current = parent_of(position);
        }
    }
    problems
}

fn problem(line: u64, field: &str, code: ProblemCode, message: String) -> Problem {
    Location::Line(line).field_problem(field, code, message)
}
