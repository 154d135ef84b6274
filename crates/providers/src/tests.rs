//! Every API, streamed and not: the document is what the stream's own end says.

use proptest::prelude::*;
use serde_json::{Value, json};
use tracer_format::Usage;

use super::*;

const STREAM: &str = "text/event-stream";

fn events(values: &[Value]) -> String {
    let event = |value: &Value| match value.get("type").and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    };
    values.iter().map(event).collect()
}

fn chat_stream() -> String {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-5-2026", "usage": null,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let call = |call: Value| chunk(json!({"tool_calls": [call]}), Value::Null);
    events(&[
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(json!({"reasoning_content": "Hm"}), Value::Null),
        chunk(json!({"content": "Let me "}), Value::Null),
        chunk(json!({"content": "look."}), Value::Null),
        call(
            json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "{\"city\":"}})),
        call(
            json!({"index": 1, "id": "call_2", "type": "function", "function": {"name": "time", "arguments": "{}"}}),
        ),
        call(json!({"index": 0, "id": "", "function": {"name": "", "arguments": "\"Oslo\"}"}})),
        chunk(json!({}), json!("tool_calls")),
        json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57,
            "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 3}}}),
    ]) + ": keep-alive\n\ndata: [DONE]\n\n"
}

#[test]
fn the_name_of_every_api_reads_back() {
    for api in PATH_ENDINGS
        .map(|(_, api)| api)
        .into_iter()
        .chain(PREDICTIONS.map(|(.., api)| api))
    {
        assert_eq!(ModelApi::from_name(api.name()), Some(api), "{}", api.name());
    }
}

#[test]
fn chat_completions_are_put_together() {
    let answer = assemble(ModelApi::ChatCompletions, STREAM, chat_stream().as_bytes());
    assert!(answer.is_complete);
    assert_eq!(answer.chunks, 10);
    let message = &answer.body["choices"][0]["message"];
    assert_eq!(message["content"], "Let me look.");
    assert_eq!(message["reasoning_content"], "Hm");
    let calls: Vec<(&str, &str, &str)> = message["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let text = |place: &str| call.pointer(place).and_then(Value::as_str).unwrap();
            (text("/id"), text("/function/name"), text("/function/arguments"))
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("call_1", "weather", "{\"city\":\"Oslo\"}"),
            ("call_2", "time", "{}")
        ]
    );
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(facts.id.as_deref(), Some("chatcmpl-1"));
    assert_eq!(facts.model.as_deref(), Some("gpt-5-2026"));
    assert_eq!(facts.finish_reasons, ["tool_calls"]);
    let mut expected = Usage::new(50, 7);
    expected.cache_read_tokens = Some(40);
    expected.reasoning_tokens = Some(3);
    assert_eq!(facts.usage, expected);
}

#[test]
fn whole_calls_under_one_index_stay_several() {
    let call = |id: &str, name: &str| {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]}}]})
    };
    let stream = events(&[call("a", "one"), call("b", "two")]);
    let answer = assemble(ModelApi::ChatCompletions, STREAM, stream.as_bytes());
    assert_eq!(
        answer.body["choices"][0]["message"]["tool_calls"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(!answer.is_complete, "no finish reason, no end");
}

#[test]
fn a_last_chunk_that_is_empty_takes_nothing_away() {
    let chunk = |id: &str, model: &str, rest: Value| {
        let mut chunk = json!({"id": id, "object": "", "created": 0, "model": model});
        chunk
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        chunk
    };
    let stream = events(&[
        chunk(
            "",
            "",
            json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        ),
        chunk(
            "c-7",
            "gpt-4o-2024",
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "6:40."}, "finish_reason": "stop"}]}),
        ),
        chunk(
            "c-7",
            "gpt-4o-2024",
            json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64}}}),
        ),
        chunk(
            "",
            "",
            json!({"choices": [{"index": 0, "finish_reason": null, "content_filter_offsets": {"check_offset": 44}}],
            "usage": {"completion_tokens": 21}}),
        ),
        chunk("", "", json!({"choices": [], "usage": null})),
    ]);
    let answer = assemble(ModelApi::ChatCompletions, STREAM, stream.as_bytes());
    assert!(answer.is_complete);
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(
        (facts.id.as_deref(), facts.model.as_deref()),
        (Some("c-7"), Some("gpt-4o-2024"))
    );
    assert_eq!(
        (
            facts.usage.prompt_tokens,
            facts.usage.completion_tokens,
            facts.usage.cache_read_tokens
        ),
        (Some(1000), Some(21), Some(64))
    );
    assert_eq!(facts.finish_reasons, ["stop"]);
}

#[test]
fn every_api_keeps_what_a_last_value_lacks() {
    let gemini = |usage: Value, finish: &str| {
        json!({"responseId": "", "modelVersion": "gemini-3",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": finish}], "usageMetadata": usage})
    };
    for (api, stream, expected) in [
        (
            ModelApi::Messages,
            vec![
                json!({"type": "message_start", "message": {"id": "m", "model": "claude", "usage": {"input_tokens": 1000, "output_tokens": 1}}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 0, "output_tokens": 20}}),
                json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 0}}),
            ],
            (Some("m"), Some("claude"), "end_turn"),
        ),
        (
            ModelApi::Responses,
            vec![
                json!({"type": "response.created", "response": {"id": "r", "model": "gpt-5", "output": [], "usage": {"input_tokens": 1000}}}),
                json!({"type": "response.completed", "response": {"id": "", "model": null, "status": "completed", "output": [],
                    "usage": {"output_tokens": 20}}}),
            ],
            (Some("r"), Some("gpt-5"), "completed"),
        ),
        (
            ModelApi::GenerateContent,
            vec![
                json!({"responseId": "g", "candidates": [], "usageMetadata": {"promptTokenCount": 1000}}),
                gemini(json!({"candidatesTokenCount": 20}), "STOP"),
                gemini(json!({}), ""),
            ],
            (Some("g"), Some("gemini-3"), "STOP"),
        ),
        (
            ModelApi::OllamaChat,
            vec![
                json!({"id": "o", "model": "qwen3", "message": {"content": "a"}, "done": true, "done_reason": "stop", "prompt_eval_count": 1000, "eval_count": 20}),
                json!({"model": "", "message": {"content": ""}, "done": true, "done_reason": "", "eval_count": 0}),
            ],
            (Some("o"), Some("qwen3"), "stop"),
        ),
    ] {
        let answer = assemble(api, STREAM, events(&stream).as_bytes());
        let facts = ResponseFacts::from_answer(&answer);
        let finish = facts.finish_reasons.first().map(String::as_str).unwrap();
        assert_eq!(
            (facts.id.as_deref(), facts.model.as_deref(), finish),
            expected,
            "{api:?}"
        );
        assert_eq!(
            (facts.usage.prompt_tokens, facts.usage.completion_tokens),
            (Some(1000), Some(20)),
            "{api:?}"
        );
    }
}

#[test]
fn content_as_a_list_is_kept_whole() {
    let delta = |content: Value| json!({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": null}]});
    let stream = events(&[
        delta(json!("The first ferry ")),
        delta(json!([{"type": "reference", "reference_ids": [0]}])),
        delta(json!(" from pier 3.")),
    ]);
    let answer = assemble(ModelApi::ChatCompletions, STREAM, stream.as_bytes());
    assert_eq!(
        answer.body["choices"][0]["message"]["content"],
        json!([
            {"type": "text", "text": "The first ferry "},
            {"type": "reference", "reference_ids": [0]},
            {"type": "text", "text": " from pier 3."},
        ])
    );
}

#[test]
fn probabilities_of_all_pieces_are_kept() {
    let chunk = |token: &str| json!({"choices": [{"index": 0, "text": token, "logprobs": {"content": [{"token": token, "logprob": -0.5}], "refusal": null}}]});
    let stream = events(&[chunk("a"), chunk("b")]);
    let answer = assemble(ModelApi::Completions, STREAM, stream.as_bytes());
    let choice = &answer.body["choices"][0];
    assert_eq!(choice["text"], "ab");
    assert_eq!(choice["logprobs"]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn items_belong_together_by_id_then_by_index() {
    let added = |id: &str, index: u64, name: &str| json!({"type": "response.output_item.added", "output_index": index, "item": {"type": "function_call", "id": id, "name": name, "arguments": ""}});
    let piece = |id: &str, index: u64, text: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": text});
    let done = |id: &str, index: u64, name: &str| json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "function_call", "id": id, "name": name, "arguments": ""}});
    for (case, stream) in [
        (
            "one index for all",
            [
                added("a", 0, "one"),
                piece("a", 0, "{\"x\":"),
                added("b", 0, "two"),
                piece("b", 0, "{}"),
                piece("a", 0, "1}"),
                done("a", 0, "one"),
                done("b", 0, "two"),
            ],
        ),
        (
            "another ID in each event",
            [
                added("a", 0, "one"),
                piece("q", 0, "{\"x\":"),
                added("b", 1, "two"),
                piece("r", 1, "{}"),
                piece("s", 0, "1}"),
                done("t", 0, "one"),
                done("u", 1, "two"),
            ],
        ),
    ] {
        let answer = assemble(ModelApi::Responses, STREAM, events(&stream).as_bytes());
        let items = answer.body["output"].as_array().unwrap().iter();
        let calls: Vec<(&str, &str)> = items
            .map(|item| {
                (
                    item["name"].as_str().unwrap(),
                    item["arguments"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(calls, [("one", "{\"x\":1}"), ("two", "{}")], "{case}");
    }
}

#[test]
fn a_text_that_comes_at_its_end_alone_is_kept() {
    let stream = events(&[
        json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"}),
        json!({"type": "response.audio.transcript.delta", "output_index": 1, "delta": "Good "}),
        json!({"type": "response.audio.transcript.delta", "output_index": 1, "delta": "day"}),
        json!({"type": "response.code_interpreter_call_code.delta", "output_index": 2, "delta": "print(1)"}),
        json!({"type": "response.reasoning_summary.delta", "output_index": 3, "delta": {"text": "Hm"}}),
    ]);
    let output = &assemble(ModelApi::Responses, STREAM, stream.as_bytes()).body["output"];
    assert_eq!(output[0]["content"][0]["text"], "Hello");
    assert_eq!(output[1]["content"][0]["transcript"], "Good day");
    assert_eq!(output[2]["code"], "print(1)");
    assert_eq!(output[3]["summary"][0]["text"], "Hm");
}

#[test]
fn the_last_event_of_responses_has_it_all() {
    let response = json!({"id": "resp_1", "model": "gpt-5", "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}],
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 11}});
    let mut stream = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hel"}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "lo"}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"city\":\"Oslo\"}"}),
    ];
    let cut = assemble(ModelApi::Responses, STREAM, events(&stream).as_bytes());
    assert!(!cut.is_complete);
    assert_eq!(cut.body["id"], "resp_1");
    assert_eq!(cut.body["output"][0]["content"][0]["text"], "Hello");
    assert_eq!(cut.body["output"][1]["arguments"], "{\"city\":\"Oslo\"}");

    stream.push(json!({"type": "response.completed", "response": response}));
    let whole = assemble(ModelApi::Responses, STREAM, events(&stream).as_bytes());
    assert!(whole.is_complete);
    assert_eq!(whole.body, response);
    let facts = ResponseFacts::from_answer(&whole);
    assert_eq!(facts.usage.cache_read_tokens, Some(4));
    assert_eq!(facts.finish_reasons, ["completed"]);
}

#[test]
fn items_are_kept_when_the_last_event_has_none() {
    let stream = |output: Value| {
        events(&[
            json!({"type": "response.created", "response": {"id": "resp_1", "output": []}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}}),
            json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": output}}),
        ])
    };
    for output in [json!([]), Value::Null] {
        let answer = assemble(ModelApi::Responses, STREAM, stream(output).as_bytes());
        assert!(answer.is_complete);
        assert_eq!(answer.body["output"][0]["name"], "weather");
    }
    let own = json!([{"type": "message", "content": []}]);
    let answer = assemble(ModelApi::Responses, STREAM, stream(own.clone()).as_bytes());
    assert_eq!(answer.body["output"], own);
}

#[test]
fn what_is_repeated_beside_a_piece_is_said_once() {
    let chunk = |piece: &str, so_far: &str| {
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": piece},
            "message": {"role": "assistant", "content": so_far}}]})
    };
    let stream = events(&[chunk("Hel", "Hel"), chunk("lo", "Hello"), chunk("", "Hello")]);
    let answer = assemble(ModelApi::ChatCompletions, STREAM, stream.as_bytes());
    assert_eq!(answer.body["choices"][0]["message"]["content"], "Hello");
    let whole = events(&[json!({"choices": [{"index": 0, "message": {"content": "Hello"}}]})]);
    let answer = assemble(ModelApi::ChatCompletions, STREAM, whole.as_bytes());
    assert_eq!(answer.body["choices"][0]["message"]["content"], "Hello");
}

#[test]
fn tokens_beside_input_and_output_are_added_and_those_within_are_not() {
    for (body, expected) in [
        (
            json!({"usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 3,
                "output_tokens_details": {"thinking_tokens": 2}}}),
            (Some(105), Some(3), Some(2)),
        ),
        // A compatible server that has Anthropic's names for what OpenAI's input includes.
        (
            json!({"usage": {"prompt_tokens": 100, "cache_read_input_tokens": 90, "completion_tokens": 3, "reasoning_tokens": 1}}),
            (Some(100), Some(3), Some(1)),
        ),
        // Gemini, that ran code of its own.
        (
            json!({"usageMetadata": {"promptTokenCount": 10, "toolUsePromptTokenCount": 70, "candidatesTokenCount": 5, "thoughtsTokenCount": 4}}),
            (Some(80), Some(9), Some(4)),
        ),
        // Gemini, that thought until it was stopped.
        (
            json!({"usageMetadata": {"promptTokenCount": 10, "thoughtsTokenCount": 4}}),
            (Some(10), Some(4), Some(4)),
        ),
        (json!({"prompt_eval_count": 7}), (Some(7), None, None)),
    ] {
        let answer = assemble(ModelApi::ChatCompletions, "", body.to_string().as_bytes());
        let usage = ResponseFacts::from_answer(&answer).usage;
        let counts = (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens,
        );
        assert_eq!(counts, expected, "{body}");
    }
}

fn anthropic_stream() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [],
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"city\":"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "\"Oslo\"}"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_2", "name": "time", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 30}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn anthropic_messages_are_put_together() {
    let answer = assemble(ModelApi::Messages, STREAM, events(&anthropic_stream()).as_bytes());
    assert!(answer.is_complete);
    assert_eq!(
        answer.body["content"],
        json!([
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "time", "input": {}},
        ])
    );
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(facts.finish_reasons, ["tool_use"]);
    let expected = Usage::new(105, 30).cache_read(90).cache_write(5);
    assert_eq!(facts.usage, expected);
}

#[test]
fn blocks_belong_together_by_index_then_by_kind() {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let input =
        |index: u64, text: &str| delta(index, json!({"type": "input_json_delta", "partial_json": text}));
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
    for (case, stream) in [
        (
            "one index for all",
            vec![
                start(0, json!({"type": "text", "text": ""})),
                delta(0, json!({"type": "text_delta", "text": "Hi"})),
                start(0, tool("a")),
                input(0, "{\"x\":1}"),
                start(0, tool("b")),
                input(0, ""),
            ],
        ),
        (
            "an index that moves",
            vec![
                start(0, json!({"type": "text", "text": ""})),
                delta(1, json!({"type": "text_delta", "text": "Hi"})),
                start(2, tool("a")),
                input(3, "{\"x\""),
                input(4, ":1}"),
                start(5, tool("b")),
            ],
        ),
    ] {
        let answer = assemble(ModelApi::Messages, STREAM, events(&stream).as_bytes());
        assert_eq!(
            answer.body["content"],
            json!([{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "a", "name": "ls", "input": {"x": 1}}, tool("b")]),
            "{case}"
        );
    }
}

#[test]
fn an_input_that_came_whole_stays() {
    let stream = events(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "ls", "input": {"x": 1}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "compaction", "content": null}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "compaction_delta", "content": "We met."}}),
    ]);
    let content = &assemble(ModelApi::Messages, STREAM, stream.as_bytes()).body["content"];
    assert_eq!(content[0]["input"], json!({"x": 1}));
    assert_eq!(content[1]["content"], "We met.");
}

#[test]
fn an_error_in_a_stream_is_its_end() {
    let mut stream = anthropic_stream();
    stream.truncate(4);
    stream.push(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
    let answer = assemble(ModelApi::Messages, STREAM, events(&stream).as_bytes());
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(
        facts.error,
        Some(("overloaded_error".to_owned(), "Overloaded".to_owned()))
    );
    assert_eq!(answer.body["content"][0]["thinking"], "Hm");
}

#[test]
fn gemini_streams_in_both_framings() {
    let chunk = |text: &str, finish: Option<&str>, tokens: u64| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [{"text": text}]}});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        json!({"candidates": [candidate], "modelVersion": "gemini-3", "responseId": "r1",
            "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": tokens, "thoughtsTokenCount": 4, "totalTokenCount": 12 + tokens}})
    };
    let mut call = chunk("", Some("STOP"), 5);
    call["candidates"][0]["content"]["parts"] =
        json!([{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]);
    let chunks = [chunk("Let me ", None, 1), chunk("look.", None, 3), call];
    let array = Value::Array(chunks.to_vec()).to_string();
    for (content_type, text) in [
        (STREAM, events(&chunks).replace('\n', "\r\n")),
        ("application/json", array),
    ] {
        let answer = assemble(ModelApi::GenerateContent, content_type, text.as_bytes());
        assert!(answer.is_complete, "{content_type}");
        assert_eq!(
            answer.body["candidates"][0]["content"]["parts"],
            json!([{"text": "Let me look."}, {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}])
        );
        let facts = ResponseFacts::from_answer(&answer);
        assert_eq!(facts.id.as_deref(), Some("r1"));
        assert_eq!(
            (facts.usage.prompt_tokens, facts.usage.completion_tokens),
            (Some(8), Some(9))
        );
        assert_eq!(facts.finish_reasons, ["STOP"]);
    }
}

#[test]
fn ollama_lines_are_put_together() {
    let lines = [
        json!({"model": "qwen3", "message": {"role": "assistant", "content": "Hel", "thinking": "Hm"}, "done": false}),
        json!({"model": "qwen3", "message": {"role": "assistant", "content": "lo", "tool_calls": [{"function": {"name": "ls", "arguments": {}}}]}, "done": false}),
        json!({"model": "qwen3", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 4}),
    ];
    let text: String = lines
        .iter()
        .fold(String::new(), |text, line| text + &line.to_string() + "\n");
    let answer = assemble(ModelApi::OllamaChat, "application/x-ndjson", text.as_bytes());
    assert!(answer.is_complete);
    assert_eq!(answer.body["message"]["content"], "Hello");
    assert_eq!(answer.body["message"]["tool_calls"].as_array().unwrap().len(), 1);
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(
        (facts.usage.prompt_tokens, facts.usage.completion_tokens),
        (Some(11), Some(4))
    );
    assert_eq!(facts.finish_reasons, ["stop"]);
}

#[test]
fn documents_stay_as_they_are() {
    for (api, body) in [
        (
            ModelApi::ChatCompletions,
            json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        ),
        (
            ModelApi::Messages,
            json!({"type": "message", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ),
        (
            ModelApi::Messages,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}),
        ),
        (
            ModelApi::Embeddings,
            json!({"data": [], "usage": {"prompt_tokens": 3}}),
        ),
        (ModelApi::GenerateContent, json!({"candidates": []})),
        (
            ModelApi::OllamaChat,
            json!({"message": {"content": "Hi"}, "done": true}),
        ),
    ] {
        let answer = assemble(api, "application/json", body.to_string().as_bytes());
        assert_eq!(answer.body, body, "{api:?}");
        assert_eq!((answer.chunks, answer.is_complete), (0, true), "{api:?}");
    }
    let wrapped = json!({"response": {"candidates": []}, "traceId": "t"}).to_string();
    assert_eq!(
        assemble(ModelApi::GenerateContent, "", wrapped.as_bytes()).body,
        json!({"candidates": []})
    );
    assert_eq!(
        assemble(ModelApi::ChatCompletions, "text/html", b"<h1>Bad gateway</h1>").body,
        json!("<h1>Bad gateway</h1>")
    );
    assert_eq!(assemble(ModelApi::ChatCompletions, STREAM, b"").body, Value::Null);
}

#[test]
fn paths_say_the_api() {
    for (path, api) in [
        ("/v1/chat/completions", Some(ModelApi::ChatCompletions)),
        (
            "/openai/deployments/gpt-5/chat/completions",
            Some(ModelApi::ChatCompletions),
        ),
        ("/v1/responses", Some(ModelApi::Responses)),
        ("/v1/responses/compact", Some(ModelApi::Compaction)),
        ("/v1/responses/resp_1/cancel", None),
        ("/v1/responses/resp_1/input_items", None),
        ("/v1beta/interactions", Some(ModelApi::Interactions)),
        ("/v1/completions", Some(ModelApi::Completions)),
        ("/v1/messages", Some(ModelApi::Messages)),
        ("/messages/", Some(ModelApi::Messages)),
        ("/v1/messages/count_tokens", None),
        (
            "/v1beta/models/gemini-3:generateContent",
            Some(ModelApi::GenerateContent),
        ),
        (
            "/v1internal:streamGenerateContent",
            Some(ModelApi::GenerateContent),
        ),
        ("/api/chat", Some(ModelApi::OllamaChat)),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
            Some(ModelApi::Messages),
        ),
        (
            "/v1/projects/p/locations/l/publishers/mistralai/models/mistral-large:rawPredict",
            Some(ModelApi::ChatCompletions),
        ),
        ("/v1/projects/p/locations/l/endpoints/7:rawPredict", None),
        (
            "/model/anthropic.claude-opus-4-5-v1:0/invoke",
            Some(ModelApi::Messages),
        ),
        (
            "/model/anthropic.claude-opus-4-5-v1:0/invoke-with-response-stream",
            Some(ModelApi::Messages),
        ),
        ("/model/amazon.nova-pro-v1:0/converse", Some(ModelApi::Converse)),
        (
            "/model/amazon.nova-pro-v1:0/converse-stream",
            Some(ModelApi::Converse),
        ),
        ("/model/meta.llama3-70b-instruct-v1:0/invoke", None),
        ("/chain/invoke", None),
        ("/v1/models", None),
    ] {
        assert_eq!(ModelApi::from_path(path), api, "{path}");
    }
    let azure = "/openai/deployments/my-gpt/chat/completions";
    assert_eq!(ModelApi::ChatCompletions.model_in_path(azure), Some("my-gpt"));
    let claude = "/v1/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict";
    assert_eq!(
        ModelApi::Messages.model_in_path(claude),
        Some("claude-opus-4-5@20251101")
    );
    let amazon = "/model/anthropic.claude-opus-4-5-v1:0/invoke";
    assert_eq!(
        ModelApi::Messages.model_in_path(amazon),
        Some("anthropic.claude-opus-4-5-v1:0")
    );
    assert!(is_auxiliary("/v1/messages/count_tokens"));
    assert!(!is_auxiliary("/v1/batches"));
}

/// The frames of Converse's stream.
fn converse_stream() -> Vec<u8> {
    [
        ("messageStart", json!({"role": "assistant", "p": "ab"})),
        ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Ask."}}})),
        ("contentBlockDelta", json!({"contentBlockIndex": 1, "delta": {"text": "Let me "}})),
        ("contentBlockDelta", json!({"contentBlockIndex": 1, "delta": {"text": "look."}})),
        ("contentBlockStop", json!({"contentBlockIndex": 1})),
        (
            "contentBlockStart",
            json!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "weather"}}}),
        ),
        ("contentBlockDelta", json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{\"city\":"}}})),
        ("contentBlockDelta", json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": "\"Oslo\"}"}}})),
        ("messageStop", json!({"stopReason": "tool_use"})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 105, "cacheReadInputTokens": 90},
                   "metrics": {"latencyMs": 300}}),
        ),
    ]
    .iter()
    .flat_map(|(name, payload)| event_stream::frame(&[(":event-type", name), (":message-type", "event")], payload))
    .collect()
}

#[test]
fn amazons_frames_are_put_together() {
    let amazon = "application/vnd.amazon.eventstream";
    let stream = converse_stream();
    let answer = assemble(ModelApi::Converse, amazon, &stream);
    assert_eq!((answer.is_complete, answer.chunks), (true, 10));
    assert_eq!(
        answer.body["output"]["message"],
        json!({"role": "assistant", "content": [
            {"reasoningContent": {"text": "Ask."}},
            {"text": "Let me look."},
            {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}},
        ]})
    );
    let facts = ResponseFacts::from_answer(&answer);
    assert_eq!(facts.finish_reasons, ["tool_use"]);
    assert_eq!(
        (
            facts.usage.prompt_tokens,
            facts.usage.completion_tokens,
            facts.usage.cache_read_tokens
        ),
        (Some(100), Some(5), Some(90))
    );
    let cut = assemble(ModelApi::Converse, amazon, &stream[..stream.len() / 2]);
    assert!(!cut.is_complete && cut.chunks > 0);
    // The model's own events, each in an envelope.
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "model": "claude", "usage": {"input_tokens": 8, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Sunny"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let framed = events.iter().flat_map(|event| {
        let bytes = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, event.to_string());
        event_stream::frame(&[(":event-type", "chunk")], &json!({ "bytes": bytes }))
    });
    let answer = assemble(ModelApi::Messages, amazon, &framed.collect::<Vec<u8>>());
    assert!(answer.is_complete);
    assert_eq!(answer.body["content"][0]["text"], "Sunny");
    assert_eq!(
        ResponseFacts::from_answer(&answer).usage.completion_tokens,
        Some(2)
    );
}

#[test]
fn services_are_known_by_their_paths() {
    for (path, operation) in [
        ("/v1/embeddings", "embeddings"),
        ("/v2/embed", "embeddings"),
        ("/v1beta/models/gemini-embedding-001:embedContent", "embeddings"),
        (
            "/v1beta/models/gemini-embedding-001:batchEmbedContents",
            "embeddings",
        ),
        ("/api/embed", "embeddings"),
        ("/api/embeddings", "embeddings"),
        ("/v1/rerank", "rerank"),
        ("/v1/audio/transcriptions", "transcription"),
        ("/openai/deployments/w/audio/translations", "translation"),
        ("/v1/audio/speech", "speech"),
        ("/v1/images/generations", "image_generation"),
        (
            "/v1beta/models/imagen-4.0-generate-001:predict",
            "image_generation",
        ),
        ("/v1/images/edits", "image_edit"),
        ("/v1/moderations", "moderation"),
    ] {
        let api = ModelApi::from_path(path).unwrap();
        assert!(api.is_service(), "{path}");
        assert_eq!(api.operation(), operation, "{path}");
        assert_eq!(ModelApi::from_name(api.name()), Some(api));
    }
}

#[test]
fn answers_are_asked_again_by_id() {
    for (method, path, asked) in [
        (
            "GET",
            "/v1/responses/resp_1",
            Some((ModelApi::Responses, "resp_1")),
        ),
        (
            "GET",
            "/openai/responses/resp_1/",
            Some((ModelApi::Responses, "resp_1")),
        ),
        (
            "POST",
            "/v1/responses/resp_1/cancel",
            Some((ModelApi::Responses, "resp_1")),
        ),
        (
            "GET",
            "/v1beta/interactions/v1_x",
            Some((ModelApi::Interactions, "v1_x")),
        ),
        ("DELETE", "/v1/responses/resp_1", None),
        ("GET", "/v1/responses/resp_1/input_items", None),
        ("GET", "/v1/chat/completions/chatcmpl-1", None),
        ("POST", "/v1/responses/resp_1", None),
        ("GET", "/v1/models/gpt-5", None),
    ] {
        assert_eq!(answer_asked_again(method, path), asked, "{method} {path}");
    }
}

proptest! {
    /// Cut anywhere, a stream loses its end and nothing before.
    #[test]
    fn a_cut_stream_keeps_what_came(cut in 0usize..2_000) {
        for (api, stream) in [
            (ModelApi::ChatCompletions, chat_stream()),
            (ModelApi::Messages, events(&anthropic_stream())),
        ] {
            let part = &stream.as_bytes()[..cut.min(stream.len())];
            let answer = assemble(api, STREAM, part);
            let whole = assemble(api, STREAM, stream.as_bytes());
            if let Some(text) = answer.body.pointer("/choices/0/message/content").and_then(Value::as_str) {
                let all = whole.body.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap();
                prop_assert!(all.starts_with(text));
            }
            prop_assert!(answer.chunks <= whole.chunks);
        }
    }

    #[test]
    fn hostile_streams_are_survived(
        values in proptest::collection::vec("\\{\"(type|index|output_index|choices|delta|candidates)\":[0-9]{1,19}\\}", 0..8),
    ) {
        let stream = values.iter().fold(String::new(), |text, value| text + "data: " + value + "

");
        for api in [ModelApi::ChatCompletions, ModelApi::Responses, ModelApi::Messages, ModelApi::GenerateContent, ModelApi::OllamaChat] {
            let answer = assemble(api, STREAM, stream.as_bytes());
            let _ = ResponseFacts::from_answer(&answer);
        }
    }
}
