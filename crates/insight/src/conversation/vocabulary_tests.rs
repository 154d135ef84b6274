//! Messages as other emitters send them, from span to conversation.

use proptest::prelude::*;
use serde_json::{Value, json};
use tracer_sdk::format::{SpanKind, SpanRecord, StatusCode};

use super::*;

/// The conversation of a model call with these attributes.
pub(super) fn conversation(stored: Value) -> Conversation {
    Conversation::from_payload(&record(stored).payload).expect("a model call")
}

/// The record of a span with these attributes.
pub(super) fn record(stored: Value) -> tracer_sdk::format::Record {
    let Value::Object(attributes) = stored else {
        panic!("no object")
    };
    let span = SpanRecord {
        trace_id: "10000000000000000000000000000001".parse().unwrap(),
        span_id: "2222222222222222".parse().unwrap(),
        parent_span_id: "1111111111111111".parse().ok(),
        name: "chat".to_owned(),
        kind: SpanKind::Client,
        start_time: "2026-01-01T00:00:00Z".parse().unwrap(),
        end_time: "2026-01-01T00:00:01Z".parse().ok(),
        duration_ms: Some(1000),
        attributes,
        events: Vec::new(),
        status_code: StatusCode::Ok,
        status_description: String::new(),
    };
    tracer_sdk::spans_to_events(&[span]).remove(0)
}

fn text(text: &str) -> MessagePart {
    MessagePart::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: Value) -> MessagePart {
    MessagePart::ToolCall {
        id: Some(id.to_owned()),
        name: name.to_owned(),
        arguments,
    }
}

fn result(id: &str, name: Option<&str>, value: Value) -> MessagePart {
    MessagePart::ToolResult {
        id: Some(id.to_owned()),
        name: name.map(str::to_owned),
        value,
        is_error: false,
    }
}

fn roles(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.role.as_str()).collect()
}

/// The parts of the only message of an input that holds these.
fn parts(given: &Value) -> Vec<MessagePart> {
    let stored = json!([{"role": "assistant", "parts": given}]).to_string();
    let mut prompt =
        conversation(json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": stored})).prompt;
    assert_eq!(prompt.len(), 1, "{prompt:?}");
    prompt.remove(0).parts
}

#[test]
fn every_part_of_the_conventions_is_understood() {
    let media = |kind, media_type: Option<&str>, source| {
        vec![MessagePart::Media(Media {
            kind,
            media_type: media_type.map(str::to_owned),
            name: None,
            source,
        })]
    };
    let cases = [
        (json!({"type": "text", "content": "Hi"}), vec![text("Hi")]),
        (
            json!({"type": "tool_call", "id": "c", "name": "t", "arguments": {"a": 1}}),
            vec![call("c", "t", json!({"a": 1}))],
        ),
        (
            json!({"type": "tool_call_response", "id": "c", "response": {"r": 1}}),
            vec![result("c", None, json!({"r": 1}))],
        ),
        (
            json!({"type": "tool_call_response", "id": "c", "result": "7 C"}),
            vec![result("c", None, json!("7 C"))],
        ),
        (
            json!({"type": "server_tool_call", "id": "c", "name": "web_search", "server_tool_call": {"type": "web_search", "query": "q"}}),
            vec![call(
                "c",
                "web_search",
                json!({"type": "web_search", "query": "q"}),
            )],
        ),
        (
            json!({"type": "server_tool_call_response", "id": "c", "server_tool_call_response": {"type": "web_search", "hits": 2}}),
            vec![result("c", None, json!({"type": "web_search", "hits": 2}))],
        ),
        (
            json!({"type": "reasoning", "content": "Hm"}),
            vec![MessagePart::Reasoning("Hm".to_owned())],
        ),
        (
            json!({"type": "thinking", "content": "Hm"}),
            vec![MessagePart::Reasoning("Hm".to_owned())],
        ),
        (
            json!({"type": "compaction", "content": "They met."}),
            vec![text("conversation compacted: They met.")],
        ),
        (
            json!({"type": "compaction", "id": "x"}),
            vec![text("conversation compacted")],
        ),
        (
            json!({"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGVsbG8="}),
            media(
                MediaKind::Image,
                Some("image/png"),
                MediaSource::Data("aGVsbG8=".to_owned()),
            ),
        ),
        (
            json!({"type": "file", "modality": "audio", "file_id": "f1"}),
            media(MediaKind::Audio, None, MediaSource::FileId("f1".to_owned())),
        ),
        (
            json!({"type": "uri", "modality": "video", "uri": "https://x.test/a"}),
            media(
                MediaKind::Video,
                None,
                MediaSource::Uri("https://x.test/a".to_owned()),
            ),
        ),
        (
            json!({"type": "redacted_thinking", "data": "secret"}),
            vec![MessagePart::Reasoning(String::new())],
        ),
        (
            json!({"type": "hologram", "content": 3}),
            vec![MessagePart::Unknown(json!({"type": "hologram", "content": 3}))],
        ),
    ];
    for (part, expected) in cases {
        assert_eq!(parts(&json!([part])), expected, "{part}");
    }
}

#[test]
fn valid_messages_in_other_forms_are_understood() {
    for stored in [
        json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}], "name": "Ada", "own": 1}]),
        json!({"messages": [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]}),
        json!({"role": "user", "parts": [{"type": "text", "content": "Hi"}]}),
        json!([{"role": "user", "content": "Hi"}]),
        json!([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]),
        json!([{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "Hi", "type": "human"}}]),
        json!([{"role": "user", "contents": [{"message_content": {"type": "text", "text": "Hi"}}]}]),
        json!([{"role": "user", "content": [{"text": "Hi"}]}]),
        json!("Hi"),
    ] {
        for native in [stored.clone(), json!(stored.to_string())] {
            let native = if stored.is_string() {
                stored.clone()
            } else {
                native
            };
            let prompt =
                conversation(json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": native}))
                    .prompt;
            assert_eq!(roles(&prompt), ["user"], "{stored}");
            assert_eq!(prompt[0].parts[0], text("Hi"), "{stored}");
        }
    }
}

#[test]
fn invalid_messages_lose_nothing_and_break_nothing() {
    for stored in [
        json!([{"role": 3, "parts": "Hi"}]),
        json!([{"parts": [null, 3, {"type": null}, {"type": "text"}]}]),
        json!([[[{"role": "user"}]]]),
        json!([{"role": "user", "parts": {"type": "text", "content": "Hi"}}]),
        json!("[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"content\": \"Hi__TRUNCATED__"),
        json!([{"role": "tool", "parts": [{"type": "tool_call_response"}]}]),
        json!(true),
    ] {
        let found = conversation(json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": stored}));
        let shown = format!("{:?}", found.prompt);
        assert_eq!(shown.contains("Hi"), stored.to_string().contains("Hi"), "{shown}");
    }
}

#[test]
fn conversations_of_other_vocabularies_read_alike() {
    let question = |found: &Conversation| {
        let last = found.prompt.last().unwrap();
        (last.role.clone(), last.parts.clone())
    };
    let asked = (Role::User, vec![text("Weather?")]);
    let answered = [call("c", "get_weather", json!({"city": "Oslo"}))];
    let table = [
        json!({
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "Weather?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"city\":\"Oslo\"}",
        }),
        json!({
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Weather?",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.id": "c",
            "gen_ai.completion.0.tool_calls.0.name": "get_weather",
            "gen_ai.completion.0.tool_calls.0.arguments": "{\"city\":\"Oslo\"}",
        }),
        json!({
            "ai.operationId": "ai.streamText.doStream",
            "ai.prompt.messages": "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Weather?\"}]}]",
            "ai.response.toolCalls": "[{\"toolCallId\":\"c\",\"toolName\":\"get_weather\",\"input\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}]",
        }),
        json!({
            "gcp.vertex.agent.llm_request": {"model": "m", "config": {"system_instruction": "Be brief."},
                "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
            "gcp.vertex.agent.llm_response": {"role": "model", "parts": [{"name": "get_weather", "args": {"city": "Oslo"}, "id": "c"}]},
            "gen_ai.operation.name": "generate_content",
        }),
        json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.system_instructions": "[{\"type\":\"text\",\"content\":\"Be brief.\"}]",
            "gen_ai.input.messages": "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Weather?\"}]}]",
            "gen_ai.output.messages": "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"c\",\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}],\"finish_reason\":\"tool_call\"}]",
        }),
        json!({
            "langsmith.span.kind": "llm",
            "gen_ai.prompt": {"messages": [[
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "SystemMessage"], "kwargs": {"content": "Be brief."}},
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "Weather?"}},
            ]]},
            "gen_ai.completion": {"generations": [[{"message": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
                "kwargs": {"content": "", "tool_calls": [{"id": "c", "name": "get_weather", "args": {"city": "Oslo"}, "type": "tool_call"}]}}}]]},
        }),
    ];
    for stored in table {
        let found = conversation(stored.clone());
        assert_eq!(roles(&found.prompt), ["system", "user"], "{stored}");
        assert_eq!(found.prompt[0].parts, [text("Be brief.")], "{stored}");
        assert_eq!(question(&found), asked, "{stored}");
        assert_eq!(roles(&found.answer), ["assistant"], "{stored}");
        assert_eq!(found.answer[0].parts, answered, "{stored}");
    }
}

proptest! {
    #[test]
    fn any_messages_are_read(text in "[\\[\\]{}\",:a-z ]{0,60}", key in "(gen_ai.input.messages|ai.prompt.messages|gen_ai.prompt|input.value)") {
        let found = conversation(json!({"gen_ai.operation.name": "chat", key: text}));
        prop_assert!(found.prompt.len() <= text.len());
    }
}
