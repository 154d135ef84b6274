//! What a line may hold and what is refused, by example and for any text.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn valid() -> Value {
    json!({
        "trace_id": "10000000000000000000000000000001", "span_id": "2222222222222222",
        "parent_span_id": "1111111111111111", "name": "search", "kind": "INTERNAL",
        "start_time": "2026-01-01T00:00:00.000000Z", "end_time": "2026-01-01T00:00:01.000000Z",
        "duration_ms": 1000, "attributes": {"tracer.tool_name": "search"},
        "events": [
            {"name": "a", "timestamp": "2026-01-01T00:00:00.1Z", "attributes": {}},
            {"name": "b", "timestamp": "2026-01-01T00:00:00.2Z", "attributes": {"args": "{}"}},
        ],
        "status_code": "OK", "status_description": "",
    })
}

/// Reads a line as a tree and as an outline, which find the same.
fn read_tree<'a>(
    bytes: &'a [u8],
    line: u64,
    problems: &mut Vec<Problem>,
) -> Result<SpanReading<'a, Map<String, Value>>, Malformed> {
    let mut of_outline = Vec::new();
    let outline = read_span::<KeyAttributes<'_>>(bytes, line, &mut of_outline);
    let tree = read_span(bytes, line, problems);
    assert_eq!(of_outline, *problems);
    match (&outline, &tree) {
        (Ok(outline), Ok(tree)) => {
            assert_eq!(outline.identity, tree.identity);
            assert_eq!(outline.span.is_some(), tree.span.is_some());
        }
        (outline, tree) => assert_eq!(outline.as_ref().err(), tree.as_ref().err()),
    }
    tree
}

fn problems(text: &str) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    let reading = read_tree(text.as_bytes(), 7, &mut problems).unwrap();
    assert!(reading.span.is_some() || !problems.is_empty(), "{text}");
    problems
        .into_iter()
        .map(|problem| (problem.code.as_str(), problem.location))
        .collect()
}

#[test]
fn a_valid_line_is_read_whole_and_unknown_fields_are_ignored() {
    let mut stored = valid();
    stored["resource"] = json!({"service": "x"});
    stored["events"][0]["dropped"] = json!(3);
    let mut problems = Vec::new();
    let stored = stored.to_string();
    let reading = read_tree(stored.as_bytes(), 7, &mut problems).unwrap();
    assert_eq!(problems, []);
    assert_eq!(
        serde_json::to_value(reading.span.unwrap().into_record()).unwrap(),
        valid()
    );
    let identity = reading.identity.unwrap();
    assert_eq!(identity.span_id.to_string(), "2222222222222222");
}

#[test]
fn every_field_is_required() {
    for field in valid().as_object().unwrap().keys() {
        let mut span = valid();
        span.as_object_mut().unwrap().remove(field);
        assert_eq!(
            problems(&span.to_string()),
            [("missing_field", format!("spans.jsonl:7.{field}"))]
        );
    }
    for field in ["name", "timestamp", "attributes"] {
        let mut span = valid();
        span["events"][1].as_object_mut().unwrap().remove(field);
        assert_eq!(
            problems(&span.to_string()),
            [("missing_field", format!("spans.jsonl:7.events[1].{field}"))]
        );
    }
}

#[test]
fn each_field_has_its_type() {
    for (field, value, expected) in [
        ("trace_id", json!(5), "invalid_id"),
        ("trace_id", json!("1"), "invalid_id"),
        ("span_id", json!(null), "invalid_id"),
        ("span_id", json!("222222222222222Z"), "invalid_id"),
        ("span_id", json!("0000000000000000"), "invalid_id"),
        ("parent_span_id", json!(""), "invalid_id"),
        ("name", json!(null), "invalid_type"),
        ("kind", json!("internal"), "invalid_value"),
        ("kind", json!(3), "invalid_type"),
        ("start_time", json!(null), "invalid_type"),
        ("start_time", json!("2026-01-01"), "invalid_datetime"),
        ("end_time", json!(12), "invalid_type"),
        ("duration_ms", json!(-5), "invalid_value"),
        ("duration_ms", json!("5"), "invalid_type"),
        ("duration_ms", json!(false), "invalid_value"),
        ("attributes", json!([]), "invalid_type"),
        ("attributes", json!(null), "invalid_type"),
        ("events", json!({}), "invalid_type"),
        ("status_code", json!("FAILED"), "invalid_value"),
        ("status_description", json!(null), "invalid_type"),
    ] {
        let mut span = valid();
        span[field] = value.clone();
        assert_eq!(
            problems(&span.to_string()),
            [(expected, format!("spans.jsonl:7.{field}"))],
            "{value}"
        );
    }
    for (field, value, expected) in [
        ("name", json!(1), "invalid_type"),
        ("timestamp", json!("noon"), "invalid_datetime"),
        ("attributes", json!("x"), "invalid_type"),
    ] {
        let mut span = valid();
        span["events"][1][field] = value;
        assert_eq!(
            problems(&span.to_string()),
            [(expected, format!("spans.jsonl:7.events[1].{field}"))]
        );
    }
    for event in [
        json!("exception"),
        json!(["exception", "2026-01-01T00:00:00Z", {}]),
        json!(["exception", "2026-01-01T00:00:00Z", {}, 1]),
    ] {
        let mut span = valid();
        span["events"][0] = event;
        assert_eq!(
            problems(&span.to_string()),
            [("invalid_type", "spans.jsonl:7.events[0]".to_owned())]
        );
    }
    let values = r#"["10000000000000000000000000000001","2222222222222222",null,"search","INTERNAL","2026-01-01T00:00:00Z",null,null,{},[],"OK",""]"#;
    for list in ["[]", values] {
        assert_eq!(problems(list), [("invalid_type", "spans.jsonl:7".to_owned())]);
    }
}

#[test]
fn all_problems_of_a_line_are_listed_and_none_quotes_it() {
    let mut span = valid();
    span["kind"] = json!("secret-1");
    span["start_time"] = json!("secret-2");
    span["events"][0]["timestamp"] = json!("secret-3");
    span["events"][1]["name"] = json!(["secret-4"]);
    let mut problems = Vec::new();
    let text = span.to_string();
    let reading = read_tree(text.as_bytes(), 7, &mut problems).unwrap();
    assert_eq!(problems.len(), 4);
    assert!(
        problems
            .iter()
            .all(|problem| !problem.to_string().contains("secret"))
    );
    assert!(reading.span.is_none() && reading.identity.is_some());
}

#[test]
fn values_that_other_emitters_store_are_kept_as_they_are() {
    let mut span = valid();
    span["attributes"] =
        json!({"maida.argv": ["a"], "maida.error_stack": null, "deep": {"x": [1, 2.5]}, "": ""});
    span["end_time"] = json!(null);
    span["duration_ms"] = json!(null);
    span["parent_span_id"] = json!(null);
    span["start_time"] = json!("2016-12-31t23:59:60z");
    assert_eq!(problems(&span.to_string()), []);
    let text = span.to_string();
    let reading = read_tree(text.as_bytes(), 7, &mut Vec::new()).unwrap();
    assert_eq!(
        serde_json::to_value(reading.span.unwrap().into_record()).unwrap(),
        span
    );
}

#[test]
fn a_duplicate_field_is_refused_unless_it_is_ignored() {
    let text = valid().to_string();
    for (added, expected) in [
        (
            "\"name\":\"x\",",
            vec![("invalid_value", "spans.jsonl:7".to_owned())],
        ),
        ("\"own\":1,\"own\":{\"a\":1,\"a\":1},", vec![]),
    ] {
        assert_eq!(problems(&text.replacen('{', &format!("{{{added}"), 1)), expected);
    }
}

#[test]
fn the_last_of_equal_keys_counts_inside_a_field() {
    let text = valid().to_string();
    let twice = text.replacen(
        "\"tracer.tool_name\"",
        "\"tracer.tool_name\":\"a\",\"tracer.tool_name\"",
        1,
    );
    let reading = read_tree(twice.as_bytes(), 7, &mut Vec::new()).unwrap();
    assert_eq!(reading.span.unwrap().attributes["tracer.tool_name"], "search");
    let outline = read_span::<KeyAttributes<'_>>(twice.as_bytes(), 7, &mut Vec::new()).unwrap();
    assert_eq!(
        outline.span.unwrap().attributes.text("tracer.tool_name"),
        Some("search")
    );
}

proptest! {
    #[test]
    fn whatever_a_line_holds_it_is_read_or_refused(text in ".*") {
        let mut problems = Vec::new();
        if let Ok(reading) = read_tree(text.as_bytes(), 1, &mut problems) {
            prop_assert!(reading.span.is_some() || !problems.is_empty());
        }
    }

    #[test]
    fn a_valid_line_with_one_byte_changed_is_read_or_refused(position in any::<prop::sample::Index>(), byte: u8) {
        let mut line = valid().to_string().into_bytes();
        let position = position.index(line.len());
        line[position] = byte;
        let mut problems = Vec::new();
        if let Ok(reading) = read_tree(&line, 1, &mut problems) {
            prop_assert!(reading.span.is_some() || !problems.is_empty());
        }
    }
}
