//! Streams of model APIs, generated in all their framings: what providers send, and what it amounts to.

use serde_json::{Value, json};

/// An answer of a model, whatever API it is sent by.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// What distinguishes it.
    pub name: &'static str,
    /// Its reasoning; empty without any.
    pub reasoning: String,
    /// Its text; empty without any.
    pub text: String,
    /// The tools that it calls: the ID, the name, the arguments.
    pub tool_calls: Vec<(String, String, Value)>,
    /// The limit of tokens ended it.
    pub is_cut: bool,
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// How many of them came from a cache.
    pub cached_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
}

/// The APIs that stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamApi {
    /// `OpenAI`'s chat completions.
    ChatCompletions,
    /// `OpenAI`'s responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Gemini, with `alt=sse`.
    GeminiEvents,
    /// Gemini, as a JSON array in pieces.
    GeminiArray,
    /// Ollama's chat.
    OllamaChat,
    /// Ollama's completion of a text.
    OllamaGenerate,
}

impl StreamApi {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ChatCompletions,
        Self::Responses,
        Self::Messages,
        Self::GeminiEvents,
        Self::GeminiArray,
        Self::OllamaChat,
        Self::OllamaGenerate,
    ];

    /// The variable that clients read the base URL from.
    #[must_use]
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses => "OPENAI_BASE_URL",
            Self::Messages => "ANTHROPIC_BASE_URL",
            Self::GeminiEvents | Self::GeminiArray => "GOOGLE_GEMINI_BASE_URL",
            Self::OllamaChat | Self::OllamaGenerate => "OLLAMA_HOST",
        }
    }

    /// The path behind the base URL.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/v1/messages",
            Self::GeminiEvents => "/v1beta/models/model-1:streamGenerateContent?alt=sse",
            Self::GeminiArray => "/v1beta/models/model-1:streamGenerateContent",
            Self::OllamaChat => "/api/chat",
            Self::OllamaGenerate => "/api/generate",
        }
    }

    /// The body of a request that asks for such a stream.
    #[must_use]
    pub fn request(self, question: &str) -> Value {
        let messages = json!([{"role": "user", "content": question}]);
        match self {
            Self::ChatCompletions => json!({"model": "model-1", "stream": true, "messages": messages}),
            Self::Responses => json!({"model": "model-1", "stream": true, "input": messages}),
            Self::Messages => {
                json!({"model": "model-1", "stream": true, "max_tokens": 99, "messages": messages})
            }
            Self::GeminiEvents | Self::GeminiArray => {
                json!({"contents": [{"role": "user", "parts": [{"text": question}]}]})
            }
            Self::OllamaChat => json!({"model": "model-1", "messages": messages}),
            Self::OllamaGenerate => json!({"model": "model-1", "prompt": question}),
        }
    }

    /// The `Content-Type` of the stream.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages | Self::GeminiEvents => {
                "text/event-stream; charset=utf-8"
            }
            Self::GeminiArray => "application/json; charset=UTF-8",
            Self::OllamaChat | Self::OllamaGenerate => "application/x-ndjson",
        }
    }

    /// Why it ended, in the words of the API.
    #[must_use]
    pub fn finish_reason(self, answer: &ModelAnswer) -> &'static str {
        let has_calls = !answer.tool_calls.is_empty();
        match (self, answer.is_cut, has_calls) {
            (Self::ChatCompletions | Self::OllamaChat | Self::OllamaGenerate, true, _) => "length",
            (Self::ChatCompletions, _, true) => "tool_calls",
            (Self::ChatCompletions | Self::OllamaChat | Self::OllamaGenerate, ..) => "stop",
            (Self::Responses, true, _) => "max_output_tokens",
            (Self::Responses, ..) => "completed",
            (Self::Messages, true, _) => "max_tokens",
            (Self::Messages, _, true) => "tool_use",
            (Self::Messages, ..) => "end_turn",
            (Self::GeminiEvents | Self::GeminiArray, true, _) => "MAX_TOKENS",
            (Self::GeminiEvents | Self::GeminiArray, ..) => "STOP",
        }
    }

    fn is_events(self) -> bool {
        self.content_type().starts_with("text/event-stream")
    }

    /// The values of the stream in their order, with the names of their events.
    fn values(self, answer: &ModelAnswer, id: &str) -> Vec<(Option<&'static str>, Value)> {
        match self {
            Self::ChatCompletions => unnamed(chat_chunks(answer, id)),
            Self::Responses => response_events(answer, id),
            Self::Messages => message_events(answer, id),
            Self::GeminiEvents | Self::GeminiArray => unnamed(gemini_chunks(answer, id)),
            Self::OllamaChat => unnamed(ollama_lines(answer, true)),
            Self::OllamaGenerate => unnamed(ollama_lines(answer, false)),
        }
    }
}

/// A stream as a provider sends it.
#[derive(Debug, Clone)]
pub struct ModelStream {
    /// What distinguishes it from the others.
    pub name: String,
    /// The API.
    pub api: StreamApi,
    /// The ID of the answer, where the API has one.
    pub id: String,
    /// What it amounts to.
    pub answer: ModelAnswer,
    /// What is sent.
    pub bytes: Vec<u8>,
}

/// How server-sent events and lines are written.
#[derive(Debug, Clone, Copy)]
struct Framing {
    name: &'static str,
    line_end: &'static str,
    /// Comments, pings and fields between the events.
    has_noise: bool,
    /// A value takes several lines of data.
    is_multi_line: bool,
    /// A space behind the colon, or between the items of an array.
    space: &'static str,
    /// One line end divides the events, instead of two.
    is_tight: bool,
}

const FRAMINGS: [Framing; 8] = [
    framing("lf", "\n", false, false, " "),
    framing("crlf", "\r\n", false, false, " "),
    framing("cr", "\r", false, false, " "),
    framing("lf-noise", "\n", true, false, ""),
    framing("crlf-noise-lines", "\r\n", true, true, " "),
    framing("lf-lines", "\n", false, true, ""),
    Framing {
        is_tight: true,
        ..framing("lf-tight", "\n", false, false, " ")
    },
    Framing {
        is_tight: true,
        ..framing("crlf-tight", "\r\n", false, false, "")
    },
];

const fn framing(
    name: &'static str,
    line_end: &'static str,
    has_noise: bool,
    is_multi_line: bool,
    space: &'static str,
) -> Framing {
    Framing {
        name,
        line_end,
        has_noise,
        is_multi_line,
        space,
        is_tight: false,
    }
}

/// Every answer in every framing of every API that can express it: more than 200 streams, each with an ID of its own.
///
/// ```
/// let streams = tracer_tests::model_streams::all();
/// assert!(streams.len() >= 200);
/// ```
#[must_use]
pub fn all() -> Vec<ModelStream> {
    let mut streams = Vec::new();
    for api in StreamApi::ALL {
        for framing in FRAMINGS {
            // A lone CR ends no line of JSON lines.
            let is_json_lines = matches!(api, StreamApi::OllamaChat | StreamApi::OllamaGenerate);
            if is_json_lines && (framing.line_end == "\r" || framing.is_multi_line) {
                continue;
            }
            if framing.is_tight && !api.is_events() {
                continue;
            }
            for answer in answers(streams.len() as u64) {
                if api == StreamApi::OllamaGenerate && !answer.tool_calls.is_empty() {
                    continue;
                }
                let id = format!("answer-{}", streams.len());
                let bytes = framed(api, framing, &api.values(&answer, &id));
                streams.push(ModelStream {
                    name: format!("{api:?} {} {}", framing.name, answer.name),
                    api,
                    id,
                    answer,
                    bytes,
                });
            }
        }
    }
    streams
}

/// The answers that every API is to express, with numbers of tokens that depend on `number`.
fn answers(number: u64) -> Vec<ModelAnswer> {
    let call = |id: &str, name: &str, arguments: Value| (id.to_owned(), name.to_owned(), arguments);
    let oslo = call("call_1", "weather", json!({"city": "Oslo"}));
    let answer =
        |name: &'static str, reasoning: &str, text: &str, tool_calls: Vec<(String, String, Value)>| {
            ModelAnswer {
                name,
                reasoning: reasoning.to_owned(),
                text: text.to_owned(),
                tool_calls,
                is_cut: false,
                input_tokens: 1_000 + number,
                cached_tokens: 64,
                output_tokens: 100 + number % 50,
            }
        };
    let hostile = "a \"quote\", a \\ and a\ttab\nevent: error\ndata: [DONE]\n\nand \u{2028} \u{1f30d}\u{200d}\u{1f680} wörld {}[],";
    let mut cut = answer("cut", "", "It was a dark and", Vec::new());
    cut.is_cut = true;
    vec![
        answer("text", "", "Good morning, wörld \u{1f30d}!", Vec::new()),
        answer("hostile", "", hostile, Vec::new()),
        answer("reasoning", "Let me see: 7 °C, then.", "It is cold.", Vec::new()),
        answer("tool", "", "", vec![oslo.clone()]),
        answer(
            "tools",
            "",
            "I look both up.",
            vec![
                oslo,
                call(
                    "call_2",
                    "time",
                    json!({"zone": "Europe/Oslo", "at": [1, 2.5, null]}),
                ),
            ],
        ),
        cut,
    ]
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(5).map(|piece| piece.iter().collect()).collect()
}

fn unnamed(values: Vec<Value>) -> Vec<(Option<&'static str>, Value)> {
    values.into_iter().map(|value| (None, value)).collect()
}

fn chat_chunks(answer: &ModelAnswer, id: &str) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": id, "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "model-1-2026", "usage": null,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for piece in pieces(&answer.reasoning) {
        chunks.push(chunk(json!({"reasoning_content": piece}), Value::Null));
    }
    for piece in pieces(&answer.text) {
        chunks.push(chunk(json!({"content": piece}), Value::Null));
    }
    for (index, (call_id, name, arguments)) in answer.tool_calls.iter().enumerate() {
        let first = json!({"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}});
        chunks.push(chunk(json!({"tool_calls": [first]}), Value::Null));
        for piece in pieces(&arguments.to_string()) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            chunks.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    chunks.push(chunk(
        json!({}),
        json!(StreamApi::ChatCompletions.finish_reason(answer)),
    ));
    let mut last = chunk(json!({}), Value::Null);
    last["choices"] = json!([]);
    last["usage"] = json!({"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens}});
    chunks.push(last);
    chunks
}

fn response_events(answer: &ModelAnswer, id: &str) -> Vec<(Option<&'static str>, Value)> {
    let mut output = Vec::new();
    if !answer.reasoning.is_empty() {
        output.push(json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": answer.reasoning}]}));
    }
    if !answer.text.is_empty() {
        output.push(
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}]}),
        );
    }
    for (call_id, name, arguments) in &answer.tool_calls {
        output.push(
            json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id, "name": name,
            "arguments": arguments.to_string(), "status": "completed"}),
        );
    }
    let (status, details) = if answer.is_cut {
        ("incomplete", json!({"reason": "max_output_tokens"}))
    } else {
        ("completed", Value::Null)
    };
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({"id": id, "object": "response", "model": "model-1-2026", "status": status, "output": output, "usage": usage,
            "incomplete_details": if status == "incomplete" { details.clone() } else { Value::Null }})
    };
    let begun = response("in_progress", &[], Value::Null);
    let mut events = vec![
        (
            Some("response.created"),
            json!({"type": "response.created", "response": begun}),
        ),
        (
            Some("response.in_progress"),
            json!({"type": "response.in_progress", "response": begun}),
        ),
    ];
    for (index, item) in output.iter().enumerate() {
        let (kind, deltas) = match item["type"].as_str() {
            Some("reasoning") => ("response.reasoning_summary_text.delta", pieces(&answer.reasoning)),
            Some("message") => ("response.output_text.delta", pieces(&answer.text)),
            _ => (
                "response.function_call_arguments.delta",
                pieces(item["arguments"].as_str().unwrap_or_default()),
            ),
        };
        let mut empty = item.clone();
        for (key, value) in [
            ("summary", json!([])),
            ("content", json!([])),
            ("arguments", json!("")),
        ] {
            if empty.get(key).is_some() {
                empty[key] = value;
            }
        }
        events.push((
            Some("response.output_item.added"),
            json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
        ));
        for delta in deltas {
            events.push((Some(kind), json!({"type": kind, "output_index": index, "content_index": 0, "summary_index": 0, "delta": delta})));
        }
        events.push((
            Some("response.output_item.done"),
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ));
    }
    let usage = json!({"input_tokens": answer.input_tokens, "input_tokens_details": {"cached_tokens": answer.cached_tokens},
        "output_tokens": answer.output_tokens, "total_tokens": answer.input_tokens + answer.output_tokens});
    let last = if answer.is_cut {
        "response.incomplete"
    } else {
        "response.completed"
    };
    events.push((
        Some(last),
        json!({"type": last, "response": response(status, &output, usage)}),
    ));
    events
}

fn message_events(answer: &ModelAnswer, id: &str) -> Vec<(Option<&'static str>, Value)> {
    let mut events = vec![(
        Some("message_start"),
        json!({"type": "message_start", "message": {"id": id, "type": "message", "role": "assistant", "model": "model-1-2026",
            "content": [], "stop_reason": null, "usage": {"input_tokens": answer.input_tokens - answer.cached_tokens,
                "cache_read_input_tokens": answer.cached_tokens, "cache_creation_input_tokens": 0, "output_tokens": 1}}}),
    )];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push((
            Some("content_block_start"),
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        events.push((Some("ping"), json!({"type": "ping"})));
        for delta in deltas {
            events.push((
                Some("content_block_delta"),
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push((
            Some("content_block_stop"),
            json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
    };
    if !answer.reasoning.is_empty() {
        let deltas = pieces(&answer.reasoning).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        let signature = json!({"type": "signature_delta", "signature": "c2lnbmF0dXJl"});
        block(
            json!({"type": "thinking", "thinking": ""}),
            deltas.chain([signature]).collect(),
        );
    }
    if !answer.text.is_empty() {
        let deltas = pieces(&answer.text).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (call_id, name, arguments) in &answer.tool_calls {
        let deltas = [String::new()].into_iter().chain(pieces(&arguments.to_string()));
        let deltas = deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(
            json!({"type": "tool_use", "id": call_id, "name": name, "input": {}}),
            deltas.collect(),
        );
    }
    let reason = StreamApi::Messages.finish_reason(answer);
    events.push((
        Some("message_delta"),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": answer.output_tokens}}),
    ));
    events.push((Some("message_stop"), json!({"type": "message_stop"})));
    events
}

fn gemini_chunks(answer: &ModelAnswer, id: &str) -> Vec<Value> {
    let thoughts = pieces(&answer.reasoning).into_iter();
    let thoughts = thoughts.map(|piece| json!({"text": piece, "thought": true}));
    let texts = pieces(&answer.text)
        .into_iter()
        .map(|piece| json!({"text": piece}));
    let calls = answer.tool_calls.iter();
    let calls = calls.map(|(call_id, name, arguments)| json!({"functionCall": {"id": call_id, "name": name, "args": arguments}}));
    let parts: Vec<Value> = thoughts.chain(texts).chain(calls).collect();
    let count = parts.len();
    let chunks = parts.into_iter().enumerate().map(|(at, part)| {
        let is_last = at + 1 == count;
        // Counts grow with each chunk; the last ones are the answer's.
        let output = if is_last { answer.output_tokens } else { at as u64 };
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        if is_last {
            candidate["finishReason"] = json!(StreamApi::GeminiEvents.finish_reason(answer));
        }
        json!({"candidates": [candidate], "modelVersion": "model-1-2026", "responseId": id,
            "usageMetadata": {"promptTokenCount": answer.input_tokens, "cachedContentTokenCount": answer.cached_tokens,
                "candidatesTokenCount": output, "totalTokenCount": answer.input_tokens + output}})
    });
    chunks.collect()
}

fn ollama_lines(answer: &ModelAnswer, is_chat: bool) -> Vec<Value> {
    let line = |field: &str, piece: &str| {
        let mut line = json!({"model": "model-1", "created_at": "2026-01-01T00:00:00Z", "done": false});
        if is_chat {
            line["message"] = json!({"role": "assistant", "content": ""});
            let key = if field == "thinking" {
                "thinking"
            } else {
                "content"
            };
            line["message"][key] = json!(piece);
        } else {
            let key = if field == "thinking" {
                "thinking"
            } else {
                "response"
            };
            line["response"] = json!("");
            line[key] = json!(piece);
        }
        line
    };
    let mut lines: Vec<Value> = pieces(&answer.reasoning)
        .iter()
        .map(|piece| line("thinking", piece))
        .collect();
    lines.extend(pieces(&answer.text).iter().map(|piece| line("text", piece)));
    for (_, name, arguments) in &answer.tool_calls {
        let mut call = line("text", "");
        call["message"]["tool_calls"] = json!([{"function": {"name": name, "arguments": arguments}}]);
        lines.push(call);
    }
    let mut last = line("text", "");
    last["done"] = json!(true);
    last["done_reason"] = json!(StreamApi::OllamaChat.finish_reason(answer));
    last["prompt_eval_count"] = json!(answer.input_tokens);
    last["eval_count"] = json!(answer.output_tokens);
    last["total_duration"] = json!(123_456_789);
    lines.push(last);
    lines
}

fn framed(api: StreamApi, framing: Framing, values: &[(Option<&'static str>, Value)]) -> Vec<u8> {
    if api.is_events() {
        return events(api, framing, values).into_bytes();
    }
    let end = framing.line_end;
    if api == StreamApi::GeminiArray {
        let items: Vec<String> = values
            .iter()
            .map(|(_, value)| written(value, framing, end))
            .collect();
        return format!(
            "[{}{}]{end}",
            items.join(&format!("{end},{}", framing.space)),
            framing.space
        )
        .into_bytes();
    }
    let mut text = String::new();
    for (_, value) in values {
        text.push_str(&value.to_string());
        text.push_str(end);
        if framing.has_noise {
            text.push_str(end);
        }
    }
    text.into_bytes()
}

fn events(api: StreamApi, framing: Framing, values: &[(Option<&'static str>, Value)]) -> String {
    let (end, space) = (framing.line_end, framing.space);
    let mut text = String::new();
    for (number, (name, value)) in values.iter().enumerate() {
        if framing.has_noise {
            text.extend([format!(
                ": keep-alive {number}{end}{end}id: {number}{end}retry: 3000{end}"
            )]);
        }
        if let Some(name) = name {
            text.extend([format!("event:{space}{name}{end}")]);
        }
        for line in written(value, framing, "\n").split('\n') {
            text.extend([format!("data:{space}{line}{end}")]);
        }
        if !framing.is_tight {
            text.push_str(end);
        }
    }
    if api == StreamApi::ChatCompletions {
        text.extend([format!("data:{space}[DONE]{end}{end}")]);
    }
    text
}

/// A value on one line, or on several.
fn written(value: &Value, framing: Framing, line_end: &str) -> String {
    if framing.is_multi_line {
        format!("{value:#}").replace('\n', line_end)
    } else {
        value.to_string()
    }
}
