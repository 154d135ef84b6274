//! A prompt or an answer as messages with roles and parts, whatever shape the provider gives them.

use serde_json::Value;

use crate::value_lines::unpacked;

/// What somebody said in one go.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who: `system`, `user`, `assistant`, `tool`, or whatever the provider says.
    pub role: String,
    /// What.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// What was said.
    Text(String),
    /// What was thought and not said.
    Thinking(String),
    /// A tool that is to be called.
    Call {
        /// Its name.
        name: String,
        /// What it is given.
        arguments: Value,
    },
    /// What a tool gave.
    Result(Value),
    /// Something else: an image, a document, a shape that is not known.
    Other(Value),
}

/// Where providers keep the list of messages.
const LISTS: [&str; 6] = ["messages", "value", "input", "contents", "output", "choices"];
/// Where they keep what stands before it.
const INSTRUCTIONS: [&str; 3] = ["system_instructions", "system", "instructions"];

/// The messages of a prompt.
pub fn prompt(prompt: &Value) -> Vec<Message> {
    messages(prompt, "user")
}

/// The messages of an answer.
pub fn response(response: &Value) -> Vec<Message> {
    messages(response, "assistant")
}

fn messages(value: &Value, role: &str) -> Vec<Message> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(|item| message(item, role)).collect(),
        Value::Object(map) => {
            let instructions = INSTRUCTIONS.into_iter().filter_map(|key| map.get(key));
            let mut found: Vec<Message> = instructions
                .filter(|value| value.is_string() || value.is_array())
                .map(|value| Message {
                    role: "system".to_owned(),
                    parts: content(value),
                })
                .collect();
            match LISTS.into_iter().find_map(|key| map.get(key)?.as_array()) {
                Some(list) => found.extend(list.iter().map(|item| message(item, role))),
                None => found.push(message(value, role)),
            }
            found
        }
        other => vec![message(other, role)],
    }
}

/// One message; `role` is whose it is when it does not say.
fn message(value: &Value, role: &str) -> Message {
    // OpenAI's choices and Gemini's candidates wrap the message.
    let inner = value
        .get("message")
        .or_else(|| {
            value
                .get("content")
                .filter(|content| content.get("parts").is_some())
        })
        .unwrap_or(value);
    let kind = inner.get("type").and_then(Value::as_str);
    let told = inner.get("role").and_then(Value::as_str);
    let role = match kind {
        Some("function_call" | "reasoning") => "assistant",
        Some("function_call_output") => "tool",
        _ => told.unwrap_or(role),
    };
    let mut parts = Vec::new();
    for key in ["reasoning_content", "reasoning", "thinking"] {
        if kind.is_none()
            && let Some(text) = inner.get(key).and_then(Value::as_str)
        {
            parts.push(Part::Thinking(text.to_owned()));
        }
    }
    match ["content", "parts"].into_iter().find_map(|key| inner.get(key)) {
        Some(said) if kind.is_none_or(|kind| kind == "message") => {
            let said = content(said);
            let is_result = role == "tool" || role == "function";
            parts.extend(said.into_iter().map(|part| match part {
                Part::Text(text) if is_result => Part::Result(Value::String(text)),
                part => part,
            }));
        }
        _ if kind.is_some() || inner.is_string() || inner.get("text").is_some() => parts.extend(part(inner)),
        _ => {}
    }
    let calls = inner.get("tool_calls").and_then(Value::as_array);
    parts.extend(calls.into_iter().flatten().map(call));
    if parts.is_empty() && !inner.get("content").is_some_and(Value::is_null) {
        parts.push(Part::Other(inner.clone()));
    }
    Message {
        role: role.to_owned(),
        parts,
    }
}

fn content(value: &Value) -> Vec<Part> {
    match value {
        Value::Array(items) => items.iter().filter_map(part).collect(),
        other => part(other).into_iter().collect(),
    }
}

/// A part of a content; `None` for one that says nothing.
fn part(value: &Value) -> Option<Part> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| value.get(*key)).cloned();
    let text = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| value.get(*key)?.as_str())
            .map(str::to_owned)
    };
    match value {
        Value::Null => return None,
        Value::String(text) => return (!text.is_empty()).then(|| Part::Text(text.clone())),
        _ => {}
    }
    if value.get("functionCall").is_some() {
        return value.get("functionCall").map(call);
    }
    if let Some(response) = value.pointer("/functionResponse/response") {
        return Some(Part::Result(response.clone()));
    }
    match value.get("type").and_then(Value::as_str) {
        Some("thinking" | "reasoning" | "redacted_thinking") => Some(Part::Thinking(
            text(&["thinking", "text", "content"]).unwrap_or_else(|| summary_text(value)),
        )),
        Some("tool_use" | "tool_call" | "function_call" | "function") => Some(call(value)),
        Some("tool_result" | "tool_call_response" | "function_call_output") => Some(Part::Result(
            first(&["content", "response", "output", "result"]).unwrap_or_default(),
        )),
        _ => Some(text(&["text", "content"]).map_or_else(|| Part::Other(value.clone()), Part::Text)),
    }
}

/// The summaries of a thought that is kept to itself.
fn summary_text(value: &Value) -> String {
    let parts = value.get("summary").and_then(Value::as_array);
    let texts = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn call(value: &Value) -> Part {
    let function = value.get("function").unwrap_or(value);
    let arguments = ["arguments", "input", "args"]
        .into_iter()
        .find_map(|key| function.get(key))
        .cloned()
        .unwrap_or_default();
    let arguments = match &arguments {
        Value::String(text) => unpacked(text).unwrap_or(arguments),
        _ => arguments,
    };
    Part::Call {
        name: function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("(unnamed)")
            .to_owned(),
        arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(messages: &[Message]) -> Vec<String> {
        messages
            .iter()
            .map(|message| {
                let parts: Vec<String> = message
                    .parts
                    .iter()
                    .map(|part| match part {
                        Part::Text(text) => text.clone(),
                        Part::Thinking(text) => format!("({text})"),
                        Part::Call { name, arguments } => format!("{name}{arguments}"),
                        Part::Result(value) => format!("= {value}"),
                        Part::Other(value) => format!("? {value}"),
                    })
                    .collect();
                format!("{}: {}", message.role, parts.join(" | "))
            })
            .collect()
    }

    #[test]
    fn prompts_of_every_provider_are_messages() {
        let cases = [
            (json!("Hello"), vec!["user: Hello"]),
            (json!(null), vec![]),
            (
                json!({"messages": [
                    {"role": "system", "content": "Be kind"},
                    {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image", "source": 1}]},
                    {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "ls", "arguments": "{\"path\":\"/\"}"}}]},
                    {"role": "tool", "content": "3 files"},
                ]}),
                vec![
                    "system: Be kind",
                    "user: Hello | ? {\"source\":1,\"type\":\"image\"}",
                    "assistant: ls{\"path\":\"/\"}",
                    "tool: = \"3 files\"",
                ],
            ),
            (
                json!({"system": "Be kind", "messages": [{"role": "user", "content": [{"type": "tool_result", "content": "3 files"}]}]}),
                vec!["system: Be kind", "user: = \"3 files\""],
            ),
            (
                json!({"system_instructions": [{"type": "text", "content": "Be kind"}], "messages": [
                    {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
                    {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"n": 3}}]},
                ]}),
                vec!["system: Be kind", "user: Hello", "tool: = {\"n\":3}"],
            ),
            (
                json!({"input": [{"role": "user", "content": "Hello"}, {"type": "function_call", "name": "ls", "arguments": "{}"}, {"type": "function_call_output", "output": "3"}]}),
                vec!["user: Hello", "assistant: ls{}", "tool: = \"3\""],
            ),
            (json!({"question": "why"}), vec!["user: ? {\"question\":\"why\"}"]),
        ];
        for (value, expected) in cases {
            assert_eq!(told(&prompt(&value)), expected, "{value}");
        }
    }

    #[test]
    fn answers_of_every_provider_are_messages() {
        let cases = [
            (json!("Done."), vec!["assistant: Done."]),
            (
                json!({"choices": [{"message": {"role": "assistant", "content": "Done.", "reasoning_content": "Hm"}}]}),
                vec!["assistant: (Hm) | Done."],
            ),
            (
                json!({"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "tool_use", "name": "ls", "input": {"a": 1}}]}),
                vec!["assistant: (Hm) | ls{\"a\":1}"],
            ),
            (
                json!({"output": [{"type": "reasoning", "summary": [{"text": "Hm"}]}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]}),
                vec!["assistant: (Hm)", "assistant: Done."],
            ),
            (
                json!({"role": "model", "content": {"parts": [{"text": "Done."}, {"functionCall": {"name": "ls", "args": {}}}]}}),
                vec!["assistant: Done. | ls{}"],
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(told(&response(&value)), expected, "{value}");
        }
    }
}
