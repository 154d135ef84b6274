//! Prompts and responses as the GenAI conventions store messages: a JSON text of
//! `[{"role": …, "parts": [{"type": "text", "content": …}]}]`.

use serde_json::{Value, json};

/// What the model was asked, as a text; null when nothing is known.
pub(super) fn input(prompt: &Value) -> Value {
    messages(prompt, "user", None)
}

/// What it answered, as a text; null when nothing is known.
pub(super) fn output(response: &Value, finish_reason: Option<&str>) -> Value {
    messages(response, "assistant", finish_reason)
}

fn messages(value: &Value, role: &str, finish_reason: Option<&str>) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let mut messages = match chat_messages(value) {
        Some(messages) => messages.iter().map(|message| converted(message, role)).collect(),
        None => vec![message(role, &[text_part(value)])],
    };
    if let Some(reason) = finish_reason {
        for message in messages.iter_mut().filter_map(Value::as_object_mut) {
            message.insert("finish_reason".to_owned(), json!(reason));
        }
    }
    json!(Value::Array(messages).to_string())
}

/// The messages of a prompt that is a list of them, as most model APIs take it.
fn chat_messages(value: &Value) -> Option<&Vec<Value>> {
    let list = value.get("messages").or_else(|| value.get("value"))?.as_array()?;
    let is_message = |item: &Value| item.get("role").is_some_and(Value::is_string);
    (!list.is_empty() && list.iter().all(is_message)).then_some(list)
}

fn converted(source: &Value, role: &str) -> Value {
    if source.get("parts").is_some_and(Value::is_array) {
        return source.clone();
    }
    let role = source.get("role").and_then(Value::as_str).unwrap_or(role);
    let parts = match source.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(content) => vec![text_part(content)],
    };
    message(role, &parts)
}

fn message(role: &str, parts: &[Value]) -> Value {
    json!({"role": role, "parts": parts})
}

fn text_part(content: &Value) -> Value {
    let text = content
        .as_str()
        .map_or_else(|| content.to_string(), str::to_owned);
    json!({"type": "text", "content": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &Value) -> Value {
        serde_json::from_str(text.as_str().unwrap()).unwrap()
    }

    #[test]
    fn a_text_is_one_message_and_nothing_is_none() {
        assert_eq!(
            parsed(&input(&json!("Hello"))),
            json!([{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}])
        );
        assert_eq!(
            parsed(&output(&json!("Hi"), Some("stop"))),
            json!([{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}], "finish_reason": "stop"}])
        );
        assert_eq!(input(&Value::Null), Value::Null);
    }

    #[test]
    fn messages_keep_their_roles() {
        let prompt =
            json!({"value": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": ["a"]}]});
        assert_eq!(
            parsed(&input(&prompt)),
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be brief"}]},
                {"role": "user", "parts": [{"type": "text", "content": "[\"a\"]"}]},
            ])
        );
    }

    #[test]
    fn whatever_else_is_stored_is_told_as_json() {
        let prompt = json!({"value": [1, 2]});
        assert_eq!(
            parsed(&input(&prompt))[0]["parts"][0]["content"],
            r#"{"value":[1,2]}"#
        );
    }
}
