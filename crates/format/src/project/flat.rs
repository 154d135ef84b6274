//! Lists that are spelt key by key, `llm.input_messages.0.message.role`, as the lists that they are (capture, section 1).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::vocabulary::WRAPPERS;

/// Keys nested deeper are left out.
const MAX_DEPTH: usize = 16;

/// The list behind a key, its items in the order of their numbers, whatever numbers are missing; `None` where there is none.
pub(super) fn list(attributes: &Map<String, Value>, key: &str) -> Option<Value> {
    let mut items = PathTree::default();
    for (path, value) in attributes {
        let path = path.strip_prefix(key).and_then(|path| path.strip_prefix('.'));
        if let Some(path) = path.filter(|_| !value.is_null()) {
            items.insert(path, value);
        }
    }
    match items.into_value() {
        Value::Array(items) => {
            let items = items.into_iter().map(unwrapped).filter(has_content);
            let items: Vec<Value> = items.map(without_repeated_text).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        _ => None,
    }
}

/// Returns whether an item has content: some emitters write the role of an answer that never came.
fn has_content(item: &Value) -> bool {
    item.as_object()
        .is_none_or(|message| message.keys().any(|key| key != "role"))
}

/// A message without its text, where its parts are that text: some emitters write it both ways.
fn without_repeated_text(mut message: Value) -> Value {
    let texts = message.get("contents").and_then(Value::as_array).map(|parts| {
        let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
        texts.collect::<String>()
    });
    let text = message.get("content").and_then(Value::as_str);
    let is_repeated = text.is_some() && text == texts.as_deref();
    if let Some(map) = message.as_object_mut().filter(|_| is_repeated) {
        map.remove("content");
    }
    message
}

/// Values by paths.
#[derive(Default)]
struct PathTree<'a> {
    value: Option<&'a Value>,
    fields: BTreeMap<&'a str, PathTree<'a>>,
}

impl<'a> PathTree<'a> {
    /// Adds a value; the first one at a place stays, and a value has no fields.
    fn insert(&mut self, path: &'a str, value: &'a Value) {
        if path.split('.').take(MAX_DEPTH + 1).count() > MAX_DEPTH {
            return;
        }
        let mut place = self;
        for field in path.split('.') {
            if place.value.is_some() {
                return;
            }
            place = place.fields.entry(field).or_default();
        }
        if place.fields.is_empty() {
            place.value.get_or_insert(value);
        }
    }

    /// The value; fields that are numbered are a list, in the order of their numbers. The numbers may be of any size.
    fn into_value(self) -> Value {
        if let Some(value) = self.value {
            return value.clone();
        }
        let mut numbered = Vec::new();
        let mut named = Map::new();
        for (key, tree) in self.fields {
            match key.parse::<u64>() {
                Ok(number) => numbered.push((number, tree)),
                Err(_) => drop(named.insert(key.to_owned(), tree.into_value())),
            }
        }
        if numbered.is_empty() {
            return Value::Object(named);
        }
        numbered.sort_by_key(|(number, _)| *number);
        Value::Array(numbered.into_iter().map(|(_, tree)| tree.into_value()).collect())
    }
}

/// An item without the objects around it and its parts, which only the spelling needs.
fn unwrapped(item: Value) -> Value {
    match item {
        Value::Array(items) => Value::Array(items.into_iter().map(unwrapped).collect()),
        Value::Object(mut map) => {
            if map.len() == 1
                && let Some(wrapper) = WRAPPERS.iter().find(|wrapper| map.contains_key(**wrapper))
                && let Some(inner @ Value::Object(_)) = map.remove(*wrapper)
            {
                return unwrapped(inner);
            }
            Value::Object(
                map.into_iter()
                    .map(|(key, value)| (key, unwrapped(value)))
                    .collect(),
            )
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list_of(value: Value) -> Option<Value> {
        let Value::Object(attributes) = value else {
            return None;
        };
        list(&attributes, "llm.input_messages")
    }

    #[test]
    fn a_text_that_is_written_twice_is_read_once() {
        let stored = json!({
            "llm.input_messages.0.message.role": "assistant",
            "llm.input_messages.0.message.content": "Oslo: 7 C",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "Oslo: 7 C",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": "Look:",
            "llm.input_messages.1.message.contents.0.message_content.type": "image",
        });
        assert_eq!(
            list_of(stored),
            Some(json!([
                {"role": "assistant", "contents": [{"type": "text", "text": "Oslo: 7 C"}]},
                {"role": "user", "content": "Look:", "contents": [{"type": "image"}]},
            ]))
        );
    }

    #[test]
    fn a_role_alone_is_no_message() {
        assert_eq!(
            list_of(json!({"llm.input_messages.0.message.role": "assistant"})),
            None
        );
    }

    #[test]
    fn items_come_in_the_order_of_their_numbers() {
        let stored = json!({
            "llm.input_messages.10.message.role": "assistant",
            "llm.input_messages.10.message.tool_calls.0.tool_call.id": "c1",
            "llm.input_messages.10.message.tool_calls.0.tool_call.function.name": "ls",
            "llm.input_messages.2.message.role": "user",
            "llm.input_messages.2.message.contents.1.message_content.text": "b",
            "llm.input_messages.2.message.contents.0.message_content.text": "a",
            "llm.input_messages.18446744073709551615.message.content": "far",
            "llm.input_messages_of.0": "another",
        });
        assert_eq!(
            list_of(stored),
            Some(json!([
                {"role": "user", "contents": [{"text": "a"}, {"text": "b"}]},
                {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls"}}]},
                {"content": "far"},
            ]))
        );
    }

    #[test]
    fn malformed_keys_lose_nothing_else() {
        let stored = json!({
            "llm.input_messages.0": "text",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.x.message.role": "user",
            "llm.input_messages.": 1,
            "llm.input_messages.-1": 2,
            "llm.input_messages.1.message.content": null,
            (format!("llm.input_messages.3{}", ".a".repeat(10_000))): 3,
        });
        assert_eq!(list_of(stored), Some(json!(["text"])));
        assert_eq!(list_of(json!({"llm.input_messages": [1]})), None);
        assert_eq!(list_of(json!({})), None);
    }
}
