//! What was said to a model and what it answered, as one short text, whatever shape the provider gives its messages.
//!
//! Providers agree on little: a prompt is a string, a list of messages, or an object that holds such a list; the text
//! of a message is a string or a list of parts. What fits none of this is told as any other value is.

use serde_json::Value;

use crate::step_summary;

/// Larger texts are not worth parsing for one line.
const LONGEST_JSON: usize = 64 * 1024;

/// What came in last: the text of the last message of the prompt, with its role unless the user said it.
pub fn prompt(prompt: &Value) -> String {
    let messages = ["messages", "value", "input", "contents"]
        .into_iter()
        .find_map(|key| prompt.get(key)?.as_array());
    let Some(last) = messages.and_then(|messages| messages.last()) else {
        return message(prompt).unwrap_or_else(|| step_summary::value(prompt));
    };
    let text = message(last).unwrap_or_else(|| step_summary::value(last));
    match last.get("role").and_then(Value::as_str) {
        None | Some("user") => text,
        Some(role) => format!("{}: {text}", step_summary::word(role)),
    }
}

/// What the model decided: its text, else the tools that it calls.
pub fn response(response: &Value) -> String {
    let answer = response
        .pointer("/choices/0/message")
        .or_else(|| response.get("message"))
        .unwrap_or(response);
    message(answer).unwrap_or_else(|| step_summary::value(response))
}

fn message(message: &Value) -> Option<String> {
    if let Value::String(text) = message {
        return Some(said(text));
    }
    let content = ["content", "text", "parts", "prompt"]
        .into_iter()
        .find_map(|key| message.get(key));
    content.and_then(content_text).or_else(|| called_tools(message))
}

/// The text of a content: a string, or the first part that has one; else the tools that the parts call.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(said(text)),
        Value::Array(parts) => parts
            .iter()
            .find_map(|part| match part {
                Value::String(text) => Some(said(text)),
                part => ["text", "content"]
                    .into_iter()
                    .find_map(|key| part.get(key)?.as_str())
                    .map(said),
            })
            .or_else(|| calls(parts)),
        _ => None,
    }
}

fn called_tools(message: &Value) -> Option<String> {
    calls(message.get("tool_calls")?.as_array()?)
}

/// A text in quotes; one that is itself JSON, as the results of tools are, by its fields.
fn said(text: &str) -> String {
    let may_be_json = text.len() <= LONGEST_JSON && text.trim_start().starts_with(['{', '[']);
    let json = may_be_json
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten();
    json.map_or_else(|| step_summary::quoted(text), |value| step_summary::value(&value))
}

/// `calls search_kb, read_file`.
fn calls(calls: &[Value]) -> Option<String> {
    let names: Vec<String> = calls
        .iter()
        .filter_map(|call| {
            call.pointer("/function/name")
                .or_else(|| call.get("name"))?
                .as_str()
        })
        .map(step_summary::word)
        .collect();
    (!names.is_empty()).then(|| format!("calls {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_prompt_is_told_by_its_last_message() {
        let cases = [
            (json!("Draft a reply"), r#""Draft a reply""#),
            (
                json!({"messages": [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hello"}]}),
                r#""Hello""#,
            ),
            (
                json!({"value": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}),
                r#""Hello""#,
            ),
            (
                json!({"messages": [{"role": "tool", "content": "3 files"}]}),
                r#"tool: "3 files""#,
            ),
            (
                json!({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "ls"}}]}]}),
                "assistant: calls ls",
            ),
            (
                json!({"messages": [{"role": "tool", "content": "{\"files\": [1, 2], \"total\": 2}"}]}),
                "tool: files=[2 items] total=2",
            ),
            (json!("{not json"), "\"{not json\""),
            (json!({"messages": []}), "messages=[]"),
            (json!({"question": "why"}), "question=why"),
            (json!(null), ""),
        ];
        for (value, text) in cases {
            assert_eq!(prompt(&value), text, "{value}");
        }
    }

    #[test]
    fn the_response_is_told_by_what_the_model_decided() {
        let cases = [
            (json!("Done."), r#""Done.""#),
            (json!({"content": "Done.", "role": "assistant"}), r#""Done.""#),
            (
                json!({"choices": [{"message": {"content": "Done."}}]}),
                r#""Done.""#,
            ),
            (
                json!({"content": "", "tool_calls": [{"function": {"name": "search"}}, {"name": "read"}]}),
                "calls search, read",
            ),
            (
                json!({"content": [{"type": "tool_use", "name": "search"}]}),
                "calls search",
            ),
            (json!({"score": 3}), "score=3"),
        ];
        for (value, text) in cases {
            assert_eq!(response(&value), text, "{value}");
        }
    }
}
