//! Streams, tools that providers run, compressed bodies and errors: what was sent, and all of it.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};
use tracer_insight::conversation::{MessagePart, answer_messages};
use tracer_sdk::format::{EventType, Outcome, Record};
use tracer_tests::finished::payload;

use super::{Played, play, play_turns};

fn call(played: &Played) -> Value {
    played.run.payload(EventType::LlmCall)
}

/// The tools that were called: the name, the arguments, the result, the class of the error.
fn tools(played: &Played) -> Vec<(String, Value, Value, Value)> {
    let calls = played.run.all(EventType::ToolCall).into_iter().map(payload);
    let listed = calls.map(|call| {
        let name = call["tool_name"].as_str().unwrap().to_owned();
        let error = call.pointer("/error/error_type").cloned().unwrap_or_default();
        (name, call["args"].clone(), call["result"].clone(), error)
    });
    listed.collect()
}

fn said(response: &Value) -> String {
    let parts = answer_messages(response)
        .into_iter()
        .flat_map(|message| message.parts);
    let texts = parts.filter_map(|part| match part {
        MessagePart::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_search_of_anthropic_has_its_result() {
    let played = play("provider-tool-anthropic-web-search");
    let (name, arguments, result, error) = tools(&played).remove(0);
    assert_eq!(
        (name.as_str(), arguments),
        ("web_search", json!({"query": "first ferry"}))
    );
    assert!(
        result.to_string().contains("https://ferries.example/t"),
        "{result}"
    );
    assert_eq!(error, Value::Null);
    assert_eq!(tools(&played).len(), 1);
    assert_eq!(said(&call(&played)["response"]), "I look.The 6:40.");
}

#[test]
fn tools_that_openai_ran_have_not_failed() {
    let played = play("provider-tools-openai-responses");
    let mut tools = tools(&played);
    tools.sort_by(|one, other| one.0.cmp(&other.0));
    let names: Vec<&str> = tools.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["code_interpreter", "file_search", "lookup", "web_search"]);
    assert!(tools.iter().all(|(.., error)| error.is_null()), "{tools:?}");
    let outcomes = played
        .run
        .all(EventType::ToolCall)
        .into_iter()
        .map(Record::outcome);
    assert_eq!(outcomes.filter(|outcome| *outcome == Outcome::Ok).count(), 4);
    assert!(tools[0].2.to_string().contains("logs"), "{tools:?}");
    assert_eq!(tools[2].2, "6:40");
}

#[test]
fn an_empty_last_chunk_takes_nothing_from_a_call() {
    let call = call(&play("azure-last-chunk-empty-model"));
    assert_eq!(
        (&call["model"], &call["response_model"]),
        (&json!("harbour-prod"), &json!("gpt-4o-2024-08-06"))
    );
    assert_eq!(call["response"]["id"], "chatcmpl-7");
    assert_eq!(
        (
            &call["usage"]["prompt_tokens"],
            &call["usage"]["completion_tokens"]
        ),
        (&json!(1000), &json!(20))
    );
    assert_eq!(
        (&call["stop_reason"], &call["error"]),
        (&json!("stop"), &Value::Null)
    );
}

#[test]
fn an_error_without_its_key_gives_its_message() {
    let call = call(&play("error-body-without-error-key"));
    assert_eq!(
        call["error"],
        json!({"error_type": "BadRequestError", "message": "max_tokens is too large", "stack": call["error"]["stack"]})
    );
    assert_eq!(call["response"], Value::Null);
}

#[test]
fn a_compressed_request_is_read() {
    let call = call(&play("gzip-request-body"));
    assert_eq!(
        call["prompt"]["messages"][0]["content"],
        "Which ferry leaves first?"
    );
    assert_eq!(
        (&call["model"], &call["status"]),
        (&json!("gpt-4o"), &json!("ok"))
    );
    assert_eq!(said(&call["response"]), "The 6:40.");
}

#[test]
fn a_call_with_a_moving_index_is_one() {
    let played = play("streamed-call-moving-index");
    let calls: Vec<(String, Value)> = tools(&played)
        .into_iter()
        .map(|(name, arguments, ..)| (name, arguments))
        .collect();
    assert_eq!(calls, [("timetable".to_owned(), json!({"city": "Bergen"}))]);
}

#[test]
fn two_calls_under_one_index_are_two() {
    let played = play("streamed-calls-one-index-no-id");
    let calls: Vec<(String, Value)> = tools(&played)
        .into_iter()
        .map(|(name, arguments, ..)| (name, arguments))
        .collect();
    assert_eq!(
        calls,
        [
            ("timetable".to_owned(), json!({"city": "Bergen"})),
            ("timetable".to_owned(), json!({"city": "Turku"})),
        ]
    );
}

#[test]
fn text_around_a_reference_is_kept() {
    let call = call(&play("streamed-content-as-list"));
    assert_eq!(
        said(&call["response"]),
        "The first ferry leaves at 6:40  from pier 3."
    );
    assert!(call["response"].to_string().contains("reference_ids"));
}

#[test]
fn a_paused_turn_has_its_result_in_the_next_answer() {
    let search =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}});
    let question = json!({"role": "user", "content": "Which ferry leaves first?"});
    let turn = |messages: Value, content: Value, reason: &str| {
        json!({"api": "anthropic", "path": "/v1/messages", "request": {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": messages},
            "reply": {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content, "stop_reason": reason,
                "usage": {"input_tokens": 10, "output_tokens": 5}}})
    };
    let played = play_turns(&json!({"turns": [
        turn(json!([question]), json!([search]), "pause_turn"),
        turn(json!([question, {"role": "assistant", "content": [search]}]), json!([
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "u", "title": "t"}]},
            {"type": "text", "text": "The 6:40."}]), "end_turn"),
    ]}));
    let tools = tools(&played);
    assert_eq!(tools.len(), 1);
    assert!(
        tools[0].2.to_string().contains("web_search_result") && tools[0].3.is_null(),
        "{tools:?}"
    );
}

/// Each API whose provider runs tools, streamed: the call and its result from one answer.
#[test]
fn streamed_answers_have_the_tools_of_their_provider() {
    let stream = |events: Vec<Value>| -> Vec<String> {
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    };
    let block = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let input = |index: u64, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}});
    let item = |index: u64, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let part =
        |part: Value| json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]});
    let turns = [
        (
            "anthropic",
            "/v1/messages",
            stream(vec![
                block(
                    0,
                    json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
                ),
                input(0, "{\"query\": "),
                input(0, "\"ferry\"}"),
                block(
                    1,
                    json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}}),
                ),
                block(
                    2,
                    json!({"type": "mcp_tool_use", "id": "s2", "name": "lookup", "server_name": "m", "input": {}}),
                ),
                input(2, "{}"),
                block(
                    3,
                    json!({"type": "mcp_tool_result", "tool_use_id": "s2", "is_error": false, "content": [{"type": "text", "text": "6:40"}]}),
                ),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        (
            "openai",
            "/responses",
            stream(vec![
                item(
                    0,
                    json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "boat"}}),
                ),
                item(
                    1,
                    json!({"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]}),
                ),
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}),
            ]),
        ),
        (
            "gemini",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            stream(vec![
                part(json!({"executableCode": {"language": "PYTHON", "code": "1"}})),
                part(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})),
                json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "One."}]}, "finishReason": "STOP",
                "groundingMetadata": {"webSearchQueries": ["ferry"], "groundingChunks": [{"web": {"uri": "u"}}]}}]}),
            ]),
        ),
    ];
    let turns = turns.map(|(api, path, reply)| {
        json!({"api": api, "path": path, "request": {"model": "m", "stream": true, "messages": [{"role": "user", "content": "?"}]}, "reply": reply})
    });
    let mut tools = tools(&play_turns(&json!({"turns": turns})));
    tools.sort_by_key(|(name, arguments, ..)| (name.clone(), arguments.to_string()));
    let listed: Vec<(&str, bool, Option<&str>)> = tools
        .iter()
        .map(|(name, _, result, error)| (name.as_str(), result.is_null(), error.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            ("code_execution", false, None),
            ("code_interpreter", false, None),
            ("google_search", false, None),
            ("lookup", false, None),
            ("web_search", true, None),
            ("web_search", false, Some("unavailable")),
        ],
        "{tools:?}"
    );
}

fn read(mut encoder: impl Read) -> Vec<u8> {
    let mut packed = Vec::new();
    encoder.read_to_end(&mut packed).unwrap();
    packed
}

/// A question and an answer of each API: its base URL, the path, the request, the answer as a document and as a stream.
fn exchanges() -> Vec<(&'static str, &'static str, Value, String, String)> {
    let question = json!([{"role": "user", "content": "Which ferry leaves first?"}]);
    let event = |value: Value| format!("data: {value}\n\n");
    vec![
        (
            "openai",
            "/chat/completions",
            json!({"model": "m", "messages": question}),
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "The 6:40."}, "finish_reason": "stop"}]}).to_string(),
            event(json!({"choices": [{"index": 0, "delta": {"content": "The 6:40."}, "finish_reason": "stop"}]})),
        ),
        (
            "openai",
            "/responses",
            json!({"model": "m", "input": question}),
            json!({"status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "The 6:40."}]}]}).to_string(),
            event(json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "The 6:40."}))
                + &event(json!({"type": "response.completed", "response": {"status": "completed", "output": []}})),
        ),
        (
            "anthropic",
            "/v1/messages",
            json!({"model": "m", "max_tokens": 9, "messages": question}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "The 6:40."}], "stop_reason": "end_turn"}).to_string(),
            event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
                + &event(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "The 6:40."}}))
                + &event(json!({"type": "message_stop"})),
        ),
        (
            "gemini",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [{"text": "Which ferry leaves first?"}]}]}),
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "The 6:40."}]}, "finishReason": "STOP"}]}).to_string(),
            event(json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "The 6:40."}]}, "finishReason": "STOP"}]})),
        ),
        (
            "ollama",
            "/api/chat",
            json!({"model": "m", "messages": question}),
            json!({"message": {"role": "assistant", "content": "The 6:40."}, "done": true}).to_string(),
            json!({"message": {"role": "assistant", "content": "The 6:40."}, "done": true}).to_string() + "\n",
        ),
    ]
}

/// Each API, streamed and not, in each compression, in both directions; `br` as another program compresses it.
#[test]
fn every_compression_is_read_in_both_directions() {
    const BROTLI: [&str; 2] = [
        "G1QA4IzUYs0Z7kSQt9Sva7oUTERkP8VMseg4xoHDgNs3yA3Cw8bYehZe+QBXc5+UF/RqfTSlpwCwysVGj7iRBkMtfvs=",
        "G/UAoIyTpRblYRkhySwEbS7V3WeYeAprYpI4ikVH3cZLe6kPIV/ZBZNROYJGQxbMWbrJIhTAbfjcQjXM/r4Uc0faqf7a/dpkBNijeDyG0ED/CxmvT/qnvLBd2rG0Q3C3i6kCkWmH8OXSqUqsdDB/UOFlJ2tygEbPZOqNsG+baJ0L/hq7zv36yhCIl45tAxRycqlfEMxZtAY=",
    ];
    let packed = |bytes: &[u8]| {
        let gzip = read(GzEncoder::new(bytes, Compression::default()));
        let deflate = read(ZlibEncoder::new(bytes, Compression::default()));
        [
            ("gzip", gzip),
            ("deflate", deflate),
            ("zstd", zstd::encode_all(bytes, 3).unwrap()),
        ]
    };
    let base64 = |bytes: &[u8]| json!({"base64": BASE64_STANDARD.encode(bytes)});
    let mut turns = vec![
        json!({"api": "openai", "path": "/chat/completions", "reqheaders": {"content-encoding": "br"},
        "headers": {"content-encoding": "br"}, "request": {"base64": BROTLI[0]}, "reply": {"base64": BROTLI[1]}}),
    ];
    for (api, path, request, document, stream) in exchanges() {
        for (answer, is_stream) in [(document, false), (stream, true)] {
            let requests = packed(request.to_string().as_bytes());
            for ((encoding, request), (_, answer)) in requests.iter().zip(packed(answer.as_bytes())) {
                let reply = if is_stream {
                    json!([base64(&answer)])
                } else {
                    base64(&answer)
                };
                turns.push(
                    json!({"api": api, "path": path, "reqheaders": {"content-encoding": encoding},
                    "headers": {"content-encoding": encoding}, "request": base64(request), "reply": reply}),
                );
            }
        }
    }
    let played = play_turns(&json!({"turns": turns}));
    let calls: Vec<Value> = played
        .run
        .all(EventType::LlmCall)
        .into_iter()
        .map(payload)
        .collect();
    assert_eq!(calls.len(), 31);
    for (turn, call) in turns.iter().zip(calls) {
        assert!(
            call["prompt"].to_string().contains("Which ferry leaves first?"),
            "{turn}: {call}"
        );
        assert_eq!(said(&call["response"]), "The 6:40.", "{turn}");
        assert_eq!(call["error"], Value::Null, "{turn}");
    }
}

/// Bodies that cannot be read are named, and the call is one that went well.
#[test]
fn what_cannot_be_unpacked_is_named() {
    let body = json!({"base64": BASE64_STANDARD.encode([0, 1, 2, 3, 250, 251])});
    let played = play_turns(
        &json!({"turns": [{"api": "openai", "path": "/chat/completions", "reqheaders": {"content-encoding": "snappy"},
        "headers": {"content-encoding": "exi"}, "request": body, "reply": body}]}),
    );
    let call = call(&played);
    assert_eq!(
        (&call["prompt"], &call["response"], &call["error"]),
        (
            &json!("(6 bytes, compressed as \"snappy\", which is not read here)"),
            &Value::Null,
            &Value::Null
        )
    );
    let span = played.run.span(played.run.only(EventType::LlmCall));
    let attributes = format!("{:?}", span.attributes);
    assert!(
        attributes.contains("exi") && attributes.contains("snappy"),
        "{attributes}"
    );
}

/// Each API, streamed and not: a refusal whose body is a text, a page, or an object of its own.
#[test]
fn every_api_gives_the_message_of_a_refusal() {
    let bodies = [
        (json!("upstream connect error"), "upstream connect error"),
        (
            json!("<html><head><title>502 Bad Gateway</title></head><body>x</body></html>"),
            "502 Bad Gateway",
        ),
        (
            json!({"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}),
            "body.model: Field required",
        ),
        (
            json!({"message": "Access denied", "statusCode": 401}),
            "Access denied",
        ),
        (json!({"errors": [{"message": "no route"}]}), "no route"),
    ];
    let mut turns = Vec::new();
    for (api, path, request, ..) in exchanges() {
        for (reply, _) in &bodies {
            for is_stream in [false, true] {
                let mut request = request.clone();
                request["stream"] = json!(is_stream);
                turns.push(
                    json!({"api": api, "path": path, "request": request, "status": 502, "reply": reply}),
                );
            }
        }
    }
    let played = play_turns(&json!({"turns": turns}));
    let calls: Vec<Value> = played
        .run
        .all(EventType::LlmCall)
        .into_iter()
        .map(payload)
        .collect();
    assert_eq!(calls.len(), turns.len());
    for (turn, call) in turns.iter().zip(calls) {
        let (_, expected) = bodies.iter().find(|(reply, _)| *reply == turn["reply"]).unwrap();
        assert_eq!(call["error"]["message"], *expected, "{turn}");
        assert_eq!(call["error"]["error_type"], "502", "{turn}");
    }
}
