//! Each rule of the projection, by example, and what must hold for every list of spans.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{count_records, spans_to_events};
use crate::format::{
    Counts, EventType, Record, SpanEvent, SpanKind, SpanRecord, StatusCode, StoredTime, Timestamp,
};

const ROOT: &str = "1111111111111111";
const CHILD: &str = "2222222222222222";

fn time(text: &str) -> StoredTime {
    format!("2026-01-01T00:00:{text}").parse().unwrap()
}

fn attributes(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

fn event(name: &str, value: Value) -> SpanEvent {
    SpanEvent {
        name: name.to_owned(),
        timestamp: time("00.5Z"),
        attributes: attributes(value),
    }
}

fn root(value: Value) -> SpanRecord {
    SpanRecord {
        trace_id: "10000000000000000000000000000001".parse().unwrap(),
        span_id: ROOT.parse().unwrap(),
        parent_span_id: None,
        name: "run".to_owned(),
        kind: SpanKind::Internal,
        start_time: time("00Z"),
        end_time: Some(time("01Z")),
        duration_ms: Some(1000),
        attributes: attributes(value),
        events: Vec::new(),
        status_code: StatusCode::Ok,
        status_description: String::new(),
    }
}

fn child(name: &str, value: Value) -> SpanRecord {
    SpanRecord {
        span_id: CHILD.parse().unwrap(),
        parent_span_id: Some(ROOT.parse().unwrap()),
        name: name.to_owned(),
        end_time: Some(time("00.2Z")),
        duration_ms: Some(200),
        ..root(value)
    }
}

fn child_with(name: &str, value: Value, events: Vec<SpanEvent>) -> SpanRecord {
    SpanRecord {
        events,
        ..child(name, value)
    }
}

fn failed(span: SpanRecord, description: &str) -> SpanRecord {
    SpanRecord {
        status_code: StatusCode::Error,
        status_description: description.to_owned(),
        ..span
    }
}

fn record(span: SpanRecord) -> Record {
    let mut records = spans_to_events(&[span]);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn payload(span: SpanRecord) -> Value {
    serde_json::to_value(record(span).payload).unwrap()
}

fn types(spans: &[SpanRecord]) -> Vec<EventType> {
    spans_to_events(spans).iter().map(Record::event_type).collect()
}

#[test]
fn the_type_of_a_child_is_the_first_rule_that_fits() {
    use EventType::{Error, LlmCall, LoopWarning, StateUpdate, ToolCall, Unknown};
    let table = [
        // 1: the operation runs a tool, whatever else the span says.
        (
            ToolCall,
            "state",
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.system": "openai"}),
        ),
        // 2: the operation calls a model, or none is told and a provider is.
        (
            LlmCall,
            "state",
            json!({"gen_ai.operation.name": "chat", "tracer.tool_name": "search"}),
        ),
        (LlmCall, "m", json!({"gen_ai.operation.name": "chat_streaming"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "completion"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "text_completion"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "generate_content"})),
        (LlmCall, "m", json!({"gen_ai.operation.name": "interactions"})),
        (
            LlmCall,
            "m",
            json!({"gen_ai.operation.name": "interactions_streaming"}),
        ),
        (
            LlmCall,
            "state",
            json!({"gen_ai.system": "openai", "tracer.tool_name": "search"}),
        ),
        (
            LlmCall,
            "m",
            json!({"gen_ai.provider.name": "openai", "gen_ai.operation.name": null}),
        ),
        // Other operations are no model calls, though they name a provider.
        (
            Unknown,
            "agent",
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "openai"}),
        ),
        (
            Unknown,
            "embed",
            json!({"gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai"}),
        ),
        // 3: a tool name that says something.
        (
            ToolCall,
            "state",
            json!({"tracer.tool_name": "search", "tracer.error_type": "E"}),
        ),
        (ToolCall, "t", json!({"maida.tool_name": "search"})),
        (ToolCall, "t", json!({"agentdbg.tool_name": "search"})),
        (ToolCall, "t", json!({"gen_ai.tool.name": "search"})),
        (
            ToolCall,
            "t",
            json!({"tracer.tool_name": "", "gen_ai.tool.name": "search"}),
        ),
        (Unknown, "t", json!({"tracer.tool_name": ""})),
        // 4 and 5: by the span's name or by the declared type.
        (
            StateUpdate,
            "state",
            json!({"tracer.error_type": "E", "tracer.event_type": "LOOP_WARNING"}),
        ),
        (LoopWarning, "loop_warning", json!({"tracer.error_type": "E"})),
        (LoopWarning, "x", json!({"tracer.event_type": "LOOP_WARNING"})),
        (LoopWarning, "x", json!({"maida.event_type": "LOOP_WARNING"})),
        (
            LoopWarning,
            "x",
            json!({"agentdbg.event_type": "LOOP_WARNING", "agentdbg.error_type": "E"}),
        ),
        // 6: an error class.
        (Error, "error", json!({"tracer.error_type": "E"})),
        (Error, "x", json!({"maida.error_type": "E"})),
        (Error, "x", json!({"agentdbg.error_type": "E"})),
        (Error, "x", json!({"exception.type": "E"})),
        (Unknown, "error", json!({"maida.error_type": null})),
        // 7: the rest.
        (Unknown, "plan", json!({"tracer.event_type": "TOOL_CALL"})),
    ];
    for (expected, name, value) in table {
        assert_eq!(
            record(child(name, value.clone())).event_type(),
            expected,
            "{name} {value}"
        );
    }
}

#[test]
fn run_start_tells_what_the_root_stored_under_any_namespace() {
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
fn a_model_call_has_every_field_of_the_specification() {
    let span = child_with(
        "a name",
        json!({
            "gen_ai.system": "openai", "gen_ai.request.model": "gpt-5", "gen_ai.response.model": "gpt-5-mini",
            "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 15, "gen_ai.usage.total_tokens": 26,
            "gen_ai.request.temperature": 0, "gen_ai.response.finish_reasons": "stop", "tracer.status": "ok",
        }),
        vec![
            event("gen_ai.user.message", json!({"content": "[1]"})),
            event(
                "gen_ai.assistant.message",
                json!({"content": "{\"a\":1}", "format": "json"}),
            ),
        ],
    );
    assert_eq!(
        payload(span),
        json!({
            "model": "gpt-5", "prompt": "[1]", "response": {"a": 1}, "provider": "openai", "temperature": 0,
            "usage": {"prompt_tokens": 10, "completion_tokens": 15, "total_tokens": 26},
            "stop_reason": "stop", "status": "ok", "error": null,
        }),
    );
}

#[test]
fn what_a_model_call_does_not_store_is_null_or_told_by_its_name() {
    let bare = json!({"gen_ai.operation.name": "chat"});
    assert_eq!(
        payload(child("gpt-5", bare)),
        json!({
            "model": "gpt-5", "prompt": null, "response": null, "provider": "unknown", "temperature": null,
            "usage": {"prompt_tokens": null, "completion_tokens": null, "total_tokens": null},
            "stop_reason": null, "status": "ok", "error": null,
        }),
    );
    let answered = json!({"gen_ai.provider.name": "anthropic", "gen_ai.response.model": "claude"});
    let payload = payload(child("chat claude", answered));
    assert_eq!(
        (&payload["model"], &payload["provider"]),
        (&json!("claude"), &json!("anthropic"))
    );
}

#[test]
fn a_missing_total_is_the_sum_of_the_parts_that_are_known() {
    for (stored, expected) in [
        (
            json!({"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}),
            json!([3, 4, 7]),
        ),
        (json!({"gen_ai.usage.input_tokens": 3}), json!([3, null, 3])),
        (json!({"gen_ai.usage.output_tokens": 4.0}), json!([null, 4, 4])),
        (json!({"gen_ai.usage.total_tokens": 5}), json!([null, null, 5])),
        (
            json!({"gen_ai.usage.input_tokens": 3, "gen_ai.usage.total_tokens": 9}),
            json!([3, null, 9]),
        ),
        (
            json!({"gen_ai.usage.input_tokens": -1, "gen_ai.usage.output_tokens": 1.5}),
            json!([null, null, null]),
        ),
        (
            json!({"gen_ai.usage.input_tokens": true, "gen_ai.usage.output_tokens": "7"}),
            json!([null, null, null]),
        ),
    ] {
        let mut stored = attributes(stored);
        stored.insert("gen_ai.system".to_owned(), json!("openai"));
        let usage = &payload(child("m", Value::Object(stored)))["usage"];
        assert_eq!(
            json!([
                usage["prompt_tokens"],
                usage["completion_tokens"],
                usage["total_tokens"]
            ]),
            expected
        );
    }
}

#[test]
fn prompts_come_from_span_events_else_from_the_attributes_of_opentelemetry() {
    let messages = json!([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]);
    let stored = |value: Value| {
        let mut value = attributes(value);
        value.insert("gen_ai.operation.name".to_owned(), json!("chat"));
        Value::Object(value)
    };
    let prompt = |value: Value| payload(child("m", stored(value)))["prompt"].clone();
    assert_eq!(
        prompt(json!({"gen_ai.input.messages": messages.to_string()})),
        json!({"value": messages})
    );
    assert_eq!(
        prompt(json!({"gen_ai.input.messages": messages})),
        json!({"value": messages})
    );
    assert_eq!(
        prompt(
            json!({"gen_ai.input.messages": messages.to_string(), "gen_ai.system_instructions": "be brief"})
        ),
        json!({"system_instructions": "be brief", "messages": messages}),
    );
    assert_eq!(
        prompt(json!({"gen_ai.system_instructions": "be brief"})),
        json!({"system_instructions": "be brief"})
    );
    assert_eq!(
        prompt(json!({"gen_ai.input.messages": "[{\"role\"__TRUNCATED__"})),
        json!("[{\"role\"__TRUNCATED__")
    );
    let answer = stored(json!({"gen_ai.output.messages": messages.to_string()}));
    assert_eq!(
        payload(child("m", answer))["response"],
        json!({"value": messages})
    );

    let both = stored(json!({"gen_ai.input.messages": "no", "gen_ai.system_instructions": "no"}));
    let span = child_with(
        "m",
        both,
        vec![event("gen_ai.user.message", json!({"content": "yes"}))],
    );
    assert_eq!(payload(span)["prompt"], "yes");
}

#[test]
fn several_prompt_events_are_the_list_of_their_contents() {
    let span = child_with(
        "m",
        json!({"gen_ai.system": "openai"}),
        vec![
            event("gen_ai.user.message", json!({"content": "first"})),
            event("gen_ai.assistant.message", json!({"content": "answer"})),
            event("gen_ai.user.message", json!({"content": "[2]", "format": "json"})),
            event("gen_ai.user.message", json!({})),
        ],
    );
    let payload = payload(span);
    assert_eq!(payload["prompt"], json!({"value": ["first", [2]]}));
    assert_eq!(payload["response"], "answer");
}

#[test]
fn values_that_are_typed_object_string_or_null_are_never_anything_else() {
    for (stored, expected) in [
        ("{\"q\":1}", json!({"q": 1})),
        ("\"done\"", json!("done")),
        ("null", json!(null)),
        ("4", json!({"value": 4})),
        ("true", json!({"value": true})),
        ("[1,2]", json!({"value": [1, 2]})),
        ("__REDACTED__", json!("__REDACTED__")),
        ("{\"q\":\"long__TRUNCATED__", json!("{\"q\":\"long__TRUNCATED__")),
    ] {
        let tool = child_with(
            "t",
            json!({"tracer.tool_name": "t"}),
            vec![
                event("tracer.tool.args", json!({"args": stored})),
                event("maida.tool.result", json!({"result": stored})),
            ],
        );
        let tool = payload(tool);
        assert_eq!(
            (&tool["args"], &tool["result"]),
            (&expected, &expected),
            "{stored}"
        );

        let otel = json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
            "gen_ai.tool.call.arguments": stored, "gen_ai.tool.call.result": stored,
        });
        assert_eq!(payload(child("execute_tool t", otel)), tool, "{stored}");

        let state = child_with(
            "state",
            json!({}),
            vec![event("state", json!({"state": stored, "diff": stored}))],
        );
        assert_eq!(
            payload(state),
            json!({"state": expected, "diff": expected}),
            "{stored}"
        );

        let prompt = event(
            "gen_ai.user.message",
            json!({"content": stored, "format": "json"}),
        );
        let model = child_with("m", json!({"gen_ai.system": "openai"}), vec![prompt]);
        assert_eq!(payload(model)["prompt"], expected, "{stored}");
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
fn a_temperature_that_json_cannot_hold_is_null() {
    for (stored, expected) in [
        (json!("NaN"), json!(null)),
        (json!(null), json!(null)),
        (json!(0.7), json!(0.7)),
    ] {
        let span = child(
            "m",
            json!({"gen_ai.system": "openai", "gen_ai.request.temperature": stored}),
        );
        assert_eq!(payload(span)["temperature"], expected);
    }
}

#[test]
fn stop_reasons_are_read_from_text_and_from_lists() {
    for (stored, expected) in [
        (json!("stop"), json!("stop")),
        (json!(["tool_calls"]), json!("tool_calls")),
        (json!("[\"stop\",\"length\"]"), json!("stop, length")),
        (json!([]), json!(null)),
        (json!("12"), json!("12")),
    ] {
        let span = child(
            "m",
            json!({"gen_ai.system": "openai", "gen_ai.response.finish_reasons": stored}),
        );
        assert_eq!(payload(span)["stop_reason"], expected);
    }
}

#[test]
fn a_failed_call_tells_its_error_from_attributes_else_event_else_description() {
    let attributes = json!({"tracer.tool_name": "t", "tracer.status": "error", "tracer.error_type": "Timeout",
                            "tracer.error_message": "too slow", "tracer.error_stack": "at main"});
    let expected = json!({"error_type": "Timeout", "message": "too slow", "stack": "at main"});
    assert_eq!(payload(failed(child("t", attributes), "no"))["error"], expected);

    let otel = json!({"exception.type": "Timeout", "exception.message": "too slow", "exception.stacktrace": "at main"});
    let span = child_with(
        "t",
        json!({"gen_ai.tool.name": "t"}),
        vec![event("exception", otel)],
    );
    let payload_of_otel = payload(failed(span, "no"));
    assert_eq!(payload_of_otel["error"], expected);
    assert_eq!(payload_of_otel["status"], "error");

    let bare = failed(
        child("t", json!({"maida.tool_name": "t", "maida.error_stack": null})),
        "too slow",
    );
    assert_eq!(
        payload(bare)["error"],
        json!({"error_type": "Error", "message": "too slow", "stack": null})
    );
}

#[test]
fn a_span_failed_when_its_own_status_or_that_of_opentelemetry_says_so() {
    let declared = child("t", json!({"maida.tool_name": "t", "maida.status": "error"}));
    assert_eq!(payload(declared)["status"], "error");
    let unset = SpanRecord {
        status_code: StatusCode::Unset,
        ..child("t", json!({"maida.tool_name": "t"}))
    };
    assert_eq!(
        payload(unset),
        json!({"tool_name": "t", "args": null, "result": null, "status": "ok", "error": null})
    );
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

#[test]
fn the_metadata_of_a_record_is_an_object_or_empty() {
    for (stored, expected) in [
        (json!({"tracer.meta": "{\"a\":1}"}), json!({"a": 1})),
        (json!({"maida.meta": {"a": 1}}), json!({"a": 1})),
        (json!({"agentdbg.meta": "[1]"}), json!({})),
        (json!({"tracer.meta": "{\"a\":"}), json!({})),
        (json!({}), json!({})),
    ] {
        assert_eq!(Value::Object(record(child("x", stored)).meta), expected);
    }
}

#[test]
fn what_happened_on_the_root_is_surfaced_and_numbered() {
    let mut span = root(json!({}));
    span.status_code = StatusCode::Error;
    span.events = vec![
        event("state", json!({"state": "{\"step\":1}"})),
        event("note", json!({"text": "not surfaced"})),
        event(
            "tracer.loop.warning",
            json!({"pattern": "A", "repetitions": 3, "window_size": 3}),
        ),
        event(
            "exception",
            json!({"tracer.error_type": "LoopAbort", "tracer.error_message": "stopped"}),
        ),
    ];
    let seen: Vec<_> = spans_to_events(&[span])
        .into_iter()
        .map(|record| {
            (
                record.event_type().as_str(),
                record.event_id.clone(),
                record.parent_id.clone(),
                record.ts,
            )
        })
        .collect();
    let surfaced = |kind, number: u32| {
        (
            kind,
            format!("{ROOT}.{number}"),
            Some(ROOT.to_owned()),
            "2026-01-01T00:00:00.5Z".to_owned(),
        )
    };
    assert_eq!(
        seen,
        [
            (
                "RUN_START",
                ROOT.to_owned(),
                None,
                "2026-01-01T00:00:00Z".to_owned()
            ),
            surfaced("STATE_UPDATE", 0),
            surfaced("LOOP_WARNING", 1),
            surfaced("ERROR", 2),
            (
                "RUN_END",
                format!("{ROOT}.end"),
                None,
                "2026-01-01T00:00:01Z".to_owned()
            ),
        ]
    );
}

#[test]
fn span_events_of_a_child_are_not_surfaced() {
    let span = child_with(
        "plan",
        json!({}),
        vec![event("exception", json!({"exception.type": "E"}))],
    );
    assert_eq!(record(span).event_type(), EventType::Unknown);
}

#[test]
fn the_run_ended_as_its_root_says_and_only_when_the_root_has_ended() {
    for (code, expected) in [
        (StatusCode::Ok, "ok"),
        (StatusCode::Unset, "ok"),
        (StatusCode::Error, "error"),
    ] {
        let records = spans_to_events(&[SpanRecord {
            status_code: code,
            ..root(json!({}))
        }]);
        assert_eq!(
            serde_json::to_value(&records[1].payload).unwrap(),
            json!({"status": expected})
        );
        assert_eq!(records[1].duration_ms, Some(1000));
    }
    assert_eq!(
        types(&[SpanRecord {
            end_time: None,
            ..root(json!({}))
        }]),
        [EventType::RunStart]
    );
    assert_eq!(types(&[child("plan", json!({}))]), [EventType::Unknown]);
}

#[test]
fn records_are_ordered_by_instant_and_not_by_text() {
    let at = |text: &str, name: &str| SpanRecord {
        start_time: time(text),
        ..child(name, json!({}))
    };
    let spans = [
        at("00.300000Z", "third"),
        at("00.100000Z", "first in the file"),
        at("00.1Z", "second in the file"),
        at("00.2Z", "second"),
        SpanRecord {
            start_time: "2026-01-01T01:00:00.05+01:00".parse().unwrap(),
            ..child("another zone", json!({}))
        },
    ];
    let names: Vec<_> = spans_to_events(&spans)
        .into_iter()
        .map(|record| record.name)
        .collect();
    assert_eq!(
        names,
        [
            "another zone",
            "first in the file",
            "second in the file",
            "second",
            "third"
        ]
    );
}

#[test]
fn at_one_instant_the_start_comes_first_and_the_end_last() {
    let instant = SpanRecord {
        end_time: Some(time("00Z")),
        duration_ms: Some(0),
        ..root(json!({}))
    };
    let spans = [child("plan", json!({})), instant];
    assert_eq!(
        types(&spans),
        [EventType::RunStart, EventType::Unknown, EventType::RunEnd]
    );
}

#[test]
fn counts_are_the_records_of_each_type_and_a_failed_call_is_no_error() {
    let mut run = root(json!({}));
    run.events = vec![event("exception", json!({"tracer.error_type": "E"}))];
    let spans = [
        failed(
            child("t", json!({"tracer.tool_name": "t", "tracer.error_type": "E"})),
            "no",
        ),
        child("m", json!({"gen_ai.system": "openai"})),
        child("m", json!({"gen_ai.system": "openai"})),
        child("loop_warning", json!({})),
        run,
    ];
    let counts = count_records(&spans_to_events(&spans));
    assert_eq!(
        counts,
        Counts {
            llm_calls: 2,
            tool_calls: 1,
            errors: 1,
            loop_warnings: 1
        }
    );
}

fn any_span() -> impl Strategy<Value = SpanRecord> {
    let key = prop::sample::select(vec![
        "tracer.tool_name",
        "maida.error_type",
        "gen_ai.system",
        "gen_ai.operation.name",
        "tracer.meta",
        "gen_ai.usage.input_tokens",
        "tracer.argv",
        "own",
    ]);
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!("{\"a\":[1]}")),
        Just(json!("execute_tool")),
    ];
    let name = prop::sample::select(vec!["state", "loop_warning", "", "gpt"]);
    let event_name = prop::sample::select(vec!["state", "exception", "tracer.loop.warning", "x"]);
    (
        any::<bool>(),
        name,
        prop::collection::btree_map(key, value, 0..4),
        0i64..5,
        prop::option::of(0i64..5),
        prop::collection::vec((event_name, 0i64..5), 0..3),
    )
        .prop_map(|(is_root, name, values, start, end, events)| {
            let at = |second: i64| StoredTime::from(Timestamp::from_unix_microseconds(second));
            SpanRecord {
                parent_span_id: (!is_root).then(|| ROOT.parse().unwrap()),
                name: name.to_owned(),
                start_time: at(start),
                end_time: end.map(at),
                attributes: values
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect(),
                events: events
                    .into_iter()
                    .map(|(name, second)| SpanEvent {
                        timestamp: at(second),
                        ..event(name, json!({}))
                    })
                    .collect(),
                ..root(json!({}))
            }
        })
}

proptest! {
    #[test]
    fn every_span_has_one_primary_record_and_the_order_is_total(mut spans in prop::collection::vec(any_span(), 0..12)) {
        let mut roots = 0;
        for (number, span) in (1u64..).zip(&mut spans) {
            span.span_id = crate::format::SpanId::from_u64(number).unwrap();
            // A run has one root at most.
            roots += u32::from(span.is_root());
            if roots > 1 {
                span.parent_span_id = Some(ROOT.parse().unwrap());
            }
        }
        let records = spans_to_events(&spans);
        prop_assert_eq!(&records, &spans_to_events(&spans), "the projection is deterministic");

        let mut ids: Vec<&str> = records.iter().map(|record| record.event_id.as_str()).collect();
        for span in &spans {
            let id = span.span_id.to_string();
            prop_assert_eq!(ids.iter().filter(|other| **other == id).count(), 1);
        }
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), records.len(), "event IDs are unique");

        let place = |record: &Record| {
            let rank = match record.event_type() {
                EventType::RunStart => 0,
                EventType::RunEnd => 2,
                _ => 1,
            };
            (record.ts.parse::<Timestamp>().unwrap(), rank)
        };
        prop_assert!(records.is_sorted_by_key(place));
    }
}
