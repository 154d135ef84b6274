//! Spans as other emitters send them: types, fields and tokens by the tables of the vocabularies.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{attributes, child, child_with, event, failed, payload, record, root};
use crate::project::spans_to_events;
use crate::{EventType, Outcome, Payload, SpanRecord, StatusCode};

fn unset(span: SpanRecord) -> SpanRecord {
    SpanRecord {
        status_code: StatusCode::Unset,
        ..span
    }
}

fn messages(text: &str) -> Value {
    json!([{"role": "user", "parts": [{"type": "text", "content": text}]}])
}

#[test]
fn the_type_is_that_of_the_first_vocabulary_that_fits() {
    use EventType::{LlmCall, ToolCall, Unknown};
    let table = [
        (
            LlmCall,
            "x",
            json!({"openinference.span.kind": "LLM", "gen_ai.operation.name": "invoke_agent"}),
        ),
        (ToolCall, "x", json!({"openinference.span.kind": "TOOL"})),
        (
            Unknown,
            "instructor.patch",
            json!({"openinference.span.kind": "TOOL", "otel.scope.name": "openinference.instrumentation.instructor"}),
        ),
        (
            Unknown,
            "x",
            json!({"openinference.span.kind": "AGENT", "gen_ai.system": "openai", "gen_ai.request.model": "m"}),
        ),
        (
            Unknown,
            "x",
            json!({"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 3}),
        ),
        (
            Unknown,
            "x",
            json!({"openinference.span.kind": "EMBEDDING", "gen_ai.operation.name": "chat"}),
        ),
        (
            LlmCall,
            "x",
            json!({"openinference.span.kind": "", "gen_ai.operation.name": "chat"}),
        ),
        (ToolCall, "x", json!({"gen_ai.operation.name": "tool_call"})),
        (LlmCall, "x", json!({"gen_ai.operation.name": "llm_call"})),
        (LlmCall, "x", json!({"gen_ai.operation.name": "response"})),
        (LlmCall, "x", json!({"gen_ai.operation.name": "generate"})),
        (
            Unknown,
            "x",
            json!({"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 3, "gen_ai.request.model": "m", "gen_ai.system": "s"}),
        ),
        (
            Unknown,
            "x",
            json!({"gen_ai.operation.name": "execute_event_loop_cycle", "gen_ai.tool.name": "t"}),
        ),
        (
            Unknown,
            "x",
            json!({"gen_ai.operation.name": "search_memory", "gen_ai.system": "s"}),
        ),
        (ToolCall, "tools/call x", json!({"mcp.method.name": "tools/call"})),
        (
            Unknown,
            "tools/list",
            json!({"mcp.method.name": "tools/list", "gen_ai.system": "s"}),
        ),
        (
            LlmCall,
            "ai.generateText.doGenerate",
            json!({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"}),
        ),
        (
            LlmCall,
            "x",
            json!({"operation.name": "ai.streamText.doStream my-function"}),
        ),
        (LlmCall, "ai.streamText.doStream", json!({"ai.model.id": "m"})),
        (
            ToolCall,
            "x",
            json!({"ai.operationId": "ai.toolCall", "gen_ai.request.model": ""}),
        ),
        (
            Unknown,
            "ai.generateText",
            json!({"ai.operationId": "ai.generateText", "gen_ai.system": "openai", "gen_ai.request.model": "m", "ai.usage.promptTokens": 5}),
        ),
        (
            Unknown,
            "ai.embed.doEmbed",
            json!({"ai.operationId": "ai.embed.doEmbed", "gen_ai.system": "openai"}),
        ),
        (
            LlmCall,
            "claude_code.llm_request",
            json!({"span.type": "llm_request"}),
        ),
        (
            ToolCall,
            "claude_code.tool",
            json!({"span.type": "tool", "tool_name": "Bash"}),
        ),
        (
            Unknown,
            "claude_code.tool.execution",
            json!({"span.type": "tool.execution", "tool_name": "Bash"}),
        ),
        (
            Unknown,
            "claude_code.interaction",
            json!({"span.type": "interaction"}),
        ),
        (LlmCall, "claude_code.llm_request", json!({"model": "claude-x"})),
        (ToolCall, "claude_code.tool", json!({"tool_name": "Bash"})),
        (
            Unknown,
            "claude_code.tool.execution",
            json!({"tool_name": "Bash"}),
        ),
        (Unknown, "web.request", json!({"span.type": "web"})),
        (LlmCall, "x", json!({"event.name": "claude_code.api_request"})),
        (
            LlmCall,
            "x",
            json!({"event.name": "codex.sse_event", "event.kind": "response.completed"}),
        ),
        (
            Unknown,
            "x",
            json!({"event.name": "codex.sse_event", "event.kind": "response.created", "model": "m"}),
        ),
        (
            ToolCall,
            "x",
            json!({"event.name": "codex.tool_result", "tool_name": "shell"}),
        ),
        (
            Unknown,
            "x",
            json!({"event.name": "codex.tool_decision", "tool_name": "shell"}),
        ),
        (ToolCall, "x", json!({"event.name": "gemini_cli.tool_call"})),
        (ToolCall, "x", json!({"traceloop.span.kind": "tool"})),
        (
            Unknown,
            "x",
            json!({"traceloop.span.kind": "task", "gen_ai.system": "openai"}),
        ),
        (
            LlmCall,
            "openai.chat",
            json!({"llm.request.type": "chat", "gen_ai.system": "OpenAI"}),
        ),
        (
            Unknown,
            "openai.embeddings",
            json!({"llm.request.type": "embedding", "gen_ai.system": "OpenAI"}),
        ),
        (ToolCall, "x", json!({"gen_ai.tool.call.id": "c1"})),
        (
            ToolCall,
            "running tool",
            json!({"logfire.msg": "running tool: add"}),
        ),
        (
            Unknown,
            "running 2 tools",
            json!({"logfire.msg": "running 2 tools"}),
        ),
        (
            Unknown,
            "chat m",
            json!({"logfire.span_type": "pending_span", "gen_ai.operation.name": "chat"}),
        ),
        (
            Unknown,
            "x",
            json!({"gen_ai.system": "x", "gen_ai.agent.name": "a", "gen_ai.request.model": "m"}),
        ),
        (LlmCall, "x", json!({"langfuse.observation.type": "generation"})),
        (ToolCall, "x", json!({"langfuse.observation.type": "tool"})),
        (
            Unknown,
            "x",
            json!({"langfuse.observation.type": "agent", "gen_ai.system": "s"}),
        ),
        (LlmCall, "x", json!({"langsmith.span.kind": "llm"})),
        (
            Unknown,
            "x",
            json!({"langsmith.span.kind": "chain", "gen_ai.system": "langchain"}),
        ),
        (LlmCall, "x", json!({"mlflow.spanType": "\"CHAT_MODEL\""})),
        (Unknown, "x", json!({"mlflow.spanType": "\"AGENT\""})),
        (
            LlmCall,
            "x",
            json!({"genkit:metadata:subtype": "model", "genkit:name": "googleai/m"}),
        ),
        (LlmCall, "llm_node", json!({"lk.chat_ctx": "{}"})),
        (ToolCall, "function_tool", json!({"lk.function_tool.name": "f"})),
        (LlmCall, "call_llm", json!({"gcp.vertex.agent.llm_request": "{}"})),
        (Unknown, "call_llm", json!({})),
        (
            ToolCall,
            "execute_tool get_time",
            json!({"tool.name": "get_time"}),
        ),
        (
            Unknown,
            "execute_tool (merged)",
            json!({"gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.llm_request": "{}"}),
        ),
        (
            Unknown,
            "x",
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)", "gcp.vertex.agent.event_id": "e"}),
        ),
        (
            Unknown,
            "invocation",
            json!({"gen_ai.system": "gcp.vertex.agent", "gcp.vertex.agent.invocation_id": "i"}),
        ),
        // The format's own marks decide first.
        (
            ToolCall,
            "x",
            json!({"tracer.tool_name": "t", "openinference.span.kind": "LLM"}),
        ),
        (
            LlmCall,
            "x",
            json!({"tracer.status": "ok", "gen_ai.operation.name": "chat", "openinference.span.kind": "CHAIN"}),
        ),
        (
            ToolCall,
            "x",
            json!({"tracer.status": "ok", "openinference.span.kind": "TOOL"}),
        ),
    ];
    for (expected, name, stored) in table {
        assert_eq!(
            record(child(name, stored.clone())).event_type(),
            expected,
            "{name} {stored}"
        );
    }
}

#[test]
fn tokens_of_every_vocabulary_are_one_usage() {
    let usage = |stored: Value| {
        let mut stored = attributes(stored);
        stored.insert("gen_ai.operation.name".to_owned(), json!("chat"));
        stored.insert("gen_ai.request.model".to_owned(), json!("m"));
        payload(child("m", Value::Object(stored)))["usage"].clone()
    };
    let of = |input: u64, output: u64, total: u64| json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total});
    let with = |mut usage: Value, more: Value| {
        usage.as_object_mut().unwrap().extend(attributes(more));
        usage
    };
    let table = [
        (
            json!({"gen_ai.usage.input_tokens": "50", "gen_ai.usage.output_tokens": "7", "gen_ai.usage.cache_read.input_tokens": "4",
                   "gen_ai.usage.cache_creation.input_tokens": "2", "gen_ai.usage.reasoning_tokens": "3"}),
            with(
                of(50, 7, 57),
                json!({"cache_read_tokens": 4, "cache_write_tokens": 2, "reasoning_tokens": 3}),
            ),
        ),
        (
            json!({"gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": 6}),
            of(5, 6, 11),
        ),
        (
            json!({"llm.token_count.prompt": 10, "llm.token_count.completion": 5, "llm.token_count.total": 15,
                   "llm.token_count.prompt_details.cache_read": 8, "llm.token_count.completion_details.reasoning": 0}),
            with(
                of(10, 5, 15),
                json!({"cache_read_tokens": 8, "reasoning_tokens": 0}),
            ),
        ),
        (
            json!({"ai.usage.inputTokens": 10, "ai.usage.outputTokens": 5, "ai.usage.cachedInputTokens": 1,
                   "ai.usage.outputTokenDetails.reasoningTokens": 2}),
            with(
                of(10, 5, 15),
                json!({"cache_read_tokens": 1, "reasoning_tokens": 2}),
            ),
        ),
        // Anthropic counts what was cached beside input.
        (
            json!({"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
                   "gen_ai.usage.cache_creation_input_tokens": 20, "gen_ai.usage.cache_read_input_tokens": 100}),
            with(
                of(130, 5, 135),
                json!({"cache_read_tokens": 100, "cache_write_tokens": 20}),
            ),
        ),
        (
            json!({"input_tokens": 3, "output_tokens": 5.0, "cache_read_tokens": "100", "cache_creation_tokens": 7}),
            with(
                of(110, 5, 115),
                json!({"cache_read_tokens": 100, "cache_write_tokens": 7}),
            ),
        ),
        // A total that leaves no room for them says that they are in it.
        (
            json!({"gen_ai.usage.input_tokens": 130, "gen_ai.usage.output_tokens": 5, "llm.usage.total_tokens": 135,
                   "gen_ai.usage.cache_creation_input_tokens": 20, "gen_ai.usage.cache_read_input_tokens": 100}),
            with(
                of(130, 5, 135),
                json!({"cache_read_tokens": 100, "cache_write_tokens": 20}),
            ),
        ),
        // Gemini counts thoughts beside output.
        (
            json!({"gcp.vertex.agent.llm_response": "{\"usage_metadata\":{\"prompt_token_count\":10,\"candidates_token_count\":5,\"thoughts_token_count\":4,\"total_token_count\":19}}"}),
            with(of(10, 9, 19), json!({"reasoning_tokens": 4})),
        ),
        (
            json!({"gcp.vertex.agent.llm_response": {"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}}}),
            of(1, 2, 3),
        ),
        (
            json!({"langfuse.observation.usage_details": "{\"input\":1,\"output\":2,\"total\":9}"}),
            of(1, 2, 9),
        ),
        (
            json!({"mlflow.chat.tokenUsage": "{\"input_tokens\":1,\"output_tokens\":2}"}),
            of(1, 2, 3),
        ),
        (
            json!({"gen_ai.usage.input_tokens": 9, "gen_ai.usage.input_token_details": "{\"cache_read\":4}"}),
            with(
                json!({"prompt_tokens": 9, "completion_tokens": null, "total_tokens": 9}),
                json!({"cache_read_tokens": 4}),
            ),
        ),
        (
            json!({"input_token_count": "40", "output_token_count": "8", "cached_token_count": "32", "reasoning_token_count": "2"}),
            with(
                of(40, 8, 48),
                json!({"cache_read_tokens": 32, "reasoning_tokens": 2}),
            ),
        ),
    ];
    for (stored, expected) in table {
        assert_eq!(usage(stored.clone()), expected, "{stored}");
    }
}

#[test]
fn a_contradiction_of_tokens_is_marked_and_the_total_stays() {
    let stored = |more: Value| {
        let mut stored = attributes(
            json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}),
        );
        stored.extend(attributes(more));
        record(child("m", Value::Object(stored)))
    };
    let odd = stored(json!({"gen_ai.usage.total_tokens": 9}));
    assert_eq!(
        odd.meta["usage_contradiction"],
        "total 9 is less than input and output, 13"
    );
    assert_eq!(
        serde_json::to_value(&odd.payload).unwrap()["usage"]["total_tokens"],
        9
    );
    let cached = stored(json!({"gen_ai.usage.cache_read.input_tokens": 11}));
    assert_eq!(
        cached.meta["usage_contradiction"],
        "cached input 11 is more than input 10"
    );
    let reasoning = stored(json!({"gen_ai.usage.reasoning.output_tokens": 4}));
    assert_eq!(
        reasoning.meta["usage_contradiction"],
        "reasoning 4 is more than output 3"
    );
    assert_eq!(
        stored(json!({"gen_ai.usage.total_tokens": 20})).meta["usage_contradiction"],
        "total 20 is more than input and output, 13"
    );
    let hour = json!({"gen_ai.usage.cache_write.input_tokens": 4, "tracer.usage.cache_write_1h_tokens": 5});
    assert_eq!(
        stored(hour).meta["usage_contradiction"],
        "an hour's cache writes 5 is more than cache writes 4"
    );
    assert!(stored(json!({"gen_ai.usage.total_tokens": 13})).meta.is_empty());
}

#[test]
fn a_total_decides_what_is_beside_what() {
    let usage = |stored: Value| {
        let mut stored = attributes(stored);
        stored.insert("gen_ai.operation.name".to_owned(), json!("chat"));
        let record = record(child("m", Value::Object(stored)));
        let Payload::LlmCall { usage, .. } = record.payload else {
            panic!("a model call")
        };
        let sides = (usage.prompt_tokens, usage.completion_tokens);
        (sides, record.meta.contains_key("usage_contradiction"))
    };
    for (shares, total, expected) in [
        // Strands: input without what was cached.
        (
            json!({"gen_ai.usage.cache_read_input_tokens": 100}),
            115,
            ((Some(110), Some(5)), false),
        ),
        (
            json!({"gen_ai.usage.cache_read_input_tokens": 100, "gen_ai.usage.cache_write_input_tokens": 7}),
            122,
            ((Some(117), Some(5)), false),
        ),
        (
            json!({"gen_ai.usage.cache_read.input_tokens": 4}),
            15,
            ((Some(10), Some(5)), false),
        ),
        // xAI: output without reasoning.
        (
            json!({"gen_ai.usage.reasoning.output_tokens": 94}),
            109,
            ((Some(10), Some(99)), false),
        ),
        // Two readings, or none.
        (
            json!({"gen_ai.usage.reasoning.output_tokens": 4, "gen_ai.usage.cache_read.input_tokens": 4}),
            19,
            ((Some(10), Some(5)), true),
        ),
        (
            json!({"gen_ai.usage.reasoning.output_tokens": 4}),
            522,
            ((Some(10), Some(5)), true),
        ),
    ] {
        let mut stored = shares.clone();
        let counts = json!({"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
                            "gen_ai.usage.total_tokens": total});
        stored.as_object_mut().unwrap().extend(attributes(counts));
        assert_eq!(usage(stored), expected, "{shares}");
    }
}

#[test]
fn zero_tokens_beside_an_answer_are_unknown() {
    let answer = json!({"gen_ai.output.messages": "[{\"role\":\"assistant\",\"parts\":[]}]"});
    for (operation, counts, answered, expected) in [
        ("chat", [0, 0, 0], true, [None, None, None]),
        ("chat", [0, 0, 0], false, [Some(0), Some(0), Some(0)]),
        ("chat", [12, 0, 12], true, [Some(12), None, None]),
        ("chat", [0, 5, 5], true, [None, Some(5), None]),
        ("chat", [0, 0, 90], true, [None, None, Some(90)]),
    ] {
        let mut stored = attributes(
            json!({"gen_ai.operation.name": operation, "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": counts[0], "gen_ai.usage.output_tokens": counts[1],
            "gen_ai.usage.total_tokens": counts[2]}),
        );
        if answered {
            stored.extend(attributes(answer.clone()));
        }
        let Payload::LlmCall { usage, .. } = record(child("m", Value::Object(stored))).payload else {
            panic!("a model call")
        };
        let found = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
        assert_eq!(found, expected, "{operation} {counts:?} {answered}");
    }
}

#[test]
fn flattened_messages_are_messages() {
    let call = payload(child(
        "ChatOpenAI",
        json!({
            "openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini", "llm.provider": "openai",
            "llm.invocation_parameters": "{\"temperature\": 0.5}", "llm.finish_reason": "tool_calls",
            "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "Weather?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"city\":\"Oslo\"}",
            "input.value": "{\"never\": \"read\"}", "input.mime_type": "application/json",
        }),
    ));
    assert_eq!(call["model"], "gpt-4o-mini");
    assert_eq!(call["provider"], "openai");
    assert_eq!(call["temperature"], 0.5);
    assert_eq!(call["stop_reason"], "tool_calls");
    assert_eq!(
        call["prompt"],
        json!({"value": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "contents": [{"type": "text", "text": "Weather?"}]},
        ]})
    );
    assert_eq!(
        call["response"],
        json!({"value": [{"role": "assistant", "tool_calls": [
            {"id": "c1", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}},
        ]}]})
    );

    let call = payload(child(
        "openai.chat",
        json!({
            "llm.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "gpt-4o",
            "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Hello",
            "gen_ai.completion.0.finish_reason": "stop",
        }),
    ));
    assert_eq!(
        call["prompt"],
        json!({"value": [{"role": "user", "content": "Hi"}]})
    );
    assert_eq!(call["stop_reason"], "stop");
}

#[test]
fn prompts_and_answers_are_found_in_every_vocabulary() {
    let chat = |more: Value| {
        let mut stored = attributes(json!({"gen_ai.operation.name": "chat"}));
        stored.extend(attributes(more));
        let call = payload(child("m", Value::Object(stored)));
        (call["prompt"].clone(), call["response"].clone())
    };
    let request = json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    let table = [
        (
            json!({"gen_ai.prompt": "[{\"role\":\"user\",\"content\":\"Hi\"}]", "gen_ai.completion": "Hello"}),
            (
                json!({"value": [{"role": "user", "content": "Hi"}]}),
                json!("Hello"),
            ),
        ),
        (
            json!({"ai.prompt.messages": "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}]", "ai.response.text": "{}"}),
            (
                json!({"value": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}),
                json!("{}"),
            ),
        ),
        (
            json!({"ai.response.text": "", "ai.response.toolCalls": "[{\"toolCallId\":\"c\",\"toolName\":\"t\",\"args\":{}}]"}),
            (
                json!(null),
                json!({"role": "assistant", "tool_calls": [{"toolCallId": "c", "toolName": "t", "args": {}}]}),
            ),
        ),
        (
            json!({"gcp.vertex.agent.llm_request": request.to_string(), "gcp.vertex.agent.llm_response": "{\"role\":\"model\"}"}),
            (request.clone(), json!({"role": "model"})),
        ),
        (
            json!({"gcp.vertex.agent.llm_request": {"contents": [], "config": {"system_instruction": "Be brief."}}}),
            (
                json!({"contents": [], "config": {}, "system_instruction": "Be brief."}),
                json!(null),
            ),
        ),
        (
            json!({"input.value": "{\"a\":1}", "input.mime_type": "text/plain", "output.value": "[1]"}),
            (json!("{\"a\":1}"), json!({"value": [1]})),
        ),
        (
            json!({"mlflow.spanInputs": "{\"messages\":[]}", "mlflow.spanOutputs": "\"Hello\""}),
            (json!({"messages": []}), json!("Hello")),
        ),
        (
            json!({"traceloop.entity.input": "{\"inputs\":{\"q\":1},\"kwargs\":{}}", "traceloop.entity.output": "{\"outputs\":\"x\"}"}),
            (json!({"q": 1}), json!("x")),
        ),
        // OpenTelemetry's own win, and their instructions are given once.
        (
            json!({"gen_ai.input.messages": messages("a"), "gen_ai.prompt.0.content": "b", "gen_ai.system_instructions": ""}),
            (json!({"value": messages("a")}), json!(null)),
        ),
        (
            json!({"gen_ai.input.messages": {"messages": [{"role": "system", "parts": []}]}, "gen_ai.system_instructions": [{"type": "text", "content": "s"}]}),
            (json!({"value": [{"role": "system", "parts": []}]}), json!(null)),
        ),
    ];
    for (stored, expected) in table {
        assert_eq!(chat(stored.clone()), expected, "{stored}");
    }
}

#[test]
fn message_events_are_a_conversation() {
    let span = child_with(
        "chat m",
        json!({"gen_ai.operation.name": "chat"}),
        vec![
            event(
                "gen_ai.system.message",
                json!({"content": "Be brief.", "gen_ai.system": "openai"}),
            ),
            event(
                "gen_ai.user.message",
                json!({"content": "[{\"text\": \"Weather?\"}]", "tracer.log_id": "00f067aa0ba902b7"}),
            ),
            event(
                "gen_ai.assistant.message",
                json!({"tool_calls": "[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]"}),
            ),
            event(
                "gen_ai.tool.message",
                json!({"gen_ai.event.content": "{\"content\":\"7 C\",\"id\":\"c\",\"role\":\"tool\"}"}),
            ),
            event(
                "gen_ai.choice",
                json!({"index": 0, "finish_reason": "stop", "message": "{\"content\":\"7 C in Oslo.\"}"}),
            ),
        ],
    );
    let call = payload(span);
    assert_eq!(call["stop_reason"], "stop");
    assert_eq!(
        call["prompt"],
        json!({"value": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"text": "Weather?"}]},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
            {"role": "tool", "content": "7 C", "id": "c"},
        ]})
    );
    assert_eq!(
        call["response"],
        json!({"value": [{"role": "assistant", "content": "7 C in Oslo.", "finish_reason": "stop"}]})
    );

    // The same events as an attribute.
    let listed = json!([
        {"event.name": "gen_ai.user.message", "content": "Hi", "gen_ai.message.index": 0},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "Hello"}},
    ]);
    let call = payload(child(
        "chat m",
        json!({"gen_ai.operation.name": "chat", "events": listed.to_string()}),
    ));
    assert_eq!(
        call["prompt"],
        json!({"value": [{"role": "user", "content": "Hi"}]})
    );
    assert_eq!(
        call["response"],
        json!({"value": [{"role": "assistant", "content": "Hello"}]})
    );

    // The oldest form, and the newest: everything in one event.
    let oldest = vec![
        event("gen_ai.content.prompt", json!({"gen_ai.prompt": "Hi"})),
        event(
            "gen_ai.content.completion",
            json!({"gen_ai.completion": "[{\"content\":\"Hello\"}]"}),
        ),
    ];
    let call = payload(child_with(
        "chat m",
        json!({"gen_ai.operation.name": "chat"}),
        oldest,
    ));
    assert_eq!(
        (&call["prompt"], &call["response"]),
        (&json!("Hi"), &json!({"value": [{"content": "Hello"}]}))
    );
    let details = event(
        "gen_ai.client.inference.operation.details",
        json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages("Hi"), "gen_ai.usage.input_tokens": 3}),
    );
    let call = payload(child_with(
        "chat m",
        json!({"gen_ai.request.model": "m", "gen_ai.operation.name": ""}),
        vec![details],
    ));
    assert_eq!(call["prompt"], json!({"value": messages("Hi")}));
    assert_eq!(call["usage"]["total_tokens"], 3);
}

#[test]
fn tools_of_every_vocabulary_have_name_arguments_and_result() {
    let table = [
        (
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": {"a": 1}, "gen_ai.tool.call.result": "\"12:00\""}),
            json!("12:00"),
        ),
        (
            json!({"ai.operationId": "ai.toolCall", "ai.toolCall.name": "t", "ai.toolCall.args": "{\"a\":1}", "ai.toolCall.result": "\"12:00\""}),
            json!("12:00"),
        ),
        (
            json!({"logfire.msg": "running tool: t", "gen_ai.tool.name": "t", "tool_arguments": "{\"a\":1}", "tool_response": "12:00"}),
            json!("12:00"),
        ),
        (
            json!({"openinference.span.kind": "TOOL", "tool.name": "t", "tool.parameters": "{\"never\":1}", "input.value": "{\"a\":1}", "output.value": "{\"type\":\"tool\",\"content\":\"12:00\",\"tool_call_id\":\"c\"}"}),
            json!("12:00"),
        ),
        (
            json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "t", "traceloop.entity.input": "{\"inputs\":{},\"kwargs\":{\"a\":1}}", "traceloop.entity.output": "{\"outputs\":\"12:00\"}"}),
            json!("12:00"),
        ),
        (
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.tool_call_args": "{\"a\":1}", "gcp.vertex.agent.tool_response": "{\"r\":2}"}),
            json!({"r": 2}),
        ),
        (
            json!({"langfuse.observation.type": "tool", "gen_ai.tool.name": "t", "langfuse.observation.input": "{\"a\":1}", "langfuse.observation.output": "7"}),
            json!({"value": 7}),
        ),
        (
            json!({"lk.function_tool.name": "t", "lk.function_tool.arguments": "{\"a\":1}", "lk.function_tool.output": "x"}),
            json!("x"),
        ),
        (
            json!({"event.name": "codex.tool_result", "tool_name": "t", "arguments": "{\"a\":1}", "output": "x", "success": "true"}),
            json!("x"),
        ),
        (
            json!({"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "t", "gen_ai.input.messages": "{\"a\":1}", "gen_ai.output.messages": "{\"r\":2}"}),
            json!({"r": 2}),
        ),
    ];
    let table = table.into_iter().chain(wrapped_calls());
    for (stored, result) in table {
        let call = payload(unset(child("a span", stored.clone())));
        assert_eq!(
            call,
            json!({"tool_name": "t", "args": {"a": 1}, "result": result, "status": "ok", "error": null}),
            "{stored}"
        );
    }
    let strands = child_with(
        "execute_tool t",
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}),
        vec![
            event(
                "gen_ai.tool.message",
                json!({"role": "tool", "content": "{\"a\":1}", "id": "c"}),
            ),
            event(
                "gen_ai.choice",
                json!({"message": "[{\"text\":\"7\"}]", "id": "c"}),
            ),
        ],
    );
    let call = payload(strands);
    assert_eq!((&call["args"], &call["result"]), (&json!({"a": 1}), &json!("7")));
    let claude = child_with(
        "claude_code.tool",
        json!({"span.type": "tool", "tool_name": "Bash", "full_command": "ls"}),
        vec![event("tool.output", json!({"output": "a.txt"}))],
    );
    let call = payload(claude);
    assert_eq!(
        (&call["tool_name"], &call["args"], &call["result"]),
        (&json!("Bash"), &json!({"command": "ls"}), &json!("a.txt"))
    );
    // A bare text is a text, also one that is a number.
    let langchain = json!({"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": "12", "output.value": "Oslo"});
    let call = payload(child("t", langchain));
    assert_eq!((&call["args"], &call["result"]), (&json!("12"), &json!("Oslo")));
}

/// Calls of a tool `t` with `{"a": 1}`, as libraries wrap them, and what each gave.
fn wrapped_calls() -> Vec<(Value, Value)> {
    let of = |attributes: Value, arguments: &str, result: &str, given: Value| {
        let mut stored = attributes.as_object().unwrap().clone();
        stored.insert("gen_ai.operation.name".to_owned(), json!("execute_tool"));
        stored.insert("gen_ai.tool.name".to_owned(), json!("t"));
        stored.insert("gen_ai.tool.call.arguments".to_owned(), json!(arguments));
        stored.insert("gen_ai.tool.call.result".to_owned(), json!(result));
        (Value::Object(stored), given)
    };
    let tool = |arguments: &str, result: &str| of(json!({}), arguments, result, json!("12:00"));
    let message = r#""content": "12:00", "tool_call_id": "c", "name": "t", "status": "success""#;
    vec![
        // LangChain's callbacks, as OpenLLMetry has them.
        tool(
            r#"{"input_str": "{'a': 1}", "tags": ["x"], "metadata": {"step": 1}, "inputs": {"a": 1}, "kwargs": {"tool_call_id": "c"}}"#,
            &format!(
                r#"{{"output": {{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"],
                "kwargs": {{{message}, "type": "tool"}}}}, "kwargs": {{"name": "t"}}}}"#
            ),
        ),
        tool(
            r#"{"input_str": "{\"a\": 1}", "inputs": null, "kwargs": {}}"#,
            &format!(
                r#"{{"lc": 1, "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": {{{message}}}}}"#
            ),
        ),
        tool(
            r#"{"a": 1}"#,
            &format!(r#"{{"type": "tool", "data": {{{message}, "type": "tool"}}}}"#),
        ),
        tool(r#"{"a": 1}"#, "content='12:00' name='t' tool_call_id='c'"),
        tool(r#"{"a": 1}"#, r#"{"output": "12:00", "kwargs": {"name": "t"}}"#),
        // OpenInference: the arguments of a method.
        tool(
            r#"{"args": [], "kwargs": {"a": 1}, "sanitize_inputs_outputs": true}"#,
            "12:00",
        ),
        tool(r#"{"args": [{"a": 1}], "kwargs": {}}"#, "12:00"),
        tool(r#"{"kwargs": {"a": 1}}"#, "12:00"),
        // LlamaIndex.
        tool(
            r#"{"kwargs": {"a": 1}}"#,
            r#"{"blocks": [{"text": "12:00"}], "tool_name": "t", "raw_input": {"args": [], "kwargs": {"a": 1}},
                "raw_output": "12:00", "is_error": false}"#,
        ),
        // Strands.
        of(
            json!({"gen_ai.tool.status": "success"}),
            r#"{"a": 1}"#,
            r#"[{"text": "12:00"}]"#,
            json!("12:00"),
        ),
        of(
            json!({"gen_ai.tool.status": "success"}),
            r#"{"a": 1}"#,
            r#"[{"json": {"r": 2}}]"#,
            json!({"r": 2}),
        ),
        of(
            json!({"gen_ai.tool.status": "success"}),
            r#"[{"role": "tool", "parts": [{"type": "tool_call", "name": "t", "id": "c", "arguments": {"a": 1}}]}]"#,
            r#"[{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": [{"text": "12:00"}]}]}]"#,
            json!("12:00"),
        ),
        // A result that only looks like blocks is as the tool gave it.
        of(
            json!({}),
            r#"{"a": 1}"#,
            r#"[{"text": "12:00"}]"#,
            json!({"value": [{"text": "12:00"}]}),
        ),
    ]
}

#[test]
fn an_argument_named_as_a_wrapper_is_an_argument() {
    for arguments in [
        json!({"args": ["-l"]}),
        json!({"kwargs": {"a": 1}, "depth": 2}),
        json!({"inputs": {"a": 1}}),
        json!({"args": [1], "kwargs": {"a": 1}}),
    ] {
        let stored = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": arguments});
        assert_eq!(payload(child("t", stored))["args"], arguments);
    }
}

/// A model call with one question, and an answer that asks for a tool, as each library reports it.
#[test]
fn model_calls_of_frameworks_are_read_whole() {
    let question = json!([{"role": "user", "content": [{"text": "Weather?"}]}]);
    let replies = json!([{"role": "assistant", "name": null,
        "meta": {"model": "gpt-4o-2024-08-06", "index": 0, "finish_reason": "tool_calls",
                 "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
                           "prompt_tokens_details": {"cached_tokens": 4}}},
        "content": [{"tool_call": {"tool_name": "get_weather", "arguments": {"city": "Rome"}, "id": "c1", "extra": null}}]}]);
    let asked = json!({"role": "model", "content": [{"toolRequest": {"name": "get_weather", "ref": "c1", "input": {"city": "Rome"}}}]});
    for (name, stored, model, provider, reason, prompt, answer, cached) in [
        (
            "haystack.agent.step.llm",
            json!({"haystack.agent.step.llm.input": json!({"messages": question, "tools": []}).to_string(),
                   "haystack.agent.step.llm.output": json!({"replies": replies}).to_string()}),
            "gpt-4o-2024-08-06",
            "unknown",
            json!("tool_calls"),
            json!({"value": question}),
            json!({"value": replies}),
            Some(4),
        ),
        (
            "haystack.component.run",
            json!({"haystack.component.type": "OpenAIChatGenerator",
                   "haystack.component.input": json!({"messages": question}).to_string(),
                   "haystack.component.output": json!({"replies": replies}).to_string()}),
            "gpt-4o-2024-08-06",
            "unknown",
            json!("tool_calls"),
            json!({"value": question}),
            json!({"value": replies}),
            Some(4),
        ),
        (
            "llm:streamText",
            json!({"span.type": "llm", "llm.operation": "streamText", "llm.model": "gpt-4o", "llm.provider": "openai", "llm.stream": true,
                   "llm.messages": question.to_string(), "output": "Sunny", "llm.finish_reason": "stop",
                   "llm.usage.prompt_tokens": 12, "llm.usage.completion_tokens": 5, "llm.usage.total_tokens": 17,
                   "llm.usage.cached_tokens": 4}),
            "gpt-4o",
            "openai",
            json!("stop"),
            json!({"value": question}),
            json!("Sunny"),
            Some(4),
        ),
        (
            "gemini-2.5-flash",
            json!({"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "googleai/gemini-2.5-flash",
                   "genkit:input": json!({"messages": question}).to_string(),
                   "genkit:output": json!({"message": asked, "finishReason": "stop",
                       "usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17, "cachedContentTokens": 4}}).to_string()}),
            "gemini-2.5-flash",
            "gcp.gemini",
            json!("stop"),
            json!({"messages": question}),
            asked,
            Some(4),
        ),
        (
            "tool selection",
            json!({"gen_ai.operation.name": "tool_selection", "mastra.span.type": "model_generation", "gen_ai.system": "openai",
                   "gen_ai.request.model": "gpt-4o", "gen_ai.prompt": question.to_string(), "gen_ai.completion": "Sunny",
                   "gen_ai.response.finish_reasons": "stop", "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 5,
                   "gen_ai.usage.total_tokens": 17, "gen_ai.usage.cached_input_tokens": 4}),
            "gpt-4o",
            "openai",
            json!("stop"),
            json!({"value": question}),
            json!("Sunny"),
            Some(4),
        ),
    ] {
        let call = payload(unset(child(name, stored)));
        assert_eq!(
            (&call["model"], &call["provider"], &call["stop_reason"]),
            (&json!(model), &json!(provider), &reason),
            "{name}"
        );
        assert_eq!((&call["prompt"], &call["response"]), (&prompt, &answer), "{name}");
        let tokens = [
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "cache_read_tokens",
        ];
        let tokens = tokens.map(|key| call["usage"][key].as_u64());
        assert_eq!(tokens, [Some(12), Some(5), Some(17), cached], "{name}");
        assert_eq!(
            (&call["status"], &call["error"]),
            (&json!("ok"), &json!(null)),
            "{name}"
        );
    }
}

#[test]
fn tools_of_frameworks_are_read_whole() {
    for (name, stored, result, error) in [
        (
            "haystack.agent.step.tool",
            json!({"haystack.tool.name": "t", "haystack.agent.step.tool.input": "{\"a\":1}", "haystack.agent.step.tool.output": "12:00"}),
            json!("12:00"),
            json!(null),
        ),
        (
            "haystack.agent.step.tool",
            json!({"haystack.tool.name": "t", "haystack.tool.error": true, "haystack.agent.step.tool.input": "{\"a\":1}",
                   "haystack.agent.step.tool.output": "{\"error\": \"no clock\"}"}),
            json!({"error": "no clock"}),
            json!("no clock"),
        ),
        (
            "tool.execution:t",
            json!({"span.type": "tool", "tool.name": "t", "tool.call.id": "c", "tool.parameters": "{\"never\":1}",
                   "input": "{\"a\":1}", "output": "12:00"}),
            json!("12:00"),
            json!(null),
        ),
        (
            "t",
            json!({"genkit:metadata:subtype": "tool", "genkit:name": "t", "genkit:input": "{\"a\":1}", "genkit:output": "\"12:00\""}),
            json!("12:00"),
            json!(null),
        ),
        (
            "tool",
            json!({"gen_ai.operation.name": "tool.execute", "gen_ai.tool.name": "t", "gen_ai.tool.input": "{\"a\":1}",
                   "gen_ai.tool.output": "no clock", "gen_ai.tool.success": false}),
            json!("no clock"),
            json!("no clock"),
        ),
    ] {
        let call = payload(unset(child(name, stored)));
        assert_eq!(
            (&call["tool_name"], &call["args"]),
            (&json!("t"), &json!({"a": 1})),
            "{name}"
        );
        assert_eq!(
            (&call["result"], &call["error"]["message"]),
            (&result, &error),
            "{name}"
        );
    }
}

#[test]
fn failures_are_read_from_the_marks_of_every_vocabulary() {
    let tool = |more: Value| {
        let mut stored =
            attributes(json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}));
        stored.extend(attributes(more));
        payload(unset(child("execute_tool", Value::Object(stored))))["error"].clone()
    };
    let error = |class: &str, message: &str| json!({"error_type": class, "message": message, "stack": null});
    assert_eq!(tool(json!({"gen_ai.tool.call.outcome": "success"})), json!(null));
    assert_eq!(
        tool(
            json!({"gen_ai.tool.call.outcome": "error", "gen_ai.tool.error.type": "other", "gen_ai.tool.call.result": "the clock is broken"})
        ),
        error("other", "the clock is broken")
    );
    assert_eq!(tool(json!({"error.type": "tool_error"})), error("tool_error", ""));
    assert_eq!(tool(json!({"gen_ai.tool.status": "error"})), error("Error", ""));
    assert_eq!(
        tool(json!({"otel.status_code": "error", "error.type": 404})),
        error("404", "")
    );
    assert_eq!(
        tool(json!({"span.type": "tool", "success": false, "error": "no"})),
        error("Error", "no")
    );
    assert_eq!(tool(json!({"success": false})), json!(null));
    for reasons in [json!("error"), json!("[\"error\"]")] {
        let stored = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": reasons});
        assert_eq!(
            payload(unset(child("chat m", stored)))["error"],
            error("Error", ""),
            "{reasons}"
        );
    }

    let span = child_with(
        "chat m",
        json!({"gen_ai.operation.name": "chat", "error.type": "404"}),
        vec![event(
            "exception",
            json!({"exception.type": "NotFoundError", "exception.message": "no such model"}),
        )],
    );
    assert_eq!(
        payload(failed(span, "status text"))["error"],
        error("404", "no such model")
    );
}

/// How the record of a span ends: its outcome, what its `meta` says, its status.
fn end(span: SpanRecord) -> (Outcome, Value, Value) {
    let record = record(span);
    let (outcome, meta) = (record.outcome(), Value::Object(record.meta));
    (
        outcome,
        meta,
        serde_json::to_value(&record.payload).unwrap()["status"].take(),
    )
}

#[test]
fn a_call_of_which_nothing_was_captured_is_unknown() {
    let unknown = || (Outcome::Unknown, json!({"outcome": "unknown"}), json!("ok"));
    let rig = json!({"rig.completion_parent": true, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
                     "gen_ai.request.model": "gpt-5.2", "gen_ai.request.stream": false});
    assert_eq!(end(unset(child("chat", rig.clone()))), unknown());
    assert_eq!(payload(unset(child("chat", rig.clone())))["error"], Value::Null);
    // A status that was set is never overruled by what is absent.
    assert_eq!(end(child("chat", rig.clone())).0, Outcome::Ok);
    for more in [
        json!({"gen_ai.response.id": "r"}),
        json!({"gen_ai.usage.output_tokens": 1}),
        json!({"gen_ai.response.finish_reasons": "[\"stop\"]"}),
        json!({"gen_ai.output.messages": "[]"}),
        json!({"gen_ai.response.time_to_first_chunk": 0.2}),
        json!({"tracer.status": "ok"}),
        json!({"otel.status_code": "OK"}),
    ] {
        let mut stored = attributes(rig.clone());
        stored.extend(attributes(more.clone()));
        let (outcome, meta, _) = end(unset(child("chat", Value::Object(stored))));
        assert_eq!((outcome, meta.get("outcome")), (Outcome::Ok, None), "{more}");
    }
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": "{}"});
    // A tool that only messages show may not have run; one whose span ended ran.
    assert_eq!(end(unset(child("search", tool.clone()))).0, Outcome::Ok);
    // A name that usually ends the work makes no result of a call that never ended.
    let closing = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "finish"});
    let mut open = unset(child("finish", closing));
    (open.end_time, open.duration_ms) = (None, None);
    assert_eq!(end(open).0, Outcome::Unknown);
    let mut derived = attributes(tool);
    derived.insert("tracer.derived".to_owned(), json!(true));
    let meta = json!({"derived_times": true, "outcome": "unknown"});
    assert_eq!(
        end(unset(child("search", Value::Object(derived.clone())))),
        (Outcome::Unknown, meta, json!("ok"))
    );
    let mut answered = derived;
    answered.insert("gen_ai.tool.call.result".to_owned(), json!("7 C"));
    assert_eq!(
        end(unset(child("search", Value::Object(answered)))).0,
        Outcome::Ok
    );
}

#[test]
fn a_tool_whose_program_failed_has_failed() {
    let tool = |code: Value| {
        child(
            "run",
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "process.exit.code": code}),
        )
    };
    for (code, message) in [
        (json!(2), "exit code 2"),
        (json!(-9), "exit code -9"),
        (json!("127"), "exit code 127"),
    ] {
        let payload = payload(tool(code));
        assert_eq!(payload["status"], "error", "{message}");
        assert_eq!(payload["error"]["error_type"], "exit_status", "{message}");
        assert_eq!(payload["error"]["message"], message);
    }
    for code in [json!(0), json!("0"), Value::Null, json!("none")] {
        assert_eq!(payload(tool(code.clone()))["status"], "ok", "{code}");
    }
    // Only of a tool is it known that the program was the call.
    let span = child(
        "deploy",
        json!({"process.exit.code": 3, "traceloop.span.kind": "workflow"}),
    );
    assert_eq!(payload(span)["status"], "ok");
}

#[test]
fn a_call_that_waits_for_a_person_has_not_failed() {
    let node = json!({"openinference.span.kind": "TOOL", "tool.name": "approve"});
    let interrupt = event(
        "exception",
        json!({"exception.type": "langgraph.errors.GraphInterrupt", "exception.message": "Send it?"}),
    );
    let span = failed(child_with("approve", node, vec![interrupt]), "");
    assert_eq!(
        end(span.clone()),
        (
            Outcome::Unknown,
            json!({"outcome": "unknown", "waiting": "Send it?"}),
            json!("ok")
        )
    );
    assert!(record(span).is_waiting());
}

#[test]
fn a_call_that_was_given_up_is_cancelled() {
    let mut span = child(
        "search",
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "error.type": "asyncio.CancelledError"}),
    );
    span.status_code = StatusCode::Unset;
    assert_eq!(end(span), (Outcome::Cancelled, json!({}), json!("error")));
}

#[test]
fn the_provider_in_front_of_a_model_is_not_its_name() {
    let call = |stored: Value| {
        let call = payload(child("chat", stored));
        (call["model"].clone(), call["provider"].clone())
    };
    let stored = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "openai::gpt-4o-mini"});
    assert_eq!(call(stored), (json!("gpt-4o-mini"), json!("openai")));
    let stored = json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "groq", "gen_ai.request.model": "a b::c"});
    assert_eq!(call(stored), (json!("a b::c"), json!("groq")));
    let own = json!({"gen_ai.operation.name": "chat", "tracer.status": "ok", "gen_ai.request.model": "a::b"});
    assert_eq!(call(own).0, "a::b");
    let claude = json!({"span.type": "llm_request", "model": "claude-x", "request_id": "r"});
    assert_eq!(call(claude), (json!("claude-x"), json!("anthropic")));
    let sdk = json!({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "gpt", "ai.model.provider": "openai.chat", "gen_ai.system": "openai.chat"});
    assert_eq!(call(sdk), (json!("gpt"), json!("openai")));
}

#[test]
fn a_run_is_named_by_its_agent() {
    let name = |stored: Value| {
        serde_json::to_value(&spans_to_events(&[root(stored)])[0].payload).unwrap()["run_name"].clone()
    };
    assert_eq!(name(json!({"gen_ai.agent.name": "weather"})), "weather");
    assert_eq!(
        name(json!({"tracer.run_name": "mine", "gen_ai.agent.name": "weather"})),
        "mine"
    );
    assert_eq!(name(json!({"traceloop.workflow.name": "flow"})), "flow");
    assert_eq!(name(json!({})), Value::Null);
}

/// Values as they come: of the right type, of another one, as text, cut, empty.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z{}\\[\\]\":,0-9 ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "chat",
            "LLM",
            "tool",
            "execute_tool",
            "error",
            "{\"outputs\":[]}",
            "[{\"role\":\"user\"}]",
            "{\"usage_metadata\":3}",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("(role|content|parts|usage|model|message|[a-z])", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_attributes() -> impl Strategy<Value = Map<String, Value>> {
    let keys = crate::vocabulary::all_keys();
    let flat = "(llm.input_messages|llm.output_messages|gen_ai.prompt|gen_ai.completion)(\\.[0-9]{1,20}|\\.message|\\.role|\\.){0,4}";
    let key = prop_oneof![4 => prop::sample::select(keys), 1 => flat.prop_map(|key| key)];
    prop::collection::btree_map(key, any_value(), 0..8).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn any_attributes_give_one_record_for_each_span(
        spans in prop::collection::vec((any_attributes(), any_attributes(), 0usize..4), 1..6),
    ) {
        let names = ["chat", "call_llm", "execute_tool (merged)", "ai.toolCall"];
        let events = ["gen_ai.choice", "gen_ai.user.message", "gen_ai.client.inference.operation.details", "tool.output"];
        let spans: Vec<SpanRecord> = (1..)
            .zip(spans)
            .map(|(number, (stored, more, kind))| SpanRecord {
                span_id: format!("{:016x}", number + 0x100).parse().unwrap(),
                ..child_with(names[kind], Value::Object(stored), vec![event(events[kind], Value::Object(more))])
            })
            .collect();
        let records = spans_to_events(&spans);
        prop_assert_eq!(records.len(), spans.len());
        for record in records {
            prop_assert!(serde_json::to_value(&record).is_ok());
        }
    }
}
