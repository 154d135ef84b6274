//! Every provider's shapes, and the rule that no text is lost.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Messages in short: `role: text | (reasoning) | name{arguments}#id | = result #id | [media] | ? unknown`.
fn short(messages: &[Message]) -> Vec<String> {
    let suffix = |id: &Option<String>| id.as_ref().map_or_else(String::new, |id| format!(" #{id}"));
    let part = |part: &MessagePart| match part {
        MessagePart::Text(text) => text.clone(),
        MessagePart::Reasoning(text) => format!("({text})"),
        MessagePart::ToolCall { id, name, arguments } => format!("{name}{arguments}{}", suffix(id)),
        MessagePart::ToolResult {
            id,
            name,
            value,
            is_error,
        } => {
            let name = name
                .as_deref()
                .map_or_else(String::new, |name| format!("{name} "));
            let sign = if *is_error { "!=" } else { "=" };
            format!("{name}{sign} {value}{}", suffix(id))
        }
        MessagePart::Media(media) => {
            let source = match &media.source {
                MediaSource::Data(_) => format!("{} bytes", media.size().unwrap()),
                MediaSource::Uri(uri) => uri.clone(),
                MediaSource::FileId(id) => format!("#{id}"),
            };
            let facts = [media.media_type.clone(), media.name.clone(), Some(source)];
            let facts: Vec<String> = facts.into_iter().flatten().collect();
            format!("[{} {}]", media.kind.as_str(), facts.join(" "))
        }
        MessagePart::Refusal(text) => format!("refuses: {text}"),
        MessagePart::Unknown(value) => format!("? {value}"),
    };
    messages
        .iter()
        .map(|message| {
            let parts: Vec<String> = message.parts.iter().map(part).collect();
            format!("{}: {}", message.label(), parts.join(" | "))
        })
        .collect()
}

#[track_caller]
fn assert_prompt(prompt: &Value, expected: &[&str]) {
    assert_eq!(short(&prompt_messages(prompt)), expected, "{prompt:#}");
}

#[track_caller]
fn assert_answer(answer: &Value, expected: &[&str]) {
    assert_eq!(short(&answer_messages(answer)), expected, "{answer:#}");
}

#[test]
fn plain_values() {
    assert_prompt(&json!(null), &[]);
    assert_prompt(&json!("Hello"), &["user: Hello"]);
    assert_prompt(&json!(["Hello", "there"]), &["user: Hello", "user: there"]);
    assert_prompt(&json!({"value": ["Hello"]}), &["user: Hello"]);
    assert_prompt(
        &json!({"prompt": "Hello", "system": "Be kind"}),
        &["system: Be kind", "user: Hello"],
    );
    assert_prompt(&json!({"question": "why"}), &[r#"user: ? {"question":"why"}"#]);
    assert_prompt(&json!({"value": 42}), &[r#"user: ? {"value":42}"#]);
    assert_prompt(&json!({"value": [101, 7592]}), &["user: ? [101,7592]"]);
    assert_answer(&json!("Done."), &["assistant: Done."]);
    assert_answer(
        &json!({"output": "Done.", "score": 3}),
        &[r#"assistant: ? {"output":"Done.","score":3}"#],
    );
}

#[test]
fn openai_chat_completions() {
    assert_prompt(
        &json!({
            "model": "gpt-5", "temperature": 0.2, "tools": [{"type": "function", "function": {"name": "ls"}}],
            "messages": [
                {"role": "developer", "content": "Be kind"},
                {"role": "user", "name": "Ada", "content": [
                    {"type": "text", "text": "Hello"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8=", "detail": "low"}},
                    {"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "wav"}},
                    {"type": "file", "file": {"file_id": "file_1", "filename": "a.pdf"}},
                ]},
                {"role": "assistant", "content": null, "refusal": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\"/\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_1", "content": "3 files"},
                {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
                {"role": "function", "name": "old", "content": "fine"},
            ],
        }),
        &[
            "developer: Be kind",
            "user (Ada): Hello | [image image/png 5 bytes] | [audio wav 5 bytes] | [file a.pdf #file_1]",
            r#"assistant: ls{"path":"/"} #call_1"#,
            r#"tool: = "3 files" #call_1"#,
            "assistant: old{}",
            r#"tool: old = "fine""#,
        ],
    );
    assert_answer(
        &json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-5", "system_fingerprint": "fp",
            "choices": [
                {"index": 0, "logprobs": null, "finish_reason": "stop", "message": {
                    "role": "assistant", "content": "Done.", "reasoning_content": "Hm", "refusal": null, "annotations": []}},
                {"index": 1, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "", "refusal": "No."}},
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        }),
        &["assistant: (Hm) | Done.", "assistant: refuses: No."],
    );
    assert_answer(
        &json!({"choices": [{"text": "Done.", "index": 0, "finish_reason": "length"}]}),
        &["assistant: Done."],
    );
    assert_answer(
        &json!({"choices": [{"delta": {"content": "Do"}}]}),
        &["assistant: Do"],
    );
}

#[test]
fn openai_responses() {
    assert_prompt(
        &json!({"instructions": "Be kind", "reasoning": {"effort": "low"}, "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}, {"type": "input_image", "image_url": "https://x.test/a.png"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "xx"},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}", "status": "completed"},
            {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        ]}),
        &[
            "system: Be kind",
            "user: Hello | [image https://x.test/a.png]",
            "assistant: (Hm)",
            "assistant: ls{} #call_1",
            r#"tool: = "3" #call_1"#,
        ],
    );
    assert_prompt(
        &json!({"instructions": "Be kind", "input": "Hello"}),
        &["system: Be kind", "user: Hello"],
    );
    assert_answer(
        &json!({
            "id": "resp_1", "object": "response", "status": "completed", "instructions": "Be kind", "text": {"format": {"type": "text"}},
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "refund"}},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                    {"type": "output_text", "text": "Done.", "annotations": []}, {"type": "refusal", "refusal": "No."}]},
            ],
        }),
        &[
            "assistant: ()",
            r#"assistant: web_search{"query":"refund"} #ws_1"#,
            "assistant: Done. | refuses: No.",
        ],
    );
}

#[test]
fn anthropic() {
    assert_prompt(
        &json!({
            "model": "claude", "max_tokens": 100,
            "system": [{"type": "text", "text": "Be kind", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}},
                    {"type": "document", "title": "Terms", "source": {"type": "text", "media_type": "text/plain", "data": "All rights reserved"}},
                    {"type": "text", "text": "Hello"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "xx"},
                    {"type": "redacted_thinking", "data": "xx"},
                    {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "/"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": [{"type": "text", "text": "no such directory"}]}]},
            ],
        }),
        &[
            "system: Be kind",
            r#"user: [image image/png 5 bytes] | All rights reserved | ? {"media_type":"text/plain","title":"Terms"} | Hello"#,
            r#"assistant: (Hm) | () | ls{"path":"/"} #toolu_1"#,
            r#"tool: != "no such directory" #toolu_1"#,
        ],
    );
    assert_answer(
        &json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use", "stop_sequence": null,
            "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"a": 1}}],
            "usage": {"input_tokens": 1}}),
        &[r#"assistant: (Hm) | ls{"a":1} #toolu_1"#],
    );
    // The content alone is one message.
    assert_answer(
        &json!({"value": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}),
        &["assistant: I look. | ls{} #t"],
    );
    assert_answer(
        &json!({"completion": " Done.", "stop_reason": "stop_sequence"}),
        &["assistant:  Done."],
    );
}

#[test]
fn gemini() {
    assert_prompt(
        &json!({
            "systemInstruction": {"parts": [{"text": "Be kind"}]},
            "generationConfig": {"temperature": 0},
            "contents": [
                {"role": "user", "parts": [{"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}},
                    {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b.mp4"}}]},
                {"role": "model", "parts": [{"text": "Hm", "thought": true}, {"functionCall": {"name": "ls", "args": {"path": "/"}}, "thoughtSignature": "xx"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"n": 3}}}]},
            ],
        }),
        &[
            "system: Be kind",
            "user: Hello | [image image/png 5 bytes] | [video video/mp4 gs://a/b.mp4]",
            r#"assistant: (Hm) | ls{"path":"/"}"#,
            r#"tool: ls = {"n":3}"#,
        ],
    );
    assert_answer(
        &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}, {"functionCall": {"name": "ls", "args": {}}}]},
            "finishReason": "STOP", "index": 0, "safetyRatings": []}], "usageMetadata": {"totalTokenCount": 3}, "modelVersion": "g"}),
        &["assistant: Done. | ls{}"],
    );
    assert_answer(
        &json!({"role": "model", "content": {"parts": [{"text": "Done."}]}}),
        &["assistant: Done."],
    );
}

#[test]
fn ollama() {
    assert_prompt(
        &json!({"model": "llama", "messages": [{"role": "user", "content": "What is it?", "images": ["aGVsbG8="]}], "options": {"seed": 1}}),
        &["user: What is it? | [image 5 bytes]"],
    );
    assert_answer(
        &json!({"model": "llama", "created_at": "2026", "done": true, "done_reason": "stop", "eval_count": 3,
            "message": {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [{"function": {"name": "ls", "arguments": {"path": "/"}}}]}}),
        &[r#"assistant: (Hm) | ls{"path":"/"}"#],
    );
    assert_answer(
        &json!({"model": "llama", "response": "Done.", "done": true}),
        &["assistant: Done."],
    );
}

#[test]
fn bedrock_converse() {
    assert_prompt(
        &json!({"modelId": "nova", "system": [{"text": "Be kind"}], "messages": [
            {"role": "user", "content": [{"text": "Hello"}, {"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "ls", "input": {"path": "/"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "3 files"}], "status": "error"}}]},
        ]}),
        &[
            "system: Be kind",
            "user: Hello | [image png 5 bytes]",
            r#"assistant: ls{"path":"/"} #t1"#,
            r#"tool: != "3 files" #t1"#,
        ],
    );
    assert_answer(
        &json!({"output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "xx"}}}, {"text": "Done."}]}},
            "stopReason": "end_turn", "usage": {"inputTokens": 1}, "metrics": {"latencyMs": 1}}),
        &["assistant: (Hm) | Done."],
    );
}

#[test]
fn haystack_and_genkit() {
    assert_prompt(
        &json!({"value": [
            {"role": "user", "meta": {}, "name": null, "content": [{"text": "Weather?"}]},
            {"role": "assistant", "meta": {"model": "m", "usage": {"prompt_tokens": 9}}, "name": null, "content": [
                {"tool_call": {"tool_name": "get_weather", "arguments": {"city": "Rome"}, "id": "c1", "extra": {"a": 1}}}]},
            {"role": "tool", "meta": {}, "name": null, "content": [{"tool_call_result": {"result": "no network", "error": true,
                "origin": {"tool_name": "get_weather", "arguments": {"city": "Rome"}, "id": "c1", "extra": null}}}]},
        ]}),
        &[
            "user: Weather?",
            "assistant: get_weather{\"city\":\"Rome\"} #c1",
            "tool: get_weather != \"no network\" #c1",
        ],
    );
    assert_prompt(
        &json!({"messages": [
            {"role": "user", "content": [{"text": "Weather?"}]},
            {"role": "model", "content": [{"toolRequest": {"name": "get_weather", "ref": "c1", "input": {"city": "Rome"}}}]},
            {"role": "tool", "content": [{"toolResponse": {"name": "get_weather", "ref": "c1", "output": "Sunny"}}]},
        ]}),
        &[
            "user: Weather?",
            "assistant: get_weather{\"city\":\"Rome\"} #c1",
            "tool: get_weather = \"Sunny\" #c1",
        ],
    );
}

#[test]
fn cohere_and_mistral() {
    assert_prompt(
        &json!({"preamble": "Be kind", "message": "And now?", "chat_history": [
            {"role": "USER", "message": "Hello"}, {"role": "CHATBOT", "message": "Hi"}]}),
        &[
            "system: Be kind",
            "user: Hello",
            "assistant: Hi",
            "user: And now?",
        ],
    );
    assert_answer(
        &json!({"id": "c", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_plan": "I look.",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}}),
        &["assistant: (I look.) | ls{} #t1"],
    );
    assert_answer(
        &json!({"text": "", "generation_id": "g", "finish_reason": "COMPLETE", "tool_calls": [{"name": "ls", "parameters": {"path": "/"}}],
            "chat_history": [{"role": "USER", "message": "Hello"}]}),
        &[r#"assistant: ls{"path":"/"}"#],
    );
    assert_answer(
        &json!({"choices": [{"message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Done."}]}}]}),
        &["assistant: (Hm) | Done."],
    );
}

#[test]
fn opentelemetry() {
    assert_prompt(
        &json!({"system_instructions": [{"type": "text", "content": "Be kind"}], "messages": [
            {"role": "user", "parts": [{"type": "text", "content": "Hello"}, {"type": "uri", "modality": "image", "uri": "https://x.test/a.png"},
                {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "aGVsbG8="}]},
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm"}, {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"a": 1}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"n": 3}}]},
        ]}),
        &[
            "system: Be kind",
            "user: Hello | [image https://x.test/a.png] | [audio audio/wav 5 bytes]",
            r#"assistant: (Hm) | ls{"a":1} #c1"#,
            r#"tool: = {"n":3} #c1"#,
        ],
    );
    assert_prompt(
        &json!({"system_instructions": [{"type": "text", "content": "Be kind"}]}),
        &["system: Be kind"],
    );
    assert_answer(
        &json!({"value": [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]}),
        &["assistant: Done."],
    );
}

#[test]
fn langchain() {
    assert_prompt(
        &json!({"messages": [
            {"type": "system", "content": "Be kind"},
            {"type": "human", "content": "Hello", "additional_kwargs": {}, "response_metadata": {}, "name": null, "id": null, "example": false},
            {"type": "ai", "content": "", "tool_calls": [{"name": "ls", "args": {"path": "/"}, "id": "c1", "type": "tool_call"}], "invalid_tool_calls": []},
            {"type": "tool", "content": "3 files", "tool_call_id": "c1", "name": "ls", "status": "error"},
        ]}),
        &[
            "system: Be kind",
            "user: Hello",
            r#"assistant: ls{"path":"/"} #c1"#,
            r#"tool: ls != "3 files" #c1"#,
        ],
    );
    assert_prompt(
        &json!([[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "Hello", "type": "human"}}]]),
        &["user: Hello"],
    );
    assert_prompt(
        &json!([{"type": "human", "data": {"content": "Hello"}}]),
        &["user: Hello"],
    );
    assert_answer(
        &json!({"generations": [[{"text": "Done.", "generation_info": {"finish_reason": "stop"}, "type": "ChatGeneration",
            "message": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": "Done."}}}]], "llm_output": {}}),
        &["assistant: Done."],
    );
}

#[test]
fn ai_sdk() {
    assert_prompt(
        &json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "file", "mediaType": "application/pdf", "data": "aGVsbG8="}]},
            {"role": "assistant", "content": [{"type": "reasoning", "text": "Hm"}, {"type": "tool-call", "toolCallId": "c1", "toolName": "ls", "input": {"path": "/"}}]},
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "ls", "output": {"type": "error-text", "value": "gone"}}]},
            {"role": "assistant", "parts": [{"type": "tool-weather", "toolCallId": "c2", "state": "output-available", "input": {"city": "Kiel"}, "output": "rain"}]},
        ]}),
        &[
            "user: Hello | [file application/pdf 5 bytes]",
            r#"assistant: (Hm) | ls{"path":"/"} #c1"#,
            r#"tool: ls != "gone" #c1"#,
            r#"assistant: weather{"city":"Kiel"} #c2 | weather = "rain" #c2"#,
        ],
    );
    assert_answer(
        &json!({"text": "Done.", "finishReason": "stop", "toolCalls": [{"type": "tool-call", "toolCallId": "c1", "toolName": "ls", "args": {}}]}),
        &["assistant: Done. | ls{} #c1"],
    );
}

#[test]
fn json_text_is_read_where_it_is_a_conversation_beyond_doubt() {
    let text = |value: Value| Value::String(value.to_string());
    assert_prompt(
        &text(json!({"messages": [{"role": "user", "content": "Hello"}]})),
        &["user: Hello"],
    );
    assert_answer(
        &text(json!({"role": "assistant", "content": "Done."})),
        &["assistant: Done."],
    );
    let meant_as_text = [
        r#"{"answer": 42}"#,
        r#"[{"role": "admin", "user": "Ada"}]"#,
        r#"{"messages": []}"#,
        // Cut by the recorder.
        r#"{"messages": [{"role": "user", "content": "Hel__TRUNCATED__"#,
        "__REDACTED__",
    ];
    for meant in meant_as_text {
        assert_prompt(&json!(meant), &[&format!("user: {meant}")]);
    }
    assert_prompt(
        &json!({"messages": "[{\"role\": \"user\", __TRUNCATED__"}),
        &["user: [{\"role\": \"user\", __TRUNCATED__"],
    );
}

#[test]
fn what_no_table_knows_is_kept() {
    assert_prompt(
        &json!({"messages": [{"role": "user", "content": "Hello", "mood": "good"}], "context": {"city": "Kiel"}}),
        &[
            r#"user: ? {"context":{"city":"Kiel"}}"#,
            r#"user: Hello | ? {"mood":"good"}"#,
        ],
    );
    assert_prompt(
        &json!({"messages": [{"role": "critic", "content": [{"type": "image", "source": 1}]}]}),
        &[r#"critic: ? {"source":1,"type":"image"}"#],
    );
    assert_answer(
        &json!({"content": "Done.", "annotations": [{"url": "https://x.test"}]}),
        &[r#"assistant: Done. | ? {"annotations":[{"url":"https://x.test"}]}"#],
    );
}

#[test]
fn the_last_message_is_the_last_of_all() {
    let prompts = [
        json!("Hello"),
        json!({"messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]}),
        json!({"value": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}),
        json!({"system": "a", "input": "b"}),
        json!({"messages": []}),
        json!(null),
    ];
    for prompt in prompts {
        assert_eq!(
            last_prompt_message(&prompt),
            prompt_messages(&prompt).pop(),
            "{prompt}"
        );
    }
}

#[test]
fn the_answer_says_why_it_ended_where_the_record_does_not() {
    let call = |response: Value, stop_reason: Option<&str>| Payload::LlmCall {
        model: "m".to_owned(),
        prompt: json!("Hello"),
        response,
        usage: Usage::new(1, 2),
        provider: "p".to_owned(),
        response_model: None,
        temperature: None,
        stop_reason: stop_reason.map(str::to_owned),
        status: tracer_sdk::format::RecordedStatus::Ok,
        error: None,
    };
    let reason = |payload: &Payload| Conversation::from_payload(payload).unwrap().finish_reason;
    let choices = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}, {"message": {"content": "b"}, "finish_reason": "length"}]});
    assert_eq!(
        reason(&call(choices.clone(), None)).as_deref(),
        Some("stop, length")
    );
    assert_eq!(reason(&call(choices, Some("end"))).as_deref(), Some("end"));
    assert_eq!(reason(&call(json!("Done."), None)), None);
    assert_eq!(
        Conversation::from_payload(&Payload::RunEnd {
            status: tracer_sdk::format::RecordedStatus::Ok
        }),
        None
    );
}

#[test]
fn messages_have_a_speaker_and_a_label() {
    let speaker = |message: Value| prompt_messages(&message).pop().unwrap().speaker();
    assert_eq!(
        speaker(json!({"role": "model", "parts": [{"text": "a"}]})),
        Speaker::Assistant
    );
    assert_eq!(
        speaker(json!({"role": "developer", "content": "a"})),
        Speaker::System
    );
    assert_eq!(speaker(json!({"role": "critic", "content": "a"})), Speaker::User);
    let result = json!({"role": "user", "content": [{"type": "tool_result", "content": "a"}]});
    assert_eq!(speaker(result), Speaker::Tool);
}

/// Keys and words that tables know, and one of each that none does.
const KEYS: [&str; 39] = [
    "messages",
    "contents",
    "input",
    "output",
    "choices",
    "candidates",
    "message",
    "delta",
    "value",
    "system",
    "prompt",
    "content",
    "parts",
    "text",
    "thinking",
    "summary",
    "reasoning",
    "refusal",
    "tool_calls",
    "function_call",
    "function",
    "functionCall",
    "functionResponse",
    "toolUse",
    "toolResult",
    "arguments",
    "args",
    "name",
    "response",
    "result",
    "source",
    "image_url",
    "inlineData",
    "images",
    "kwargs",
    "error",
    "title",
    "thought",
    "other",
];
const WORDS: [&str; 16] = [
    "user",
    "assistant",
    "tool",
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "function_call",
    "function_call_output",
    "image",
    "reasoning",
    "tool-call",
    "human",
    "message",
    "refusal",
    "other",
];

/// A JSON value; every text that it holds, but types and roles, is another one.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        Just(json!("leaf")),
        Just(json!("leaf")),
    ];
    let key = || prop::sample::select(&KEYS[..]).prop_map(str::to_owned);
    let marks = prop_oneof![
        Just(Vec::new()),
        prop::sample::select(&WORDS[..]).prop_map(|word| vec![("type".to_owned(), json!(word))]),
        prop::sample::select(&WORDS[..]).prop_map(|word| vec![("role".to_owned(), json!(word))]),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let fields = prop::collection::vec((key(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            (fields, marks.clone())
                .prop_map(|(fields, marks)| Value::Object(fields.into_iter().chain(marks).collect())),
        ]
    })
}

/// Numbers the texts, so that each can be found.
fn numbered(value: &mut Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text == "leaf" => {
            *text = format!("leaf {} ends", texts.len());
            texts.push(text.clone());
        }
        Value::Array(items) => items.iter_mut().for_each(|item| numbered(item, texts)),
        Value::Object(map) => map.values_mut().for_each(|field| numbered(field, texts)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_is_lost(value in json_value()) {
        let mut value = value;
        let mut texts = Vec::new();
        numbered(&mut value, &mut texts);
        let prompt = format!("{:?}", prompt_messages(&value));
        for text in &texts {
            prop_assert!(prompt.contains(text.as_str()), "{text} is lost: {value}\n{prompt}");
        }
        // An answer that repeats its request's instructions is read without them.
        let has_echo = value.to_string().contains("\"system\":");
        let answer = format!("{:?}", answer_messages(&value));
        for text in &texts {
            prop_assert!(has_echo || answer.contains(text.as_str()), "{text} is lost: {value}\n{answer}");
        }
        let _ = (last_prompt_message(&value), offered_tools(&value, None));
    }
}

#[test]
fn deep_nesting_is_kept_and_exhausts_nothing() {
    for key in [
        "message", "messages", "content", "kwargs", "function", "text", "summary",
    ] {
        let mut value = json!("leaf");
        for level in 0..100 {
            value = if level % 2 == 0 {
                json!({key: value})
            } else {
                json!([value])
            };
        }
        assert!(format!("{:?}", prompt_messages(&value)).contains("leaf"), "{key}");
    }
}

#[test]
fn a_completion_of_a_text_keeps_its_reasoning_and_its_text() {
    let answer =
        json!({"model": "qwen3", "done": true, "thinking": "Hm", "response": "It is cold.", "eval_count": 4});
    let messages = answer_messages(&answer);
    assert!(
        short(&messages)
            .iter()
            .any(|message| message.contains("(Hm)") && message.contains("It is cold.")),
        "{messages:?}"
    );
}
