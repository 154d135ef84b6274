//! A request as it is compared: what the model sees, without what differs from one recording to the next
//! (capture, section 6). Both the recorded request and the current one pass through here.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::recorded::RecordedExchange;
use super::rules::Rules;
use super::shapes::{self, MarkedPiece};
use super::tool_results;
use crate::exchange::{IncomingRequest, kept_query};
use tracer_providers::ModelApi;

/// Members of a request that say nothing to the model.
const IGNORED: [&str; 16] = [
    "client_metadata",
    "extra_headers",
    "keep_alive",
    "labels",
    "metadata",
    "project",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "session_id",
    "store",
    "stream_options",
    "user",
    "user_prompt_id",
    "background",
];
/// Members that say nothing to the model, wherever they are.
const IGNORED_ANYWHERE: [&str; 3] = [
    "cache_control",
    "cacheControl",
    // Codex's: when a message was written, and in which turn.
    "internal_chat_message_metadata_passthrough",
];
/// Members whose values are identifiers, whatever their shape.
const IDENTIFIERS: [&str; 8] = [
    "call_id",
    "item_id",
    "previous_interaction_id",
    "previous_response_id",
    "response_id",
    "toolCallId",
    "tool_call_id",
    "tool_use_id",
];
/// An object with one of these members is a call or an item, and its `id` an identifier.
const BESIDE_ID: [&str; 4] = ["arguments", "function", "functionCall", "input"];
/// Members that hold seconds or milliseconds since 1970.
const CLOCKS: [&str; 6] = ["created", "created_at", "date", "time", "timestamp", "updated_at"];
/// Lists of tools, whose order says nothing.
pub(super) const TOOL_LISTS: [&str; 4] = [
    "functionDeclarations",
    "function_declarations",
    "functions",
    "tools",
];

/// A request ready to be compared.
#[derive(Debug, Clone)]
pub(super) struct NormalRequest {
    pub(super) api: Option<ModelApi>,
    /// Method, path and query, without the parts that do not count.
    pub(super) place: String,
    /// The body, with its identifiers marked.
    pub(super) body: Value,
    /// Digest that equal requests share.
    pub(super) key: RequestKey,
}

/// The digest of a request.
pub(super) type RequestKey = [u8; 32];

/// The parts of a request other than its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) api: Option<ModelApi>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn of(request: &IncomingRequest<'a>) -> Self {
        Self {
            api: request.api,
            method: request.method,
            path: request.path,
            query: request.query.unwrap_or_default(),
        }
    }
}

impl NormalRequest {
    /// A recorded request.
    pub(super) fn recorded(exchange: &RecordedExchange, rules: &Rules) -> Self {
        let place = Place {
            api: exchange.api,
            method: &exchange.method,
            path: &exchange.path,
            query: &exchange.query,
        };
        Self::new(place, exchange.request.as_ref(), rules)
    }

    pub(super) fn new(place: Place<'_>, request: Option<&Value>, rules: &Rules) -> Self {
        let mut body = request.cloned().unwrap_or_default();
        for pointer in &rules.ignore {
            pointer.remove_from(&mut body);
        }
        if rules.ignores_tool_results {
            tool_results::remove(&mut body);
        }
        if let Value::Object(members) = &mut body {
            members.retain(|key, _| !IGNORED.contains(&key.as_str()));
            // Code Assist wraps Gemini's request.
            if let Some(Value::Object(inner)) = members.get_mut("request") {
                inner.retain(|key, _| !IGNORED.contains(&key.as_str()));
            }
        }
        let body = marked(body, "", rules);
        let place_text = place_text(place);
        let key = digest(&place_text, &canonical(&body));
        Self {
            api: place.api,
            place: place_text,
            body,
            key,
        }
    }
}

/// The API or the method, and the parts of the path and the query that define the request. Of a model call the path
/// gives the model at most: clients disagree about versions and prefixes.
fn place_text(place: Place<'_>) -> String {
    let query = kept_query(place.query);
    let alternative = if query.contains("alt=sse") { " alt=sse" } else { "" };
    if let Some(api) = place.api {
        let model = api.model_in_path(place.path).unwrap_or_default();
        let is_streamed = place.path.ends_with(":streamGenerateContent");
        let streamed = if is_streamed { " streamed" } else { "" };
        return format!("{} {model}{streamed}{alternative}", api.name());
    }
    let is_version = |segment: &&str| {
        let digits = segment.strip_prefix('v').unwrap_or_default();
        digits.starts_with(|char: char| char.is_ascii_digit())
    };
    let segments = place
        .path
        .split('/')
        .filter(|segment| !segment.is_empty() && !is_version(segment));
    let path: Vec<&str> = segments.collect();
    let is_streamed = query.split('&').any(|pair| pair == "stream=true");
    let streamed = if is_streamed { " streamed" } else { "" };
    format!("{} /{}{alternative}{streamed}", place.method, path.join("/"))
}

/// The value without what is ignored everywhere and without nulls, its texts with identifiers marked and times masked.
fn marked(value: Value, key: &str, rules: &Rules) -> Value {
    match value {
        Value::String(text) => Value::String(marked_text(&text, key, rules)),
        Value::Number(number) if CLOCKS.contains(&key) && is_clock(number.as_f64()) => Value::from("‹time›"),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| marked(item, "", rules)).collect()),
        Value::Object(members) => {
            let has_id = BESIDE_ID.iter().any(|beside| members.contains_key(*beside))
                || members
                    .get("type")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| matches!(kind, "reasoning" | "message" | "item_reference"));
            let members = members
                .into_iter()
                .filter(|(key, value)| !value.is_null() && !IGNORED_ANYWHERE.contains(&key.as_str()));
            let members: Map<String, Value> = members
                .map(|(key, value)| {
                    let place = if has_id && key == "id" {
                        "tool_call_id"
                    } else {
                        key.as_str()
                    };
                    let value = marked(value, place, rules);
                    (key, value)
                })
                .collect();
            Value::Object(members)
        }
        other => other,
    }
}

fn marked_text(text: &str, key: &str, rules: &Rules) -> String {
    if IDENTIFIERS.contains(&key) && !text.is_empty() {
        return shapes::as_identifier(text);
    }
    // The date in a model's name is a part of the name.
    if key == "model" {
        return text.to_owned();
    }
    let text = embedded(text);
    shapes::marked(&text, &rules.mask).into_owned()
}

/// JSON in a text has one spelling: arguments of tools and their results are written by every library in its own way.
fn embedded(text: &str) -> String {
    let trimmed = text.trim();
    let is_wrapped = |open, close| trimmed.starts_with(open) && trimmed.ends_with(close);
    if !is_wrapped('{', '}') && !is_wrapped('[', ']') {
        return text.to_owned();
    }
    serde_json::from_str::<Value>(trimmed).map_or_else(|_| text.to_owned(), |value| value.to_string())
}

/// Seconds or milliseconds between 2001 and 2286.
fn is_clock(number: Option<f64>) -> bool {
    number.is_some_and(|number| (1e9..1e10).contains(&number) || (1e12..1e13).contains(&number))
}

/// The text of a request that is compared: tools in the order of their names, identifiers numbered by where they appear
/// first, so that renamed ones are equal and swapped ones are not.
fn canonical(body: &Value) -> String {
    let text = in_order(body, "").to_string();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut numbered = String::with_capacity(text.len());
    for piece in shapes::divided(&text) {
        match piece {
            MarkedPiece::Text(text) => numbered.push_str(text),
            MarkedPiece::Id(id) => {
                let next = numbers.len() + 1;
                let number = *numbers.entry(id).or_insert(next);
                let _ = write!(numbered, "‹id {number}›");
            }
        }
    }
    numbered
}

/// The value with its tools in the order of their names, and its numbers in one form.
fn in_order(value: &Value, key: &str) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<&Value> = items.iter().collect();
            if TOOL_LISTS.contains(&key) && items.iter().all(|item| tool_name(item).is_some()) {
                items.sort_by_key(|item| tool_name(item));
            }
            items.into_iter().map(|item| in_order(item, "")).collect()
        }
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, member)| (key.clone(), in_order(member, key)))
                .collect()
        }
        // 1 and 1.0 are one number.
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), Value::from),
        other => other.clone(),
    }
}

/// The name of an offered tool, or what it is.
pub(super) fn tool_name(tool: &Value) -> Option<&str> {
    let name = tool.get("name").or_else(|| tool.get("function")?.get("name"));
    name.or_else(|| tool.get("type"))?.as_str()
}

fn digest(place: &str, text: &str) -> RequestKey {
    let mut hash = Sha256::new();
    hash.update(place.as_bytes());
    hash.update([0]);
    hash.update(text.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(body: Value) -> RequestKey {
        let place = Place {
            api: Some(ModelApi::ChatCompletions),
            method: "POST",
            path: "/v1/chat/completions",
            query: "",
        };
        NormalRequest::new(place, Some(body).as_ref(), &Rules::default()).key
    }

    fn same(left: Value, right: Value) -> bool {
        key(left) == key(right)
    }

    #[test]
    fn what_says_nothing_to_the_model_is_ignored() {
        let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        for more in [
            json!({"user": "u", "metadata": {"a": 1}, "stream_options": {"include_usage": true}, "store": false}),
            json!({"temperature": null, "service_tier": "auto", "prompt_cache_key": "k"}),
            json!({"client_metadata": {"turn_id": "01a21d0a"}}),
            json!({"messages": [
                {"content": "hi", "role": "user", "internal_chat_message_metadata_passthrough": {"create_time": 1.5}},
            ]}),
            json!({"messages": [{"content": "hi", "role": "user", "cache_control": {"type": "ephemeral"}}]}),
        ] {
            let mut with = plain.clone();
            let members = more.as_object().unwrap().clone();
            with.as_object_mut().unwrap().extend(members);
            assert!(same(plain.clone(), with), "{more}");
        }
        for more in [
            json!({"temperature": 1}),
            json!({"model": "n"}),
            json!({"tool_choice": "auto"}),
            json!({"stream": true}),
        ] {
            let mut with = plain.clone();
            with.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            assert!(!same(plain.clone(), with), "{more}");
        }
    }

    #[test]
    fn renamed_identifiers_match_and_swapped_ones_do_not() {
        let with = |ids: [&str; 4]| {
            json!({"messages": [
                {"role": "assistant", "tool_calls": [
                    {"id": ids[0], "type": "function", "function": {"name": "a", "arguments": "{}"}},
                    {"id": ids[1], "type": "function", "function": {"name": "b", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": ids[2], "content": "1"},
                {"role": "tool", "tool_call_id": ids[3], "content": "2"}]})
        };
        let recorded = with([
            "call_aaaaaaaa1",
            "call_bbbbbbbb2",
            "call_aaaaaaaa1",
            "call_bbbbbbbb2",
        ]);
        assert!(same(recorded.clone(), with(["x", "y", "x", "y"])));
        assert!(!same(recorded, with(["x", "y", "y", "x"])));
    }

    #[test]
    fn the_order_of_tools_and_the_spelling_of_arguments_do_not_count() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        assert!(same(
            json!({"tools": [tool("a"), tool("b")]}),
            json!({"tools": [tool("b"), tool("a")]})
        ));
        assert!(!same(
            json!({"tools": [tool("a"), tool("b")]}),
            json!({"tools": [tool("a")]})
        ));
        assert!(same(
            json!({"messages": [{"content": "{\"a\": 1, \"b\": [2]}"}]}),
            json!({"messages": [{"content": "{\"b\":[2],\"a\":1}"}]})
        ));
        assert!(!same(
            json!({"messages": ["a", "b"]}),
            json!({"messages": ["b", "a"]})
        ));
    }

    #[test]
    fn a_model_is_its_whole_name() {
        assert!(!same(
            json!({"model": "gpt-4o-2024-08-06"}),
            json!({"model": "gpt-4o-2024-11-20"})
        ));
        assert!(same(
            json!({"messages": ["today is 2026-11-22"]}),
            json!({"messages": ["today is 2026-11-23"]})
        ));
        assert!(same(
            json!({"created_at": 1_790_000_000}),
            json!({"created_at": 1_790_000_001})
        ));
        assert!(!same(
            json!({"budget": 1_790_000_000}),
            json!({"budget": 1_790_000_001})
        ));
    }

    #[test]
    fn the_path_counts_as_far_as_it_says_what_is_asked() {
        let place = |api, path, query| {
            place_text(Place {
                api,
                method: "GET",
                path,
                query,
            })
        };
        let gemini = Some(ModelApi::GenerateContent);
        assert_eq!(
            place(gemini, "/v1beta/models/g:generateContent", "key=x"),
            place(gemini, "/v1/models/g:generateContent", "")
        );
        assert_ne!(
            place(gemini, "/v1beta/models/g:streamGenerateContent", "alt=sse"),
            place(gemini, "/v1beta/models/g:streamGenerateContent", "")
        );
        assert_eq!(place(None, "/v1/models", ""), place(None, "/models", ""));
    }
}
