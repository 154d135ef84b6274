//! A call that several instrumentations recorded counts once.

use serde_json::{Value, json};

use super::super::{CallReport, correlate, count_records};
use super::{attributes, event, root, time};
use crate::project::LinePlace;
use crate::project::spans_to_events;
use crate::{EventType, Outcome, Record, SpanRecord, StatusCode};

/// A span: its number, that of its parent (1 is the root), its name, its tenths of a second, and its attributes.
fn span(number: u64, parent: u64, name: &str, (start, end): (u64, u64), stored: Value) -> SpanRecord {
    SpanRecord {
        span_id: format!("{number:016x}").parse().unwrap(),
        parent_span_id: (parent > 0).then(|| format!("{parent:016x}").parse().unwrap()),
        name: name.to_owned(),
        start_time: time(&format!("{start:02}Z")),
        end_time: Some(time(&format!("{end:02}Z"))),
        duration_ms: Some((end - start) * 1000),
        status_code: StatusCode::Unset,
        attributes: attributes(stored),
        ..root(json!({}))
    }
}

fn run(mut spans: Vec<SpanRecord>) -> Vec<Record> {
    spans.push(span(1, 0, "run", (0, 59), json!({})));
    spans_to_events(&spans)
}

fn chat(more: Value) -> Value {
    let mut stored = attributes(json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}));
    stored.extend(attributes(more));
    Value::Object(stored)
}

/// The types of the records within the root, with what they repeat, by the numbers of their spans.
fn calls(records: &[Record]) -> Vec<(u64, EventType, Option<u64>)> {
    let number = |id: &str| u64::from_str_radix(id, 16).unwrap();
    let mut calls: Vec<_> = records
        .iter()
        .filter(|record| record.parent_id.is_some())
        .map(|record| {
            let same = record
                .meta
                .get("same_call")
                .map(|id| number(id.as_str().unwrap()));
            (number(&record.event_id), record.event_type(), same)
        })
        .collect();
    calls.sort_by_key(|(number, ..)| *number);
    calls
}

fn payload(records: &[Record], number: u64) -> Value {
    let id = format!("{number:016x}");
    let record = records.iter().find(|record| record.event_id == id).unwrap();
    serde_json::to_value(&record.payload).unwrap()
}

use EventType::{LlmCall, ToolCall, Unknown};

/// The reports of these spans, each on a line of its own.
fn reports_of(spans: &[SpanRecord], event_type: impl Fn(u64) -> EventType) -> Vec<CallReport> {
    let reports = (0..).zip(spans).map(|(line, span)| {
        let place = LinePlace {
            offset: line,
            length: 0,
            line,
        };
        CallReport::of(span, event_type(line), place).unwrap()
    });
    reports.collect()
}

#[test]
fn the_four_spans_of_adk_are_one_call() {
    let request = json!({"model": "gpt-4o-mini", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    let records = run(vec![
        span(
            2,
            1,
            "call_llm",
            (1, 9),
            json!({
                "gcp.vertex.agent.llm_request": request.to_string(),
                "gcp.vertex.agent.llm_response": "{\"role\":\"model\",\"parts\":[{\"text\":\"Hello\"}]}",
            }),
        ),
        span(
            3,
            2,
            "model.generate_content",
            (1, 9),
            json!({"model.name": "gpt-4o-mini"}),
        ),
        span(
            4,
            3,
            "model.generate_content",
            (1, 9),
            json!({"model.name": "gpt-4o-mini"}),
        ),
        span(
            5,
            4,
            "gen_ai.generate",
            (2, 9),
            json!({
                "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.usage.input_tokens": 50,
                "gen_ai.usage.output_tokens": 7, "gen_ai.usage.total_tokens": 57, "gen_ai.usage.cache_read_tokens": 4,
            }),
        ),
    ]);
    assert_eq!(
        calls(&records),
        [
            (2, LlmCall, None),
            (3, Unknown, None),
            (4, Unknown, None),
            (5, Unknown, Some(2))
        ]
    );
    let call = payload(&records, 2);
    assert_eq!(call["prompt"], request);
    assert_eq!(
        (&call["model"], &call["provider"]),
        (&json!("gpt-4o-mini"), &json!("openai"))
    );
    assert_eq!(
        call["usage"],
        json!({"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57, "cache_read_tokens": 4})
    );
    let record = records
        .iter()
        .find(|record| record.event_type() == LlmCall)
        .unwrap();
    assert_eq!(record.meta["joined_with"], json!(["0000000000000005"]));
    assert_eq!(count_records(&records).llm_calls, 1);
}

#[test]
fn a_recorder_around_a_library_is_the_call() {
    // The SDK's own recorder around rig, whose span has the content.
    let records = run(vec![
        span(
            2,
            1,
            "gpt-5",
            (1, 9),
            chat(json!({"tracer.status": "ok", "gen_ai.system": "openai"})),
        ),
        span(
            3,
            2,
            "chat",
            (2, 8),
            chat(
                json!({"gen_ai.usage.output_tokens": 7, "gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]"}),
            ),
        ),
        // Within a tool call, a call is another one.
        span(
            4,
            1,
            "search",
            (10, 19),
            json!({"tracer.tool_name": "search", "tracer.status": "ok"}),
        ),
        span(
            5,
            4,
            "chat",
            (11, 12),
            chat(json!({"gen_ai.usage.output_tokens": 7})),
        ),
    ]);
    assert_eq!(
        calls(&records),
        [
            (2, Unknown, Some(3)),
            (3, LlmCall, None),
            (4, ToolCall, None),
            (5, LlmCall, None)
        ]
    );
}

#[test]
fn calls_that_do_not_agree_are_two() {
    let tokens = |model: &str, output: u64| json!({"gen_ai.request.model": model, "gen_ai.usage.output_tokens": output});
    for (inner, count) in [
        (tokens("gpt-5", 7), 1),
        (tokens("gpt-5", 8), 2),
        (tokens("claude", 7), 2),
    ] {
        let records = run(vec![
            span(2, 1, "chat", (1, 9), chat(tokens("gpt-5", 7))),
            span(3, 2, "chat", (2, 8), chat(inner)),
        ]);
        assert_eq!(count_records(&records).llm_calls, count);
    }
    // Two calls within one are not that one; our own spans never are another call.
    let own = || chat(json!({"tracer.status": "ok"}));
    let records = run(vec![
        span(2, 1, "chat", (1, 9), chat(json!({}))),
        span(3, 2, "chat", (2, 4), chat(tokens("gpt-5", 1))),
        span(4, 2, "chat", (5, 8), chat(tokens("gpt-5", 2))),
        span(5, 1, "chat", (10, 19), own()),
        span(6, 5, "chat", (11, 18), own()),
    ]);
    // The one around two is a step of the program.
    assert_eq!(count_records(&records).llm_calls, 4);
}

#[test]
fn a_recorder_reports_no_call_that_begins_later() {
    let recorded = |start: &str, end: &str| SpanRecord {
        start_time: time(start),
        end_time: Some(time(end)),
        ..span(2, 1, "gpt-5", (0, 0), chat(json!({"tracer.status": "ok"})))
    };
    let asked = || span(3, 1, "chat", (10, 12), chat(json!({"tracer.source": "proxy"})));
    let model_calls = |recorded| count_records(&run(vec![recorded, asked()])).llm_calls;
    assert_eq!(model_calls(recorded("09.960Z", "09.990Z")), 2, "it had ended");
    assert_eq!(model_calls(recorded("09.960Z", "12.010Z")), 1, "around the call");
    assert_eq!(
        model_calls(recorded("12.020Z", "12.020Z")),
        1,
        "written when the answer was there"
    );
}

#[test]
fn the_proxy_and_the_program_recorded_one_call() {
    let by = |scope: &str, more: Value| {
        let mut stored = attributes(chat(more));
        stored.insert("otel.scope.name".to_owned(), json!(scope));
        Value::Object(stored)
    };
    let id = |id: &str| json!({"gen_ai.response.id": id});
    // Two parallel calls, by response ID; a stand-in that answers each call with one ID is still called twice.
    let records = run(vec![
        span(2, 1, "chat", (1, 9), by("rig", id("a"))),
        span(3, 1, "chat", (1, 9), by("rig", id("b"))),
        span(
            4,
            1,
            "POST",
            (2, 8),
            by(
                "tracer.proxy",
                json!({"gen_ai.response.id": "b", "gen_ai.input.messages": "[]"}),
            ),
        ),
        span(
            5,
            1,
            "POST",
            (2, 8),
            by(
                "tracer.proxy",
                json!({"gen_ai.response.id": "a", "gen_ai.input.messages": "[]"}),
            ),
        ),
        span(6, 1, "chat", (10, 19), by("rig", id("a"))),
        span(7, 1, "POST", (11, 18), by("tracer.proxy", id("a"))),
    ]);
    let expected = [
        (2, Unknown, Some(5)),
        (3, Unknown, Some(4)),
        (4, LlmCall, None),
        (5, LlmCall, None),
        (6, LlmCall, None),
        (7, Unknown, Some(6)),
    ];
    assert_eq!(calls(&records), expected);

    // By model, time and tokens, each once, and never within one instrumentation.
    let tokens = |scope: &str, output: u64| by(scope, json!({"gen_ai.usage.output_tokens": output}));
    let records = run(vec![
        span(2, 1, "chat", (1, 9), tokens("rig", 7)),
        span(3, 1, "chat", (1, 9), tokens("rig", 7)),
        span(4, 1, "POST", (2, 8), tokens("tracer.proxy", 7)),
        span(5, 1, "POST", (2, 8), tokens("tracer.proxy", 7)),
        span(6, 1, "chat", (2, 8), tokens("another", 7)),
        span(7, 1, "chat", (2, 8), tokens("another", 8)),
        span(8, 1, "POST", (20, 28), tokens("tracer.proxy", 7)),
    ]);
    assert_eq!(count_records(&records).llm_calls, 4);
    let output: u64 = records
        .iter()
        .filter(|record| record.event_type() == LlmCall)
        .map(|record| {
            serde_json::to_value(&record.payload).unwrap()["usage"]["completion_tokens"]
                .as_u64()
                .unwrap()
        })
        .sum();
    assert_eq!(output, 7 + 7 + 8 + 7);
}

#[test]
fn a_loop_warning_rests_on_the_calls_that_its_evidence_repeats() {
    let by = |scope: &str, more: Value| {
        let mut stored = attributes(chat(json!({"gen_ai.response.id": "a"})));
        stored.extend(attributes(more));
        stored.insert("otel.scope.name".to_owned(), json!(scope));
        Value::Object(stored)
    };
    let mut warning = span(
        4,
        1,
        "loop_warning",
        (10, 10),
        json!({"tracer.event_type": "LOOP_WARNING"}),
    );
    let evidence = json!(["0000000000000002", "00000000000000ff"]).to_string();
    warning.events = vec![event(
        "tracer.loop.warning",
        json!({"pattern": "LLM_CALL:gpt-5", "pattern_type": "repeated_call", "repetitions": 2,
            "window_size": 2, "evidence_event_ids": evidence}),
    )];
    let records = run(vec![
        span(2, 1, "chat", (1, 9), by("rig", json!({}))),
        span(
            3,
            1,
            "POST",
            (2, 8),
            by("tracer.proxy", json!({"gen_ai.input.messages": "[]"})),
        ),
        warning,
    ]);
    assert_eq!(calls(&records)[..2], [(2, Unknown, Some(3)), (3, LlmCall, None)]);
    assert_eq!(
        payload(&records, 4)["evidence_event_ids"],
        json!(["0000000000000003", "00000000000000ff"])
    );
}

#[test]
fn the_tokens_of_a_call_stay_with_the_first_that_has_them() {
    let recorded = |library: &str, more: Value| {
        let mut stored = attributes(chat(
            json!({"gen_ai.response.id": "r", "otel.scope.name": library}),
        ));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let tokens = json!({"gen_ai.usage.output_tokens": 7});
    let spans = [
        span(
            2,
            1,
            "chat",
            (1, 9),
            recorded("a", json!({"gen_ai.prompt": "Hi", "gen_ai.completion": "Hello"})),
        ),
        span(3, 1, "chat", (1, 9), recorded("b", tokens.clone())),
        span(4, 1, "chat", (1, 9), recorded("c", tokens)),
    ];
    let facts = reports_of(&spans, |_| LlmCall);
    let same = correlate(&facts, |_| None, |_| None);
    let counted_in = |span: &SpanRecord| same.counted_in(span.span_id);
    let third = spans[1].span_id;
    assert_eq!(spans.each_ref().map(counted_in), [Some(third), None, Some(third)]);
}

#[test]
fn a_model_call_within_a_tool_call_is_not_the_one_around_the_tool() {
    use EventType::{LlmCall, ToolCall};
    let agent = |tool: Value| {
        calls(&run(vec![
            span(2, 1, "chat", (1, 9), chat(json!({}))),
            span(3, 2, "search", (2, 8), tool),
            span(4, 3, "chat", (3, 7), chat(json!({}))),
        ]))
    };
    // The format's own tool call is not compared with anything, since no other emitter recorded a tool call.
    for tool in [
        json!({"tracer.tool_name": "search", "tracer.status": "ok"}),
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}),
    ] {
        let three_calls = [(2, LlmCall, None), (3, ToolCall, None), (4, LlmCall, None)];
        assert_eq!(agent(tool), three_calls);
    }
    let structural = agent(json!({}));
    assert_eq!(structural.iter().filter(|(.., same)| same.is_some()).count(), 1);
}

#[test]
fn tokens_are_removed_in_every_vocabulary() {
    let mut stored = attributes(json!({
        "gen_ai.request.model": "gpt-5", "gen_ai.usage.details.anything": 1, "cost_usd": 0.1, "input_tokens": "7",
        "gcp.vertex.agent.llm_response": r#"{"text":"Hi","usage_metadata":{"total_token_count":7}}"#,
        "genkit:output": {"usage": {"inputTokens": 3}, "text": "Hi"}, "mlflow.chat.tokenUsage": "{}",
    }));
    crate::project::remove_usage(&mut stored);
    let left = json!({
        "gen_ai.request.model": "gpt-5", "gcp.vertex.agent.llm_response": r#"{"text":"Hi"}"#, "genkit:output": {"text": "Hi"},
    });
    assert_eq!(Value::Object(stored), left);
}

#[test]
fn each_attempt_that_fails_counts_though_the_agent_reports_one() {
    let proxied = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-x", "tracer.source": "proxy", "error.type": "400"});
    let reported = json!({
        "span.type": "llm_request", "model": "claude-x", "success": false, "gen_ai.response.id": "req_6",
        "otel.scope.name": "com.anthropic.claude_code.tracing",
    });
    let failed = |mut span: SpanRecord| {
        span.status_code = StatusCode::Error;
        span
    };
    let records = run(vec![
        failed(span(2, 1, "chat", (1, 2), proxied.clone())),
        failed(span(3, 1, "chat", (8, 9), proxied)),
        failed(span(4, 1, "claude_code.llm_request", (7, 9), reported)),
    ]);
    let types: Vec<EventType> = calls(&records)
        .into_iter()
        .map(|(_, event_type, _)| event_type)
        .collect();
    assert_eq!(
        types.iter().filter(|event_type| **event_type == LlmCall).count(),
        2,
        "{types:?}"
    );
}

#[test]
fn a_tool_before_the_id_of_its_call_is_no_other_call() {
    let records = run(vec![
        span(
            2,
            1,
            "execute_tool sh",
            (1, 9),
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "sh", "gen_ai.tool.call.id": "call_1",
                "tracer.derived": true, "tracer.source": "proxy",
            }),
        ),
        span(
            3,
            1,
            "tool_call",
            (2, 3),
            json!({
                "gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "sh", "gen_ai.tool.call_id": "sh__call_1", "otel.scope.name": "gemini-cli",
            }),
        ),
    ]);
    assert_eq!(calls(&records), [(2, Unknown, Some(3)), (3, ToolCall, None)]);
}

#[test]
fn a_version_of_the_model_is_the_model() {
    let recorded = |source: &str, model: &str| {
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.usage.output_tokens": 7,
            "otel.scope.name": "gemini-cli", "tracer.from_log": source,
        })
    };
    for (one, other, is_same) in [
        ("gemini-3-flash", "gemini-3-flash-001", true),
        ("gpt-4", "gpt-4-2026-01-31", true),
        ("gpt-4-1106", "gpt-5-1106", false),
        ("gpt-4", "gpt-5", false),
        ("claude-3-7", "claude-3-5", false),
    ] {
        let records = run(vec![
            span(2, 1, "chat", (1, 9), recorded("api_response", one)),
            span(3, 1, "chat", (1, 9), recorded("", other)),
        ]);
        let count = records
            .iter()
            .filter(|record| record.event_type() == LlmCall)
            .count();
        assert_eq!(count == 1, is_same, "{one}, {other}");
    }
}

#[test]
fn the_call_has_the_deepest_of_its_places() {
    let rich = |more: Value| {
        let mut stored = attributes(chat(
            json!({"gen_ai.response.id": "a", "gen_ai.input.messages": "[]"}),
        ));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let parent = |records: &[Record], number: u64| {
        let id = format!("{number:016x}");
        records
            .iter()
            .find(|record| record.event_id == id)
            .unwrap()
            .parent_id
            .clone()
            .unwrap()
    };
    // The proxy saw the call from outside, the library within its agent.
    let records = run(vec![
        span(
            2,
            1,
            "invoke_agent",
            (0, 20),
            json!({"gen_ai.operation.name": "invoke_agent"}),
        ),
        span(3, 2, "chat", (1, 9), chat(json!({"gen_ai.response.id": "a"}))),
        span(
            4,
            1,
            "POST",
            (2, 8),
            rich(json!({"otel.scope.name": "tracer.proxy"})),
        ),
    ]);
    assert_eq!(
        calls(&records),
        [(2, Unknown, None), (3, Unknown, Some(4)), (4, LlmCall, None)]
    );
    assert_eq!(parent(&records, 4), "0000000000000002");
    // What is within the call is no place for it.
    let records = run(vec![
        span(2, 1, "chat", (1, 9), rich(json!({}))),
        span(3, 2, "http", (1, 9), json!({})),
        span(4, 3, "chat", (2, 8), chat(json!({"gen_ai.response.id": "a"}))),
    ]);
    assert_eq!(
        calls(&records),
        [(2, LlmCall, None), (3, Unknown, None), (4, Unknown, Some(2))]
    );
    assert_eq!(parent(&records, 2), "0000000000000001");
}

#[test]
fn both_sides_of_a_tool_call_are_one() {
    let mcp = |more: Value| {
        let mut stored = attributes(
            json!({"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}),
        );
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let records = run(vec![
        span(2, 1, "tools/call weather", (1, 9), mcp(json!({}))),
        span(
            3,
            2,
            "tools/call weather",
            (2, 8),
            mcp(json!({"gen_ai.tool.call.arguments": {"city": "Oslo"}, "gen_ai.tool.call.result": "7 C"})),
        ),
        // A tool of the same name within another one, and one that another tool calls.
        span(
            4,
            1,
            "execute_tool",
            (10, 19),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}),
        ),
        span(
            5,
            4,
            "add",
            (11, 18),
            json!({"tracer.tool_name": "add", "tracer.status": "ok"}),
        ),
        span(
            6,
            4,
            "log",
            (11, 18),
            json!({"tracer.tool_name": "log", "tracer.status": "ok"}),
        ),
    ]);
    assert_eq!(
        calls(&records),
        [
            (2, ToolCall, None),
            (3, Unknown, Some(2)),
            (4, ToolCall, None),
            (5, ToolCall, None),
            (6, ToolCall, None)
        ]
    );
    let call = payload(&records, 2);
    assert_eq!(
        (&call["args"], &call["result"]),
        (&json!({"city": "Oslo"}), &json!("7 C"))
    );

    // What the proxy derived gives way to what was recorded.
    let records = run(vec![
        span(
            2,
            1,
            "execute_tool add",
            (1, 9),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "c",
            "gen_ai.tool.call.arguments": "{\"x\":1}", "gen_ai.tool.call.result": "2", "tracer.source": "proxy", "tracer.derived": true}),
        ),
        span(
            3,
            1,
            "execute_tool",
            (2, 8),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "c"}),
        ),
    ]);
    assert_eq!(calls(&records), [(2, Unknown, Some(3)), (3, ToolCall, None)]);
    assert_eq!(payload(&records, 3)["args"], json!({"x": 1}));
}

#[test]
fn many_calls_alike_are_matched_quickly() {
    let spans = (0..4_000u64)
        .map(|number| {
            let scope = ["a", "b", "c", "d", "e", "f"][usize::try_from(number % 6).unwrap()];
            let stored = json!({"gen_ai.response.id": "same", "gen_ai.usage.output_tokens": 7, "otel.scope.name": scope});
            // Nested deep, all at once.
            span(number + 2, number + 1, "chat", (1, 9), chat(stored))
        })
        .collect();
    let records = run(spans);
    assert_eq!(records.len(), 4_002);
    assert!(count_records(&records).llm_calls > 0);
}

#[test]
fn derived_tool_calls_give_way_to_those_of_their_time() {
    let derived = |city: &str, id: &str| {
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": id,
            "gen_ai.tool.call.arguments": city, "tracer.source": "proxy", "tracer.derived": true})
    };
    let tool =
        |city: &str| json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": city});
    let records = run(vec![
        // Two calls at once, of which an instrumentation without IDs recorded both.
        span(2, 1, "weather", (1, 9), derived("Oslo", "a")),
        span(3, 1, "weather", (1, 9), derived("Paris", "b")),
        span(4, 1, "weather", (2, 4), tool("Oslo")),
        span(5, 1, "weather", (4, 8), tool("Paris")),
        // One that nobody else recorded, and one that ran at another time.
        span(6, 1, "weather", (20, 29), derived("Rome", "c")),
        span(7, 1, "weather", (40, 49), tool("Rome")),
    ]);
    assert_eq!(
        calls(&records),
        [
            (2, Unknown, Some(4)),
            (3, Unknown, Some(5)),
            (4, ToolCall, None),
            (5, ToolCall, None),
            (6, ToolCall, None),
            (7, ToolCall, None),
        ]
    );
}

#[test]
fn a_derived_call_without_an_end_is_the_one_with_its_id_whenever_that_ran() {
    let tool = |more: Value| {
        let mut stored = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "a"});
        stored.as_object_mut().unwrap().extend(attributes(more));
        stored
    };
    let derived = || tool(json!({"tracer.source": "proxy", "tracer.derived": true}));
    let with_end = |end: u64| {
        calls(&run(vec![
            span(2, 1, "weather", (1, end), derived()),
            span(
                3,
                1,
                "weather",
                (40, 49),
                tool(json!({"otel.scope.name": "agent"})),
            ),
        ]))
    };
    assert_eq!(with_end(1), [(2, Unknown, Some(3)), (3, ToolCall, None)]);
    assert_eq!(
        with_end(9),
        [(2, ToolCall, None), (3, ToolCall, None)],
        "it had its result before"
    );
}

#[test]
fn a_derived_call_without_an_end_is_the_next_one_that_is_no_others() {
    let derived = |id: &str| {
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": id,
            "tracer.source": "proxy", "tracer.derived": true})
    };
    let tool = || json!({"openinference.span.kind": "TOOL", "tool.name": "weather"});
    let mut spans = vec![
        span(2, 1, "weather", (5, 5), derived("a")),
        span(3, 1, "weather", (20, 29), derived("b")),
        span(4, 1, "weather", (1, 2), tool()),
        span(5, 1, "weather", (21, 28), tool()),
    ];
    assert_eq!(
        calls(&run(spans.clone())),
        [
            (2, ToolCall, None),
            (3, Unknown, Some(5)),
            (4, ToolCall, None),
            (5, ToolCall, None),
        ]
    );
    spans.push(span(6, 1, "weather", (40, 49), tool()));
    assert_eq!(
        calls(&run(spans)),
        [
            (2, Unknown, Some(6)),
            (3, Unknown, Some(5)),
            (4, ToolCall, None),
            (5, ToolCall, None),
            (6, ToolCall, None),
        ]
    );
}

#[test]
fn a_word_in_place_of_an_id_is_none() {
    let with_id = |id: &str| {
        calls(&run(vec![
            span(
                2,
                1,
                "weather",
                (1, 9),
                json!({
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "call_1",
                    "tracer.source": "proxy", "tracer.derived": true,
                }),
            ),
            span(
                3,
                1,
                "execute_tool weather",
                (2, 8),
                json!({
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": id,
                    "otel.scope.name": "gcp.vertex.agent",
                }),
            ),
        ]))
    };
    assert_eq!(
        with_id("<not specified>"),
        [(2, Unknown, Some(3)), (3, ToolCall, None)]
    );
    assert_eq!(
        with_id("call_2"),
        [(2, Unknown, Some(3)), (3, ToolCall, None)],
        "the library made it up"
    );
}

#[test]
fn a_failed_call_of_another_model_than_asked_is_one() {
    let chat = |model: &str, more: Value| {
        let mut stored = attributes(json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": model}));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let failed = json!({"error.type": "NotFoundError", "gen_ai.input.messages": "[]"});
    let by_proxy = |more: Value| {
        let mut stored =
            json!({"tracer.error_type": "404", "tracer.status": "error", "tracer.source": "proxy"});
        stored.as_object_mut().unwrap().extend(attributes(more));
        chat("gpt-6", stored)
    };
    let model_calls = |more: Value| {
        let records = run(vec![
            span(2, 1, "chat gpt-5", (1, 9), chat("gpt-5", failed.clone())),
            span(3, 1, "chat gpt-6", (2, 8), by_proxy(more)),
        ]);
        let calls = calls(&records);
        calls.iter().filter(|(_, kind, _)| *kind == LlmCall).count()
    };
    assert_eq!(model_calls(json!({"tracer.client_model": "gpt-5"})), 1);
    assert_eq!(model_calls(json!({})), 2);
}

#[test]
fn the_call_of_a_program_has_the_number_of_its_exchange() {
    let chat =
        json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", "gen_ai.response.id": "r1"});
    let by_program = |more: Value| {
        let mut stored = chat.clone();
        stored.as_object_mut().unwrap().extend(attributes(more));
        stored
    };
    let content = json!({"gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]"});
    let records = run(vec![
        span(2, 1, "chat gpt-5", (1, 9), by_program(content)),
        span(
            3,
            1,
            "chat gpt-5",
            (2, 8),
            by_program(json!({"tracer.source": "proxy", "tracer.call_number": 7})),
        ),
    ]);
    let call = records
        .iter()
        .find(|record| record.event_type() == LlmCall)
        .unwrap();
    assert_eq!(call.meta["call_number"], 7, "{:?}", call.meta);
}

#[test]
fn a_failed_call_that_two_recorded_is_one() {
    let chat = |more: Value| {
        let mut stored =
            attributes(json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let by_program = || chat(json!({"error.type": "NotFoundError", "gen_ai.input.messages": "[]"}));
    let by_proxy =
        || chat(json!({"tracer.error_type": "404", "tracer.status": "error", "tracer.source": "proxy"}));
    let records = run(vec![
        span(2, 1, "chat gpt-5", (1, 9), by_program()),
        span(3, 1, "chat gpt-5", (2, 8), by_proxy()),
        // Two in a row are two.
        span(4, 1, "chat gpt-5", (20, 29), by_proxy()),
        span(5, 1, "chat gpt-5", (40, 49), by_program()),
    ]);
    let calls = calls(&records);
    assert_eq!(
        calls.iter().filter(|(_, kind, _)| *kind == LlmCall).count(),
        3,
        "{calls:?}"
    );
}

/// A model call that an instrumentation recorded, and one that the proxy did.
fn by(scope: &str, more: Value) -> Value {
    let mut stored = attributes(chat(more));
    stored.insert("otel.scope.name".to_owned(), json!(scope));
    if scope == "tracer.proxy" {
        stored.insert("tracer.source".to_owned(), json!("proxy"));
    }
    Value::Object(stored)
}

/// How many model calls there are, and their output tokens.
fn model_calls(records: &[Record]) -> (usize, u64) {
    let calls = records.iter().filter(|record| record.event_type() == LlmCall);
    let outputs: Vec<u64> = calls
        .map(|record| serde_json::to_value(&record.payload).unwrap())
        .map(|payload| payload["usage"]["completion_tokens"].as_u64().unwrap_or(0))
        .collect();
    (outputs.len(), outputs.iter().sum())
}

#[test]
fn names_of_one_model_are_one_call() {
    for (library, wire) in [
        ("claude-opus-4-8[1m]", "claude-opus-4-8"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("openrouter/openai/gpt-5-mini:free", "openai/gpt-5-mini"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("gpt-5-mini-latest", "GPT-5-mini-2025-08-07"),
    ] {
        let tokens = |model: &str| json!({"gen_ai.request.model": model, "gen_ai.usage.output_tokens": 7});
        let records = run(vec![
            span(2, 1, "chat", (1, 9), by("library", tokens(library))),
            span(3, 1, "POST", (2, 8), by("tracer.proxy", tokens(wire))),
        ]);
        assert_eq!(model_calls(&records), (1, 7), "{library}, {wire}");
    }
}

#[test]
fn a_size_is_the_model_and_no_variant() {
    let tokens = |model: &str| json!({"gen_ai.request.model": model, "gen_ai.usage.output_tokens": 7});
    let records = run(vec![
        span(2, 1, "chat", (1, 9), by("library", tokens("llama3:3b"))),
        span(3, 1, "POST", (2, 8), by("tracer.proxy", tokens("llama3:8b"))),
    ]);
    assert_eq!(model_calls(&records), (2, 14));
}

#[test]
fn a_request_id_joins_what_nothing_else_does() {
    let records = run(vec![
        span(
            2,
            1,
            "llm_request",
            (1, 9),
            by(
                "agent",
                json!({"gen_ai.request.model": "opus", "gen_ai.response.id": "req_1"}),
            ),
        ),
        span(
            3,
            1,
            "POST",
            (2, 8),
            by(
                "tracer.proxy",
                json!({
                    "gen_ai.request.model": "claude-opus-4-8", "gen_ai.response.id": "msg_1", "tracer.request_id": "req_1",
                    "gen_ai.usage.output_tokens": 7,
                }),
            ),
        ),
    ]);
    assert_eq!(model_calls(&records), (1, 7));
}

#[test]
fn a_request_within_a_call_is_that_call_whatever_its_names() {
    let library = |model: &str| {
        by(
            "library",
            json!({"gen_ai.request.model": model, "gen_ai.response.id": "chatcmpl-own"}),
        )
    };
    let wire = |more: Value| {
        let mut stored = attributes(by(
            "tracer.proxy",
            json!({"gen_ai.request.model": "gpt-5-mini", "gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7}),
        ));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    // A deployment's name, an ID that the library made up.
    let within = run(vec![
        span(2, 1, "chat", (1, 9), library("my-deployment")),
        span(3, 2, "POST", (2, 8), wire(json!({}))),
    ]);
    assert_eq!(model_calls(&within), (1, 7));
    let agent = "0000000000000001";
    let call = within
        .iter()
        .find(|record| record.event_type() == LlmCall)
        .unwrap();
    assert_eq!(
        call.parent_id.as_deref(),
        Some(agent),
        "it is where the library made it"
    );
    // A place that was inferred says nothing of which call it is.
    let inferred = run(vec![
        span(2, 1, "chat", (1, 9), library("my-deployment")),
        span(3, 2, "POST", (2, 8), wire(json!({"tracer.inferred": "parent"}))),
    ]);
    assert_eq!(model_calls(&inferred).0, 2);
}

#[test]
fn the_last_attempt_within_a_call_is_that_call() {
    let wire = |more: Value| by("tracer.proxy", more);
    let failed = |number: u64, times: (u64, u64)| {
        let attempt = json!({"error.type": "429", "http.response.status_code": 429});
        let mut span = span(number, 2, "POST", times, wire(attempt));
        span.status_code = StatusCode::Error;
        span
    };
    let tokens = json!({"gen_ai.usage.output_tokens": 7, "gen_ai.response.id": "r"});
    let records = run(vec![
        span(2, 1, "chat", (1, 9), by("library", tokens.clone())),
        failed(3, (2, 3)),
        failed(4, (4, 5)),
        span(5, 2, "POST", (6, 8), wire(tokens)),
    ]);
    let attempts: Vec<bool> = records
        .iter()
        .filter(|record| record.event_type() == LlmCall)
        .map(|record| record.meta.contains_key("attempt_of"))
        .collect();
    assert_eq!(attempts, [true, true, false]);
    assert_eq!(model_calls(&records), (3, 7));
}

#[test]
fn an_instrumentation_recorded_each_call_once() {
    // The ID joins the first two; the tokens, which all have, must not add the third.
    let tokens = |scope: &str, more: Value| {
        let mut stored = attributes(by(scope, json!({"gen_ai.usage.output_tokens": 7})));
        stored.extend(attributes(more));
        Value::Object(stored)
    };
    let id = json!({"gen_ai.response.id": "r"});
    let records = run(vec![
        span(2, 1, "chat", (1, 9), tokens("library", id.clone())),
        span(3, 1, "POST", (2, 8), tokens("tracer.proxy", id)),
        span(4, 1, "chat", (1, 9), tokens("library", json!({}))),
    ]);
    assert_eq!(model_calls(&records), (1, 7), "the wire saw one request");
}

#[test]
fn a_bare_argument_is_the_one_that_the_model_asked_for() {
    let records = run(vec![
        span(
            2,
            1,
            "get_weather",
            (1, 9),
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
                "gen_ai.tool.call.arguments": r#"{"city":"Oslo"}"#, "tracer.derived": true, "tracer.source": "proxy",
            }),
        ),
        span(
            3,
            1,
            "get_weather",
            (2, 3),
            json!({"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": "Oslo", "tool_call.id": "call_1"}),
        ),
    ]);
    assert_eq!(calls(&records), [(2, Unknown, Some(3)), (3, ToolCall, None)]);
    assert_eq!(payload(&records, 3)["args"], json!({"city": "Oslo"}));
}

#[test]
fn the_span_of_a_hand_over_is_the_tool_that_the_model_asked_for() {
    let derived = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "transfer_to_billing_agent", "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": r#"{"assistant":"Billing Agent"}"#,
        "tracer.derived": true, "tracer.source": "proxy",
    });
    let reported = |name: &str, agent: &str| {
        let stored = json!({"openinference.span.kind": "TOOL", "input.value": r#"{"from_agent":"triage"}"#,
                            "output.value": json!({ "to_agent": agent }).to_string()});
        run(vec![
            span(2, 1, "transfer_to_billing_agent", (1, 9), derived.clone()),
            span(3, 1, name, (2, 3), stored),
        ])
    };
    for name in [
        "handoff to Billing Agent",
        "transferToBillingAgent",
        "Transfer_to_billing_agent",
        "transfer-to-billing-agent",
    ] {
        let records = reported(name, "Billing Agent");
        assert_eq!(
            calls(&records),
            [(2, Unknown, Some(3)), (3, ToolCall, None)],
            "{name}"
        );
        assert_eq!(payload(&records, 3)["tool_name"], "transfer_to_billing_agent");
    }
    // To another agent.
    let records = reported("handoff to Sales", "Sales");
    assert_eq!(calls(&records), [(2, ToolCall, None), (3, ToolCall, None)]);
}

#[test]
fn the_agent_that_hands_over_is_no_argument() {
    let derived = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "transfer_to_billing", "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": r#"{"reason":"a refund"}"#, "tracer.derived": true, "tracer.source": "proxy",
    });
    let handed =
        json!({"openinference.span.kind": "TOOL", "input.value": "triage", "output.value": "billing"});
    let records = run(vec![
        span(2, 1, "transfer_to_billing", (1, 9), derived),
        span(3, 1, "handoff to billing", (2, 3), handed),
    ]);
    assert_eq!(calls(&records), [(2, Unknown, Some(3)), (3, ToolCall, None)]);
    assert_eq!(payload(&records, 3)["args"], json!({"reason": "a refund"}));
}

#[test]
fn a_failed_attempt_is_where_the_call_is_that_was_tried_again() {
    let failed = |number: u64, times: (u64, u64)| {
        let mut span = span(
            number,
            1,
            "POST",
            times,
            by("tracer.proxy", json!({"error.type": "429"})),
        );
        span.status_code = StatusCode::Error;
        span
    };
    let id = json!({"gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7});
    let mut retry = id.clone();
    retry["tracer.retry_of"] = json!("0000000000000004");
    let records = run(vec![
        span(
            2,
            1,
            "invoke_agent",
            (1, 20),
            json!({"gen_ai.operation.name": "invoke_agent"}),
        ),
        span(3, 2, "chat", (2, 9), by("library", id.clone())),
        failed(4, (3, 4)),
        span(5, 1, "POST", (6, 8), by("tracer.proxy", retry)),
        failed(6, (11, 12)),
    ]);
    let agent = |number: u64| {
        let record = records
            .iter()
            .find(|record| record.event_id == format!("{number:016x}"));
        record.unwrap().parent_id.as_deref() == Some("0000000000000002")
    };
    assert!(agent(4) && agent(5));
    assert!(!agent(6), "no call tries it again");
    let attempt = records
        .iter()
        .find(|record| record.event_id == "0000000000000004");
    assert_eq!(attempt.unwrap().meta["attempt_of"], json!("0000000000000005"));
}

#[test]
fn an_agent_that_is_reported_twice_is_one() {
    let agent = |number: u64, parent: u64, name: Option<&str>, scope: &str, times: (u64, u64)| {
        let mut stored = by(scope, json!({"gen_ai.operation.name": "invoke_agent"}));
        if let Some(name) = name {
            stored["gen_ai.agent.name"] = json!(name);
        }
        span(number, parent, "invoke_agent", times, stored)
    };
    let call = |number: u64, parent: u64, scope: &str, id: &str| {
        let answered = json!({"gen_ai.response.id": id, "gen_ai.usage.output_tokens": id.len()});
        span(number, parent, "chat", (5, 9), by(scope, answered))
    };
    let (clerk, none) = (Some("clerk"), None);
    for (what, spans, expected) in [
        (
            "nested, of one reporter",
            vec![
                agent(2, 1, clerk, "a", (1, 20)),
                agent(3, 2, clerk, "a", (2, 19)),
                call(4, 3, "a", "r"),
            ],
            1,
        ),
        (
            "an agent that hands over to another one",
            vec![
                agent(2, 1, clerk, "a", (1, 20)),
                agent(3, 2, Some("expert"), "a", (2, 19)),
                call(4, 3, "a", "r"),
            ],
            2,
        ),
        (
            "two reporters, one without a name",
            vec![
                agent(2, 1, clerk, "a", (1, 20)),
                call(3, 2, "a", "r"),
                agent(4, 1, none, "b", (2, 19)),
                call(5, 4, "b", "r"),
            ],
            1,
        ),
        (
            "two agents with other calls",
            vec![
                agent(2, 1, clerk, "a", (1, 20)),
                call(3, 2, "a", "r"),
                agent(4, 1, none, "b", (2, 19)),
                call(5, 4, "b", "another"),
            ],
            2,
        ),
    ] {
        let records = run(spans);
        let agents = records
            .iter()
            .filter(|record| record.name == "invoke_agent" && !record.is_leftover());
        let agents: Vec<&str> = agents.map(|record| record.event_id.as_str()).collect();
        assert_eq!(agents.len(), expected, "{what}");
        let of_calls = records.iter().filter(|record| record.event_type() == LlmCall);
        for call in of_calls {
            assert!(agents.contains(&call.parent_id.as_deref().unwrap()), "{what}");
        }
    }
}

#[test]
fn a_request_that_was_left_for_one_made_meanwhile_is_cancelled() {
    let mut left = span(
        2,
        1,
        "POST",
        (2, 6),
        by(
            "tracer.proxy",
            json!({"tracer.source": "proxy", "error.type": "aborted"}),
        ),
    );
    left.status_code = StatusCode::Error;
    let made = json!({"tracer.source": "proxy", "tracer.retry_of": "0000000000000002", "gen_ai.usage.output_tokens": 7});
    for (start, expected) in [(4, Outcome::Cancelled), (7, Outcome::Failed)] {
        let records = run(vec![
            left.clone(),
            span(3, 1, "POST", (start, 9), by("tracer.proxy", made.clone())),
        ]);
        assert_eq!(outcome(&records, 2), expected);
        let attempt = records
            .iter()
            .find(|record| record.event_id.ends_with('2'))
            .unwrap();
        assert_eq!(attempt.meta.contains_key("attempt_of"), start == 7);
    }
    // Of two that were left, none was left for the other.
    let made =
        json!({"tracer.source": "proxy", "tracer.retry_of": "0000000000000002", "error.type": "aborted"});
    let mut made = span(3, 1, "POST", (4, 9), by("tracer.proxy", made));
    made.status_code = StatusCode::Error;
    let records = run(vec![left, made]);
    assert_eq!(
        (outcome(&records, 2), outcome(&records, 3)),
        (Outcome::Failed, Outcome::Failed)
    );
}

/// What asked again for an answer, with its ID and how it stood.
fn fetch(id: &str, status: &str, more: Value) -> Value {
    let mut stored = attributes(json!({
        "gen_ai.operation.name": "fetch_response", "gen_ai.provider.name": "openai", "gen_ai.response.id": id,
        "gen_ai.response.finish_reasons": json!([status]).to_string(),
    }));
    stored.extend(attributes(more));
    Value::Object(stored)
}

fn outcome(records: &[Record], number: u64) -> Outcome {
    let id = format!("{number:016x}");
    let record = records.iter().find(|record| record.event_id == id);
    record.unwrap().outcome()
}

#[test]
fn fetches_are_the_call_that_created_the_answer() {
    let tokens =
        |count: u64| json!({"gen_ai.usage.input_tokens": count, "gen_ai.usage.output_tokens": count});
    let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "6:40"}]}]);
    let mut whole = attributes(tokens(100));
    whole.insert("gen_ai.output.messages".to_owned(), answer.to_string().into());
    let created = json!({"gen_ai.response.id": "resp_1", "gen_ai.response.finish_reasons": "[\"queued\"]"});
    let records = run(vec![
        span(2, 1, "chat gpt-5", (1, 2), chat(created)),
        span(
            3,
            1,
            "fetch_response",
            (12, 13),
            fetch("resp_1", "in_progress", tokens(50)),
        ),
        span(
            4,
            1,
            "fetch_response",
            (23, 24),
            fetch("resp_1", "completed", Value::Object(whole)),
        ),
        span(
            5,
            1,
            "fetch_response",
            (34, 35),
            fetch("resp_2", "completed", tokens(7)),
        ),
    ]);
    assert_eq!(
        calls(&records),
        [
            (2, LlmCall, None),
            (3, Unknown, Some(2)),
            (4, Unknown, Some(2)),
            (5, LlmCall, None)
        ]
    );
    let call = payload(&records, 2);
    assert_eq!(
        call["usage"],
        json!({"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200})
    );
    assert_eq!(
        (&call["model"], &call["stop_reason"]),
        (&json!("gpt-5"), &json!("completed"))
    );
    assert_eq!(call["response"]["value"], answer);
    assert_eq!(outcome(&records, 2), Outcome::Ok);
    let record = records
        .iter()
        .find(|record| record.event_id.ends_with('2'))
        .unwrap();
    assert_eq!(record.duration_ms, Some(23_000), "until it was there");
}

#[test]
fn an_answer_whose_end_nobody_saw_is_unknown() {
    let created = |status: &str| {
        let reasons = json!([status]).to_string();
        chat(json!({"gen_ai.response.id": "resp_1", "gen_ai.response.finish_reasons": reasons}))
    };
    let failed = |status: &str, class: &str| {
        let mut span = span(
            3,
            1,
            "fetch_response",
            (12, 13),
            fetch("resp_1", status, json!({})),
        );
        span.status_code = StatusCode::Error;
        span.attributes.insert("error.type".to_owned(), class.into());
        span
    };
    let again = |status: &str| {
        span(
            4,
            1,
            "fetch_response",
            (23, 24),
            fetch("resp_1", status, json!({})),
        )
    };
    let creation = || span(2, 1, "chat gpt-5", (1, 2), created("queued"));
    for (spans, expected) in [
        (vec![creation()], Outcome::Unknown),
        (vec![creation(), again("in_progress")], Outcome::Unknown),
        (
            vec![creation(), failed("failed", "server_error")],
            Outcome::Failed,
        ),
        (
            vec![creation(), failed("cancelled", "Cancelled")],
            Outcome::Cancelled,
        ),
        (
            vec![creation(), failed("x", "timeout"), again("completed")],
            Outcome::Ok,
        ),
        (
            vec![
                span(2, 1, "chat gpt-5", (1, 2), created("completed")),
                failed("x", "timeout"),
            ],
            Outcome::Ok,
        ),
    ] {
        let records = run(spans);
        assert_eq!(outcome(&records, 2), expected);
        assert_eq!(count_records(&records).llm_calls, 1);
    }
}

#[test]
fn a_report_beside_the_wire_is_a_step() {
    let library = |more: Value| by("library", more);
    let wire = || {
        by(
            "tracer.proxy",
            json!({"gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7}),
        )
    };
    let types = |records: &[Record]| {
        let of_calls = calls(records).into_iter().filter(|(number, ..)| *number < 9);
        of_calls.map(|(_, event_type, _)| event_type).collect::<Vec<_>>()
    };
    // What the library did before it asked, and what its cache answered.
    let records = run(vec![
        span(2, 1, "chat", (1, 9), library(json!({"gen_ai.response.id": "r"}))),
        span(3, 1, "_prepare_chat_with_tools", (1, 1), library(json!({}))),
        span(
            4,
            1,
            "chat",
            (3, 4),
            library(json!({"gen_ai.usage.output_tokens": 8, "gen_ai.output.messages": "[]"})),
        ),
        span(9, 1, "POST", (2, 8), wire()),
    ]);
    assert_eq!(types(&records), [Unknown, Unknown, Unknown]);
    assert_eq!(model_calls(&records), (1, 7));
    // Of another model than the wire saw, and without the wire, it is a call.
    let other = json!({"gen_ai.request.model": "claude", "gen_ai.usage.output_tokens": 8});
    let records = run(vec![
        span(2, 1, "chat", (3, 4), library(other.clone())),
        span(9, 1, "POST", (2, 8), wire()),
    ]);
    assert_eq!(model_calls(&records), (2, 15));
    assert_eq!(
        model_calls(&run(vec![span(2, 1, "chat", (3, 4), library(other))])),
        (1, 8)
    );
}

#[test]
fn a_tool_failed_when_one_says_so() {
    let asked = || {
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c",
            "tracer.derived": true, "tracer.source": "proxy"})
    };
    let ran = || json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "tool_call.id": "c"});
    for (fails_in_messages, fails_in_library) in [(true, false), (false, true), (true, true), (false, false)]
    {
        let mut spans = vec![
            span(2, 1, "weather", (1, 9), asked()),
            span(3, 1, "weather", (2, 3), ran()),
        ];
        for (span, fails) in spans.iter_mut().zip([fails_in_messages, fails_in_library]) {
            if fails {
                span.status_code = StatusCode::Error;
            }
        }
        let status = payload(&run(spans), 3)["status"].clone();
        let expected = if fails_in_messages || fails_in_library {
            "error"
        } else {
            "ok"
        };
        assert_eq!(status, expected);
    }
}

#[test]
fn a_tool_is_where_the_call_is_that_asked_for_it() {
    let id = json!({"gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7});
    let records = run(vec![
        span(
            2,
            1,
            "invoke_agent",
            (1, 20),
            json!({"gen_ai.operation.name": "invoke_agent"}),
        ),
        span(3, 2, "chat", (2, 9), by("library", id.clone())),
        span(4, 1, "POST", (3, 8), by("tracer.proxy", id)),
        span(
            5,
            1,
            "weather",
            (8, 12),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "tracer.derived": true,
                "tracer.source": "proxy"}),
        ),
    ]);
    let tool = records
        .iter()
        .find(|record| record.event_type() == ToolCall)
        .unwrap();
    assert_eq!(tool.parent_id.as_deref(), Some("0000000000000002"));
}

/// A row of the proxy for a conversation.
fn row(number: u64, parent: u64, conversation: u64, times: (u64, u64)) -> SpanRecord {
    let stored = json!({"tracer.source": "proxy", "tracer.inferred": "span", "tracer.thread": conversation});
    span(number, parent, "conversation", times, stored)
}

/// A call of a model that the proxy saw in a conversation.
fn turn(number: u64, parent: u64, conversation: u64, times: (u64, u64)) -> SpanRecord {
    let stored = chat(json!({"tracer.source": "proxy", "tracer.thread": conversation}));
    span(number, parent, "POST", times, stored)
}

/// A tool that the proxy read from the messages of a conversation.
fn derived_tool(number: u64, parent: u64, conversation: u64, times: (u64, u64)) -> SpanRecord {
    let stored = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "tracer.derived": true,
        "gen_ai.tool.call.arguments": "Oslo", "tracer.source": "proxy", "tracer.thread": conversation});
    span(number, parent, "search", times, stored)
}

/// A tool that a recorder of this format ran.
fn own_tool(number: u64, parent: u64, times: (u64, u64)) -> SpanRecord {
    let stored = json!({"tracer.tool_name": "search", "tracer.args": "Oslo"});
    span(number, parent, "search", times, stored)
}

/// The number of a span's parent, and whether the span is no step.
fn placed(records: &[Record], number: u64) -> (u64, bool) {
    let id = format!("{number:016x}");
    let record = records.iter().find(|record| record.event_id == id).unwrap();
    let parent = u64::from_str_radix(record.parent_id.as_deref().unwrap(), 16).unwrap();
    (
        parent,
        record.marks.as_ref().is_some_and(|marks| marks.is_leftover),
    )
}

#[test]
fn rows_of_one_number_hold_the_calls_of_their_time() {
    let foreign = span(8, 1, "worker", (0, 50), json!({"tracer.thread": 1}));
    let mut spans = vec![
        row(2, 1, 1, (1, 9)),
        row(3, 1, 1, (21, 29)),
        row(4, 1, 2, (1, 9)),
        turn(5, 1, 1, (2, 3)),
        turn(6, 1, 1, (22, 23)),
        turn(7, 1, 3, (4, 5)),
        foreign,
    ];
    for _ in 0..2 {
        let records = run(spans.clone());
        let found: Vec<_> = (2..=8).map(|number| placed(&records, number)).collect();
        let (step, none) = ((1, false), (1, true));
        assert_eq!(found, [step, step, none, (2, false), (3, false), step, step]);
        spans.reverse();
    }
}

#[test]
fn a_row_is_in_the_call_that_its_parent_repeats() {
    let records = run(vec![
        own_tool(2, 1, (2, 20)),
        derived_tool(3, 1, 1, (1, 21)),
        row(4, 3, 2, (4, 9)),
        turn(5, 3, 2, (4, 9)),
    ]);
    assert_eq!(calls(&records)[1], (3, Unknown, Some(2)));
    assert_eq!(
        (placed(&records, 4), placed(&records, 5)),
        ((2, false), (4, false))
    );
}

#[test]
fn a_call_is_in_the_row_that_any_of_its_reports_names() {
    let records = run(vec![
        turn(2, 1, 1, (1, 2)),
        own_tool(3, 1, (3, 5)),
        derived_tool(4, 1, 1, (2, 6)),
        row(5, 1, 1, (1, 8)),
    ]);
    assert_eq!(calls(&records)[2], (4, Unknown, Some(3)));
    assert_eq!((placed(&records, 2).0, placed(&records, 3).0), (5, 5));
}

#[test]
fn a_row_is_no_other_place_than_that_of_its_calls() {
    let spans = [row(2, 1, 1, (1, 8)), turn(3, 1, 1, (1, 2)), turn(4, 1, 2, (1, 2))];
    let reports = reports_of(&spans, |line| if line == 0 { Unknown } else { LlmCall });
    let found = correlate(&reports, |_| None, |_| None);
    assert_eq!(
        found.parent_of(1, spans[1].parent_span_id),
        Some(spans[0].span_id)
    );
    assert!(found.is_reported_once(1) && found.is_reported_once(2));
}

#[test]
fn own_agents_alone_are_not_correlated() {
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"});
    let records = run(vec![
        span(2, 1, "clerk", (1, 20), agent.clone()),
        span(3, 2, "clerk", (2, 19), agent),
        own_tool(4, 3, (3, 5)),
    ]);
    let repeats: Vec<_> = calls(&records).into_iter().map(|(_, _, same)| same).collect();
    assert_eq!(repeats, [None; 3]);
}
