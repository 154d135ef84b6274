//! Requests of less usual routes: each is known by what it asks.

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, Payload, Usage};

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
