//! Model calls and tool calls: where each field comes from.

use serde_json::{Value, json};

use super::{attributes, child, child_with, event, failed, payload};
use crate::{SpanRecord, StatusCode};

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
            "model": "gpt-5", "prompt": "[1]", "response": {"a": 1}, "provider": "openai",
            "response_model": "gpt-5-mini", "temperature": 0,
            "usage": {"prompt_tokens": 10, "completion_tokens": 15, "total_tokens": 26},
            "stop_reason": "stop", "status": "ok", "error": null,
        }),
    );
}

#[test]
fn what_a_model_call_does_not_store_is_null_or_its_name() {
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
fn names_that_look_like_json_text_are_kept_as_they_are() {
    let name = "\"[\"";
    let model = payload(child(
        "a",
        json!({"gen_ai.provider.name": name, "gen_ai.request.model": name}),
    ));
    assert_eq!(
        (&model["model"], &model["provider"]),
        (&json!(name), &json!(name))
    );
    let tool = payload(child("a", json!({"tracer.tool_name": name})));
    assert_eq!(tool["tool_name"], name);
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
        (
            // Another emitter, without large integers, stores them as text.
            json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": "50", "gen_ai.usage.output_tokens": "7"}),
            json!([50, 7, 57]),
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
fn a_failed_call_takes_its_error_from_attributes_event_or_description() {
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
