//! Recorded requests, changed in every way that happens between a recording and its replay: what the rules let pass is
//! answered, and of everything else the place that changed is named.

use std::sync::Arc;

use serde_json::{Value, json};

use super::file::Cassette;
use super::format::Head;
use super::normalise::Place;
use super::pool::{Miss, Pool};
use super::recorded::{RecordedBody, RecordedExchange, RecordedResponse};
use super::rules::Rules;
use tracer_providers::ModelApi;

const CALLS: u64 = 6;

/// A recorded conversation of six calls, in the shape of its API.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Chat,
    Messages,
    Responses,
    Gemini,
    Ollama,
}

const SHAPES: [Shape; 5] = [
    Shape::Chat,
    Shape::Messages,
    Shape::Responses,
    Shape::Gemini,
    Shape::Ollama,
];

impl Shape {
    fn api(self) -> ModelApi {
        match self {
            Self::Chat => ModelApi::ChatCompletions,
            Self::Messages => ModelApi::Messages,
            Self::Responses => ModelApi::Responses,
            Self::Gemini => ModelApi::GenerateContent,
            Self::Ollama => ModelApi::OllamaChat,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Gemini => "/v1beta/models/gemini-3:generateContent",
            Self::Ollama => "/api/chat",
        }
    }

    fn id(turn: u64) -> String {
        format!("call_Xy12345678{turn}")
    }

    /// The request of a call: the messages of all turns before it.
    fn request(self, call: u64) -> Value {
        const SYSTEM: &str = "You help customers of a shop. Today is 2026-11-23, your session is 8c6ff5f4-4f0c-4d3e-9d0f-2f0a3a1b2c3d.";
        let tool = |name: &str| {
            let parameters = json!({"type": "object", "properties": {"order": {"type": "integer"}}});
            let text = format!("{name} of an order");
            match self {
                Self::Messages => json!({"name": name, "description": text, "input_schema": parameters}),
                Self::Gemini => json!({"name": name, "description": text, "parameters": parameters}),
                Self::Responses => {
                    json!({"type": "function", "name": name, "description": text, "parameters": parameters})
                }
                Self::Chat | Self::Ollama => {
                    json!({"type": "function", "function": {"name": name, "description": text, "parameters": parameters}})
                }
            }
        };
        let tools = ["lookup_order", "refund", "notify"].map(tool);
        let mut messages = match self {
            Self::Chat | Self::Ollama => vec![
                json!({"role": "system", "content": SYSTEM}),
                json!({"role": "user", "content": "Where is it?"}),
            ],
            Self::Messages => {
                vec![json!({"role": "user", "content": [{"type": "text", "text": "Where is it?"}]})]
            }
            Self::Responses => vec![json!({"role": "user", "content": "Where is it?"})],
            Self::Gemini => vec![json!({"role": "user", "parts": [{"text": "Where is it?"}]})],
        };
        for turn in 1..call {
            let id = Self::id(turn);
            let arguments = json!({"order": turn});
            let result = format!("order {turn} is packed");
            match self {
                Self::Chat => messages.extend([
                    json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                        "function": {"name": "lookup_order", "arguments": arguments.to_string()}}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": result}),
                ]),
                Self::Messages => messages.extend([
                    json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "lookup_order", "input": arguments}]}),
                    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
                ]),
                Self::Responses => messages.extend([
                    json!({"type": "function_call", "call_id": id, "name": "lookup_order", "arguments": arguments.to_string()}),
                    json!({"type": "function_call_output", "call_id": id, "output": result}),
                ]),
                Self::Gemini => messages.extend([
                    json!({"role": "model", "parts": [{"functionCall": {"name": "lookup_order", "args": arguments}}]}),
                    json!({"role": "user", "parts": [{"functionResponse": {"name": "lookup_order", "response": {"result": result}}}]}),
                ]),
                Self::Ollama => messages.extend([
                    json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "lookup_order", "arguments": arguments}}]}),
                    json!({"role": "tool", "tool_name": "lookup_order", "content": result}),
                ]),
            }
        }
        match self {
            Self::Chat => json!({"model": "gpt-5", "temperature": 0.5, "messages": messages, "tools": tools}),
            Self::Ollama => {
                json!({"model": "llama-4", "options": {"temperature": 0.5}, "messages": messages, "tools": tools})
            }
            Self::Messages => {
                json!({"model": "claude-x", "max_tokens": 500, "temperature": 0.5, "system": SYSTEM, "messages": messages, "tools": tools})
            }
            Self::Responses => {
                json!({"model": "gpt-5", "temperature": 0.5, "instructions": SYSTEM, "input": messages, "tools": tools})
            }
            Self::Gemini => json!({"contents": messages, "systemInstruction": {"parts": [{"text": SYSTEM}]},
                "tools": [{"functionDeclarations": tools}], "generationConfig": {"temperature": 0.5}}),
        }
    }

    /// Where the system prompt, the first message of the user, the last result and the tools are, as a JSON pointer.
    fn places(self, call: u64) -> Places {
        let results = |list: &str, first: u64, rest: &str| {
            (call > 1).then(|| format!("/{list}/{}{rest}", first + 2 * (call - 1) - 1))
        };
        let (system, user, result, tools, temperature) = match self {
            Self::Chat => (
                "/messages/0/content",
                "/messages/1/content",
                results("messages", 2, "/content"),
                "/tools",
                "/temperature",
            ),
            Self::Ollama => (
                "/messages/0/content",
                "/messages/1/content",
                results("messages", 2, "/content"),
                "/tools",
                "/options/temperature",
            ),
            Self::Messages => (
                "/system",
                "/messages/0/content/0/text",
                results("messages", 1, "/content/0/content"),
                "/tools",
                "/temperature",
            ),
            Self::Responses => (
                "/instructions",
                "/input/0/content",
                results("input", 1, "/output"),
                "/tools",
                "/temperature",
            ),
            Self::Gemini => (
                "/systemInstruction/parts/0/text",
                "/contents/0/parts/0/text",
                results("contents", 1, "/parts/0/functionResponse/response/result"),
                "/tools/0/functionDeclarations",
                "/generationConfig/temperature",
            ),
        };
        Places {
            system,
            user,
            result,
            tools,
            temperature,
        }
    }
}

struct Places {
    system: &'static str,
    user: &'static str,
    result: Option<String>,
    tools: &'static str,
    temperature: &'static str,
}

fn cassette(shape: Shape) -> Arc<Cassette> {
    let exchanges = (1..=CALLS).map(|number| RecordedExchange {
        number,
        api: Some(shape.api()),
        provider: "openai".to_owned(),
        method: "POST".to_owned(),
        path: shape.path().to_owned(),
        query: String::new(),
        request: Some(shape.request(number)),
        response: RecordedResponse {
            status: 200,
            headers: Vec::new(),
            body: RecordedBody::Text(format!("{{\"id\": \"{}\"}}", Shape::id(number))),
            breaks_off: false,
            is_cut: false,
            hides_usage: false,
        },
        replaced: Vec::new(),
        repeats: false,
    });
    Arc::new(Cassette {
        path: "c.jsonl".into(),
        head: Head::default(),
        rules: Rules::default(),
        exchanges: exchanges.collect(),
        is_torn: false,
    })
}

#[test]
fn an_exchange_without_content_hides_no_equal_one() {
    let shape = SHAPES[0];
    let mut twice = Arc::unwrap_or_clone(cassette(shape));
    let mut again = twice.exchanges[0].clone();
    twice.exchanges[0].response.is_cut = true;
    again.number = 99;
    twice.exchanges.push(again);
    let pool = Pool::new(Arc::new(twice), false);
    let place = Place {
        api: Some(shape.api()),
        method: "POST",
        path: shape.path(),
        query: "",
    };
    let request = pool.normalise(place, Some(&shape.request(1)));
    assert_eq!(pool.take(&request).map(|exchange| exchange.number).ok(), Some(99));
    assert!(pool.take(&request).is_err(), "the other one has no content");
}

/// The number of the exchange that answers, or the miss.
fn look_up(shape: Shape, body: Value) -> Result<u64, Box<Miss>> {
    let pool = Pool::new(cassette(shape), false);
    let place = Place {
        api: Some(shape.api()),
        method: "POST",
        path: shape.path(),
        query: "",
    };
    let body = Some(body);
    let request = pool.normalise(place, body.as_ref());
    pool.take(&request)
        .map(|exchange| exchange.number)
        .map_err(|unanswered| Box::new(pool.miss(&unanswered, &request, place, body.as_ref())))
}

/// A pointer as misses write it: `/messages/5/content` is `messages[5].content`.
fn path_of(pointer: &str) -> String {
    pointer.split('/').skip(1).fold(String::new(), |mut path, step| {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.extend(["[", step, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    })
}

fn edit(body: &mut Value, pointer: &str, change: impl FnOnce(&mut Value)) {
    change(
        body.pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{pointer} is not there")),
    );
}

fn replaced(value: &mut Value, from: &str, to: &str) {
    let text = value.as_str().unwrap().replace(from, to);
    *value = text.into();
}

/// Every text of the value, changed.
fn in_all_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_all_texts(item, change)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| in_all_texts(member, change)),
        _ => {}
    }
}

/// Changes that mean nothing: the recorded answer must come.
fn harmless(shape: Shape, call: u64, seed: u64) -> Vec<(&'static str, Value)> {
    let places = shape.places(call);
    let mut changes = Vec::new();
    let mut add = |what, change: &dyn Fn(&mut Value)| {
        let mut body = shape.request(call);
        change(&mut body);
        changes.push((what, body));
    };
    add("a date", &|body| {
        edit(body, places.system, |text| {
            replaced(
                text,
                "2026-11-23",
                &format!("2027-0{}-1{}", seed % 9 + 1, seed % 10),
            );
        });
    });
    add("a new session", &|body| {
        edit(body, places.system, |text| {
            replaced(text, "2f0a3a1b2c3d", &format!("2f0a3a1b{seed:04x}"));
        });
    });
    add("new identifiers", &|body| {
        in_all_texts(body, &|text| {
            text.replace("call_Xy12345678", &format!("call_Zz87654{seed:03}"))
        });
    });
    add("fields of an upgrade", &|body| {
        let more = json!({"metadata": {"release": seed}, "user": format!("u{seed}"), "stream_options": {"include_usage": true},
            "store": false, "service_tier": "auto", "prompt_cache_key": "k", "top_p": null});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
    });
    add("cache control", &|body| {
        edit(body, places.tools, |tools| {
            tools[0]["cache_control"] = json!({"type": "ephemeral"});
        });
    });
    add("tools in another order", &|body| {
        edit(body, places.tools, |tools| {
            tools.as_array_mut().unwrap().rotate_left(1 + (seed % 2) as usize);
        });
    });
    changes
}

/// Changes that mean something, and where each is.
fn meaningful(shape: Shape, call: u64, seed: u64) -> Vec<(&'static str, String, Value)> {
    let places = shape.places(call);
    let mut changes = Vec::new();
    let mut add = |what, pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut body = shape.request(call);
        change(&mut body);
        changes.push((what, path_of(pointer), body));
    };
    let words = ["politely", "in French", "never apologise", "be brief"];
    let word = words[usize::try_from(seed).unwrap() % words.len()];
    add("the system prompt", places.system, &|body| {
        edit(body, places.system, |text| {
            *text = format!("{} {word}", text.as_str().unwrap()).into();
        });
    });
    add("the question", places.user, &|body| {
        edit(body, places.user, |text| {
            *text = format!("What of order {seed}?").into();
        });
    });
    add("the temperature", places.temperature, &|body| {
        edit(body, places.temperature, |value| {
            *value = json!(0.25 + f64::from(u32::try_from(seed).unwrap()));
        });
    });
    let described = |position: u64| match shape {
        Shape::Chat | Shape::Ollama => format!("{}/{position}/function/description", places.tools),
        _ => format!("{}/{position}/description", places.tools),
    };
    let described = described(seed % 3);
    add("the definition of a tool", &described, &|body| {
        edit(body, &described, |text| {
            *text = format!("does more, {word}").into();
        });
    });
    let added = format!("{}/3", places.tools);
    add("a tool more", &added, &|body| {
        edit(body, places.tools, |tools| {
            let mut tool = tools[0].clone();
            let name = match shape {
                Shape::Chat | Shape::Ollama => &mut tool["function"]["name"],
                _ => &mut tool["name"],
            };
            *name = format!("delete_{seed}").into();
            tools.as_array_mut().unwrap().push(tool);
        });
    });
    if !matches!(shape, Shape::Gemini) {
        add("the model", "/model", &|body| {
            body["model"] = format!("other-{seed}").into();
        });
    }
    if let Some(result) = &places.result {
        add("the result of a tool", result, &|body| {
            edit(body, result, |text| {
                *text = format!("order is lost {word}").into();
            });
        });
    }
    changes
}

#[test]
fn harmless_changes_are_answered_and_others_named() {
    let mut count = 0;
    for shape in SHAPES {
        for call in 1..=CALLS {
            for seed in 0..2 {
                for (what, body) in harmless(shape, call, seed) {
                    count += 1;
                    match look_up(shape, body) {
                        Ok(number) => assert_eq!(number, call, "{shape:?} {call} {what}"),
                        Err(miss) => panic!("{shape:?} call {call}, {what}: {miss}"),
                    }
                }
                for (what, path, body) in meaningful(shape, call, seed) {
                    count += 1;
                    match look_up(shape, body) {
                        Ok(_) => panic!("{shape:?} call {call}: {what} went unnoticed"),
                        Err(miss) => {
                            let nearest = miss.nearest.as_ref().unwrap_or_else(|| panic!("{miss}"));
                            assert_eq!(
                                nearest.difference.path, path,
                                "{shape:?} call {call}, {what}: {miss}"
                            );
                            assert_eq!(nearest.number, call, "{shape:?} call {call}, {what}: {miss}");
                            assert_eq!(nearest.places, 1, "{shape:?} call {call}, {what}: {miss}");
                        }
                    }
                }
            }
        }
    }
    assert!(count >= 500, "{count} mutations");
}

#[test]
fn the_order_of_messages_and_of_identifiers_counts() {
    for shape in SHAPES {
        for call in 3..=CALLS {
            let mut swapped = shape.request(call);
            let list = ["messages", "input", "contents"]
                .into_iter()
                .find(|list| swapped.get(*list).is_some())
                .unwrap();
            let messages = swapped[list].as_array_mut().unwrap();
            let end = messages.len() - 1;
            messages.swap(end, end - 2);
            match look_up(shape, swapped) {
                Err(miss) => {
                    let path = miss.nearest.unwrap().difference.path;
                    assert!(
                        path.starts_with(&format!("{list}[{}]", end - 2)),
                        "{shape:?} {call}: {path}"
                    );
                }
                Ok(_) => panic!("{shape:?} {call}: swapped messages went unnoticed"),
            }
        }
    }
}

#[test]
fn what_comes_from_a_tool_is_named_with_its_call() {
    for shape in SHAPES {
        let places = shape.places(3);
        let mut body = shape.request(3);
        edit(&mut body, places.result.as_deref().unwrap(), |text| {
            *text = "gone".into();
        });
        let Err(miss) = look_up(shape, body) else {
            panic!("{shape:?}")
        };
        let text = miss.to_string();
        // Gemini and Ollama have no identifiers, so that the call is not known.
        let origin = match shape {
            Shape::Gemini | Shape::Ollama => "(result of tool lookup_order)",
            _ => "(result of tool lookup_order, call 2)",
        };
        assert!(text.contains(origin), "{text}");
    }
}
