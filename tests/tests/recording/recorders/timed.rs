//! Timed calls: what arrives while they last, their children, streamed answers, and calls that are given up (issue:
//! *Timed spans*).

use serde_json::json;
use tracer_sdk::format::EventType;
use tracer_sdk::{Usage, llm_call, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::recorded;

#[test]
fn a_timed_call_holds_its_children() {
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").provider("openai").prompt("Hi").start().unwrap();
        call.in_scope(|| tool_call("inner").record()).unwrap();
        call.response("Hello")
            .usage(Usage::new(1, 2))
            .stop_reason("stop")
            .attribute("retries", &3);
        call.end().unwrap();
    });
    let record = finished.only(EventType::LlmCall);
    let payload = payload(record);
    assert_eq!(
        (&payload["prompt"], &payload["response"]),
        (&json!("Hi"), &json!("Hello"))
    );
    assert_eq!(
        (&payload["usage"]["total_tokens"], &payload["stop_reason"]),
        (&json!(3), &json!("stop"))
    );
    assert_eq!(finished.span(record).attributes["retries"], 3);
    assert_eq!(
        finished.only(EventType::ToolCall).parent_id.as_ref(),
        Some(&record.event_id)
    );
}

#[test]
fn a_streamed_answer_is_joined_and_timed() {
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").prompt("Count").start().unwrap();
        for text in ["one ", "", "two"] {
            call.chunk(text);
        }
        call.stop_reason("stop");
    });
    let record = finished.only(EventType::LlmCall);
    assert_eq!(payload(record)["response"], "one two");
    assert_eq!(payload(record)["status"], "ok");
    let attributes = &finished.span(record).attributes;
    assert_eq!(attributes["tracer.chunks"], 3);
    assert!(
        attributes["tracer.time_to_first_chunk_ms"]
            .as_f64()
            .is_some_and(|after| after >= 0.0)
    );
}

#[test]
fn an_unanswered_timed_call_is_cancelled() {
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        call.chunk("half an ans");
        drop(call);
        drop(tool_call("search").start().unwrap());
    });
    assert_eq!(finished.payload(EventType::LlmCall)["response"], "half an ans");
    for event_type in [EventType::LlmCall, EventType::ToolCall] {
        let payload = finished.payload(event_type);
        assert_eq!(
            (&payload["status"], &payload["error"]["error_type"]),
            (&json!("error"), &json!("Cancelled"))
        );
    }
    assert_eq!(
        finished.payload(EventType::RunEnd),
        json!({"status": "ok"}),
        "the run went on"
    );
}
