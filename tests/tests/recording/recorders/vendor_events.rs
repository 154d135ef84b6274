//! Model calls from the events of their vendors' streams: what a recorder reads from them is what the proxy reads.

use serde_json::{Value, json};
use tracer_providers::{Assembled, ModelApi, ResponseFacts, Vendor, assemble};
use tracer_sdk::format::EventType;
use tracer_sdk::{LlmSpan, Usage, llm_call};
use tracer_tests::model_streams::{self, ModelStream, StreamApi};
use tracer_tests::{Finished, recorded};

fn push(api: StreamApi, call: &mut LlmSpan, event: &Value) {
    match api {
        StreamApi::ChatCompletions | StreamApi::Responses => call.openai_event(event),
        StreamApi::Messages => call.anthropic_event(event),
        _ => call.gemini_event(event),
    };
}

/// The streams of the vendors whose events a recorder takes, in the plainest framing.
fn streams() -> impl Iterator<Item = (ModelStream, Assembled)> {
    let of_vendors = |stream: &ModelStream| {
        !matches!(stream.api, StreamApi::OllamaChat | StreamApi::OllamaGenerate)
            && stream.name.contains(" lf ")
    };
    model_streams::all().into_iter().filter(of_vendors).map(|stream| {
        let path = stream.api.path().split('?').next().unwrap();
        let api = ModelApi::from_path(path).unwrap();
        let answer = assemble(api, stream.api.content_type(), &stream.bytes);
        (stream, answer)
    })
}

fn assert_is(finished: &Finished, answer: &Assembled, name: &str) {
    let facts = ResponseFacts::from_answer(answer);
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(call["response"], answer.body, "{name}");
    assert_eq!(
        call["usage"],
        serde_json::to_value(facts.usage).unwrap(),
        "{name}"
    );
    assert_eq!(call["stop_reason"], facts.finish_reasons[0], "{name}");
    assert_eq!(call["status"], "ok", "{name}");
}

#[test]
fn events_say_what_the_proxy_reads_from_their_bytes() {
    let mut count = 0;
    for (stream, answer) in streams() {
        let text = String::from_utf8(stream.bytes.clone()).unwrap();
        let events = Vendor::events_of_text(&text);
        assert!(!events.is_empty(), "{}", stream.name);
        let by_event = recorded(|| {
            let mut call = llm_call("asked").start().unwrap();
            for event in &events {
                push(stream.api, &mut call, event);
            }
            call.end().unwrap();
        });
        assert_is(&by_event, &answer, &stream.name);
        let span = by_event.span(by_event.only(EventType::LlmCall));
        assert_eq!(span.attributes["tracer.chunks"], events.len(), "{}", stream.name);
        // The text as it came, and a call that is dropped behind its last event.
        let by_text = recorded(|| {
            let mut call = llm_call("asked").start().unwrap();
            push(stream.api, &mut call, &Value::from(text));
        });
        assert_is(&by_text, &answer, &stream.name);
        count += 1;
    }
    assert!(count >= 20, "{count} streams");
}

#[test]
fn a_whole_answer_is_one_event() {
    for (stream, answer) in streams() {
        let finished = recorded(|| {
            let mut call = llm_call("asked").start().unwrap();
            push(stream.api, &mut call, &answer.body);
        });
        assert_is(&finished, &answer, &stream.name);
    }
}

#[test]
fn a_stream_that_was_dropped_is_cancelled_with_what_came() {
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        call.openai_event(
            &json!({"model": "gpt-5-2026", "choices": [{"index": 0, "delta": {"content": "Be"}}]}),
        );
    });
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(call["response"]["choices"][0]["message"]["content"], "Be");
    assert_eq!(call["error"]["error_type"], "Cancelled");
}

#[test]
fn an_error_in_a_stream_fails_the_call() {
    let finished = recorded(|| {
        let mut call = llm_call("claude-opus-4-5").start().unwrap();
        call.anthropic_event(
            r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        );
    });
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(call["status"], "error");
    assert_eq!(call["error"]["error_type"], "overloaded_error");
    assert_eq!(call["error"]["message"], "Overloaded");
}

#[test]
fn a_refusal_keeps_its_type_when_the_program_fails_the_call() {
    let refused = |error: &dyn Fn(&mut LlmSpan)| {
        let finished = recorded(|| {
            let mut call = llm_call("gpt-5").provider("openai").start().unwrap();
            call.openai_event(r#"{"error":{"type":"rate_limit_error","message":"Slow down"}}"#);
            error(&mut call);
        });
        finished.payload(EventType::LlmCall)["error"]["error_type"].clone()
    };
    let by_text = refused(&|call| {
        call.fail("the model answered 429");
    });
    assert_eq!(by_text, "rate_limit_error");
    let by_type = refused(&|call| {
        call.fail(&"x".parse::<u32>().unwrap_err());
    });
    assert_eq!(by_type, "ParseIntError");
}

#[test]
fn what_the_program_says_stays_where_events_are_silent() {
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        call.usage(Usage::new(3, 4)).response("in our words");
        call.openai_event("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Be\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
        call.openai_event("no JSON at all");
        call.end().unwrap();
    });
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(call["usage"]["total_tokens"], 7);
    assert_eq!(call["response"], "in our words");
    assert_eq!(call["stop_reason"], "stop");
}

#[test]
fn events_past_the_limit_are_counted() {
    let piece = "x".repeat(1_000_000);
    let finished = recorded(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        for _ in 0..12 {
            call.openai_event(&json!({"choices": [{"index": 0, "delta": {"content": piece}}]}));
        }
        call.stop_reason("stop");
        call.end().unwrap();
    });
    let span = finished.span(finished.only(EventType::LlmCall));
    assert_eq!(span.attributes["tracer.chunks"], 12);
    assert_eq!(finished.meta.left_out(), 4);
}
