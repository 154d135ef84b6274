//! A prompt or an answer in one short text.

use serde_json::Value;

use crate::conversation::{
    Message, MessagePart, answer_messages, embedded_json, last_prompt_message, part_label,
};
use crate::value_summary;

/// Larger texts are not tried as JSON for one line, in bytes.
const MAX_JSON_BYTES: usize = 64 * 1024;

/// The last message of the prompt, with its role unless it is the user's.
pub fn prompt_summary(prompt: &Value) -> String {
    let Some(last) = last_prompt_message(prompt) else {
        return value_summary::summarize(prompt);
    };
    let text = summary(std::slice::from_ref(&last));
    match last.label().as_str() {
        "user" => text,
        label => format!("{}: {text}", value_summary::label(label)),
    }
}

/// The prompt ends with the result of a tool, which the step of the tool shows.
pub(super) fn ends_with_result(prompt: &Value) -> bool {
    last_prompt_message(prompt).is_some_and(|last| last.label() == "tool")
}

/// The decision of the model: the tools that it calls, else its text.
pub(super) fn answer_summary(answer: &Value) -> String {
    let messages = answer_messages(answer);
    if messages.is_empty() {
        return value_summary::summarize(answer);
    }
    summary(&messages)
}

/// The tools that are called; without any, the first text, else the first other part.
fn summary(messages: &[Message]) -> String {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let text = parts().find_map(|part| match part {
        MessagePart::Text(text) if !text.trim().is_empty() => Some(quoted(text)),
        _ => None,
    });
    let calls: Vec<(&str, &Value)> = parts()
        .filter_map(|part| match part {
            MessagePart::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments)),
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        return format!("calls {}", calls_summary(&calls));
    }
    let other = || {
        parts().find_map(|part| match part {
            MessagePart::ToolResult { value, .. } => Some(
                value
                    .as_str()
                    .map_or_else(|| value_summary::summarize(value), quoted),
            ),
            MessagePart::Refusal(text) => Some(quoted(text)),
            MessagePart::Unknown(value) => Some(value_summary::summarize(value)),
            MessagePart::Text(_) | MessagePart::ToolCall { .. } => None,
            part => part_label(part).map(|label| value_summary::label(&label.text)),
        })
    };
    text.or_else(other).unwrap_or_else(|| value_summary::quoted(""))
}

/// One call with its arguments, `read_file src/main.rs`; several by their names and numbers, `read_file ×3, search`.
fn calls_summary(calls: &[(&str, &Value)]) -> String {
    if let [(name, arguments)] = calls {
        let call = format!("{} {}", value_summary::label(name), arguments_summary(arguments));
        return call.trim_end().to_owned();
    }
    let mut names: Vec<(&str, usize)> = Vec::new();
    for (name, _) in calls {
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let words = names.into_iter().map(|(name, count)| match count {
        1 => value_summary::label(name),
        count => format!("{} ×{count}", value_summary::label(name)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Arguments in one line; an only one, if it is a text, without its name.
fn arguments_summary(arguments: &Value) -> String {
    let embedded = arguments.as_str().and_then(embedded_json);
    let arguments = embedded.as_ref().unwrap_or(arguments);
    let only = arguments.as_object().filter(|fields| fields.len() == 1);
    match only.and_then(|fields| fields.values().next()) {
        Some(text @ Value::String(_)) => value_summary::summarize(text),
        _ if arguments.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        _ => value_summary::summarize(arguments),
    }
}

/// A text in quotes; one that is itself JSON, as the results of tools are, by its fields.
fn quoted(text: &str) -> String {
    let json = (text.len() <= MAX_JSON_BYTES)
        .then(|| embedded_json(text))
        .flatten();
    json.map_or_else(
        || value_summary::quoted(text),
        |value| value_summary::summarize(&value),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_is_summed_up_by_its_last_message() {
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
            (
                json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}),
                r#""Hello""#,
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "gone"}]}]}),
                r#"tool: "gone""#,
            ),
            (json!({"messages": [{"role": "user", "content": ""}]}), r#""""#),
            (json!(null), ""),
        ];
        for (value, text) in cases {
            assert_eq!(prompt_summary(&value), text, "{value}");
        }
    }

    #[test]
    fn a_response_is_summed_up_by_what_the_model_decided() {
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
            (
                json!({"content": [{"type": "text", "text": "I read it."}, {"type": "tool_use", "name": "read_file", "input": {"path": "src/mod_7.rs"}}]}),
                "calls read_file src/mod_7.rs",
            ),
            (
                json!({"tool_calls": [{"function": {"name": "edit", "arguments": "{\"path\": \"a.rs\", \"line\": 3}"}}]}),
                "calls edit line=3 path=a.rs",
            ),
            (
                json!({"tool_calls": [{"name": "read"}, {"name": "search"}, {"name": "read"}]}),
                "calls read ×2, search",
            ),
            (json!({"score": 3}), "score=3"),
            (
                json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "ls", "args": {}}}]}}]}),
                "calls ls",
            ),
            (
                json!({"output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [{"type": "output_text", "text": "Done."}]}]}),
                r#""Done.""#,
            ),
            (
                json!({"content": [{"type": "thinking", "thinking": "Hm"}]}),
                "thinking, 2 characters",
            ),
        ];
        for (value, text) in cases {
            assert_eq!(answer_summary(&value), text, "{value}");
        }
    }
}
