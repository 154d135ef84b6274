//! A streamed answer as the document that the API gives when it does not stream, so that both are read alike.

use serde_json::{Map, Value, json};

use super::frames::{EVENT_BEGINNINGS, ResponseValues, divide};
use super::{ModelApi, list_items};

/// What was answered, as one document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Assembled {
    /// The body of the API's answer without streaming; a text where it is no JSON.
    pub body: Value,
    /// How many values of a stream it was put together from; 0 for a document.
    pub chunks: u64,
    /// The stream came to its end, by the API's own sign.
    pub is_complete: bool,
}

/// Puts a response together from its bytes.
///
/// What cannot be read is left out; what could be read is kept, also of a stream that was cut at any byte.
///
/// ```
/// use tracer_capture::model_api::{ModelApi, assemble};
///
/// let stream = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n\
///     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// let answer = assemble(ModelApi::ChatCompletions, "text/event-stream", stream);
/// assert_eq!(answer.body["choices"][0]["message"]["content"], "Hello");
/// assert!(answer.is_complete);
/// ```
#[must_use]
pub fn assemble(api: ModelApi, content_type: &str, bytes: &[u8]) -> Assembled {
    let frames = divide(content_type, bytes);
    if frames.is_document && !is_stream_value(api, &frames) {
        let body = frames.values.into_iter().next().unwrap_or_default();
        return Assembled {
            body: unwrapped(body),
            chunks: 0,
            is_complete: true,
        };
    }
    if frames.values.is_empty() {
        return Assembled {
            body: unreadable(bytes),
            chunks: 0,
            is_complete: false,
        };
    }
    let chunks = frames.values.len() as u64;
    let (body, ended) = match api {
        ModelApi::ChatCompletions | ModelApi::Completions => choices(&frames.values),
        ModelApi::Responses => responses(frames.values),
        ModelApi::Messages => messages(frames.values),
        ModelApi::GenerateContent => candidates(frames.values),
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => ollama(&frames.values),
        ModelApi::Embeddings => (frames.values.into_iter().next_back().unwrap_or_default(), true),
    };
    Assembled {
        body,
        chunks,
        is_complete: (ended || frames.is_done) && !frames.has_unreadable,
    }
}

/// A body that is no JSON: an error page, say. A stream that only has comments and the end has nothing, and neither has
/// one that was cut in its first line.
fn unreadable(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if EVENT_BEGINNINGS
        .iter()
        .any(|field| text.starts_with(field) || field.starts_with(text))
    {
        return Value::Null;
    }
    Value::from(text)
}

/// A stream of one value is no document: Ollama's last line, one event of the Responses API or of Anthropic's.
fn is_stream_value(api: ModelApi, frames: &ResponseValues) -> bool {
    let event = frames
        .values
        .first()
        .and_then(|value| value.get("type"))
        .and_then(Value::as_str);
    match api {
        ModelApi::Responses => event.is_some_and(|event| event.starts_with("response.")),
        ModelApi::Messages => event.is_some_and(|event| event != "message" && event != "error"),
        // A stream that was cut behind its first line.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => {
            frames.values.first().and_then(|value| value.get("done")) == Some(&Value::Bool(false))
        }
        _ => false,
    }
}

/// Code Assist wraps Gemini's answer.
fn unwrapped(body: Value) -> Value {
    match body {
        Value::Object(mut object)
            if object
                .get("response")
                .is_some_and(|inner| inner.get("candidates").is_some()) =>
        {
            object.remove("response").unwrap_or_default()
        }
        body => body,
    }
}

/// Sets what has a value; the last one counts.
fn set_known(into: &mut Map<String, Value>, from: &Map<String, Value>, skip: &[&str]) {
    for (key, value) in from {
        if !value.is_null() && !skip.contains(&key.as_str()) {
            into.insert(key.clone(), value.clone());
        }
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Appends a text to a member, which begins with it.
fn append_text(object: &mut Map<String, Value>, key: &str, more: &str) {
    match object.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            object.insert(key.to_owned(), Value::from(more));
        }
    }
}

/// Where a stream may put an item; what lies further is hostile.
const MAX_INDEX: usize = 512;

/// The item of a list by the index that a stream gives; lists grow with empty objects.
fn item_at(list: &mut Vec<Map<String, Value>>, index: usize) -> Option<&mut Map<String, Value>> {
    if index > MAX_INDEX {
        return None;
    }
    if list.len() <= index {
        list.resize_with(index + 1, Map::new);
    }
    list.get_mut(index)
}

fn index_of(value: &Value, key: &str) -> usize {
    value
        .get(key)
        .and_then(Value::as_u64)
        .and_then(|index| usize::try_from(index).ok())
        .unwrap_or(0)
}

fn into_values(list: Vec<Map<String, Value>>) -> Value {
    Value::Array(
        list.into_iter()
            .filter(|item| !item.is_empty())
            .map(Value::Object)
            .collect(),
    )
}

/// Chat completions and completions.
fn choices(chunks: &[Value]) -> (Value, bool) {
    let mut body = Map::new();
    let mut choices: Vec<Map<String, Value>> = Vec::new();
    for chunk in chunks.iter().filter_map(Value::as_object) {
        set_known(&mut body, chunk, &["choices"]);
        for choice in list_items(chunk.get("choices")) {
            let Some(into) = item_at(&mut choices, index_of(choice, "index")) else {
                continue;
            };
            if let Some(choice) = choice.as_object() {
                set_known(into, choice, &["delta", "text", "message"]);
            }
            if let Some(text) = text_of(choice, "text") {
                append_text(into, "text", text);
            }
            // Perplexity repeats beside each piece all that was said up to it.
            let delta = ["delta", "message"]
                .iter()
                .find_map(|key| choice.get(*key)?.as_object());
            if let Some(delta) = delta {
                let message = into.entry("message").or_insert_with(|| json!({}));
                if let Some(message) = message.as_object_mut() {
                    add_delta(message, delta);
                }
            }
        }
    }
    // Groq has the usage elsewhere.
    if let Some(usage) = body.get("x_groq").and_then(|groq| groq.get("usage")).cloned() {
        body.entry("usage").or_insert(usage);
    }
    let ended = !choices.is_empty() && choices.iter().all(|choice| choice.contains_key("finish_reason"));
    if body.contains_key("object") {
        body.insert("object".to_owned(), Value::from("chat.completion"));
    }
    body.insert("choices".to_owned(), into_values(choices));
    (Value::Object(body), ended)
}

fn add_delta(message: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (key, value) in delta {
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            ("role", role) => {
                message.entry("role").or_insert_with(|| role.clone());
            }
            ("tool_calls", Value::Array(calls)) => {
                let list = message.entry("tool_calls").or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    for call in calls {
                        add_call(list, call);
                    }
                }
            }
            ("function_call", Value::Object(call)) => {
                let known = message.entry("function_call").or_insert_with(|| json!({}));
                if let Some(known) = known.as_object_mut() {
                    add_function(known, call);
                }
            }
            (key, Value::String(text)) => append_text(message, key, text),
            (key, Value::Array(more)) => match message.get_mut(key) {
                Some(Value::Array(known)) => known.extend(more.iter().cloned()),
                _ => {
                    message.insert(key.to_owned(), value.clone());
                }
            },
            (key, value) => {
                message.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// A fragment of a tool call: the ID and the name come once or with every fragment, the arguments in pieces. Some servers
/// send whole calls under one index: another ID is another call.
fn add_call(calls: &mut Vec<Value>, fragment: &Value) {
    let Some(fragment) = fragment.as_object() else {
        return;
    };
    let id = fragment
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty());
    let index = fragment.get("index").and_then(Value::as_u64);
    let is_same = |call: &Value| {
        let same_index = index.is_none() || call.get("index").and_then(Value::as_u64) == index;
        let known_id = text_of(call, "id");
        same_index && (id.is_none() || known_id.is_none() || known_id == id)
    };
    let position = calls.iter().rposition(is_same);
    let position = position.unwrap_or_else(|| {
        calls.push(json!({}));
        calls.len() - 1
    });
    let Some(call) = calls.get_mut(position).and_then(Value::as_object_mut) else {
        return;
    };
    for (key, value) in fragment {
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            ("function" | "custom", Value::Object(function)) => {
                let known = call.entry(key.clone()).or_insert_with(|| json!({}));
                if let Some(known) = known.as_object_mut() {
                    add_function(known, function);
                }
            }
            ("id", Value::String(id)) if id.is_empty() => {}
            (key, value) => {
                call.insert(key.to_owned(), value.clone());
            }
        }
    }
}

fn add_function(known: &mut Map<String, Value>, fragment: &Map<String, Value>) {
    for (key, value) in fragment {
        match (key.as_str(), value) {
            ("arguments" | "input", Value::String(more)) => append_text(known, key, more),
            (_, Value::Null) => {}
            ("name", Value::String(name)) if name.is_empty() => {}
            (key, value) => {
                known.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// The Responses API: the last event has it all; before that the items are put together.
fn responses(events: Vec<Value>) -> (Value, bool) {
    let mut base = Map::new();
    let mut items: Vec<Map<String, Value>> = Vec::new();
    let mut error = None;
    for event in events {
        let name = text_of(&event, "type").unwrap_or_default().to_owned();
        match name.as_str() {
            "response.completed" | "response.incomplete" | "response.failed" => {
                if let Some(response) = event.get("response") {
                    return (with_items(response.clone(), items), true);
                }
            }
            "error" => error = Some(event.get("error").unwrap_or(&event).clone()),
            "response.output_item.added" | "response.output_item.done" => {
                if let (Some(item), Some(into)) = (
                    event.get("item").and_then(Value::as_object),
                    item_at(&mut items, index_of(&event, "output_index")),
                ) {
                    into.clone_from(item);
                }
            }
            name if name.rsplit('.').next() == Some("delta") => {
                if let Some(into) = item_at(&mut items, index_of(&event, "output_index")) {
                    add_item_delta(into, name, &event);
                }
            }
            _ => {
                if let Some(response) = event.get("response").and_then(Value::as_object) {
                    set_known(&mut base, response, &["output"]);
                }
            }
        }
    }
    let ended = error.is_some();
    if let Some(error) = error {
        base.insert("error".to_owned(), error);
    }
    base.insert("output".to_owned(), into_values(items));
    (Value::Object(base), ended)
}

/// A last event that has the items after all: those of a model behind a `ChatGPT` login, as Codex calls it, are empty.
fn with_items(mut response: Value, items: Vec<Map<String, Value>>) -> Value {
    if let Value::Object(response) = &mut response
        && response
            .get("output")
            .and_then(Value::as_array)
            .is_none_or(Vec::is_empty)
    {
        response.insert("output".to_owned(), into_values(items));
    }
    response
}

fn add_item_delta(item: &mut Map<String, Value>, event: &str, delta: &Value) {
    let Some(text) = text_of(delta, "delta") else {
        return;
    };
    let (list, index, part_type) = match event {
        "response.output_text.delta" => ("content", "content_index", "output_text"),
        "response.refusal.delta" => ("content", "content_index", "refusal"),
        "response.reasoning_text.delta" => ("content", "content_index", "reasoning_text"),
        "response.reasoning_summary_text.delta" => ("summary", "summary_index", "summary_text"),
        "response.function_call_arguments.delta" | "response.mcp_call_arguments.delta" => {
            return append_text(item, "arguments", text);
        }
        "response.custom_tool_call_input.delta" => return append_text(item, "input", text),
        _ => return,
    };
    let parts = item.entry(list).or_insert_with(|| json!([]));
    let Some(parts) = parts.as_array_mut() else { return };
    let index = index_of(delta, index);
    while parts.len() <= index.min(MAX_INDEX) {
        parts.push(json!({"type": part_type}));
    }
    let key = if part_type == "refusal" { "refusal" } else { "text" };
    if let Some(part) = parts.get_mut(index).and_then(Value::as_object_mut) {
        append_text(part, key, text);
    }
}

/// Anthropic's messages.
fn messages(events: Vec<Value>) -> (Value, bool) {
    let mut body = Map::new();
    let mut blocks: Vec<Map<String, Value>> = Vec::new();
    let mut ended = false;
    for event in events {
        match text_of(&event, "type").unwrap_or_default() {
            "message_start" => {
                if let Some(message) = event.get("message").and_then(Value::as_object) {
                    set_known(&mut body, message, &["content"]);
                }
            }
            "content_block_start" => {
                if let (Some(block), Some(into)) = (
                    event.get("content_block").and_then(Value::as_object),
                    item_at(&mut blocks, index_of(&event, "index")),
                ) {
                    into.clone_from(block);
                }
            }
            "content_block_delta" => {
                if let (Some(delta), Some(into)) = (
                    event.get("delta"),
                    item_at(&mut blocks, index_of(&event, "index")),
                ) {
                    add_block_delta(into, delta);
                }
            }
            "message_delta" => {
                if let Some(delta) = event.get("delta").and_then(Value::as_object) {
                    set_known(&mut body, delta, &[]);
                }
                // Cumulative: the last of each counts.
                if let Some(usage) = event.get("usage").and_then(Value::as_object) {
                    let known = body.entry("usage").or_insert_with(|| json!({}));
                    if let Some(known) = known.as_object_mut() {
                        set_known(known, usage, &[]);
                    }
                }
            }
            "message_stop" => ended = true,
            "error" => {
                body.insert(
                    "error".to_owned(),
                    event.get("error").cloned().unwrap_or_default(),
                );
                ended = true;
            }
            _ => {}
        }
    }
    for block in &mut blocks {
        if let Some(Value::String(json)) = block.remove(PARTIAL_INPUT) {
            let input = if json.is_empty() {
                Ok(json!({}))
            } else {
                serde_json::from_str(&json)
            };
            block.insert("input".to_owned(), input.unwrap_or_else(|_| Value::from(json)));
        }
    }
    body.insert("content".to_owned(), into_values(blocks));
    (Value::Object(body), ended)
}

/// Where the pieces of a tool's input are kept until the block is whole.
const PARTIAL_INPUT: &str = "partial_json";

fn add_block_delta(block: &mut Map<String, Value>, delta: &Value) {
    match text_of(delta, "type").unwrap_or_default() {
        "text_delta" => append_text(block, "text", text_of(delta, "text").unwrap_or_default()),
        "thinking_delta" => append_text(block, "thinking", text_of(delta, "thinking").unwrap_or_default()),
        "signature_delta" => append_text(
            block,
            "signature",
            text_of(delta, "signature").unwrap_or_default(),
        ),
        "input_json_delta" => append_text(
            block,
            PARTIAL_INPUT,
            text_of(delta, "partial_json").unwrap_or_default(),
        ),
        "citations_delta" => {
            let citations = block.entry("citations").or_insert_with(|| json!([]));
            if let (Some(citations), Some(citation)) = (citations.as_array_mut(), delta.get("citation")) {
                citations.push(citation.clone());
            }
        }
        _ => {}
    }
}

/// Gemini: each chunk has parts that are appended; usage comes with every chunk, the last one counts.
fn candidates(chunks: Vec<Value>) -> (Value, bool) {
    let mut body = Map::new();
    let mut candidates: Vec<Map<String, Value>> = Vec::new();
    for chunk in chunks.into_iter().map(unwrapped) {
        let Some(chunk) = chunk.as_object() else { continue };
        set_known(&mut body, chunk, &["candidates"]);
        for candidate in list_items(chunk.get("candidates")) {
            let (Some(into), Some(from)) = (
                item_at(&mut candidates, index_of(candidate, "index")),
                candidate.as_object(),
            ) else {
                continue;
            };
            set_known(into, from, &["content"]);
            let Some(content) = from.get("content").and_then(Value::as_object) else {
                continue;
            };
            let known = into.entry("content").or_insert_with(|| json!({"parts": []}));
            let Some(known) = known.as_object_mut() else {
                continue;
            };
            set_known(known, content, &["parts"]);
            let parts = known.entry("parts").or_insert_with(|| json!([]));
            if let Some(parts) = parts.as_array_mut() {
                for part in list_items(content.get("parts")) {
                    add_part(parts, part);
                }
            }
        }
    }
    let ended = body.contains_key("promptFeedback") && candidates.is_empty()
        || body.contains_key("error")
        || !candidates.is_empty()
            && candidates
                .iter()
                .all(|candidate| candidate.contains_key("finishReason"));
    body.insert("candidates".to_owned(), into_values(candidates));
    (Value::Object(body), ended)
}

/// Texts that follow each other are one, thoughts apart.
fn add_part(parts: &mut Vec<Value>, part: &Value) {
    let is_text = |part: &Value| part.get("text").is_some_and(Value::is_string);
    let is_thought = |part: &Value| part.get("thought") == Some(&Value::Bool(true));
    if let (Some(last), Some(text)) = (parts.last_mut(), text_of(part, "text"))
        && is_text(last)
        && is_thought(last) == is_thought(part)
        && let Some(last) = last.as_object_mut()
    {
        append_text(last, "text", text);
        if let Some(part) = part.as_object() {
            set_known(last, part, &["text"]);
        }
        return;
    }
    parts.push(part.clone());
}

/// Ollama: each line has a piece, the last one the counts.
fn ollama(lines: &[Value]) -> (Value, bool) {
    let mut body = Map::new();
    let mut message = Map::new();
    for line in lines {
        let Some(line) = line.as_object() else { continue };
        set_known(&mut body, line, &["message", "response", "thinking"]);
        for key in ["response", "thinking"] {
            if let Some(text) = line.get(key).and_then(Value::as_str) {
                append_text(&mut body, key, text);
            }
        }
        if let Some(piece) = line.get("message").and_then(Value::as_object) {
            add_ollama_message(&mut message, piece);
        }
    }
    if !message.is_empty() {
        body.insert("message".to_owned(), Value::Object(message));
    }
    let ended = body.get("done") == Some(&Value::Bool(true)) || body.contains_key("error");
    (Value::Object(body), ended)
}

/// Tool calls come whole, one line may have several.
fn add_ollama_message(message: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece {
        match (key.as_str(), value) {
            ("role", role) => {
                message.insert("role".to_owned(), role.clone());
            }
            (key, Value::String(text)) => append_text(message, key, text),
            (key, Value::Array(more)) => match message.get_mut(key) {
                Some(Value::Array(known)) => known.extend(more.iter().cloned()),
                _ => {
                    message.insert(key.to_owned(), value.clone());
                }
            },
            _ => {}
        }
    }
}
