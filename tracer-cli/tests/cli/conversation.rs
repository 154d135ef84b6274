//! One conversation in the shapes of several providers: every surface shows the same turns.

use serde_json::{Value, json};

use crate::sandbox::{FIRST, Sandbox, meta, spans};
use crate::view::client::Viewer;

/// What each surface shows, in this order.
const TURNS: [&str; 14] = [
    "system",
    "Be kind",
    "user",
    "Where is my refund?",
    "image",
    "assistant",
    "search_kb",
    "refund policy",
    "tool",
    "two hits",
    "assistant",
    "It helps to wait",
    "refund_api",
    "ORD-1042",
];

/// A picture of five bytes.
const PICTURE: &str = "aGVsbG8=";

/// Prompt and answer, as a provider has them.
fn shapes() -> Vec<(&'static str, Value, Value)> {
    vec![
        (
            "chat completions",
            json!({"model": "m", "messages": [
                {"role": "system", "content": "Be kind"},
                {"role": "user", "content": [{"type": "text", "text": "Where is my refund?"},
                    {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PICTURE}")}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "search_kb", "arguments": "{\"query\":\"refund policy\"}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "two hits"},
            ]}),
            json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": null, "reasoning_content": "It helps to wait", "tool_calls": [{"id": "c2",
                    "type": "function", "function": {"name": "refund_api", "arguments": "{\"order\":\"ORD-1042\"}"}}]}}]}),
        ),
        (
            "responses",
            json!({"instructions": "Be kind", "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Where is my refund?"},
                    {"type": "input_image", "image_url": format!("data:image/png;base64,{PICTURE}")}]},
                {"type": "function_call", "call_id": "c1", "name": "search_kb", "arguments": "{\"query\":\"refund policy\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "two hits"},
            ]}),
            json!({"object": "response", "instructions": "Be kind", "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "It helps to wait"}]},
                {"type": "function_call", "call_id": "c2", "name": "refund_api", "arguments": "{\"order\":\"ORD-1042\"}"},
            ]}),
        ),
        (
            "anthropic",
            json!({"system": "Be kind", "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Where is my refund?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "search_kb", "input": {"query": "refund policy"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "two hits"}]}]},
            ]}),
            json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "It helps to wait", "signature": "xx"},
                {"type": "tool_use", "id": "c2", "name": "refund_api", "input": {"order": "ORD-1042"}},
            ]}),
        ),
        (
            "gemini",
            json!({"systemInstruction": {"parts": [{"text": "Be kind"}]}, "contents": [
                {"role": "user", "parts": [{"text": "Where is my refund?"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "search_kb", "args": {"query": "refund policy"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "search_kb", "response": {"result": "two hits"}}}]},
            ]}),
            json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "It helps to wait", "thought": true},
                {"functionCall": {"name": "refund_api", "args": {"order": "ORD-1042"}}},
            ]}}]}),
        ),
        (
            "conventions",
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be kind"}]},
                {"role": "user", "parts": [{"type": "text", "content": "Where is my refund?"},
                    {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PICTURE}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search_kb", "arguments": {"query": "refund policy"}}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "two hits"}]},
            ]),
            json!([{"role": "assistant", "finish_reason": "tool_call", "parts": [
                {"type": "reasoning", "content": "It helps to wait"},
                {"type": "tool_call", "id": "c2", "name": "refund_api", "arguments": {"order": "ORD-1042"}},
            ]}]),
        ),
    ]
}

/// The log of a run whose model call has this prompt and answer.
fn log(prompt: &Value, answer: &Value) -> String {
    let lines = spans(FIRST, "first", 1, "ok");
    let lines = lines.lines().map(|line| {
        let mut span: Value = serde_json::from_str(line).unwrap();
        if span["name"] == "demo-model" {
            for (event, content) in [(0, prompt), (1, answer)] {
                span["events"][event]["attributes"] =
                    json!({"content": content.to_string(), "format": "json"});
            }
        }
        span.to_string() + "\n"
    });
    lines.collect()
}

#[track_caller]
fn assert_turns(name: &str, surface: &str, text: &str, turns: &[&str]) {
    let mut rest = text;
    for turn in turns {
        let Some(at) = rest.find(turn) else {
            panic!("{name}, {surface}: no {turn:?} in {rest:?} of\n{text}");
        };
        rest = &rest[at + turn.len()..];
    }
    for key in [
        "tool_use",
        "functionCall",
        "function_call\"",
        "candidates",
        "choices",
        PICTURE,
    ] {
        assert!(!text.contains(key), "{name}, {surface}: {key:?} in\n{text}");
    }
}

/// What the page shows of messages: their role, and of each part its label and content.
fn page_text(messages: &Value) -> String {
    let mut lines = Vec::new();
    for message in messages.as_array().unwrap() {
        lines.push(message["role"].to_string());
        for part in message["parts"].as_array().unwrap() {
            lines.extend(["label", "name", "text", "value"].map(|field| part[field].to_string()));
        }
    }
    lines.join("\n")
}

#[test]
fn every_surface_shows_the_same_turns() {
    for (name, prompt, answer) in shapes() {
        let sandbox = Sandbox::new();
        sandbox.files(
            FIRST,
            &meta(FIRST, "first", 1, "ok").to_string(),
            &log(&prompt, &answer),
        );
        let shown = |arguments: &[&str]| {
            let outcome = sandbox.tracer(arguments);
            assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
            outcome.stdout
        };
        let step = shown(&["show", "--step", "2"]);
        assert_turns(name, "step", step.split_once("prompt\n").unwrap().1, &TURNS);
        // The transcript folds reasoning.
        let turns: Vec<&str> = TURNS
            .iter()
            .map(|turn| {
                if turn.starts_with("It helps") {
                    "thinking, 16"
                } else {
                    turn
                }
            })
            .collect();
        assert_turns(name, "transcript", &shown(&["show", "--transcript"]), &turns);
        let html = shown(&["export", FIRST, "--format", "html", "--out", "-"]);
        let messages = html.split_once("Prompt</h3>").unwrap().1;
        assert_turns(name, "HTML file", messages, &TURNS);

        let viewer = Viewer::start(&sandbox);
        let step = viewer.json(&format!("/api/runs/{FIRST}/steps?row=2"));
        let call = &step["llm"];
        let page = page_text(&call["messages"]) + "\n" + &page_text(&call["response"]);
        assert_turns(name, "inspector", &page, &TURNS);
        let transcript = viewer.json(&format!("/api/runs/{FIRST}/transcript"));
        let turn = &transcript["turns"][1];
        let page = page_text(&turn["messages"]) + "\n" + &page_text(&turn["response"]);
        assert_turns(name, "page's transcript", &page, &TURNS);

        let exported: Value =
            serde_json::from_str(&shown(&["export", FIRST, "--format", "otlp-json", "--out", "-"])).unwrap();
        assert_eq!(otlp_messages(&exported), expected_otlp(name), "{name}");
    }
}

/// The messages of the model call, asked and answered, without the call's IDs.
fn otlp_messages(exported: &Value) -> Vec<Value> {
    let spans = exported["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let span = spans.iter().find(|span| span["name"] == "demo-model").unwrap();
    let attributes = span["attributes"].as_array().unwrap();
    let mut all = Vec::new();
    for key in ["gen_ai.input.messages", "gen_ai.output.messages"] {
        let attribute = attributes
            .iter()
            .find(|attribute| attribute["key"] == key)
            .unwrap();
        let messages: Value =
            serde_json::from_str(attribute["value"]["stringValue"].as_str().unwrap()).unwrap();
        for message in messages.as_array().unwrap() {
            for part in message["parts"].as_array().unwrap() {
                let mut part = part.clone();
                part.as_object_mut().unwrap().remove("id");
                all.push(json!([message["role"], part]));
            }
        }
    }
    all
}

fn expected_otlp(name: &str) -> Vec<Value> {
    let result = match name {
        "gemini" => {
            json!({"type": "tool_call_response", "name": "search_kb", "response": {"result": "two hits"}})
        }
        _ => json!({"type": "tool_call_response", "response": "two hits"}),
    };
    vec![
        json!(["system", {"type": "text", "content": "Be kind"}]),
        json!(["user", {"type": "text", "content": "Where is my refund?"}]),
        json!(["user", {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PICTURE}]),
        json!(["assistant", {"type": "tool_call", "name": "search_kb", "arguments": {"query": "refund policy"}}]),
        json!(["tool", result]),
        json!(["assistant", {"type": "reasoning", "content": "It helps to wait"}]),
        json!(["assistant", {"type": "tool_call", "name": "refund_api", "arguments": {"order": "ORD-1042"}}]),
    ]
}
