//! Messages of the kinds that the schemas of OpenTelemetry's GenAI conventions are tested with: valid ones are understood, and
//! invalid ones survive.

use serde_json::{Value, json};

use super::vocabulary_tests::conversation;
use super::*;

fn of(key: &str, document: &Value) -> Conversation {
    conversation(
        json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", key: document.to_string()}),
    )
}

fn prompt(document: &Value) -> Vec<Message> {
    of("gen_ai.input.messages", document).prompt
}

fn answer(document: &Value) -> Vec<Message> {
    of("gen_ai.output.messages", document).answer
}

/// Everything that is shown of messages.
fn shown(messages: &[Message]) -> String {
    format!("{messages:?}")
}

fn roles(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.role.as_str()).collect()
}

#[test]
fn a_round_trip_of_a_tool_call_is_understood() {
    let messages = prompt(&json!([
        {"role": "user", "parts": [{"type": "text", "content": "Is it cold in Oslo?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "7 C"}]},
    ]));
    assert_eq!(roles(&messages), ["user", "assistant", "tool"]);
    assert!(matches!(&messages[1].parts[..], [MessagePart::ToolCall { name, .. }] if name == "weather"));
    assert!(matches!(&messages[2].parts[..], [MessagePart::ToolResult { value, .. }] if value == "7 C"));
}

#[test]
fn parts_of_no_known_type_are_kept() {
    for part in [
        json!({"type": "generic", "generic_type": "cited", "source": "page 7"}),
        json!({"type": "from_next_year", "deep": {"er": ["page 7"]}}),
    ] {
        let document = json!([{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm"}, part], "finish_reason": "stop"}]);
        for messages in [prompt(&document), answer(&document)] {
            let shown = shown(&messages);
            assert!(shown.contains("page 7") && shown.contains("Hm"), "{shown}");
        }
        let finish_reason = of("gen_ai.output.messages", &document).finish_reason;
        assert_eq!(finish_reason.as_deref(), Some("stop"));
    }
}

#[test]
fn reasoning_that_only_the_provider_can_read_stays_a_part() {
    let messages = answer(&json!([{"role": "assistant", "parts": [
        {"type": "reasoning", "content": "Hm"}, {"type": "redacted_thinking", "data": "EmwK"}, {"type": "text", "content": "7 C"},
    ], "finish_reason": "stop"}]));
    let [message] = messages.as_slice() else {
        panic!("{messages:?}")
    };
    assert!(
        matches!(&message.parts[..], [MessagePart::Reasoning(_), MessagePart::Reasoning(_), MessagePart::Text(text)] if text == "7 C"),
        "{message:?}"
    );
}

#[test]
fn parts_without_what_they_need_hurt_no_other() {
    for broken in [
        json!({"type": "text"}),
        json!({"type": "blob", "mime_type": "image/png"}),
        json!({"type": "tool_call"}),
        json!({"type": "tool_call_response"}),
        json!({"type": 7}),
        json!({}),
        json!(null),
        json!("bare"),
        json!(["text"]),
    ] {
        let document = json!([{"role": "user", "parts": [broken, {"type": "text", "content": "the rest"}]}]);
        for messages in [prompt(&document), answer(&document)] {
            assert!(shown(&messages).contains("the rest"), "{broken}: {messages:?}");
        }
    }
}

#[test]
fn messages_of_wrong_types_hurt_no_other() {
    let good = json!({"role": "assistant", "parts": [{"type": "text", "content": "the rest"}]});
    for broken in [
        json!({"parts": [{"type": "text", "content": "no role"}]}),
        json!({"role": "assistant"}),
        json!({"role": 7, "parts": []}),
        json!({"role": "assistant", "parts": {"type": "text", "content": "no list"}}),
        json!({"role": "assistant", "parts": [{"type": "generic", "generic_type": 123}], "finish_reason": 0}),
        json!({"role": "assistant", "parts": 7, "finish_reason": ["stop"]}),
        json!(7),
        json!(null),
        json!([]),
    ] {
        let document = json!([broken, good]);
        for messages in [prompt(&document), answer(&document)] {
            assert!(shown(&messages).contains("the rest"), "{broken}: {messages:?}");
        }
    }
}

#[test]
fn system_instructions_are_texts_whatever_is_among_them() {
    let input = json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]).to_string();
    for instructions in [
        json!([{"type": "text", "content": "Be brief."}, {"type": "cache_point", "ttl": 5}]),
        json!(["Be brief.", {"type": "tool_call", "name": "weather"}]),
        json!({"type": "text", "content": "Be brief."}),
        json!("Be brief."),
    ] {
        let messages = conversation(json!({
            "gen_ai.operation.name": "chat", "gen_ai.system_instructions": instructions.to_string(), "gen_ai.input.messages": input,
        }))
        .prompt;
        let shown = shown(&messages);
        assert!(
            shown.contains("Be brief.") && shown.contains("Hi"),
            "{instructions}: {shown}"
        );
        assert_eq!(roles(&messages).last(), Some(&"user"), "{instructions}");
    }
}

#[test]
fn tool_definitions_are_offered_where_they_are_valid() {
    let names = |definitions: Value| -> Vec<String> {
        let attributes = json!({"gen_ai.tool.definitions": definitions.to_string()});
        let tools = offered_tools(&Value::Null, attributes.as_object());
        tools.into_iter().map(|tool| tool.name).collect()
    };
    let function = json!({"type": "function", "name": "weather", "description": "of a city", "parameters": {"type": "object"}});
    let built_in = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5});
    assert_eq!(names(json!([function, built_in])), ["weather", "web_search"]);
    for broken in [
        json!({"type": "function"}),
        json!({"description": "no name"}),
        json!(7),
        json!(null),
    ] {
        assert_eq!(names(json!([broken, function])), ["weather"]);
    }
    assert!(names(json!({"name": 7})).is_empty());
}

#[test]
fn arguments_and_results_that_are_no_objects_are_kept() {
    use tracer_sdk::format::Payload;

    for (arguments, result) in [
        (json!({"city": "Oslo"}), json!({"degrees": 7})),
        (json!("Oslo"), json!("7 C")),
        (json!(["Oslo"]), json!([7])),
        (json!(7), json!(true)),
    ] {
        let record = vocabulary_tests::record(json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
            "gen_ai.tool.call.arguments": arguments.to_string(), "gen_ai.tool.call.result": result.to_string(),
        }));
        let Payload::ToolCall {
            args, result: shown, ..
        } = &record.payload
        else {
            panic!("{record:?}")
        };
        let is_kept = |kept: &Value, sent: &Value| {
            let bare = unwrapped(kept);
            bare == sent
                || bare
                    .as_str()
                    .is_some_and(|text| text.trim_matches('"') == sent.to_string().trim_matches('"'))
        };
        assert!(is_kept(args, &arguments) && is_kept(shown, &result), "{record:?}");
    }
}
