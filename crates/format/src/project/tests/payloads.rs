//! The payloads of what is neither a model call nor a tool call.

use serde_json::json;

use super::super::spans_to_events;
use super::{ROOT, child, child_with, event, failed, payload, root};

#[test]
fn run_start_has_what_the_root_stored_under_any_namespace() {
    for namespace in ["tracer", "maida", "agentdbg"] {
        let stored = json!({
            format!("{namespace}.run_name"): "nightly",
            format!("{namespace}.python_version"): "rustc 1.95.0",
            format!("{namespace}.platform"): "linux",
            format!("{namespace}.cwd"): "/srv",
            format!("{namespace}.argv"): ["agent", "--fast"],
            format!("{namespace}.meta"): "{\"team\":\"search\"}",
        });
        let records = spans_to_events(&[root(stored)]);
        assert_eq!(
            serde_json::to_value(&records[0]).unwrap(),
            json!({
                "spec_version": "0.2.0", "event_id": ROOT, "run_id": "10000000000000000000000000000001",
                "parent_id": null, "event_type": "RUN_START", "ts": "2026-01-01T00:00:00Z", "duration_ms": 1000,
                "name": "run", "meta": {"team": "search"},
                "payload": {"run_name": "nightly", "python_version": "rustc 1.95.0", "platform": "linux",
                            "cwd": "/srv", "argv": ["agent", "--fast"]},
            }),
        );
    }
}

#[test]
fn our_namespace_wins_over_the_others() {
    let span = child(
        "t",
        json!({"agentdbg.tool_name": "c", "maida.tool_name": "b", "tracer.tool_name": "a"}),
    );
    assert_eq!(payload(span)["tool_name"], "a");
}

#[test]
fn arguments_of_the_program_are_an_array_however_they_are_stored() {
    for (stored, expected) in [
        (json!({}), json!([])),
        (json!({"tracer.argv": ["a", "b"]}), json!(["a", "b"])),
        (json!({"tracer.argv": "[\"a\",\"b\"]"}), json!(["a", "b"])),
        (json!({"tracer.argv": ["a", 1]}), json!(["a", "1"])),
        (
            json!({"tracer.argv": "[\"a\",\"b__TRUNCATED__"}),
            json!(["[\"a\",\"b__TRUNCATED__"]),
        ),
        (json!({"maida.argv": null}), json!([])),
    ] {
        let records = spans_to_events(&[root(stored)]);
        assert_eq!(
            serde_json::to_value(&records[0].payload).unwrap()["argv"],
            expected
        );
    }
}

#[test]
fn a_diff_that_was_not_computed_is_left_out() {
    let span = child_with(
        "state",
        json!({}),
        vec![event("state", json!({"state": "\"triage\""}))],
    );
    assert_eq!(payload(span), json!({"state": "triage"}));
    assert_eq!(payload(child("state", json!({}))), json!({"state": null}));
}

#[test]
fn an_error_record_has_the_key_error_type() {
    let span = child(
        "error",
        json!({"agentdbg.error_type": "Timeout", "agentdbg.error_message": "too slow"}),
    );
    assert_eq!(
        payload(span),
        json!({"error_type": "Timeout", "message": "too slow", "stack": null})
    );
}

#[test]
fn a_legacy_loop_warning_has_no_pattern_type_or_length() {
    let legacy = json!({"pattern": "LLM_CALL:m", "repetitions": 3, "window_size": 6, "evidence_event_ids": ["a", "b"]});
    let span = child_with(
        "loop_warning",
        json!({}),
        vec![event("maida.loop.warning", legacy.clone())],
    );
    assert_eq!(payload(span), legacy);

    let current = json!({"pattern": "A -> B", "pattern_type": "cycle", "pattern_length": 2, "repetitions": 3,
                         "window_size": 6, "evidence_event_ids": "[\"a\",\"b\"]"});
    let span = child_with(
        "loop_warning",
        json!({}),
        vec![event("tracer.loop.warning", current)],
    );
    assert_eq!(
        payload(span),
        json!({"pattern": "A -> B", "pattern_type": "cycle", "pattern_length": 2, "repetitions": 3,
               "window_size": 6, "evidence_event_ids": ["a", "b"]}),
    );
}

#[test]
fn an_unknown_span_keeps_what_was_put_on_it() {
    let stored =
        json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 22, "list": [1, null]});
    assert_eq!(
        payload(failed(child("invoke_agent", stored.clone()), "it broke")),
        json!({"attributes": stored, "status": "error",
               "error": {"error_type": "Error", "message": "it broke", "stack": null}}),
    );
}
