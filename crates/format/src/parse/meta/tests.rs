//! What `meta.json` may hold and what is refused, by example.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn valid() -> Value {
    json!({
        "spec_version": "0.2.0", "trace_id": "10000000000000000000000000000001", "run_name": "nightly",
        "started_at": "2026-01-01T00:00:00.000000Z", "ended_at": "2026-01-01T00:00:01.000000Z",
        "duration_ms": 1000, "status": "ok",
        "counts": {"llm_calls": 1, "tool_calls": 2, "errors": 3, "loop_warnings": 4},
    })
}

fn problems(text: &str) -> Vec<(&'static str, String)> {
    let reading = read_meta(text.as_bytes());
    assert_eq!(reading.meta.is_some(), reading.problems.is_empty(), "{text}");
    reading
        .problems
        .into_iter()
        .map(|problem| (problem.code.as_str(), problem.location))
        .collect()
}

fn problems_with(field: &str, value: Value) -> Vec<(&'static str, String)> {
    let mut meta = valid();
    meta[field] = value;
    problems(&meta.to_string())
}

#[test]
fn a_valid_file_is_read_whole_and_keys_of_others_are_kept() {
    let mut stored = valid();
    stored["x-team"] = json!({"name": "search"});
    stored["counts"]["x"] = json!(1);
    let meta = read_meta(stored.to_string().as_bytes()).meta.unwrap();
    assert_eq!(meta.additional["x-team"], json!({"name": "search"}));
    assert_eq!(
        meta.counts,
        Counts {
            llm_calls: 1,
            tool_calls: 2,
            errors: 3,
            loop_warnings: 4
        }
    );
    stored["counts"].as_object_mut().unwrap().remove("x");
    assert_eq!(serde_json::to_value(&meta).unwrap(), stored);
}

#[test]
fn every_key_but_the_version_is_required() {
    for field in valid().as_object().unwrap().keys() {
        let mut meta = valid();
        meta.as_object_mut().unwrap().remove(field);
        let expected = if field == "spec_version" {
            vec![]
        } else {
            vec![("missing_field", format!("meta.json.{field}"))]
        };
        assert_eq!(problems(&meta.to_string()), expected);
    }
    for field in ["llm_calls", "tool_calls", "errors", "loop_warnings"] {
        let mut meta = valid();
        meta["counts"].as_object_mut().unwrap().remove(field);
        assert_eq!(
            problems(&meta.to_string()),
            [("missing_field", format!("meta.json.counts.{field}"))]
        );
    }
}

#[test]
fn each_field_has_its_type() {
    for (field, value, expected) in [
        ("spec_version", json!(2), "invalid_type"),
        ("spec_version", json!(null), "invalid_type"),
        ("spec_version", json!("0.3.0"), "unsupported_version"),
        ("trace_id", json!(1), "invalid_id"),
        (
            "trace_id",
            json!("1000000000000000000000000000000A"),
            "invalid_id",
        ),
        (
            "trace_id",
            json!("00000000000000000000000000000000"),
            "invalid_id",
        ),
        ("run_name", json!(false), "invalid_type"),
        ("started_at", json!(null), "invalid_type"),
        ("started_at", json!("2026-01-01T00:00:00"), "invalid_datetime"),
        ("ended_at", json!("yesterday"), "invalid_datetime"),
        ("duration_ms", json!(-1), "invalid_value"),
        ("duration_ms", json!(1.5), "invalid_type"),
        ("duration_ms", json!(true), "invalid_value"),
        ("status", json!("done"), "invalid_value"),
        ("status", json!(null), "invalid_type"),
        ("counts", json!([]), "invalid_type"),
    ] {
        assert_eq!(
            problems_with(field, value.clone()),
            [(expected, format!("meta.json.{field}"))],
            "{value}"
        );
    }
    let counts = json!({"llm_calls": true, "tool_calls": -1, "errors": 1.0, "loop_warnings": null});
    let expected = [
        ("invalid_type", "meta.json.counts.llm_calls".to_owned()),
        ("invalid_value", "meta.json.counts.tool_calls".to_owned()),
        ("invalid_type", "meta.json.counts.errors".to_owned()),
        ("invalid_type", "meta.json.counts.loop_warnings".to_owned()),
    ];
    assert_eq!(problems_with("counts", counts), expected);
}

#[test]
fn null_is_accepted_where_the_specification_allows_it() {
    for field in ["run_name", "ended_at", "duration_ms"] {
        assert_eq!(problems_with(field, json!(null)), []);
    }
}

#[test]
fn what_is_no_json_object_is_one_problem() {
    for (text, expected) in [
        ("", "malformed_json"),
        ("{\"trace_id\": \"1", "malformed_json"),
        ("\u{feff}{}", "malformed_json"),
        ("[]", "invalid_type"),
        ("null", "invalid_type"),
    ] {
        assert_eq!(problems(text), [(expected, "meta.json".to_owned())], "{text}");
    }
}

#[test]
fn an_unsupported_version_is_the_only_problem_and_named_only_when_it_is_one() {
    let mut meta = json!({"spec_version": "9.9.9", "status": "new in 9", "trace_id": valid()["trace_id"]});
    let reading = read_meta(meta.to_string().as_bytes());
    assert_eq!(reading.problems.len(), 1);
    assert!(reading.problems[0].message.contains("version 9.9.9"));
    assert_eq!(reading.spec_version.as_deref(), Some("9.9.9"));
    assert!(reading.trace_id.is_some() && reading.is_unsupported());

    for hostile in ["sk-secret", "1.2.3-secret", "99999999999999999999", "1..2", ""] {
        meta["spec_version"] = json!(hostile);
        let reading = read_meta(meta.to_string().as_bytes());
        assert!(
            reading.problems[0]
                .message
                .starts_with("this version is not supported"),
            "{hostile}"
        );
        assert_eq!(reading.spec_version, None);
    }
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let reading = read_meta(&bytes);
        prop_assert!(reading.meta.is_some() || !reading.problems.is_empty());
    }

    #[test]
    fn a_valid_file_with_one_byte_changed_is_read_or_refused(position in any::<prop::sample::Index>(), byte: u8) {
        let mut text = valid().to_string().into_bytes();
        let position = position.index(text.len());
        text[position] = byte;
        let reading = read_meta(&text);
        prop_assert!(reading.meta.is_some() || !reading.problems.is_empty());
    }
}
