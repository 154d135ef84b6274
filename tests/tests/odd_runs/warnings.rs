//! What can be read and does not fit together.

use serde_json::{Value, json};

use super::case::Lenient::Shows;
use super::case::{Case, case, child, other, patched, root, run, running};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = of_the_metadata();
    cases.extend(of_spans());
    cases
}

fn of_the_metadata() -> Vec<Case> {
    let counts = |llm, tool, errors, warnings| json!({"counts": {"llm_calls": llm, "tool_calls": tool, "errors": errors, "loop_warnings": warnings}});
    [
        (
            "counts of nothing",
            counts(0, 0, 0, 0),
            &["counts_mismatch meta.json.counts.tool_calls"][..],
        ),
        (
            "counts of everything",
            counts(1, 2, 3, 4),
            &[
                "counts_mismatch meta.json.counts.llm_calls",
                "counts_mismatch meta.json.counts.tool_calls",
                "counts_mismatch meta.json.counts.errors",
                "counts_mismatch meta.json.counts.loop_warnings",
            ],
        ),
        (
            "an error whose root is well",
            json!({"status": "error"}),
            &["status_mismatch meta.json.status"],
        ),
        (
            "no end",
            json!({"ended_at": null}),
            &["missing_end meta.json.ended_at"],
        ),
        (
            "no duration",
            json!({"duration_ms": null}),
            &["missing_end meta.json.duration_ms"],
        ),
        (
            "an end before the start",
            json!({"ended_at": "2025-12-31T23:59:59Z"}),
            &["ends_before_start meta.json.ended_at"],
        ),
        (
            "a duration that is too long",
            json!({"duration_ms": 202}),
            &["duration_mismatch meta.json.duration_ms"],
        ),
        (
            "a duration that is too short",
            json!({"duration_ms": 0}),
            &["duration_mismatch meta.json.duration_ms"],
        ),
        (
            "a duration of ages",
            json!({"duration_ms": u64::MAX}),
            &["duration_mismatch meta.json.duration_ms"],
        ),
        ("a duration that is rounded", json!({"duration_ms": 201}), &[]),
        (
            "a start that is not the root's",
            json!({"started_at": "2026-01-01T00:00:00.010Z", "duration_ms": 190}),
            &["start_mismatch meta.json.started_at"],
        ),
        (
            "a start that is rounded",
            json!({"started_at": "2026-01-01T00:00:00.0005Z"}),
            &[],
        ),
        (
            "an offset in the metadata",
            json!({"started_at": "2026-01-01T01:00:00+01:00"}),
            &[],
        ),
    ]
    .into_iter()
    .map(|(name, fields, warnings)| case(name, run().meta_with(fields), &[], Shows(2)).warns(warnings))
    .collect()
}

fn of_spans() -> Vec<Case> {
    let with = |fields: Value| run().line(other(fields).to_string());
    let failed_root = patched(root(), json!({"status_code": "ERROR"}));
    let exception =
        json!({"events": [{"name": "exception", "timestamp": "2026-01-01T00:00:00.1Z", "attributes": {}}]});
    vec![
        case(
            "a span that ends before it starts",
            with(json!({"end_time": "2026-01-01T00:00:00Z"})),
            &[],
            Shows(3),
        )
        .warns(&["ends_before_start spans.jsonl:2.end_time"]),
        case(
            "a span whose duration does not fit",
            with(json!({"duration_ms": 53})),
            &[],
            Shows(3),
        )
        .warns(&["duration_mismatch spans.jsonl:2.duration_ms"]),
        case(
            "a span whose duration is rounded",
            with(json!({"duration_ms": 51})),
            &[],
            Shows(3),
        ),
        case(
            "a root that failed",
            run().log(format!("{}\n{failed_root}\n", child())),
            &[],
            Shows(2),
        )
        .warns(&["status_mismatch meta.json.status"]),
        case(
            "an exception on the root that is not counted",
            run().log(format!("{}\n{}\n", child(), patched(root(), exception))),
            &[],
            Shows(2),
        )
        .warns(&["counts_mismatch meta.json.counts.errors"]),
        case(
            "a model call that is not counted, with tokens that are no numbers",
            with(json!({"attributes": {"gen_ai.system": "x", "gen_ai.usage.input_tokens": "many"}})),
            &[],
            Shows(3),
        )
        .warns(&["counts_mismatch meta.json.counts.llm_calls"]),
        case(
            "counts are not compared where a span cannot be read",
            run().line("{").meta_with(json!({"duration_ms": null})),
            &["malformed_json spans.jsonl:2"],
            Shows(2),
        )
        .warns(&["missing_end meta.json.duration_ms"]),
        case(
            "a running run that is older than its log",
            running().meta_with(
                json!({"counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}}),
            ),
            &[],
            Shows(1),
        ),
        case(
            "the metadata is warned of before the spans",
            with(json!({"duration_ms": 7})).meta_with(json!({"status": "error"})),
            &[],
            Shows(3),
        )
        .warns(&[
            "status_mismatch meta.json.status",
            "duration_mismatch spans.jsonl:2.duration_ms",
        ]),
    ]
}
