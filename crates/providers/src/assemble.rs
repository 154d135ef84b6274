//! A streamed answer as the document that the API gives when it does not stream, so that both are read alike.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::frames::{EVENT_BEGINNINGS, ResponseValues, divide};
use super::merge::{append, append_value, complete, update};
use super::partial_arguments::add_piece;
use super::tool_fragments::{FragmentedCalls, add_members};
use super::{ModelApi, list_items};

/// The answer, assembled into one document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Assembled {
    /// The body of the API's answer without streaming; a text where it is no JSON.
    pub body: Value,
    /// Number of stream values that it was assembled from; 0 for a document.
    pub chunks: u64,
    /// The stream came to its end, by the API's own sign.
    pub is_complete: bool,
}

/// Puts a response together from its bytes.
///
/// What cannot be read is left out; what could be read is kept, also of a stream that was cut at any byte.
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
            body: if api.has_binary_answer() {
                Value::Null
            } else {
                unreadable(bytes)
            },
            chunks: 0,
            is_complete: false,
        };
    }
    let is_done = frames.is_done;
    let answer = assemble_values(api, frames.values);
    Assembled {
        is_complete: (answer.is_complete || is_done) && !frames.has_unreadable,
        ..answer
    }
}

/// Puts a response together from the values of its stream.
pub(super) fn assemble_values(api: ModelApi, values: Vec<Value>) -> Assembled {
    let chunks = values.len() as u64;
    let (body, is_complete) = match api {
        ModelApi::ChatCompletions | ModelApi::Completions => choices(&values),
        ModelApi::Responses | ModelApi::Compaction => responses(values),
        ModelApi::Interactions => interactions(values),
        ModelApi::Messages => messages(values),
        ModelApi::Converse => converse(&values),
        ModelApi::GenerateContent => candidates(values),
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => ollama(&values),
        ModelApi::Embeddings
        | ModelApi::Rerank
        | ModelApi::Transcription
        | ModelApi::Translation
        | ModelApi::Speech
        | ModelApi::ImageGeneration
        | ModelApi::ImageEdit
        | ModelApi::Moderation => last_of(values),
    };
    Assembled {
        body,
        chunks,
        is_complete,
    }
}

/// A body that is no JSON: an error page, say. A stream that only has comments and the end has nothing, and neither has
/// one that was cut in its first line.
fn unreadable(bytes: &[u8]) -> Value {
    let Some(text) = readable_text(bytes) else {
        return Value::Null;
    };
    let text = text.trim();
    if EVENT_BEGINNINGS
        .iter()
        .any(|field| text.starts_with(field) || field.starts_with(text))
    {
        return Value::Null;
    }
    Value::from(text)
}

/// The longest rest of a letter that a cut leaves, in bytes.
const MAX_TORN_BYTES: usize = 3;

/// Bytes as a text; none where they are no text.
pub fn readable_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(error) if error.valid_up_to() + MAX_TORN_BYTES >= bytes.len() => {
            Some(String::from_utf8_lossy(bytes))
        }
        Err(_) => None,
    }
}

/// A stream of one value is no document: Ollama's last line, one event of the Responses API or of Anthropic's.
fn is_stream_value(api: ModelApi, frames: &ResponseValues) -> bool {
    let event = frames.values.first().and_then(|value| text_of(value, "type"));
    match api {
        ModelApi::Responses => event.is_some_and(|event| event.starts_with("response.")),
        ModelApi::Interactions => first_event(frames).is_some(),
        _ if api.is_service() => event.is_some_and(|event| event.contains('.')),
        ModelApi::Messages => event.is_some_and(|event| event != "message" && event != "error"),
        // A stream that was cut behind its first line.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => {
            frames.values.first().is_some_and(|value| value["done"] == false)
        }
        _ => false,
    }
}

/// Members that mark Code Assist's `response` as one of Gemini's.
const INNER_ANSWER: [&str; 3] = ["candidates", "promptFeedback", "usageMetadata"];

/// The name of the first event of Gemini's interactions.
fn first_event(frames: &ResponseValues) -> Option<&str> {
    let first = frames.values.first()?;
    text_of(first, "event_type").or_else(|| text_of(first, "type")?.split_once('.').map(|(name, _)| name))
}

/// Streams of what is no chat: the last event has it all, a transcript and its tokens, an image.
fn last_of(mut events: Vec<Value>) -> (Value, bool) {
    let last = events.pop().unwrap_or_default();
    let ended = text_of(&last, "type").is_none_or(|event| event.rsplit('.').next() != Some("delta"));
    (last, ended)
}

/// Gemini's interactions: the interaction itself at the beginning and at the end, and between them its steps by their index,
/// or in older streams its contents.
fn interactions(events: Vec<Value>) -> (Value, bool) {
    let mut body = Map::new();
    let (mut steps, mut outputs) = (Vec::<Map<String, Value>>::new(), Vec::<Map<String, Value>>::new());
    let mut ended = false;
    for event in events {
        let name = text_of(&event, "event_type").or_else(|| text_of(&event, "type"));
        let name = name.unwrap_or_default().to_owned();
        if let Some(interaction) = event["interaction"].as_object() {
            update(&mut body, interaction, &[]);
        }
        if let Some(error) = event.get("error") {
            body.insert("error".to_owned(), error.clone());
            ended = true;
        }
        if let Some(status) = event.get("status").filter(|status| status.is_string()) {
            body.insert("status".to_owned(), status.clone());
        }
        ended |= matches!(name.as_str(), "interaction.complete" | "interaction.completed");
        let (items, begun) = match name.split_once('.') {
            Some(("step", _)) => (&mut steps, "step"),
            Some(("content", _)) => (&mut outputs, "content"),
            _ => continue,
        };
        let Some(item) = item_at(items, index_of(&event, "index")) else {
            continue;
        };
        if let Some(begun) = event[begun].as_object() {
            update(item, begun, &[]);
        }
        if let Some(delta) = event["delta"].as_object() {
            interaction_delta(item, delta, begun == "step");
        }
    }
    for (key, items) in [("steps", steps), ("outputs", outputs)] {
        let is_given = |items: &Value| items.as_array().is_some_and(|items| !items.is_empty());
        if !items.is_empty() && !body.get(key).is_some_and(is_given) {
            body.insert(
                key.to_owned(),
                into_values(items.into_iter().map(with_arguments).collect()),
            );
        }
    }
    (Value::Object(body), ended)
}

/// Adds a piece of a step, or of a content. Texts and other contents are parts of a step, arguments come as pieces of JSON.
fn interaction_delta(item: &mut Map<String, Value>, delta: &Map<String, Value>, is_step: bool) {
    match (text_of_map(delta, "type"), delta.get("content")) {
        (Some("arguments_delta"), _) => {
            let arguments = text_of_map(delta, "arguments");
            append_text(item, ARGUMENT_PIECES, arguments.unwrap_or_default());
        }
        (Some("thought_summary"), Some(part)) => add_to(item, "summary", part),
        (Some("thought_signature"), _) => update(item, delta, &["type"]),
        (Some(kind), _) if is_step && text_of_map(item, "type") == Some(kind) => update(item, delta, &[]),
        (Some(_), _) if is_step => add_to(item, "content", &Value::Object(delta.clone())),
        _ => {
            for (key, value) in delta {
                match (key.as_str(), value) {
                    ("text", Value::String(text)) => append_text(item, "text", text),
                    ("type", kind) => {
                        item.entry("type").or_insert_with(|| kind.clone());
                    }
                    (_, Value::Null) => {}
                    (key, value) => {
                        item.insert(key.to_owned(), value.clone());
                    }
                }
            }
        }
    }
}

/// Temporary member for the pieces of a call's arguments, until the call is whole.
const ARGUMENT_PIECES: &str = "arguments_delta";

/// A call with its arguments, which came in pieces.
fn with_arguments(mut item: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::String(pieces)) = item.remove(ARGUMENT_PIECES) {
        let arguments = serde_json::from_str(&pieces).unwrap_or(Value::String(pieces));
        item.insert("arguments".to_owned(), arguments);
    }
    item
}

/// Adds a part to the list under a key.
fn add_to(item: &mut Map<String, Value>, key: &str, part: &Value) {
    if let Value::Array(parts) = item.entry(key).or_insert_with(|| json!([])) {
        add_part(parts, part);
    }
}

fn text_of_map<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}

/// Code Assist wraps Gemini's answer.
fn unwrapped(body: Value) -> Value {
    match body {
        Value::Object(mut object)
            if object
                .get("response")
                .is_some_and(|inner| INNER_ANSWER.iter().any(|key| inner.get(*key).is_some())) =>
        {
            object.remove("response").unwrap_or_default()
        }
        body => body,
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str()
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

/// Largest index at which a stream may put an item; a larger one is hostile.
const MAX_INDEX: usize = 512;

/// The item of a list by the index that a stream gives; lists grow with empty items.
fn item_at<T: Default>(list: &mut Vec<T>, index: usize) -> Option<&mut T> {
    if index > MAX_INDEX {
        return None;
    }
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    list.get_mut(index)
}

fn index_of(value: &Value, key: &str) -> usize {
    let index = value[key].as_u64().unwrap_or(0);
    usize::try_from(index).unwrap_or(0)
}

fn into_values(list: Vec<Map<String, Value>>) -> Value {
    Value::Array(
        list.into_iter()
            .filter(|item| !item.is_empty())
            .map(Value::Object)
            .collect(),
    )
}

/// The part of a chat completion's choice that has arrived.
#[derive(Default)]
struct StreamedChoice {
    members: Map<String, Value>,
    message: Option<Map<String, Value>>,
    calls: FragmentedCalls,
}

/// Chat completions and completions.
fn choices(chunks: &[Value]) -> (Value, bool) {
    let mut body = Map::new();
    let mut choices: Vec<StreamedChoice> = Vec::new();
    for chunk in chunks.iter().filter_map(Value::as_object) {
        update(&mut body, chunk, &["choices"]);
        for choice in list_items(chunk.get("choices")) {
            if let (Some(into), Some(choice)) = (
                item_at(&mut choices, index_of(choice, "index")),
                choice.as_object(),
            ) {
                into.add(choice);
            }
        }
    }
    // Groq has the usage elsewhere.
    if let Some(usage) = body.get("x_groq").and_then(|groq| groq.get("usage")).cloned() {
        body.entry("usage").or_insert(usage);
    }
    let ended = !choices.is_empty()
        && choices
            .iter()
            .all(|choice| choice.members.contains_key("finish_reason"));
    if body.contains_key("object") {
        body.insert("object".to_owned(), Value::from("chat.completion"));
    }
    let choices = choices.into_iter().map(StreamedChoice::into_members).collect();
    body.insert("choices".to_owned(), into_values(choices));
    (Value::Object(body), ended)
}

impl StreamedChoice {
    fn add(&mut self, choice: &Map<String, Value>) {
        update(
            &mut self.members,
            choice,
            &["delta", "text", "message", "logprobs"],
        );
        for key in ["text", "logprobs"] {
            match (self.members.get_mut(key), choice.get(key)) {
                (Some(known), Some(more)) => append_value(known, more),
                (None, Some(more)) if !more.is_null() => {
                    self.members.insert(key.to_owned(), more.clone());
                }
                _ => {}
            }
        }
        // Perplexity repeats the whole message so far with each delta.
        let delta = ["delta", "message"]
            .iter()
            .find_map(|key| choice.get(*key)?.as_object());
        let Some(delta) = delta else { return };
        let message = self.message.get_or_insert_default();
        let mut rest = delta.clone();
        if let Some(Value::Array(fragments)) = delta.get("tool_calls") {
            rest.remove("tool_calls");
            self.calls.add(fragments);
        }
        if let (Some(Value::Object(known)), Some(Value::Object(more))) =
            (message.get_mut("function_call"), delta.get("function_call"))
        {
            rest.remove("function_call");
            add_members(known, more);
        }
        append(message, &rest);
    }

    fn into_members(self) -> Map<String, Value> {
        let mut members = self.members;
        if let Some(mut message) = self.message {
            if !self.calls.is_empty() {
                message.insert("tool_calls".to_owned(), self.calls.into_value());
            }
            members.insert("message".to_owned(), Value::Object(message));
        }
        members
    }
}

/// The part of a Responses API item or an Anthropic block that has arrived.
#[derive(Default)]
struct StreamedItem {
    index: Option<u64>,
    members: Map<String, Value>,
    is_done: bool,
}

/// The items of a stream, in the order in which they began.
#[derive(Default)]
struct StreamedItems(Vec<StreamedItem>);

impl StreamedItems {
    /// The latest item that is as asked for, by the first question that has an answer; a new one if none has.
    fn latest(
        &mut self,
        index: Option<u64>,
        questions: &[&dyn Fn(&StreamedItem) -> bool],
    ) -> Option<&mut StreamedItem> {
        let place = |is_it: &&dyn Fn(&StreamedItem) -> bool| {
            let mut items = self.0.iter().enumerate().rev().take(MAX_INDEX);
            items.find(|(_, item)| is_it(item)).map(|(place, _)| place)
        };
        match questions.iter().find_map(place) {
            Some(place) => self.0.get_mut(place),
            None => self.begin(index),
        }
    }

    fn begin(&mut self, index: Option<u64>) -> Option<&mut StreamedItem> {
        self.0.push(StreamedItem {
            index,
            ..StreamedItem::default()
        });
        self.0.last_mut()
    }

    /// In their own order, where they have one.
    fn into_maps(mut self) -> Vec<Map<String, Value>> {
        self.0.sort_by_key(|item| item.index.unwrap_or(u64::MAX));
        self.0.into_iter().map(|item| item.members).collect()
    }
}

/// The Responses API: the last event has it all; before that the items are put together.
fn responses(events: Vec<Value>) -> (Value, bool) {
    let mut base = Map::new();
    let mut items = StreamedItems::default();
    let mut error = None;
    for event in events {
        let name = text_of(&event, "type").unwrap_or_default();
        match name {
            "response.completed" | "response.incomplete" | "response.failed" => {
                if let Some(response) = event.get("response") {
                    return (with_items(response.clone(), &base, items.into_maps()), true);
                }
            }
            "error" => error = Some(event.get("error").unwrap_or(&event).clone()),
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = event["item"].as_object() {
                    add_item(&mut items, &event, item, name.ends_with("done"));
                }
            }
            _ => match event["response"].as_object() {
                Some(response) => update(&mut base, response, &["output"]),
                None => add_item_text(&mut items, name, &event),
            },
        }
    }
    let ended = error.is_some();
    if let Some(error) = error {
        base.insert("error".to_owned(), error);
    }
    base.insert("output".to_owned(), into_values(items.into_maps()));
    (Value::Object(base), ended)
}

/// A last event with what it lacks: that of a model behind a `ChatGPT` login, as Codex calls it, has no items.
fn with_items(mut response: Value, base: &Map<String, Value>, streamed: Vec<Map<String, Value>>) -> Value {
    if let Value::Object(response) = &mut response {
        complete(response, base);
        let output = response.entry("output").or_insert(Value::Null);
        match output.as_array_mut().filter(|items| !items.is_empty()) {
            Some(items) => {
                let items = items.iter_mut().filter_map(Value::as_object_mut);
                for (item, before) in items.zip(&streamed) {
                    if ["id", "type"]
                        .iter()
                        .all(|key| item.get(*key) == before.get(*key))
                    {
                        complete(item, before);
                    }
                }
            }
            None => *output = into_values(streamed),
        }
    }
    response
}

/// Adds an item that begins or ends. One index may be that of all items, and the ID another one in each event.
fn add_item(items: &mut StreamedItems, event: &Value, item: &Map<String, Value>, is_done: bool) {
    let index = event["output_index"].as_u64();
    let id = item.get("id").filter(|id| !id.is_null());
    let has_id = |known: &StreamedItem| id.is_some() && known.members.get("id") == id;
    let is_in_place = |known: &StreamedItem| {
        let is_of_deltas = !known.members.contains_key("type");
        known.index == index && (is_of_deltas || is_done && !known.is_done)
    };
    if let Some(known) = items.latest(index, &[&has_id, &is_in_place]) {
        update(&mut known.members, item, &[]);
        known.is_done |= is_done;
    }
}

/// Location of a text that comes in pieces within an item of the Responses API: its event; the list of parts that it is
/// in, the key of that list's index and the type of the part; the member.
type ItemText = (
    &'static str,
    Option<(&'static str, &'static str, &'static str)>,
    &'static str,
);
const ITEM_TEXTS: [ItemText; 11] = [
    (
        "output_text",
        Some(("content", "content_index", "output_text")),
        "text",
    ),
    (
        "refusal",
        Some(("content", "content_index", "refusal")),
        "refusal",
    ),
    (
        "reasoning_text",
        Some(("content", "content_index", "reasoning_text")),
        "text",
    ),
    (
        "reasoning_summary_text",
        Some(("summary", "summary_index", "summary_text")),
        "text",
    ),
    (
        "reasoning_summary",
        Some(("summary", "summary_index", "summary_text")),
        "text",
    ),
    (
        "audio.transcript",
        Some(("content", "content_index", "output_audio")),
        "transcript",
    ),
    (
        "audio",
        Some(("content", "content_index", "output_audio")),
        "data",
    ),
    ("function_call_arguments", None, "arguments"),
    ("mcp_call_arguments", None, "arguments"),
    ("custom_tool_call_input", None, "input"),
    ("code_interpreter_call_code", None, "code"),
];

/// Adds a piece of a text, or, at its end, the whole of it.
fn add_item_text(items: &mut StreamedItems, event: &str, delta: &Value) {
    let Some((name, step)) = event
        .strip_prefix("response.")
        .and_then(|name| name.rsplit_once('.'))
    else {
        return;
    };
    let Some((_, part, key)) = ITEM_TEXTS.iter().find(|(known, ..)| *known == name) else {
        return;
    };
    let text = match step {
        "delta" => text_of(delta, "delta").or_else(|| text_of(delta.get("delta")?, "text")),
        "done" => text_of(delta, key),
        _ => None,
    };
    let Some(text) = text else { return };
    let index = delta["output_index"].as_u64();
    let id = delta.get("item_id").filter(|id| !id.is_null());
    let has_id = |known: &StreamedItem| id.is_some() && known.members.get("id") == id;
    let is_in_place = |known: &StreamedItem| index.is_none() || known.index == index;
    let Some(item) = items.latest(index, &[&has_id, &is_in_place]) else {
        return;
    };
    let into = match part {
        None => Some(&mut item.members),
        Some((list, index, part_type)) => {
            let parts = item.members.entry(*list).or_insert_with(|| json!([]));
            let Some(parts) = parts.as_array_mut() else { return };
            let index = index_of(delta, index);
            while parts.len() <= index.min(MAX_INDEX) {
                parts.push(json!({"type": part_type}));
            }
            parts.get_mut(index).and_then(Value::as_object_mut)
        }
    };
    let Some(into) = into else { return };
    let is_known = || text_of_map(into, key).is_some_and(|known| known.len() >= text.len());
    if step == "delta" {
        append_text(into, key, text);
    } else if !is_known() {
        into.insert((*key).to_owned(), text.into());
    }
}

/// Anthropic's messages.
fn messages(events: Vec<Value>) -> (Value, bool) {
    let mut body = Map::new();
    let mut blocks = StreamedItems::default();
    let mut ended = false;
    for event in events {
        let index = event["index"].as_u64();
        match text_of(&event, "type").unwrap_or_default() {
            "message_start" => {
                if let Some(message) = event["message"].as_object() {
                    update(&mut body, message, &["content"]);
                    for block in list_items(message.get("content")).filter_map(Value::as_object) {
                        begin_block(&mut blocks, None, block);
                    }
                }
            }
            "content_block_start" => {
                if let Some(block) = event["content_block"].as_object() {
                    begin_block(&mut blocks, index, block);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event["delta"].as_object() {
                    add_block_delta(&mut blocks, index, delta);
                }
            }
            "message_delta" => {
                if let Some(delta) = event["delta"].as_object() {
                    update(&mut body, delta, &[]);
                }
                // Cumulative: the last of each counts.
                if let Some(usage) = event["usage"].as_object() {
                    let known = body.entry("usage").or_insert_with(|| json!({}));
                    if let Some(known) = known.as_object_mut() {
                        update(known, usage, &[]);
                    }
                }
            }
            "message_stop" => ended = true,
            "error" => {
                body.insert("error".to_owned(), event["error"].clone());
                ended = true;
            }
            _ => {}
        }
    }
    let mut blocks = blocks.into_maps();
    for block in &mut blocks {
        let Some(Value::String(json)) = block.remove(PARTIAL_INPUT) else {
            continue;
        };
        if json.trim().is_empty() {
            block.entry("input").or_insert_with(|| json!({}));
        } else {
            let input = serde_json::from_str(&json);
            block.insert("input".to_owned(), input.unwrap_or_else(|_| Value::from(json)));
        }
    }
    body.insert("content".to_owned(), into_values(blocks));
    (Value::Object(body), ended)
}

/// Bedrock's Converse: events under their names, whose deltas are pieces of blocks by their index.
fn converse(events: &[Value]) -> (Value, bool) {
    let mut body = Map::new();
    let (mut role, mut blocks) = (Value::from("assistant"), Vec::<Map<String, Value>>::new());
    let mut ended = false;
    for (name, event) in events.iter().filter_map(Value::as_object).flatten() {
        match name.as_str() {
            "messageStart" => role = event.get("role").cloned().unwrap_or(role),
            "contentBlockStart" | "contentBlockDelta" => {
                let pieces = ["start", "delta"]
                    .iter()
                    .filter_map(|key| event.get(*key)?.as_object());
                if let Some(block) = item_at(&mut blocks, index_of(event, "contentBlockIndex")) {
                    pieces.for_each(|piece| append(block, piece));
                }
            }
            "messageStop" | "metadata" => {
                update(&mut body, event.as_object().unwrap_or(&Map::new()), &[]);
                ended |= name == "messageStop";
            }
            "error" => {
                body.insert(name.clone(), event.clone());
                ended = true;
            }
            _ => {}
        }
    }
    for call in blocks
        .iter_mut()
        .filter_map(|block| block.get_mut("toolUse")?.as_object_mut())
    {
        let input = call.entry("input").or_insert_with(|| json!({}));
        if let Some(text) = input.as_str() {
            *input = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        }
    }
    let message = json!({"role": role, "content": into_values(blocks)});
    body.insert("output".to_owned(), json!({ "message": message }));
    (Value::Object(body), ended)
}

/// Temporary member for the pieces of a tool's input, until the block is whole.
const PARTIAL_INPUT: &str = "partial_json";

/// The deltas of each type of block; a tool's end in `tool_use`.
const BLOCK_DELTAS: [(&str, &str); 6] = [
    ("text_delta", "text"),
    ("citations_delta", "text"),
    ("thinking_delta", "thinking"),
    ("signature_delta", "thinking"),
    ("input_json_delta", "tool_use"),
    ("compaction_delta", "compaction"),
];

fn begin_block(blocks: &mut StreamedItems, index: Option<u64>, block: &Map<String, Value>) {
    if let Some(begun) = blocks.begin(index) {
        begun.members.clone_from(block);
    }
}

/// Adds to the block of a delta: the latest with its index, else the latest that such a delta can be of.
fn add_block_delta(blocks: &mut StreamedItems, index: Option<u64>, delta: &Map<String, Value>) {
    let delta_type = text_of_map(delta, "type").unwrap_or_default();
    let block_type = BLOCK_DELTAS
        .iter()
        .find(|(known, _)| *known == delta_type)
        .map(|(_, block_type)| *block_type);
    let takes = |block: &StreamedItem| {
        let known = text_of_map(&block.members, "type");
        block_type.is_none_or(|wanted| known.is_some_and(|known| known.ends_with(wanted)))
    };
    let is_in_place = |block: &StreamedItem| block.index == index && takes(block);
    let Some(block) = blocks.latest(index, &[&is_in_place, &takes]) else {
        return;
    };
    block
        .members
        .entry("type")
        .or_insert_with(|| block_type.unwrap_or("text").into());
    let mut more = delta.clone();
    more.remove("type");
    if let Some(citation) = more.remove("citation") {
        more.insert("citations".to_owned(), json!([citation]));
    }
    append(&mut block.members, &more);
}

/// Gemini: each chunk has parts that are appended; usage comes with every chunk, the last one counts.
fn candidates(chunks: Vec<Value>) -> (Value, bool) {
    let mut body = Map::new();
    let mut candidates: Vec<Map<String, Value>> = Vec::new();
    for chunk in chunks.into_iter().map(unwrapped) {
        let Some(chunk) = chunk.as_object() else { continue };
        update(&mut body, chunk, &["candidates"]);
        for candidate in list_items(chunk.get("candidates")) {
            let (Some(into), Some(from)) = (
                item_at(&mut candidates, index_of(candidate, "index")),
                candidate.as_object(),
            ) else {
                continue;
            };
            update(into, from, &["content"]);
            let Some(content) = from.get("content").and_then(Value::as_object) else {
                continue;
            };
            let known = into.entry("content").or_insert_with(|| json!({"parts": []}));
            let Some(known) = known.as_object_mut() else {
                continue;
            };
            update(known, content, &["parts"]);
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
    if add_piece(parts, part) {
        return;
    }
    let is_text = |part: &Value| part["text"].is_string();
    let is_thought = |part: &Value| part["thought"] == true;
    if let (Some(last), Some(text)) = (parts.last_mut(), text_of(part, "text"))
        && is_text(last)
        && is_thought(last) == is_thought(part)
        && let Some(last) = last.as_object_mut()
    {
        append_text(last, "text", text);
        if let Some(part) = part.as_object() {
            update(last, part, &["text"]);
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
        update(&mut body, line, &["message", "response", "thinking"]);
        for key in ["response", "thinking"] {
            if let Some(text) = text_of_map(line, key) {
                append_text(&mut body, key, text);
            }
        }
        if let Some(piece) = line.get("message").and_then(Value::as_object) {
            append(&mut message, piece);
        }
    }
    if !message.is_empty() {
        body.insert("message".to_owned(), Value::Object(message));
    }
    let ended = body.get("done") == Some(&Value::Bool(true)) || body.contains_key("error");
    (Value::Object(body), ended)
}
