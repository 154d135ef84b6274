//! What the fields of a span may hold.

use serde_json::{Value, json};

use super::case::Lenient::Shows;
use super::case::{Case, case, other, other_than_a_text, run};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = missing();
    cases.extend(refused());
    cases.extend(wrong_types());
    cases.extend(accepted());
    cases.extend(twice());
    cases
}

/// A line between the child and the root.
fn with(fields: Value) -> super::case::Odd {
    run().line(other(fields).to_string())
}

fn missing() -> Vec<Case> {
    let fields = other(json!({}));
    let fields = fields.as_object().unwrap().keys();
    let mut cases: Vec<Case> = fields
        .map(|field| {
            let mut span = other(json!({}));
            span.as_object_mut().unwrap().remove(field);
            let problem = format!("missing_field spans.jsonl:2.{field}");
            case(
                format!("a span without {field}"),
                run().line(span.to_string()),
                &[problem.as_str()],
                Shows(2),
            )
        })
        .collect();
    for field in ["name", "timestamp", "attributes"] {
        let mut event = json!({"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": {}});
        event.as_object_mut().unwrap().remove(field);
        let problem = format!("missing_field spans.jsonl:2.events[0].{field}");
        cases.push(case(
            format!("a span event without {field}"),
            with(json!({"events": [event]})),
            &[problem.as_str()],
            Shows(2),
        ));
    }
    cases
}

fn refused() -> Vec<Case> {
    let mut cases = Vec::new();
    for (field, value, code) in [
        ("trace_id", json!("0".repeat(32)), "invalid_id"),
        (
            "trace_id",
            json!("10000000-0000-0000-0000-000000000001"),
            "invalid_id",
        ),
        ("span_id", json!("0".repeat(16)), "invalid_id"),
        ("span_id", json!("000000000000000A"), "invalid_id"),
        ("span_id", json!("00000000000003"), "invalid_id"),
        ("span_id", json!("0x00000000000003"), "invalid_id"),
        ("span_id", json!("٣٣٣٣٣٣٣٣"), "invalid_id"),
        ("parent_span_id", json!(""), "invalid_id"),
        ("parent_span_id", json!("0".repeat(16)), "invalid_id"),
        ("name", json!(null), "invalid_type"),
        ("name", json!(["plan"]), "invalid_type"),
        ("kind", json!("internal"), "invalid_value"),
        ("kind", json!(0), "invalid_type"),
        ("start_time", json!(null), "invalid_type"),
        ("start_time", json!(0), "invalid_type"),
        ("start_time", json!("2026-01-01 00:00:00Z"), "invalid_datetime"),
        ("start_time", json!("2026-01-01T00:00:00"), "invalid_datetime"),
        ("start_time", json!("2026-01-01T00:00:61Z"), "invalid_datetime"),
        ("start_time", json!("2026-13-01T00:00:00Z"), "invalid_datetime"),
        (
            "start_time",
            json!("2026-01-01T00:00:00+24:00"),
            "invalid_datetime",
        ),
        ("start_time", json!("+12026-01-01T00:00:00Z"), "invalid_datetime"),
        ("end_time", json!("now"), "invalid_datetime"),
        ("end_time", json!({}), "invalid_type"),
        ("duration_ms", json!(-1), "invalid_value"),
        ("duration_ms", json!(0.5), "invalid_type"),
        ("duration_ms", json!(50.0), "invalid_type"),
        ("duration_ms", json!("50"), "invalid_type"),
        ("duration_ms", json!(1e30), "invalid_type"),
        ("attributes", json!(null), "invalid_type"),
        ("attributes", json!([["key", "value"]]), "invalid_type"),
        ("attributes", json!("{}"), "invalid_type"),
        ("events", json!(null), "invalid_type"),
        ("events", json!({"0": {}}), "invalid_type"),
        ("events", json!("[]"), "invalid_type"),
        ("status_code", json!("Ok"), "invalid_value"),
        ("status_code", json!(1), "invalid_type"),
        ("status_description", json!(null), "invalid_type"),
        ("status_description", json!({}), "invalid_type"),
    ] {
        let problem = format!("{code} spans.jsonl:2.{field}");
        let name = format!("a span whose {field} is {value}");
        cases.push(case(
            name,
            with(json!({field: value})),
            &[problem.as_str()],
            Shows(2),
        ));
    }
    for (event, problem) in [
        (json!(null), "invalid_type spans.jsonl:2.events[1]"),
        (json!("exception"), "invalid_type spans.jsonl:2.events[1]"),
        (json!([]), "invalid_type spans.jsonl:2.events[1]"),
        (
            json!({"name": 1, "timestamp": "2026-01-01T00:00:00Z", "attributes": {}}),
            "invalid_type spans.jsonl:2.events[1].name",
        ),
        (
            json!({"name": "e", "timestamp": 5, "attributes": {}}),
            "invalid_type spans.jsonl:2.events[1].timestamp",
        ),
        (
            json!({"name": "e", "timestamp": "5", "attributes": {}}),
            "invalid_datetime spans.jsonl:2.events[1].timestamp",
        ),
        (
            json!({"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": []}),
            "invalid_type spans.jsonl:2.events[1].attributes",
        ),
    ] {
        let good = json!({"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": {}});
        let name = format!("a span event {event}");
        cases.push(case(
            name,
            with(json!({"events": [good, event]})),
            &[problem],
            Shows(2),
        ));
    }
    cases.push(case(
        "many fields at once",
        with(json!({"kind": 1, "start_time": "x", "events": [1], "status_code": "?"})),
        &[
            "invalid_type spans.jsonl:2.kind",
            "invalid_datetime spans.jsonl:2.start_time",
            "invalid_type spans.jsonl:2.events[0]",
            "invalid_value spans.jsonl:2.status_code",
        ],
        Shows(2),
    ));
    cases
}

/// An ID of any wrong type is no ID; a boolean is no number.
fn wrong_types() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut refused = |field: &str, value: Value, code: &str| {
        let problem = format!("{code} spans.jsonl:2.{field}");
        let name = format!("a span whose {field} is {value}");
        cases.push(case(
            name,
            with(json!({field: value})),
            &[problem.as_str()],
            Shows(2),
        ));
    };
    for field in ["trace_id", "span_id", "parent_span_id"] {
        for value in other_than_a_text() {
            // Only the parent may be null.
            if field != "parent_span_id" || !value.is_null() {
                refused(field, value, "invalid_id");
            }
        }
    }
    for boolean in [true, false] {
        refused("duration_ms", json!(boolean), "invalid_value");
    }
    cases
}

fn accepted() -> Vec<Case> {
    let at = |start: &str| json!({"start_time": start, "end_time": null, "duration_ms": null});
    [
        ("lower-case t and z", at("2026-01-01t00:00:00.050z")),
        ("an offset", at("2026-01-01T05:45:00.05+05:45")),
        ("the offset -00:00", at("2026-01-01T00:00:00-00:00")),
        ("no fraction", at("2026-01-01T00:00:00Z")),
        ("twenty digits", at("2026-01-01T00:00:00.12345678901234567890Z")),
        ("a leap second", at("2016-12-31T23:59:60Z")),
        ("a leap second in any minute", at("2026-01-01T00:00:60.999Z")),
        ("the year 0", at("0000-01-01T00:00:00Z")),
        ("the year 9999", at("9999-12-31T23:59:59.999999Z")),
        ("a span that has not ended", json!({"end_time": null, "duration_ms": null})),
        ("an empty name", json!({"name": ""})),
        ("a name of control characters", json!({"name": "\u{1b}]0;\u{7}\u{202e}\0"})),
        ("a name in another script", json!({"name": "検索 🔎"})),
        ("a span without outcome", json!({"status_code": "UNSET"})),
        ("attributes of every kind", json!({"attributes": {"n": null, "a": [1], "o": {"x": {}}, "f": 1.5, "": true}})),
        ("numbers at their limits", json!({"attributes": {"a": u64::MAX, "b": i64::MIN, "c": f64::MAX, "d": 5e-324}})),
        ("broken JSON in a text", json!({"name": "state", "events": [
            {"name": "state", "timestamp": "2026-01-01T00:00:00Z", "attributes": {"state": "{\"cut\": "}}]})),
        ("a thousand events", json!({"events": vec![json!({"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": {}}); 1_000]})),
    ]
    .into_iter()
    .map(|(name, fields)| case(name, with(fields), &[], Shows(3)))
    .collect()
}

fn twice() -> Vec<Case> {
    let line = other(json!({"attributes": {"a": {"b": 1}}})).to_string();
    let with = |from: &str, to: &str| run().line(line.replacen(from, to, 1));
    vec![
        case(
            "a name that is duplicated",
            with("{", "{\"name\":\"other\","),
            &["invalid_value spans.jsonl:2"],
            Shows(2),
        ),
        case(
            "an attribute that is duplicated",
            with("{\"a\"", "{\"a\":1,\"a\""),
            &[],
            Shows(3),
        ),
        case(
            "a key of an event that is duplicated",
            with("{\"args\"", "{\"args\":0,\"args\""),
            &[],
            Shows(3),
        ),
    ]
}
