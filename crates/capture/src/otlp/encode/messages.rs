//! Messages as the GenAI conventions store them: a JSON text of
//! `[{"role": …, "parts": [{"type": "text", "content": …}]}]`.

use serde_json::{Map, Value, json};
use tracer_insight::conversation::{Media, MediaSource, Message, MessagePart, Role};

/// The messages, as a text; null when there are none.
pub(super) fn stored(messages: &[Message], finish_reason: Option<&str>) -> Value {
    if messages.is_empty() {
        return Value::Null;
    }
    let messages = messages.iter().map(|message| {
        let parts: Vec<Value> = message.parts.iter().map(part).collect();
        object([
            ("role", Some(json!(role(message)))),
            ("name", message.name.as_ref().map(|name| json!(name))),
            ("parts", Some(json!(parts))),
            ("finish_reason", finish_reason.map(|reason| json!(reason))),
        ])
    });
    json!(Value::Array(messages.collect()).to_string())
}

/// The conventions' word for a role; results are always the tool's.
fn role(message: &Message) -> &str {
    match (&message.role, message.speaker()) {
        (Role::Other(word), _) => word,
        (_, speaker) => speaker.as_str(),
    }
}

fn part(part: &MessagePart) -> Value {
    match part {
        MessagePart::Text(text) => json!({"type": "text", "content": text}),
        MessagePart::Reasoning(text) => json!({"type": "reasoning", "content": text}),
        MessagePart::Refusal(text) => json!({"type": "refusal", "content": text}),
        MessagePart::ToolCall { id, name, arguments } => object([
            ("type", Some(json!("tool_call"))),
            ("id", id.as_ref().map(|id| json!(id))),
            ("name", Some(json!(name))),
            ("arguments", (!arguments.is_null()).then(|| arguments.clone())),
        ]),
        MessagePart::ToolResult {
            id,
            name,
            value,
            is_error,
        } => object([
            ("type", Some(json!("tool_call_response"))),
            ("id", id.as_ref().map(|id| json!(id))),
            ("name", name.as_ref().map(|name| json!(name))),
            ("response", Some(value.clone())),
            ("is_error", is_error.then(|| json!(true))),
        ]),
        MessagePart::Media(media) => media_part(media),
        MessagePart::Unknown(value) if value["type"].is_string() => value.clone(),
        MessagePart::Unknown(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            json!({"type": "text", "content": text})
        }
    }
}

fn media_part(media: &Media) -> Value {
    let (part_type, key, source) = match &media.source {
        MediaSource::Data(data) => ("blob", "content", data),
        MediaSource::Uri(uri) => ("uri", "uri", uri),
        MediaSource::FileId(id) => ("file", "file_id", id),
    };
    object([
        ("type", Some(json!(part_type))),
        ("modality", Some(json!(media.kind.as_str()))),
        (
            "mime_type",
            media.media_type.as_ref().map(|media_type| json!(media_type)),
        ),
        ("name", media.name.as_ref().map(|name| json!(name))),
        (key, Some(json!(source))),
    ])
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter();
    let known: Map<String, Value> = fields
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect();
    Value::Object(known)
}

#[cfg(test)]
mod tests {
    use tracer_insight::conversation::{answer_messages, prompt_messages};

    use super::*;

    fn input(prompt: &Value) -> Value {
        stored(&prompt_messages(prompt), None)
    }

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
            parsed(&stored(&answer_messages(&json!("Hi")), Some("stop"))),
            json!([{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}], "finish_reason": "stop"}])
        );
        assert_eq!(input(&Value::Null), Value::Null);
    }

    #[test]
    fn calls_results_and_media_are_kept() {
        let prompt = json!({"value": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{\"path\":\"/\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "3 files"},
        ]});
        assert_eq!(
            parsed(&input(&prompt)),
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be brief"}]},
                {"role": "user", "parts": [
                    {"type": "text", "content": "Hello"}, {"type": "uri", "modality": "image", "uri": "https://x.test/a.png"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"path": "/"}}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 files"}]},
            ])
        );
    }

    #[test]
    fn messages_of_the_conventions_stay_as_they_are() {
        let messages = json!([
            {"role": "user", "parts": [{"type": "text", "content": "Hello"}, {"type": "of_tomorrow", "mood": "good"}]},
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm"}, {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"a": 1}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"n": 3}}]},
        ]);
        assert_eq!(parsed(&input(&json!({"value": messages}))), messages);
    }

    #[test]
    fn whatever_else_is_stored_is_json_text() {
        let prompt = json!({"value": [1, 2]});
        assert_eq!(parsed(&input(&prompt))[0]["parts"][0]["content"], "[1,2]");
    }
}
