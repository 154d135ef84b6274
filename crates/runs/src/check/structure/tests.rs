//! Spans that fit together and spans that do not, by example and for any parents.

use proptest::prelude::*;

use super::*;
use tracer_format::parse::Identity;
use tracer_format::project::{LinePlace, RecordHeader};
use tracer_format::{EventType, Outcome, SpanId, Timestamp};

/// Spans by number and parent's number; 0 is no parent. The first is on line 1.
fn spans(parents: &[(u64, u64)]) -> Vec<IndexEntry> {
    let header = RecordHeader::new(
        EventType::Unknown,
        Timestamp::from_unix_microseconds(0),
        Outcome::Ok,
    );
    (1..)
        .zip(parents)
        .map(|(line, (span, parent))| {
            let identity = Identity {
                trace_id: None,
                span_id: SpanId::from_u64(*span).unwrap(),
                parent_span_id: SpanId::from_u64(*parent),
            };
            let place = LinePlace {
                offset: line,
                length: 1,
                line,
            };
            IndexEntry::new(identity, place, Some(header), false)
        })
        .collect()
}

fn problems(entries: &[IndexEntry], is_completed: bool) -> Vec<String> {
    let expected = Expectations {
        is_completed,
        needs_parents: true,
        is_whole: true,
    };
    let (problems, _) = structure_problems(entries, expected).into_parts();
    problems
        .map(|problem| format!("{} {}", problem.code, problem.location))
        .collect()
}

#[test]
fn spans_that_lead_to_one_root_fit() {
    let tree = spans(&[(3, 2), (2, 1), (1, 0), (4, 1)]);
    assert_eq!(problems(&tree, true), [""; 0]);
    assert_eq!(problems(&tree, false), [""; 0]);
}

#[test]
fn each_misfit_has_its_code_and_place() {
    type Parents = &'static [(u64, u64)];
    let table: [(Parents, &[&str]); 9] = [
        (&[], &["empty_spans spans.jsonl"]),
        (
            &[(2, 1)],
            &[
                "missing_root spans.jsonl",
                "missing_parent spans.jsonl:1.parent_span_id",
            ],
        ),
        (
            &[(1, 0), (2, 9)],
            &["missing_parent spans.jsonl:2.parent_span_id"],
        ),
        (
            &[(1, 0), (2, 0), (3, 0)],
            &[
                "multiple_roots spans.jsonl:2.parent_span_id",
                "multiple_roots spans.jsonl:3.parent_span_id",
            ],
        ),
        (
            &[(1, 0), (2, 1), (2, 1)],
            &["duplicate_span_id spans.jsonl:3.span_id"],
        ),
        (&[(1, 0), (2, 2)], &["parent_cycle spans.jsonl:2.parent_span_id"]),
        (
            &[(4, 2), (3, 2), (1, 0), (2, 3)],
            &["parent_cycle spans.jsonl:2.parent_span_id"],
        ),
        (
            &[(1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (6, 4)],
            &[
                "parent_cycle spans.jsonl:2.parent_span_id",
                "parent_cycle spans.jsonl:4.parent_span_id",
            ],
        ),
        (
            &[(2, 1), (1, 2)],
            &[
                "missing_root spans.jsonl",
                "parent_cycle spans.jsonl:1.parent_span_id",
            ],
        ),
    ];
    for (parents, expected) in table {
        assert_eq!(problems(&spans(parents), true), expected, "{parents:?}");
    }
}

#[test]
fn a_running_run_may_lack_its_root_and_parents_and_nothing_else() {
    for parents in [&[][..], &[(2, 1)], &[(3, 2), (4, 1)]] {
        assert_eq!(problems(&spans(parents), false), [""; 0], "{parents:?}");
    }
    for (parents, code) in [
        (&[(1, 0), (2, 0)][..], "multiple_roots"),
        (&[(2, 1), (2, 1)], "duplicate_span_id"),
        (&[(2, 3), (3, 2)], "parent_cycle"),
    ] {
        let problems = problems(&spans(parents), false);
        assert!(
            problems.len() == 1 && problems[0].starts_with(code),
            "{problems:?}"
        );
    }
}

#[test]
fn what_may_lie_in_a_broken_line_is_not_called_missing() {
    let expected = Expectations {
        is_completed: true,
        needs_parents: true,
        is_whole: false,
    };
    assert!(structure_problems(&spans(&[(2, 1)]), expected) == Problems::default());
    assert!(structure_problems(&[], expected) == Problems::default());
}

proptest! {
    #[test]
    fn a_cycle_is_found_exactly_when_a_way_up_does_not_end(parents in prop::collection::vec(0u64..9, 0..9)) {
        let pairs: Vec<_> = (1..).zip(parents.iter().copied()).collect();
        let ends = |mut span: u64| {
            for _ in 0..=parents.len() {
                match usize::try_from(span).ok().and_then(|span| parents.get(span.checked_sub(1)?)) {
                    None | Some(0) => return true,
                    Some(parent) => span = *parent,
                }
            }
            false
        };
        let has_cycle = !pairs.iter().all(|(span, _)| ends(*span));
        let found = problems(&spans(&pairs), false);
        prop_assert_eq!(found.iter().any(|problem| problem.starts_with("parent_cycle")), has_cycle);
    }
}
