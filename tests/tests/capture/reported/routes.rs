//! Requests of less usual routes: each is known by what it asks.

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, Outcome, Payload, Usage};

use super::{Played, play, play_turns};

fn turn(api: &str, path: &str, request: &Value, reply: &Value) -> Played {
    play_turns(&json!({"turns": [{"api": api, "path": path, "request": request, "reply": reply}]}))
}

/// The model and the tokens of the one model call.
fn call(played: &Played) -> (String, Usage) {
    match &played.run.only(EventType::LlmCall).payload {
        Payload::LlmCall { model, usage, .. } => (model.clone(), *usage),
        payload => panic!("{payload:?}"),
    }
}

#[test]
fn a_compaction_is_a_model_call() {
    let (model, usage) = call(&play("responses-compact"));
    assert_eq!(model, "gpt-5");
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (Some(9000), Some(400), Some(9400))
    );
}

#[test]
fn anthropics_models_on_vertex_are_called_by_their_path() {
    let reply = json!({"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
                       "content": [{"type": "text", "text": "6:40"}], "stop_reason": "end_turn",
                       "usage": {"input_tokens": 10, "output_tokens": 5}});
    let request = json!({"anthropic_version": "vertex-2023-10-16", "max_tokens": 10,
                         "messages": [{"role": "user", "content": "Which ferry leaves first?"}]});
    let path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict";
    let (model, usage) = call(&turn("anthropic", path, &request, &reply));
    assert_eq!(model, "claude-sonnet-4-5@20250929");
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens),
        (Some(10), Some(5))
    );
}

/// The events of a stream as a reply in one piece.
fn streamed(events: &[Value]) -> Value {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    json!([events.iter().map(event).collect::<String>()])
}

#[test]
fn less_usual_routes_are_streamed_too() {
    let question = json!([{"role": "user", "content": "Which ferry leaves first?"}]);
    let vertex =
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict";
    let of_anthropic = streamed(&[
        json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "content": [],
            "model": "claude-sonnet-4-5-20250929", "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "The 6:40."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]);
    let compacted = json!({"id": "resp_1", "object": "response.compaction", "model": "gpt-5", "status": "completed",
        "output": [{"type": "compaction", "id": "c", "encrypted_content": "The 6:40."}],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}});
    let of_openai = streamed(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5", "output": []}}),
        json!({"type": "response.completed", "response": compacted}),
    ]);
    for (api, path, request, reply, model) in [
        (
            "anthropic",
            vertex,
            json!({"anthropic_version": "vertex-2023-10-16", "max_tokens": 10, "stream": true, "messages": question}),
            of_anthropic,
            "claude-sonnet-4-5@20250929",
        ),
        (
            "openai",
            "/responses/compact",
            json!({"model": "gpt-5", "stream": true, "input": question}),
            of_openai,
            "gpt-5",
        ),
    ] {
        let played = turn(api, path, &request, &reply);
        let (called, usage) = call(&played);
        assert_eq!(called, model);
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens),
            (Some(10), Some(5)),
            "{path}"
        );
        let record = played.run.only(EventType::LlmCall);
        assert_eq!(record.outcome(), Outcome::Ok, "{path}");
        assert!(
            played.run.payload(EventType::LlmCall)["response"]
                .to_string()
                .contains("6:40"),
            "{path}"
        );
    }
}

#[test]
fn amazons_models_are_called_by_their_path() {
    let reply = json!({"output": {"message": {"role": "assistant", "content": [{"text": "The 6:40."}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, "metrics": {"latencyMs": 300}});
    let request = json!({"system": [{"text": "Be brief."}], "inferenceConfig": {"temperature": 0.5, "maxTokens": 9},
        "messages": [{"role": "user", "content": [{"text": "Which ferry leaves first?"}]}]});
    let played = turn(
        "anthropic",
        "/model/amazon.nova-pro-v1%3A0/converse",
        &request,
        &reply,
    );
    let (model, usage) = call(&played);
    assert_eq!(model, "amazon.nova-pro-v1:0");
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens),
        (Some(10), Some(5))
    );
    let payload = played.run.payload(EventType::LlmCall);
    assert_eq!(
        (&payload["temperature"], &payload["stop_reason"]),
        (&json!(0.5), &json!("end_turn"))
    );
}

#[test]
fn what_counts_nothing_is_charged_all_the_same() {
    let embedded = json!({"embedding": {"values": [0.1]}});
    let judged = json!({"id": "modr", "model": "omni-moderation-latest", "results": [{"flagged": false}]});
    for (api, path, request, reply, is_charged) in [
        (
            "gemini",
            "/v1beta/models/gemini-embedding-001:embedContent",
            json!({"content": {"parts": [{"text": "ferry"}]}}),
            &embedded,
            true,
        ),
        (
            "openai",
            "/audio/speech",
            json!({"model": "gpt-4o-mini-tts", "input": "ferry", "voice": "alloy"}),
            &embedded,
            true,
        ),
        (
            "openai",
            "/moderations",
            json!({"model": "omni-moderation-latest", "input": "ferry"}),
            &judged,
            false,
        ),
    ] {
        let played = turn(api, path, &request, reply);
        let listed: Value = serde_json::from_str(&played.tracer(&["list", "--json"])).unwrap();
        let unpriced = &listed["runs"][0]["cost"]["unpriced_calls"];
        assert_eq!(*unpriced, u64::from(is_charged), "{path} {listed}");
    }
}

#[test]
fn embeddings_are_a_kind_of_their_own() {
    let cases = [
        (
            "ollama",
            "/api/embed",
            json!({"model": "nomic-embed-text", "input": "ferry"}),
            json!({"model": "nomic-embed-text", "embeddings": [[0.1]], "prompt_eval_count": 8}),
            "embeddings nomic-embed-text",
        ),
        (
            "gemini",
            "/v1beta/models/gemini-embedding-001:embedContent",
            json!({"content": {"parts": [{"text": "ferry"}]}}),
            json!({"embedding": {"values": [0.1]}}),
            "embeddings gemini-embedding-001",
        ),
    ];
    for (api, path, request, reply, name) in cases {
        let played = turn(api, path, &request, &reply);
        assert_eq!(played.run.all(EventType::LlmCall).len(), 0, "{path}");
        assert_eq!(played.run.only(EventType::Unknown).name, name, "{path}");
    }
    let played = play("openai-embeddings");
    let embedding = played.run.only(EventType::Unknown);
    assert_eq!(embedding.name, "embeddings text-embedding-3-small");
    assert_eq!(
        played.run.span(embedding).attributes["gen_ai.usage.input_tokens"],
        2000
    );
}

#[test]
fn an_answer_in_the_background_is_one_call() {
    let played = play("responses-background-poll");
    let (model, usage) = call(&played);
    assert_eq!(model, "gpt-5");
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (Some(1000), Some(50), Some(1050))
    );
    assert_eq!(usage.reasoning_tokens, Some(30));
    let record = played.run.only(EventType::LlmCall);
    let Payload::LlmCall { prompt, response, .. } = &record.payload else {
        panic!("{record:?}")
    };
    assert_eq!(prompt["input"], "Which ferry leaves first?");
    assert_eq!(response["output"][0]["content"][0]["text"], "The 6:40.");
    let asked_again = played.run.only(EventType::Unknown);
    assert_eq!(
        asked_again.meta["same_call"],
        Value::from(record.event_id.as_str()),
        "of the two that asked, the one that brought the answer"
    );
    assert_eq!(record.outcome(), Outcome::Ok);
    let shown = played.tracer(&["show"]);
    assert!(shown.contains("The 6:40") && !shown.contains("GET"), "{shown}");
}

/// An answer of the Responses API in this state.
fn background(status: &str, more: &Value) -> Value {
    let mut answer = json!({"id": "resp_1", "object": "response", "status": status, "model": "gpt-5-2025-08-07",
                            "output": [], "usage": null, "background": true});
    answer
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    answer
}

fn asked() -> Value {
    json!({"model": "gpt-5", "input": "Which ferry?", "background": true})
}

fn completed() -> Value {
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                         "content": [{"type": "output_text", "text": "The 6:40.", "annotations": []}]});
    let usage = json!({"input_tokens": 100, "output_tokens": 5, "total_tokens": 105});
    background("completed", &json!({"output": [message], "usage": usage}))
}

#[test]
fn a_streamed_background_is_resumed_as_one_call() {
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let begun = event(
        json!({"type": "response.created", "sequence_number": 0, "response": background("in_progress", &json!({}))}),
    );
    let ended = event(json!({"type": "response.completed", "sequence_number": 9, "response": completed()}));
    let mut request = asked();
    request["stream"] = true.into();
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/responses", "request": request, "reply": [begun]},
        {"api": "openai", "method": "GET", "path": "/responses/resp_1?stream=true&starting_after=0",
         "request": null, "reply": [ended]},
    ]}));
    let (model, usage) = call(&played);
    assert_eq!((model.as_str(), usage.total_tokens), ("gpt-5", Some(105)));
    let record = played.run.only(EventType::LlmCall);
    assert!(!record.outcome().is_failure(), "{record:?}");
}

#[test]
fn a_failed_background_says_why() {
    let failed = background(
        "failed",
        &json!({"error": {"code": "server_error", "message": "No capacity."}}),
    );
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/responses", "request": asked(), "reply": background("queued", &json!({}))},
        {"api": "openai", "method": "GET", "path": "/responses/resp_1", "request": null, "reply": failed},
    ]}));
    let record = played.run.only(EventType::LlmCall);
    let Payload::LlmCall {
        error: Some(error), ..
    } = &record.payload
    else {
        panic!("{record:?}")
    };
    assert_eq!(
        (error.error_type.as_str(), error.message.as_str()),
        ("server_error", "No capacity.")
    );
}

#[test]
fn a_cancelled_background_is_one_call() {
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/responses", "request": asked(), "reply": background("queued", &json!({}))},
        {"api": "openai", "path": "/responses/resp_1/cancel", "request": {}, "reply": background("cancelled", &json!({}))},
    ]}));
    let record = played.run.only(EventType::LlmCall);
    assert_eq!(record.outcome(), Outcome::Cancelled);
    let Payload::LlmCall { stop_reason, .. } = &record.payload else {
        panic!("{record:?}")
    };
    assert_eq!(stop_reason.as_deref(), Some("cancelled"));
}

#[test]
fn a_background_whose_end_nobody_saw_is_unknown() {
    let get = json!({"api": "openai", "method": "GET", "path": "/responses/resp_1", "request": null,
                     "reply": background("in_progress", &json!({}))});
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/responses", "request": asked(), "reply": background("queued", &json!({}))},
        get,
    ]}));
    let record = played.run.only(EventType::LlmCall);
    assert_eq!(record.outcome(), Outcome::Unknown);
    assert_eq!(record.meta["outcome"], "unknown");
    let interaction =
        json!({"id": "v1_x", "object": "interaction", "status": "in_progress", "model": "gemini-3.5-flash"});
    let request = json!({"model": "gemini-3.5-flash", "input": "Which ferry?", "background": true});
    let played = turn("gemini", "/v1beta/interactions", &request, &interaction);
    assert_eq!(played.run.only(EventType::LlmCall).outcome(), Outcome::Unknown);
}

#[test]
fn a_polling_error_is_not_the_calls() {
    let get = |status: u16, reply: Value| {
        json!({"api": "openai", "method": "GET", "path": "/responses/resp_1", "request": null, "status": status,
               "reply": reply})
    };
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/responses", "request": asked(), "reply": background("queued", &json!({}))},
        get(500, json!({"error": {"message": "Try again."}})),
        get(200, completed()),
    ]}));
    assert_eq!(played.run.only(EventType::LlmCall).outcome(), Outcome::Ok);
    assert_eq!(call(&played).1.total_tokens, Some(105));
}

/// A stream of Gemini's interactions: a thought, a call in two pieces of arguments, a text.
fn interaction_events(is_whole: bool) -> Vec<Value> {
    let event = |name: &str, more: Value| {
        let mut event = json!({"event_type": name});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Value::from(format!("event: {name}\ndata: {event}\n\n"))
    };
    let step = |index: u64, step: Value| event("step.start", json!({"index": index, "step": step}));
    let delta = |index: u64, delta: Value| event("step.delta", json!({"index": index, "delta": delta}));
    let interaction = |status: &str, more: Value| {
        let mut interaction =
            json!({"id": "v1_x", "object": "interaction", "model": "gemini-3.5-flash", "status": status});
        interaction
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"interaction": interaction})
    };
    let mut events = vec![
        event("interaction.created", interaction("in_progress", json!({}))),
        step(0, json!({"type": "thought"})),
        delta(
            0,
            json!({"type": "thought_summary", "content": {"type": "text", "text": "The timetable."}}),
        ),
        delta(0, json!({"type": "thought_signature", "signature": "E"})),
        step(
            1,
            json!({"type": "function_call", "id": "fc_1", "name": "weather", "arguments": {}}),
        ),
        delta(1, json!({"type": "arguments_delta", "arguments": "{\"city\":"})),
        delta(1, json!({"type": "arguments_delta", "arguments": " \"Oslo\"}"})),
        step(2, json!({"type": "model_output"})),
        delta(2, json!({"type": "text", "text": "The "})),
        delta(2, json!({"type": "text", "text": "6:40."})),
    ];
    if is_whole {
        let usage = json!({"usage": {"total_tokens": 49, "total_input_tokens": 7, "total_output_tokens": 20,
                                     "total_thought_tokens": 22}});
        events.push(event("interaction.completed", interaction("completed", usage)));
        events.push("event: done\ndata: [DONE]\n\n".into());
    }
    events
}

#[test]
fn a_streamed_interaction_is_whole() {
    let request = json!({"model": "gemini-3.5-flash", "input": "Which ferry?", "stream": true});
    let played = turn(
        "gemini",
        "/v1beta/interactions",
        &request,
        &interaction_events(true).into(),
    );
    let (model, usage) = call(&played);
    assert_eq!(model, "gemini-3.5-flash");
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens),
        (Some(7), Some(42))
    );
    let record = played.run.only(EventType::LlmCall);
    let Payload::LlmCall { response, .. } = &record.payload else {
        panic!("{record:?}")
    };
    assert_eq!(
        response["steps"],
        json!([
            {"type": "thought", "summary": [{"type": "text", "text": "The timetable."}], "signature": "E"},
            {"type": "function_call", "id": "fc_1", "name": "weather", "arguments": {"city": "Oslo"}},
            {"type": "model_output", "content": [{"type": "text", "text": "The 6:40."}]},
        ])
    );
    assert_eq!(record.outcome(), Outcome::Ok);
    let Payload::ToolCall { args, .. } = &played.run.only(EventType::ToolCall).payload else {
        panic!()
    };
    assert_eq!(args, &json!({"city": "Oslo"}));
    let cut = turn(
        "gemini",
        "/v1beta/interactions",
        &request,
        &interaction_events(false).into(),
    );
    assert_eq!(cut.run.only(EventType::LlmCall).outcome(), Outcome::Failed);
}

#[test]
fn an_interaction_continues_by_its_id() {
    let answered = |id: &str, status: &str, steps: Value| {
        json!({"id": id, "object": "interaction", "model": "gemini-3.5-flash", "status": status, "steps": steps,
               "usage": {"total_tokens": 12, "total_input_tokens": 7, "total_output_tokens": 5}})
    };
    let asks =
        json!([{"type": "function_call", "id": "fc_1", "name": "weather", "arguments": {"city": "Oslo"}}]);
    let said = json!([{"type": "model_output", "content": [{"type": "text", "text": "Take an umbrella."}]}]);
    let result = json!([{"type": "function_result", "call_id": "fc_1", "name": "weather",
                         "result": [{"type": "text", "text": "rain"}]}]);
    let path = "/v1beta/interactions";
    let played = play_turns(&json!({"turns": [
        {"api": "gemini", "path": path, "request": {"model": "gemini-3.5-flash", "input": "Weather?"},
         "reply": answered("v1_x", "requires_action", asks)},
        {"api": "gemini", "path": path, "request": {"model": "gemini-3.5-flash", "previous_interaction_id": "v1_x",
                                                    "input": result},
         "reply": answered("v1_y", "completed", said)},
    ]}));
    assert_eq!(played.run.all(EventType::LlmCall).len(), 2);
    let tool = played.run.only(EventType::ToolCall);
    assert_eq!((tool.name.as_str(), tool.outcome()), ("weather", Outcome::Ok));
    assert!(played.tracer(&["show"]).contains("Take an umbrella."));
}

#[test]
fn another_processs_answer_is_a_call() {
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "method": "GET", "path": "/responses/resp_1", "request": null, "reply": completed()},
        {"api": "openai", "method": "GET", "path": "/responses/resp_1", "request": null, "reply": completed()},
    ]}));
    let (model, usage) = call(&played);
    assert_eq!(
        (model.as_str(), usage.total_tokens),
        ("gpt-5-2025-08-07", Some(105))
    );
}

#[test]
fn services_are_steps_and_no_model_calls() {
    for (path, request, reply, name) in [
        (
            "/rerank",
            json!({"model": "rerank-v3.5", "query": "ferry", "documents": ["a"]}),
            json!({"results": [{"index": 0, "relevance_score": 0.5}]}),
            "rerank rerank-v3.5",
        ),
        (
            "/moderations",
            json!({"model": "omni-moderation-latest", "input": "ferry"}),
            json!({"id": "modr-1", "model": "omni-moderation-latest", "results": []}),
            "moderation omni-moderation-latest",
        ),
        (
            "/images/generations",
            json!({"model": "gpt-image-1", "prompt": "a ferry"}),
            json!({"created": 1, "data": [{"b64_json": "AAAA"}]}),
            "image_generation gpt-image-1",
        ),
        (
            "/audio/speech",
            json!({"model": "gpt-4o-mini-tts", "input": "ferry", "voice": "alloy"}),
            json!({"base64": "//uQ"}),
            "speech gpt-4o-mini-tts",
        ),
        (
            "/audio/transcriptions",
            json!(
                "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ngpt-4o-transcribe\r\n--x\r\n\
                   Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--x--\r\n"
            ),
            json!({"text": "The 6:40.", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 5}}),
            "transcription gpt-4o-transcribe",
        ),
    ] {
        let played = turn("openai", path, &request, &reply);
        assert_eq!(played.run.all(EventType::LlmCall).len(), 0, "{path}");
        assert_eq!(played.run.only(EventType::Unknown).name, name, "{path}");
    }
}

#[test]
fn tokens_of_services_count_in_the_run() {
    let embedding = json!({"object": "list", "data": [{"embedding": [0.1]}], "model": "text-embedding-3-small",
                           "usage": {"prompt_tokens": 2_000_000, "total_tokens": 2_000_000}});
    let embed = json!({"model": "text-embedding-3-small", "input": "ferry"});
    let rerank = json!({"model": "jina-reranker-v2", "query": "ferry", "documents": ["a"]});
    let cohere = json!({"id": "r", "results": [], "meta": {"billed_units": {"input_tokens": 23}}});
    let image = json!({"created": 1, "data": [{"b64_json": "AAAA"}],
                       "usage": {"input_tokens": 10, "output_tokens": 1000, "total_tokens": 1010}});
    let described = json!({"model": "gpt-image-1", "prompt": "a ferry"});
    for (path, request, reply, step, total) in [
        (
            "/embeddings",
            &embed,
            embedding.clone(),
            "2,000,000→0 tok  $0.04",
            "2,000,000 tokens (2,000,000 in, 0 out)",
        ),
        (
            "/rerank",
            &rerank,
            json!({"results": [], "usage": {"total_tokens": 23}}),
            "23→0 tok",
            "23 tokens (23 in, 0 out)",
        ),
        (
            "/v2/embed",
            &embed,
            cohere,
            "23→0 tok",
            "23 tokens (23 in, 0 out)",
        ),
        (
            "/images/generations",
            &described,
            image,
            "10→1,000 tok",
            "1,010 tokens (10 in, 1,000 out)",
        ),
    ] {
        let shown = turn("openai", path, request, &reply).tracer(&["show"]);
        assert!(shown.contains(step) && shown.contains(total), "{path}: {shown}");
        assert!(shown.contains("0 model calls"), "{path}: {shown}");
    }
    let ranked = json!({"id": "r", "results": [], "meta": {"billed_units": {"search_units": 1}}});
    let played = turn("openai", "/rerank", &rerank, &ranked);
    let listed: Value = serde_json::from_str(&played.tracer(&["list", "--json"])).unwrap();
    let cost = &listed["runs"][0]["cost"];
    assert_eq!(
        (&cost["usd"], &cost["unpriced_calls"]),
        (&Value::Null, &json!(1)),
        "{listed}"
    );
    let chat = json!({"id": "c", "model": "gpt-4o-mini", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "6:40"}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}});
    let asked = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Which ferry?"}]});
    let played = play_turns(&json!({"turns": [
        {"api": "openai", "path": "/embeddings", "request": embed, "reply": embedding},
        {"api": "openai", "path": "/chat/completions", "request": asked, "reply": chat},
    ]}));
    let shown = played.tracer(&["show"]);
    assert!(
        shown.contains("1 model call") && shown.contains("2,000,105 tokens (2,000,100 in, 5 out)"),
        "{shown}"
    );
    let listed: Value = serde_json::from_str(&played.tracer(&["list", "--json"])).unwrap();
    // 2 million at $0.02 a million, 100 at $0.15 and 5 at $0.60.
    let cost = listed["runs"][0]["cost"]["usd"].as_f64().unwrap();
    assert!((cost - 0.040_018).abs() < 1e-9, "{listed}");
}
