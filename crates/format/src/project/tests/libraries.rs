//! Spans as Rust agent libraries record them with OpenTelemetry's names: rig and genai, from recorded runs.

use serde_json::json;

use super::{child, failed, payload};

#[test]
fn a_model_call_of_rig() {
    let stored = json!({
        "rig.completion_parent": true, "gen_ai.operation.name": "chat", "gen_ai.agent.name": "calc",
        "gen_ai.system_instructions": "[{\"type\":\"text\",\"content\":\"You are a calculator.\"}]",
        "gen_ai.input.messages": "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"What is 2+3?\"}]}]",
        "gen_ai.output.messages": "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"5\"}]}]",
        "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5.2", "gen_ai.request.stream": false,
        "gen_ai.response.model": "gpt-5.2-2026-01-01", "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7, "gen_ai.usage.cache_read.input_tokens": 4,
    });
    assert_eq!(
        payload(child("chat", stored)),
        json!({
            "model": "gpt-5.2", "provider": "openai", "temperature": null, "stop_reason": null, "status": "ok",
            "error": null, "response_model": "gpt-5.2-2026-01-01",
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "cache_read_tokens": 4},
            "prompt": {
                "system_instructions": [{"type": "text", "content": "You are a calculator."}],
                "messages": [{"role": "user", "parts": [{"type": "text", "content": "What is 2+3?"}]}],
            },
            "response": {"value": [{"role": "assistant", "parts": [{"type": "text", "content": "5"}]}]},
        }),
    );
}

#[test]
fn a_tool_call_of_rig_that_failed() {
    let stored = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "gen_ai.tool.name": "boom",
        "gen_ai.tool.call.id": "call_b", "gen_ai.tool.call.arguments": "{\"x\":1}",
        "gen_ai.tool.call.outcome": "error", "gen_ai.tool.call.result": "the tool failed",
    });
    assert_eq!(
        payload(failed(child("execute_tool", stored), "the tool failed")),
        json!({
            "tool_name": "boom", "args": {"x": 1}, "result": "the tool failed", "status": "error",
            "error": {"error_type": "Error", "message": "the tool failed", "stack": null},
        }),
    );
}

#[test]
fn an_agent_span_of_rig_is_no_model_call_so_that_its_tokens_do_not_count_twice() {
    let stored = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "calc",
                        "gen_ai.usage.input_tokens": 22, "gen_ai.usage.output_tokens": 14});
    assert_eq!(
        payload(child("invoke_agent", stored.clone())),
        json!({"attributes": stored, "status": "ok", "error": null})
    );
}

#[test]
fn a_model_call_of_genai() {
    let stored = json!({
        "otel.name": "chat gpt-5.2", "otel.kind": "client", "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5.2", "gen_ai.request.temperature": 0.2,
        "gen_ai.response.finish_reasons": "[\"stop\"]", "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
    });
    let payload = payload(child("genai.chat", stored));
    assert_eq!(payload["stop_reason"], "stop");
    assert_eq!(payload["temperature"], 0.2);
    assert_eq!(payload["usage"]["total_tokens"], 18);
}
