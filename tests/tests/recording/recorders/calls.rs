//! Model calls and tool calls: what every option of their recorders comes back as (specification, *Payloads*;
//! decisions, section 1).

use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, SpanKind, StatusCode};
use tracer_sdk::{Usage, llm_call, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::recorded;

#[test]
fn a_model_call_comes_back_with_every_option() {
    let finished = recorded(|| {
        llm_call("gpt-5")
            .provider("openai")
            .prompt("Why is the sky blue?")
            .response("Because of Rayleigh scattering.")
            .usage(Usage::new(14, 6))
            .temperature(0.25)
            .stop_reason("stop")
            .meta(&json!({"attempt": 2}))
            .attribute("region", "eu")
            .record()
            .unwrap();
    });
    assert_eq!(
        finished.payload(EventType::LlmCall),
        json!({
            "model": "gpt-5",
            "prompt": "Why is the sky blue?",
            "response": "Because of Rayleigh scattering.",
            "usage": {"prompt_tokens": 14, "completion_tokens": 6, "total_tokens": 20},
            "provider": "openai",
            "temperature": 0.25,
            "stop_reason": "stop",
            "status": "ok",
            "error": null,
        })
    );
    let record = finished.only(EventType::LlmCall);
    assert_eq!(
        (record.name.as_str(), Value::Object(record.meta.clone())),
        ("gpt-5", json!({"attempt": 2}))
    );
    let span = finished.span(record);
    assert_eq!((span.kind, span.status_code), (SpanKind::Client, StatusCode::Ok));
    assert_eq!(span.attributes["gen_ai.operation.name"], "chat");
    assert_eq!(span.attributes["region"], "eu");
}

#[test]
fn a_model_call_of_which_only_the_model_is_known_has_nulls() {
    let finished = recorded(|| llm_call("local-7b").record().unwrap());
    assert_eq!(
        finished.payload(EventType::LlmCall),
        json!({
            "model": "local-7b",
            "prompt": null,
            "response": null,
            "usage": {"prompt_tokens": null, "completion_tokens": null, "total_tokens": null},
            "provider": "unknown",
            "temperature": null,
            "stop_reason": null,
            "status": "ok",
            "error": null,
        })
    );
}

#[test]
fn partial_usage_stays_partial() {
    let mut usage = Usage::default();
    usage.completion_tokens = Some(u64::MAX);
    let finished = recorded(|| llm_call("m").usage(usage).record().unwrap());
    assert_eq!(
        finished.payload(EventType::LlmCall)["usage"],
        json!({"prompt_tokens": null, "completion_tokens": u64::MAX, "total_tokens": u64::MAX})
    );
}

#[test]
fn prompts_keep_text_and_structure_apart() {
    let messages = json!({"messages": [{"role": "user", "content": "Hi"}]});
    for (given, expected, format) in [
        (json!("{\"a\": 1}"), json!("{\"a\": 1}"), None),
        (json!("[1, 2]"), json!("[1, 2]"), None),
        (json!(""), json!(""), None),
        (messages.clone(), messages, Some("json")),
        (json!([1, "two"]), json!({"value": [1, "two"]}), Some("json")),
        (json!(7), json!({"value": 7}), Some("json")),
        (json!(true), json!({"value": true}), Some("json")),
        (Value::Null, Value::Null, Some("json")),
    ] {
        let finished = recorded(|| llm_call("m").prompt(&given).response(&given).record().unwrap());
        let payload = finished.payload(EventType::LlmCall);
        assert_eq!(
            (&payload["prompt"], &payload["response"]),
            (&expected, &expected),
            "{given}"
        );
        for event in &finished.span(finished.only(EventType::LlmCall)).events {
            assert_eq!(
                event.attributes.get("format").and_then(Value::as_str),
                format,
                "{given}"
            );
        }
    }
}

#[test]
fn a_non_finite_temperature_is_unknown() {
    for (temperature, text) in [
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        let finished = recorded(|| llm_call("m").temperature(temperature).record().unwrap());
        let record = finished.only(EventType::LlmCall);
        assert_eq!(
            finished.span(record).attributes["gen_ai.request.temperature"],
            text
        );
        assert_eq!(payload(record)["temperature"], Value::Null);
    }
}

#[test]
fn a_tool_call_gives_back_arguments_and_results_of_every_json_type() {
    for (given, expected) in [
        (
            json!({"query": "refunds", "deep": {"list": [1, null]}}),
            json!({"query": "refunds", "deep": {"list": [1, null]}}),
        ),
        (json!({}), json!({})),
        (json!("notes.md"), json!("notes.md")),
        (
            json!("{\"looks\": \"like JSON\"}"),
            json!("{\"looks\": \"like JSON\"}"),
        ),
        (json!([]), json!({"value": []})),
        (
            json!([1.5, "x", {"y": false}]),
            json!({"value": [1.5, "x", {"y": false}]}),
        ),
        (json!(-3), json!({"value": -3})),
        (json!(u64::MAX), json!({"value": u64::MAX})),
        (json!(false), json!({"value": false})),
        (Value::Null, Value::Null),
    ] {
        let finished = recorded(|| tool_call("tool").args(&given).result(&given).record().unwrap());
        assert_eq!(
            finished.payload(EventType::ToolCall),
            json!({"tool_name": "tool", "args": expected, "result": expected, "status": "ok", "error": null}),
            "{given}"
        );
    }
}

#[test]
fn a_tool_call_without_arguments_and_result_has_nulls() {
    let finished = recorded(|| tool_call("now").record().unwrap());
    assert_eq!(
        finished.payload(EventType::ToolCall),
        json!({"tool_name": "now", "args": null, "result": null, "status": "ok", "error": null})
    );
}

#[test]
fn a_failed_call_does_not_fail_the_run() {
    let failure = "x".parse::<u8>().unwrap_err();
    let finished = recorded(|| {
        llm_call("gpt-5").prompt("Hi").fail(&failure).record().unwrap();
        tool_call("search")
            .args(&json!({"q": 1}))
            .fail("timed out")
            .record()
            .unwrap();
    });
    for (event_type, error_type, message) in [
        (
            EventType::LlmCall,
            "ParseIntError",
            "invalid digit found in string",
        ),
        (EventType::ToolCall, "Error", "timed out"),
    ] {
        let record = finished.only(event_type);
        let payload = payload(record);
        assert_eq!(payload["status"], "error");
        assert_eq!(
            payload["error"],
            json!({"error_type": error_type, "message": message, "stack": null})
        );
        let span = finished.span(record);
        assert_eq!(
            (span.status_code, span.status_description.as_str()),
            (StatusCode::Error, message)
        );
    }
    assert_eq!(finished.run.meta.counts.errors, 0);
    assert_eq!(finished.payload(EventType::RunEnd), json!({"status": "ok"}));
}

#[test]
fn a_given_duration_never_precedes_the_run() {
    let finished = recorded(|| {
        tool_call("long")
            .duration(Duration::from_secs(3600))
            .record()
            .unwrap();
        tool_call("none").record().unwrap();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        tool_call("short")
            .duration(Duration::from_micros(3999))
            .record()
            .unwrap();
    });
    let root = finished.span(finished.only(EventType::RunStart));
    let long = finished.span_named("long");
    assert_eq!(
        long.start_time.instant(),
        root.start_time.instant(),
        "cut off at the start of the run"
    );
    assert_eq!(finished.span_named("short").duration_ms, Some(3), "rounded down");
    assert_eq!(finished.span_named("none").duration_ms, Some(0));
}

#[test]
fn the_last_value_of_a_call_wins() {
    let finished = recorded(|| {
        llm_call("m")
            .prompt("one")
            .prompt("two")
            .response(&json!({"a": 1}))
            .response("plain")
            .record()
            .unwrap();
        tool_call("t")
            .args(&json!(1))
            .args(&json!({"b": 2}))
            .record()
            .unwrap();
    });
    let payload = finished.payload(EventType::LlmCall);
    assert_eq!(
        (&payload["prompt"], &payload["response"]),
        (&json!("two"), &json!("plain"))
    );
    assert_eq!(finished.payload(EventType::ToolCall)["args"], json!({"b": 2}));
}

#[test]
fn a_call_without_a_name_is_still_a_call_of_its_kind() {
    let finished = recorded(|| {
        llm_call("").record().unwrap();
        tool_call("").record().unwrap();
    });
    assert_eq!(finished.payload(EventType::LlmCall)["model"], "");
    assert_eq!(finished.payload(EventType::ToolCall)["tool_name"], "");
}
