//! Spans that do or do not fit together, and runs that are still written.

use serde_json::{Value, json};

use super::case::Lenient::{Refused, Shows};
use super::case::{Case, Odd, case, child, other, patched, root, run, running};

/// Spans by number and parent, 0 for none.
fn log(spans: &[(u64, u64)]) -> String {
    let id = |number: u64| format!("{number:016x}");
    let lines = spans.iter().map(|&(span, parent)| {
        let parent = (parent > 0).then(|| id(parent));
        let ids = json!({"span_id": id(span), "parent_span_id": parent, "attributes": {}});
        format!("{}\n", patched(root(), ids))
    });
    lines.collect()
}

fn uncounted(run: Odd) -> Odd {
    run.meta_with(json!({"counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}}))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = completed();
    cases.extend(still_running());
    cases.extend(of_other_runs());
    cases
}

fn completed() -> Vec<Case> {
    let of = |spans: &[(u64, u64)]| uncounted(run().log(log(spans)));
    let deep: Vec<(u64, u64)> = (1..=5_000).map(|number| (number, number - 1)).collect();
    let wide: Vec<(u64, u64)> = (1..=5_000)
        .map(|number| (number, u64::from(number > 1)))
        .collect();
    vec![
        case("no span", of(&[]), &["empty_spans spans.jsonl"], Shows(0)),
        case(
            "only blank lines",
            uncounted(run().log("\n \n\n")),
            &["empty_spans spans.jsonl"],
            Shows(0),
        ),
        case("only a root", of(&[(1, 0)]), &[], Shows(1)),
        case(
            "no root",
            of(&[(2, 1)]),
            &[
                "missing_root spans.jsonl",
                "missing_parent spans.jsonl:1.parent_span_id",
            ],
            Shows(1),
        ),
        case(
            "two roots",
            of(&[(1, 0), (2, 0)]),
            &["multiple_roots spans.jsonl:2.parent_span_id"],
            Shows(2),
        ),
        case(
            "three roots",
            of(&[(1, 0), (2, 0), (3, 0)]),
            &[
                "multiple_roots spans.jsonl:2.parent_span_id",
                "multiple_roots spans.jsonl:3.parent_span_id",
            ],
            Shows(3),
        ),
        case(
            "a missing parent",
            of(&[(1, 0), (2, 9)]),
            &["missing_parent spans.jsonl:2.parent_span_id"],
            Shows(2),
        ),
        case(
            "a parent behind its child",
            of(&[(3, 2), (2, 1), (1, 0)]),
            &[],
            Shows(3),
        ),
        case(
            "its own parent",
            of(&[(1, 0), (2, 2)]),
            &["parent_cycle spans.jsonl:2.parent_span_id"],
            Shows(2),
        ),
        case(
            "two that are each other's parents",
            of(&[(1, 0), (2, 3), (3, 2)]),
            &["parent_cycle spans.jsonl:2.parent_span_id"],
            Shows(3),
        ),
        case(
            "a circle without a root",
            of(&[(2, 3), (3, 4), (4, 2)]),
            &[
                "missing_root spans.jsonl",
                "parent_cycle spans.jsonl:1.parent_span_id",
            ],
            Shows(3),
        ),
        case(
            "a tail that leads into a circle",
            of(&[(1, 0), (5, 4), (4, 3), (3, 4)]),
            &["parent_cycle spans.jsonl:3.parent_span_id"],
            Shows(4),
        ),
        case(
            "an ID twice",
            of(&[(1, 0), (2, 1), (2, 1)]),
            &["duplicate_span_id spans.jsonl:3.span_id"],
            Shows(2),
        ),
        case(
            "the root twice",
            of(&[(1, 0), (1, 0)]),
            &[
                "duplicate_span_id spans.jsonl:2.span_id",
                "multiple_roots spans.jsonl:2.parent_span_id",
            ],
            Shows(1),
        ),
        case("5,000 levels of spans", of(&deep), &[], Shows(5_000)),
        case("5,000 spans side by side", of(&wide), &[], Shows(5_000)),
        case(
            "a circle of 5,000",
            of(&{
                let mut circle = deep.clone();
                circle[0].1 = 5_000;
                circle
            }),
            &[
                "missing_root spans.jsonl",
                "parent_cycle spans.jsonl:1.parent_span_id",
            ],
            Shows(5_000),
        ),
        case(
            "a parent in a broken line",
            uncounted(run().log(format!("{}{{\n", log(&[(1, 0), (3, 2)])))),
            &["malformed_json spans.jsonl:3"],
            Shows(2),
        ),
        case(
            "a parent in a line with another problem",
            uncounted(
                run().log(
                    log(&[(1, 0), (2, 1), (3, 2)])
                        .replacen("\"name\":\"nightly\"", "\"name\":7", 2)
                        .replacen("\"name\":7", "\"name\":\"nightly\"", 1),
                ),
            ),
            &["invalid_type spans.jsonl:2.name"],
            Shows(2),
        ),
        case(
            "the only root in a broken line",
            uncounted(run().log(format!("{{\n{}", log(&[(2, 1)])))),
            &["malformed_json spans.jsonl:1"],
            Shows(1),
        ),
    ]
}

fn still_running() -> Vec<Case> {
    let of = |spans: &[(u64, u64)]| running().log(log(spans));
    vec![
        case("running", running(), &[], Shows(1)),
        case("running without a span", of(&[]), &[], Shows(0)),
        case("running without parents", of(&[(3, 2), (5, 4)]), &[], Shows(2)),
        case("running with its root", of(&[(2, 1), (1, 0)]), &[], Shows(2)),
        case(
            "running with two roots",
            of(&[(1, 0), (2, 0)]),
            &["multiple_roots spans.jsonl:2.parent_span_id"],
            Shows(2),
        ),
        case(
            "running with an ID twice",
            of(&[(2, 1), (2, 1)]),
            &["duplicate_span_id spans.jsonl:2.span_id"],
            Shows(1),
        ),
        case(
            "running in a circle",
            of(&[(2, 3), (3, 2)]),
            &["parent_cycle spans.jsonl:1.parent_span_id"],
            Shows(2),
        ),
        case(
            "running without a log",
            running().then(|directory| std::fs::remove_file(directory.join("spans.jsonl")).unwrap()),
            &[],
            Shows(0),
        ),
    ]
}

fn of_other_runs() -> Vec<Case> {
    let stranger = |fields: Value| {
        patched(
            other(json!({"trace_id": "20000000000000000000000000000002"})),
            fields,
        )
        .to_string()
    };
    vec![
        case(
            "a span of another run",
            run().line(stranger(json!({}))),
            &["trace_id_mismatch spans.jsonl:2.trace_id"],
            Shows(2),
        ),
        case(
            "a span of another run with an ID of ours",
            run().line(stranger(json!({"span_id": "0000000000000002"}))),
            &[
                "trace_id_mismatch spans.jsonl:2.trace_id",
                "duplicate_span_id spans.jsonl:2.span_id",
            ],
            Shows(2),
        ),
        case(
            "a root of another run",
            run().line(stranger(json!({"parent_span_id": null}))),
            &[
                "trace_id_mismatch spans.jsonl:2.trace_id",
                "multiple_roots spans.jsonl:3.parent_span_id",
            ],
            Shows(2),
        ),
        case(
            "a broken span, then two with its ID",
            run().log(
                [
                    child(),
                    other(json!({"kind": 1})),
                    other(json!({})),
                    other(json!({})),
                    root(),
                ]
                .map(|span| format!("{span}\n"))
                .concat(),
            ),
            &[
                "invalid_type spans.jsonl:2.kind",
                "duplicate_span_id spans.jsonl:3.span_id",
                "duplicate_span_id spans.jsonl:4.span_id",
            ],
            Shows(3),
        ),
        case(
            "two runs and broken metadata: the first span tells",
            run()
                .meta("{")
                .log(format!("{}\n{}\n{}\n", child(), stranger(json!({})), root())),
            &["malformed_json meta.json"],
            Shows(2),
        ),
        case(
            "broken metadata and no span",
            run().meta("{").log(""),
            &["malformed_json meta.json"],
            Refused,
        ),
        case(
            "nothing that can be read",
            run().meta("{").log("{"),
            &["malformed_json meta.json", "malformed_json spans.jsonl:1"],
            Refused,
        ),
    ]
}
