//! An answer given as one document, as the API sends it to a request that asks for a stream: the way back from
//! [`assemble`](super::assemble()).

use serde_json::{Map, Value, json};

use super::{ModelApi, list_items};

/// An answer as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelReply {
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body, in the pieces that it is sent in.
    pub pieces: Vec<String>,
}

/// Stream format that a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyForm {
    Events,
    Lines,
    Array,
}

impl ModelReply {
    /// The answer to a request, streamed if the request asks for that. `document` is the answer that the API gives when it
    /// does not stream; one without content, such as an error, is sent as it is.
    #[must_use]
    pub fn to_request(api: ModelApi, path: &str, query: &str, request: &Value, document: &Value) -> Self {
        let is_wrapped = path.contains("/v1internal:");
        // Code Assist wraps Gemini's answer.
        let wrapped = |value: Value| {
            if is_wrapped {
                json!({"response": value})
            } else {
                value
            }
        };
        match form(api, path, query, request).filter(|_| has_content(api, document)) {
            None => Self {
                content_type: "application/json",
                pieces: vec![wrapped(document.clone()).to_string()],
            },
            Some(ReplyForm::Array) => Self {
                content_type: "application/json",
                pieces: vec![format!("[{}\n]\n", wrapped(document.clone()))],
            },
            Some(ReplyForm::Lines) => Self {
                content_type: "application/x-ndjson",
                pieces: ollama_lines(document)
                    .into_iter()
                    .map(|line| format!("{line}\n"))
                    .collect(),
            },
            Some(ReplyForm::Events) => Self {
                content_type: "text/event-stream",
                pieces: match api {
                    ModelApi::GenerateContent => {
                        vec![format!("data: {}\r\n\r\n", wrapped(document.clone()))]
                    }
                    ModelApi::Messages => named(message_events(document)),
                    ModelApi::Responses => named(response_events(document)),
                    _ => chunks(document),
                },
            },
        }
    }
}

fn form(api: ModelApi, path: &str, query: &str, request: &Value) -> Option<ReplyForm> {
    let asked = request["stream"].as_bool();
    let is_streamed = match api {
        _ if api.is_service() || matches!(api, ModelApi::Compaction | ModelApi::Interactions) => false,
        ModelApi::GenerateContent => path.ends_with(":streamGenerateContent"),
        // Streams by default, unless the request turns it off.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => asked != Some(false),
        _ => asked == Some(true),
    };
    is_streamed.then(|| match api {
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => ReplyForm::Lines,
        ModelApi::GenerateContent if !query.split('&').any(|pair| pair == "alt=sse") => ReplyForm::Array,
        _ => ReplyForm::Events,
    })
}

/// Returns whether the document has content to stream.
fn has_content(api: ModelApi, document: &Value) -> bool {
    let key = match api {
        ModelApi::ChatCompletions | ModelApi::Completions => "choices",
        ModelApi::Responses => "output",
        ModelApi::Messages => "content",
        ModelApi::GenerateContent => "candidates",
        ModelApi::OllamaChat => "message",
        ModelApi::OllamaGenerate => "response",
        _ => return false,
    };
    document.get(key).is_some()
}

fn without(document: &Value, keys: &[&str]) -> Map<String, Value> {
    let mut members = document.as_object().cloned().unwrap_or_default();
    members.retain(|key, _| !keys.contains(&key.as_str()));
    members
}

fn with(mut members: Map<String, Value>, more: Value) -> Value {
    if let Value::Object(more) = more {
        members.extend(more);
    }
    Value::Object(members)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Chat completions and completions: the content of each choice, how it ended, the usage.
fn chunks(document: &Value) -> Vec<String> {
    let mut base = without(document, &["choices", "usage"]);
    let has_messages = list_items(document.get("choices")).any(|choice| choice.get("message").is_some());
    if base.contains_key("object") && has_messages {
        base.insert("object".to_owned(), "chat.completion.chunk".into());
    }
    let chunk = |choices: Value, usage: Value| {
        let chunk = with(base.clone(), json!({"choices": choices, "usage": usage}));
        format!("data: {chunk}\n\n")
    };
    let mut pieces = Vec::new();
    for (position, choice) in list_items(document.get("choices")).enumerate() {
        let index = choice.get("index").cloned().unwrap_or_else(|| position.into());
        let mut content = without(choice, &["message", "finish_reason", "index"]);
        if let Some(message) = choice.get("message") {
            let mut delta = message.as_object().cloned().unwrap_or_default();
            if let Some(Value::Array(calls)) = delta.get_mut("tool_calls") {
                for (position, call) in calls.iter_mut().enumerate() {
                    if let Value::Object(call) = call {
                        call.entry("index").or_insert_with(|| position.into());
                    }
                }
            }
            content.insert("delta".to_owned(), Value::Object(delta));
        }
        let content = with(content, json!({"index": index, "finish_reason": null}));
        pieces.push(chunk(json!([content]), Value::Null));
        let mut last = json!({"index": index, "finish_reason": choice.get("finish_reason")});
        if let Some(last) = last.as_object_mut() {
            match choice.get("message") {
                Some(_) => last.insert("delta".to_owned(), json!({})),
                None => last.insert("text".to_owned(), "".into()),
            };
        }
        pieces.push(chunk(json!([last]), Value::Null));
    }
    if let Some(usage) = document.get("usage").filter(|usage| !usage.is_null()) {
        pieces.push(chunk(json!([]), usage.clone()));
    }
    pieces.push("data: [DONE]\n\n".to_owned());
    pieces
}

fn named(events: Vec<Value>) -> Vec<String> {
    let lines = events.into_iter();
    lines
        .map(|event| format!("event: {}\ndata: {event}\n\n", text(&event, "type")))
        .collect()
}

/// Anthropic's messages.
fn message_events(document: &Value) -> Vec<Value> {
    let ending = ["stop_reason", "stop_sequence"];
    let usage = document.get("usage").cloned().unwrap_or_else(|| json!({}));
    let begun = with(
        without(document, &ending),
        json!({"content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}),
    );
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in list_items(document.get("content")).enumerate() {
        let mut deltas = Vec::new();
        let start = match text(block, "type") {
            "text" => {
                deltas.push(json!({"type": "text_delta", "text": text(block, "text")}));
                with(without(block, &[]), json!({"text": ""}))
            }
            "thinking" => {
                deltas.push(json!({"type": "thinking_delta", "thinking": text(block, "thinking")}));
                if let Some(signature) = block.get("signature") {
                    deltas.push(json!({"type": "signature_delta", "signature": signature}));
                }
                with(without(block, &["signature"]), json!({"thinking": ""}))
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let input = block.get("input").cloned().unwrap_or_else(|| json!({}));
                deltas.push(json!({"type": "input_json_delta", "partial_json": input.to_string()}));
                with(without(block, &[]), json!({"input": {}}))
            }
            _ => block.clone(),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let ended =
        json!({"stop_reason": document.get("stop_reason"), "stop_sequence": document.get("stop_sequence")});
    events.push(json!({"type": "message_delta", "delta": ended, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The Responses API.
fn response_events(document: &Value) -> Vec<Value> {
    let begun = with(
        without(document, &["usage", "incomplete_details"]),
        json!({"status": "in_progress", "output": []}),
    );
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in list_items(document.get("output")).enumerate() {
        item_events(index, item, &mut events);
    }
    let last = match text(document, "status") {
        "incomplete" => "response.incomplete",
        "failed" => "response.failed",
        _ => "response.completed",
    };
    events.push(json!({"type": last, "response": document}));
    for (number, event) in events.iter_mut().enumerate() {
        if let Value::Object(event) = event {
            event.insert("sequence_number".to_owned(), number.into());
        }
    }
    events
}

/// An item of the Responses API: its beginning, its texts, its end.
fn item_events(output_index: usize, item: &Value, events: &mut Vec<Value>) {
    let id = item.get("id");
    let mut empty = without(item, &[]);
    for (key, value) in [
        ("content", json!([])),
        ("summary", json!([])),
        ("arguments", "".into()),
    ] {
        if empty.contains_key(key) {
            empty.insert(key.to_owned(), value);
        }
    }
    events.push(json!({"type": "response.output_item.added", "output_index": output_index, "item": empty}));
    for (content_index, part) in list_items(item.get("content")).enumerate() {
        let (name, key) = match text(part, "type") {
            "output_text" => ("output_text", "text"),
            "refusal" => ("refusal", "refusal"),
            "reasoning_text" => ("reasoning_text", "text"),
            _ => continue,
        };
        let place = json!({"item_id": id, "output_index": output_index, "content_index": content_index});
        let event = |kind: String, key: &str, value: Value| {
            with(without(&place, &[]), json!({"type": kind, key: value}))
        };
        let said = text(part, key);
        let empty = with(without(part, &[]), json!({key: ""}));
        events.extend([
            event("response.content_part.added".to_owned(), "part", empty),
            event(format!("response.{name}.delta"), "delta", said.into()),
            event(format!("response.{name}.done"), key, said.into()),
            event("response.content_part.done".to_owned(), "part", part.clone()),
        ]);
    }
    for (summary_index, part) in list_items(item.get("summary")).enumerate() {
        let said = text(part, "text");
        let place = |kind: &str, key: &str, value: Value| json!({"type": format!("response.{kind}"), "item_id": id, "output_index": output_index, "summary_index": summary_index, key: value});
        let empty = with(without(part, &[]), json!({"text": ""}));
        events.extend([
            place("reasoning_summary_part.added", "part", empty),
            place("reasoning_summary_text.delta", "delta", said.into()),
            place("reasoning_summary_text.done", "text", said.into()),
            place("reasoning_summary_part.done", "part", part.clone()),
        ]);
    }
    if let Some(arguments) = item.get("arguments") {
        for (kind, key) in [("delta", "delta"), ("done", "arguments")] {
            events.push(
                json!({"type": format!("response.function_call_arguments.{kind}"), "item_id": id,
                "output_index": output_index, key: arguments}),
            );
        }
    }
    events.push(json!({"type": "response.output_item.done", "output_index": output_index, "item": item}));
}

/// Ollama: what is said, then the end with its counts.
fn ollama_lines(document: &Value) -> [Value; 2] {
    let is_chat = document.get("message").is_some();
    let base = |keys: &[&str]| {
        let mut members = without(document, &[]);
        members.retain(|key, _| keys.contains(&key.as_str()));
        members
    };
    let said = with(
        base(&["model", "created_at", "message", "response", "thinking"]),
        json!({"done": false}),
    );
    let nothing = if is_chat {
        json!({"message": {"role": "assistant", "content": ""}, "done": true})
    } else {
        json!({"response": "", "done": true})
    };
    [said, with(without(document, &["thinking"]), nothing)]
}
