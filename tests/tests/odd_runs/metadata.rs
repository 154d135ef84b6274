//! What `meta.json` may hold.

use serde_json::{Value, json};

use super::case::Lenient::{Refused, Shows};
use super::case::{Case, case, meta, other_than_a_text, run};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![case("nothing is wrong", run(), &[], Shows(2))];
    cases.extend(texts());
    cases.extend(missing_and_of_another_type());
    cases.extend(values());
    cases.extend(versions());
    cases
}

/// The text of the file as a whole: without it, the spans are still shown.
fn texts() -> Vec<Case> {
    let text = meta().to_string();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let unreadable: [(&str, Vec<u8>); 14] = [
        ("empty metadata", Vec::new()),
        ("metadata of blanks", b" \n\t".to_vec()),
        ("metadata cut short", text.as_bytes()[..60].to_vec()),
        (
            "metadata after a byte order mark",
            format!("\u{feff}{text}").into(),
        ),
        ("metadata in UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        ("metadata that is not UTF-8", b"{\"run_name\": \"\xff\"}".to_vec()),
        ("metadata with NaN", text.replace("200,", "NaN,").into()),
        ("metadata with Infinity", text.replace("200,", "Infinity,").into()),
        (
            "metadata with a number out of range",
            text.replace("200,", "1e999,").into(),
        ),
        ("metadata with a comment", format!("// run\n{text}").into()),
        (
            "metadata with a trailing comma",
            text.replacen('}', ",}", 1).into(),
        ),
        ("two objects in the metadata", format!("{text}{text}").into()),
        ("metadata of 10,000 levels", deep.into()),
        ("metadata of zero bytes", vec![0; 64]),
    ];
    let mut cases: Vec<Case> = unreadable
        .into_iter()
        .map(|(name, bytes)| case(name, run().meta(bytes), &["malformed_json meta.json"], Shows(2)))
        .collect();
    for other in ["[]", "null", "\"meta\"", "12", "true"] {
        cases.push(case(
            format!("metadata that is {other}"),
            run().meta(other),
            &["invalid_type meta.json"],
            Shows(2),
        ));
    }
    cases.push(case(
        "metadata over 16 MiB",
        run().meta(vec![b' '; 16 * 1024 * 1024 + 1]),
        &["unreadable_file meta.json"],
        Shows(2),
    ));
    let lines = text.replace(',', ",\r\n");
    cases.push(case("metadata with CRLF", run().meta(lines), &[], Shows(2)));
    cases.push(case(
        "a lone surrogate in the metadata",
        run().meta(text.replace("nightly", "\\ud800")),
        &["malformed_json meta.json"],
        Shows(2),
    ));
    cases.push(case(
        "keys of others",
        run().meta_with(json!({"dropped": {"spans": 1}, "x": [1, {"y": null}], "": ""})),
        &[],
        Shows(2),
    ));
    cases
}

fn missing_and_of_another_type() -> Vec<Case> {
    let mut cases = Vec::new();
    for field in [
        "trace_id",
        "run_name",
        "started_at",
        "ended_at",
        "duration_ms",
        "status",
        "counts",
    ] {
        let missing = format!("missing_field meta.json.{field}");
        cases.push(case(
            format!("no {field}"),
            run().meta_without(field),
            &[missing.as_str()],
            Shows(2),
        ));
        let code = match field {
            "trace_id" => "invalid_id",
            "duration_ms" => "invalid_value",
            _ => "invalid_type",
        };
        let wrong = format!("{code} meta.json.{field}");
        cases.push(case(
            format!("the {field} true"),
            run().meta_with(json!({field: true})),
            &[wrong.as_str()],
            Shows(2),
        ));
    }
    for id in other_than_a_text() {
        cases.push(case(
            format!("a trace_id that is {id}"),
            run().meta_with(json!({"trace_id": id})),
            &["invalid_id meta.json.trace_id"],
            Shows(2),
        ));
    }
    for field in ["started_at", "status", "counts", "spec_version"] {
        let wrong = format!("invalid_type meta.json.{field}");
        cases.push(case(
            format!("a {field} that is null"),
            run().meta_with(json!({field: null})),
            &[wrong.as_str()],
            Shows(2),
        ));
    }
    for field in ["llm_calls", "tool_calls", "errors", "loop_warnings"] {
        let counts = |count: Option<Value>| {
            let mut counts = meta()["counts"].clone();
            match count {
                Some(count) => counts[field] = count,
                None => drop(counts.as_object_mut().unwrap().remove(field)),
            }
            run().meta_with(json!({"counts": counts}))
        };
        for (count, code) in [
            (None, "missing_field"),
            (Some(json!(-1)), "invalid_value"),
            (Some(json!(true)), "invalid_type"),
            (Some(json!(1.0)), "invalid_type"),
            (Some(json!(null)), "invalid_type"),
        ] {
            let name = format!("{count:?} {field}");
            let problem = format!("{code} meta.json.counts.{field}");
            cases.push(case(name, counts(count), &[problem.as_str()], Shows(2)));
        }
    }
    cases
}

fn values() -> Vec<Case> {
    let mut cases = Vec::new();
    for (field, value, code) in [
        ("trace_id", json!(""), "invalid_id"),
        ("trace_id", json!("1"), "invalid_id"),
        ("trace_id", json!("0".repeat(32)), "invalid_id"),
        ("trace_id", json!("A".repeat(32)), "invalid_id"),
        ("trace_id", json!("1".repeat(33)), "invalid_id"),
        (
            "trace_id",
            json!("../../../../../../etc/passwd/aaaa"),
            "invalid_id",
        ),
        ("started_at", json!(""), "invalid_datetime"),
        ("started_at", json!("2026-01-01"), "invalid_datetime"),
        ("started_at", json!("2026-01-01T00:00:00"), "invalid_datetime"),
        ("started_at", json!("2026-02-29T00:00:00Z"), "invalid_datetime"),
        ("started_at", json!("2026-01-01T25:00:00Z"), "invalid_datetime"),
        ("started_at", json!(1_767_225_600), "invalid_type"),
        ("ended_at", json!("yesterday"), "invalid_datetime"),
        ("duration_ms", json!(-1), "invalid_value"),
        ("duration_ms", json!(1.5), "invalid_type"),
        ("duration_ms", json!("200"), "invalid_type"),
        ("duration_ms", json!(1e20), "invalid_type"),
        ("status", json!("done"), "invalid_value"),
        ("status", json!("OK"), "invalid_value"),
        ("counts", json!([]), "invalid_type"),
    ] {
        let problem = format!("{code} meta.json.{field}");
        let name = format!("{field} {value}");
        let run = run().meta_with(json!({field: value}));
        cases.push(case(name, run, &[problem.as_str()], Shows(2)));
    }
    cases.push(case(
        "a run without a name",
        run().meta_with(json!({"run_name": null})),
        &[],
        Shows(2),
    ));
    cases.push(case(
        "a name of control characters",
        run().meta_with(json!({"run_name": "\u{1b}[31m\u{202e}\0\n"})),
        &[],
        Shows(2),
    ));
    cases.push(case(
        "the metadata of another run",
        run().meta_with(json!({"trace_id": "20000000000000000000000000000002"})),
        &[
            "trace_id_mismatch meta.json.trace_id",
            "trace_id_mismatch spans.jsonl:1.trace_id",
            "trace_id_mismatch spans.jsonl:2.trace_id",
        ],
        Shows(0),
    ));
    cases
}

fn versions() -> Vec<Case> {
    let mut cases = vec![case(
        "no version",
        run().meta_without("spec_version"),
        &[],
        Shows(2),
    )];
    for version in ["0.2", "0.2.1", "0.2.999999999"] {
        cases.push(case(
            version,
            run().meta_with(json!({"spec_version": version})),
            &[],
            Shows(2),
        ));
    }
    for version in [
        "",
        "0.1",
        "0.3.0",
        "1.0.0",
        "0.2.0-beta",
        "v0.2.0",
        "0.2.01",
        "0.2.0 ",
    ] {
        cases.push(case(
            format!("version {version:?}"),
            run().meta_with(json!({"spec_version": version, "counts": 7})),
            &["unsupported_version meta.json.spec_version"],
            Refused,
        ));
    }
    cases
}
