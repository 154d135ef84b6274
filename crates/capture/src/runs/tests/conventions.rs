//! The newest state of OpenTelemetry's GenAI conventions, and what is only proposed: by JSON and by protobuf.

use serde_json::{Map, Value, json};
use tracer_sdk::format::{EventType, Outcome, Record};
use tracer_sdk::spans_to_events;

use super::routes::{Payload, assert_same};
use super::*;
use crate::otlp::{Encoding, decode_logs, decode_spans};

fn value(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => json!({ "boolValue": truth }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}

fn attributes(stored: &Value) -> Value {
    let stored = stored.as_object().unwrap().iter();
    stored
        .map(|(key, stored)| json!({"key": key, "value": value(stored)}))
        .collect()
}

/// A request with an agent and a span below it, as JSON.
fn spans(name: &str, stored: &Value, events: &[(&str, Value)]) -> Payload {
    let times = |from: u64, to: u64| (START + from * MS, START + to * MS);
    let span = |id: &str,
                parent: &str,
                name: &str,
                (from, to): (u64, u64),
                stored: &Value,
                events: &[(&str, Value)]| {
        let events: Vec<Value> = events
            .iter()
            .map(|(name, stored)| {
                json!({"name": name, "timeUnixNano": to.to_string(), "attributes": attributes(stored)})
            })
            .collect();
        json!({"traceId": format!("{:032x}", 1), "spanId": id, "parentSpanId": parent, "name": name, "kind": 1,
               "startTimeUnixNano": from.to_string(), "endTimeUnixNano": to.to_string(),
               "attributes": attributes(stored), "events": events, "status": {}})
    };
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"});
    let document = json!({"resourceSpans": [{"scopeSpans": [{"spans": [
        span("0000000000000001", "", "invoke_agent weather", times(0, 100), &agent, &[]),
        span("0000000000000002", "0000000000000001", name, times(10, 50), stored, events),
    ]}]}]});
    let decoded = decode_spans(Encoding::Json, document.to_string().as_bytes()).unwrap();
    Payload::Spans(decoded.resources)
}

/// A request with a log record that names a span, or only the trace.
fn log(name: &str, span: &str, stored: &Value) -> Payload {
    let document = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"timeUnixNano": (START + 60 * MS).to_string(), "eventName": name, "traceId": format!("{:032x}", 1), "spanId": span,
         "attributes": attributes(stored)},
    ]}]}]});
    let decoded = decode_logs(Encoding::Json, document.to_string().as_bytes()).unwrap();
    Payload::Logs(decoded.resources)
}

/// The record of the second span.
fn record(payloads: &[Payload]) -> Record {
    assert_same(payloads, "conventions");
    let bench = Bench::new();
    for payload in payloads.iter().cloned() {
        match payload {
            Payload::Spans(spans) => bench.collector.accept_spans(spans).unwrap(),
            Payload::Logs(logs) => bench.collector.accept_logs(logs).unwrap(),
        };
    }
    bench.collector.close();
    let records = spans_to_events(&bench.run(1).spans);
    let wanted = |record: &Record| record.event_id == "0000000000000002";
    assert_eq!(
        records.iter().filter(|record| !wanted(record)).count(),
        2,
        "{records:?}"
    );
    records.into_iter().find(wanted).unwrap()
}

fn of_span(name: &str, stored: &Value, events: &[(&str, Value)]) -> Record {
    record(&[spans(name, stored, events)])
}

fn remarks(record: &Record) -> Map<String, Value> {
    let mut meta = record.meta.clone();
    meta.remove("outcome");
    meta.remove("derived_times");
    meta
}

fn chat() -> Value {
    json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "mistral_ai", "gen_ai.request.model": "mistral-small-latest",
           "gen_ai.response.id": "r1", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5})
}

#[test]
fn ratings_are_kept_wherever_they_are() {
    let rating = json!({"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.9,
                        "gen_ai.evaluation.score.label": "good", "gen_ai.evaluation.explanation": "to the point"});
    let expected = json!({"evaluations": [
        {"name": "relevance", "score": 0.9, "label": "good", "explanation": "to the point"}]});
    let event = "gen_ai.evaluation.result";
    let mut on_span = chat();
    on_span
        .as_object_mut()
        .unwrap()
        .extend(rating.as_object().unwrap().clone());
    on_span.as_object_mut().unwrap().remove("gen_ai.response.id");
    let flat = json!({"openinference.span.kind": "LLM", "llm.model_name": "m",
        "evaluations.0.evaluation.name": "relevance", "evaluations.0.evaluation.score": 0.9,
        "evaluations.0.evaluation.label": "good", "evaluations.0.evaluation.explanation": "to the point"});
    for record in [
        of_span("chat", &chat(), &[(event, rating.clone())]),
        of_span("chat", &on_span, &[]),
        of_span("chat", &flat, &[]),
        record(&[
            spans("chat", &chat(), &[]),
            log(event, "0000000000000002", &rating),
        ]),
    ] {
        assert_eq!(Value::Object(remarks(&record)), expected);
        assert_eq!(record.event_type(), EventType::LlmCall);
    }
    // Without a span's ID the response names the call.
    let mut by_response = rating;
    by_response["gen_ai.response.id"] = "r1".into();
    let record = record(&[spans("chat", &chat(), &[]), log(event, "", &by_response)]);
    assert_eq!(record.meta["evaluations"][0]["label"], "good");
}

#[test]
fn guardrails_say_whether_they_were_triggered() {
    let cases = [
        (
            json!({"gen_ai.operation.name": "run_guardrail", "gen_ai.security.guardrail.name": "pii",
                "gen_ai.security.verdict.type": "deny", "gen_ai.security.action.type": "block"}),
            json!({"name": "pii", "triggered": true, "verdict": "deny", "action": "block"}),
        ),
        (
            json!({"gen_ai.operation.name": "apply_guardrail", "gen_ai.guardian.name": "pii", "gen_ai.security.decision.type": "allow"}),
            json!({"name": "pii", "triggered": false, "verdict": "allow"}),
        ),
        (
            json!({"gen_ai.guardrail.name": "pii", "gen_ai.guardrail.triggered": true}),
            json!({"name": "pii", "triggered": true}),
        ),
        (
            json!({"openinference.span.kind": "GUARDRAIL", "output.value": "{\"tripwire_triggered\": false}"}),
            json!({"name": "check", "triggered": false}),
        ),
        (
            json!({"logfire.msg_template": "Guardrail {name!r} {triggered=}", "name": "pii", "triggered": false}),
            json!({"name": "pii", "triggered": false}),
        ),
        (
            json!({"langfuse.observation.type": "guardrail"}),
            json!({"name": "check"}),
        ),
    ];
    for (stored, expected) in cases {
        let record = of_span("check", &stored, &[]);
        assert_eq!(record.event_type(), EventType::Unknown, "{stored}");
        assert_eq!(
            Value::Object(remarks(&record)),
            json!({ "guardrails": [expected] }),
            "{stored}"
        );
    }
}

#[test]
fn decisions_about_tool_calls_are_kept() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "rm", "gen_ai.tool.call.id": "c1"});
    let decision = |outcome: &str| json!({"gen_ai.tool.call.decision.outcome": outcome, "gen_ai.tool.name": "rm", "gen_ai.tool.call.id": "c1"});
    let kept = |outcome: &str| json!({"decisions": [{"decision": outcome, "tool": "rm", "call_id": "c1"}]});
    let event = "gen_ai.tool.call.decision";
    for record in [
        of_span("execute_tool rm", &tool, &[(event, decision("allow"))]),
        record(&[
            spans("execute_tool rm", &tool, &[]),
            log(event, "0000000000000002", &decision("allow")),
        ]),
    ] {
        assert_eq!(Value::Object(remarks(&record)), kept("allow"));
        assert_eq!(record.outcome(), Outcome::Ok);
    }
    let mut denied = tool;
    denied
        .as_object_mut()
        .unwrap()
        .extend(decision("deny").as_object().unwrap().clone());
    let record = of_span("execute_tool rm", &denied, &[]);
    assert_eq!(Value::Object(remarks(&record)), kept("deny"));
    assert_eq!(record.outcome(), Outcome::Failed);
}

#[test]
fn agents_that_hand_over_say_to_whom() {
    let cases = [
        (
            json!({"gen_ai.operation.name": "handoff", "gen_ai.handoff.from_agent": "triage", "gen_ai.handoff.to_agent": "billing"}),
            json!({"from": "triage", "to": "billing"}),
        ),
        (
            json!({"logfire.msg_template": "Handoff: {from_agent} → {to_agent}", "from_agent": "triage", "to_agent": "billing"}),
            json!({"from": "triage", "to": "billing"}),
        ),
    ];
    for (stored, expected) in cases {
        let record = of_span("x", &stored, &[]);
        assert_eq!(
            Value::Object(remarks(&record)),
            json!({ "hand_overs": [expected] }),
            "{stored}"
        );
        assert_eq!(record.outcome(), Outcome::Ok, "{stored}");
    }
    let tool = |name: &str, arguments: Value| {
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": arguments.to_string(), "tracer.derived": true})
    };
    // By its name it needs no result; that it handed over, only a library says.
    for (name, arguments) in [
        ("transfer_to_billing", json!({})),
        ("transfer_to_agent", json!({"agent_name": "billing"})),
        ("handoff", json!({"target": "billing", "reason": "money"})),
        ("delegate_to_billing", json!({})),
    ] {
        let transfer = of_span("x", &tool(name, arguments), &[]);
        assert_eq!(Value::Object(remarks(&transfer)), json!({}), "{name}");
        assert_eq!(transfer.outcome(), Outcome::Ok, "{name}");
    }
    let parent = json!({"exception.type": "langgraph.errors.ParentCommand", "exception.message": "Command(goto='billing')"});
    let mut tool = tool("lookup", json!({}));
    tool["error.type"] = "langgraph.errors.ParentCommand".into();
    assert_eq!(
        of_span("x", &tool, &[("exception", parent)]).outcome(),
        Outcome::Ok
    );
}

#[test]
fn new_operations_and_methods_have_their_kinds() {
    let cases = [
        (
            json!({"gen_ai.operation.name": "generate_live_content", "gen_ai.request.model": "gemini-live"}),
            EventType::LlmCall,
        ),
        (
            json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "mcp.protocol.version": "2026-07-28"}),
            EventType::ToolCall,
        ),
        (
            json!({"mcp.method.name": "server/discover", "mcp.protocol.version": "2026-07-28"}),
            EventType::Unknown,
        ),
        (
            json!({"mcp.method.name": "subscriptions/listen", "mcp.protocol.version": "2026-07-28"}),
            EventType::Unknown,
        ),
        (
            json!({"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "p"}),
            EventType::Unknown,
        ),
        (json!({"openinference.span.kind": "DECISION"}), EventType::Unknown),
    ];
    for (stored, expected) in cases {
        assert_eq!(of_span("x", &stored, &[]).event_type(), expected, "{stored}");
    }
    // The server's answer that a tool failed; an error that only the client made is none of the server's.
    let failed =
        json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "error.type": "tool_error"});
    assert_eq!(of_span("tools/call add", &failed, &[]).outcome(), Outcome::Failed);
    let unknown = json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "rpc.response.status_code": "-32602"});
    assert_eq!(of_span("tools/call add", &unknown, &[]).outcome(), Outcome::Ok);
}

#[test]
fn counts_by_modality_are_shares_and_new_ones_are_kept() {
    let mut stored = chat();
    for (key, tokens) in [
        ("gen_ai.usage.text.input_tokens", 3),
        ("gen_ai.usage.audio.input_tokens", 4),
        ("gen_ai.usage.image.input_tokens", 2),
        ("gen_ai.usage.video.input_tokens", 1),
        ("gen_ai.usage.text.output_tokens", 1),
        ("gen_ai.usage.audio.output_tokens", 3),
        ("gen_ai.usage.image.output_tokens", 1),
        ("gen_ai.usage.moon_tokens", 7),
        ("gen_ai.usage.smell.input_tokens", 0),
    ] {
        stored[key] = tokens.into();
    }
    let record = of_span("chat", &stored, &[]);
    let tracer_sdk::format::Payload::LlmCall { usage, .. } = &record.payload else {
        panic!("{record:?}")
    };
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (Some(10), Some(5), Some(15))
    );
    assert_eq!(
        (
            usage.input_audio_tokens,
            usage.input_image_tokens,
            usage.input_video_tokens
        ),
        (Some(4), Some(2), Some(1))
    );
    assert_eq!(
        (usage.output_audio_tokens, usage.output_image_tokens),
        (Some(3), Some(1))
    );
    assert_eq!(usage.gap, Some(tracer_sdk::format::UsageGap::Parts));
    assert_eq!(
        Value::Object(remarks(&record)),
        json!({"usage_not_counted": "moon_tokens", "usage_further": {"moon_tokens": 7}})
    );
}
