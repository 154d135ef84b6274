//! Log records: messages for spans, and the coding agents.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use serde_json::Value;
use tracer_sdk::format::EventType;

use super::*;
use crate::runs::conversation::CodingAgent;
use crate::runs::logs::conversation_run;

fn int(value: i64) -> AnyValue {
    AnyValue {
        value: Some(Any::IntValue(value)),
    }
}

fn log(name: &str, at_ms: u64, attributes: Vec<KeyValue>) -> LogRecord {
    LogRecord {
        time_unix_nano: START + at_ms * MS,
        event_name: name.to_owned(),
        attributes,
        ..LogRecord::default()
    }
}

fn logs(service: &str, scope: &str, records: Vec<LogRecord>) -> Vec<ResourceLogs> {
    vec![ResourceLogs {
        resource: Some(Resource {
            attributes: vec![attribute("service.name", text(service))],
            ..Resource::default()
        }),
        scope_logs: vec![ScopeLogs {
            scope: Some(InstrumentationScope {
                name: scope.to_owned(),
                ..InstrumentationScope::default()
            }),
            log_records: records,
            ..ScopeLogs::default()
        }],
        ..ResourceLogs::default()
    }]
}

fn message_event(trace: u128, span: u64, name: &str, content: &str) -> LogRecord {
    let mut record = log(name, 20, vec![attribute("gen_ai.system", text("openai"))]);
    record.trace_id = trace.to_be_bytes().to_vec();
    record.span_id = span.to_be_bytes().to_vec();
    record.body = Some(text(content));
    record
}

fn claude(name: &str, at_ms: u64, sequence: i64, attributes: &[(&str, &str)]) -> LogRecord {
    let mut all = vec![
        attribute("event.name", text(name)),
        attribute("session.id", text("session-1")),
        attribute("prompt.id", text("prompt-1")),
        attribute("user.email", text("ada@example.org")),
        attribute("event.sequence", int(sequence)),
    ];
    all.extend(attributes.iter().map(|(key, value)| attribute(key, text(value))));
    let mut record = log("", at_ms, all);
    record.body = Some(text(&format!("claude_code.{name}")));
    record
}

fn claude_session() -> Vec<LogRecord> {
    vec![
        claude("user_prompt", 0, 1, &[("prompt", "fix it")]),
        claude(
            "api_request",
            900,
            2,
            &[
                ("model", "claude-x"),
                ("input_tokens", "10"),
                ("output_tokens", "5"),
                ("cache_read_tokens", "100"),
                ("cache_creation_tokens", "20"),
                ("duration_ms", "800"),
                ("request_id", "req_1"),
            ],
        ),
        claude(
            "assistant_response",
            901,
            3,
            &[("response", "done"), ("request_id", "req_1")],
        ),
        claude(
            "tool_decision",
            950,
            4,
            &[
                ("tool_name", "Bash"),
                ("tool_use_id", "t1"),
                ("decision", "accept"),
            ],
        ),
        claude(
            "tool_result",
            1200,
            5,
            &[
                ("tool_name", "Bash"),
                ("tool_use_id", "t1"),
                ("success", "false"),
                ("duration_ms", "200"),
                ("error", "exit 1"),
                ("tool_input", r#"{"command":"ls"}"#),
            ],
        ),
        claude(
            "tool_decision",
            1250,
            6,
            &[
                ("tool_name", "Write"),
                ("tool_use_id", "t2"),
                ("decision", "reject"),
            ],
        ),
        claude(
            "api_error",
            1300,
            7,
            &[
                ("model", "claude-x"),
                ("error", "overloaded"),
                ("status_code", "529"),
                ("duration_ms", "10"),
            ],
        ),
    ]
}

fn loaded(bench: &Bench, agent: CodingAgent, conversation: &str) -> LoadedRun {
    let id = conversation_run(agent, conversation).to_string();
    LoadedRun::read(&bench.directory().join("runs").join(id)).unwrap()
}

fn payloads(run: &LoadedRun, wanted: EventType) -> Vec<Value> {
    let records = run
        .records()
        .into_iter()
        .filter(|record| record.event_type() == wanted);
    records
        .map(|record| serde_json::to_value(record.payload).unwrap())
        .collect()
}

const CLAUDE: &str = "com.anthropic.claude_code.events";

#[test]
fn messages_are_put_into_their_span_whichever_comes_first() {
    let events = || {
        vec![
            message_event(1, 2, "gen_ai.user.message", "what is the weather?"),
            message_event(1, 2, "gen_ai.choice", "it rains"),
        ]
    };
    for order in 0..3 {
        let bench = Bench::new();
        let send = || {
            bench
                .collector
                .accept_logs(logs("weather-app", "openai", events()))
                .unwrap()
        };
        if order == 0 {
            send();
        }
        bench.send(vec![chat(1, 2, 1)]);
        if order == 1 {
            send();
        }
        bench.send(vec![agent(1, 1, 0)]);
        bench.pass(3);
        if order == 2 {
            send();
        }
        send();
        let run = bench.run(1);
        assert_eq!(run.spans.len(), 2, "order {order}");
        let call = named(&run, "chat gpt-5");
        let names: Vec<&str> = call.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names.len(), 2, "order {order}");
        assert!(names.contains(&"gen_ai.user.message") && names.contains(&"gen_ai.choice"));
        assert_eq!(run.meta.counts.llm_calls, 1);
        assert_eq!(run.meta.counts, run.counts());
        assert_eq!(run.meta.late_spans(), 0);
    }
}

#[test]
fn a_session_of_claude_code_is_a_run() {
    let bench = Bench::new();
    for record in claude_session() {
        bench
            .collector
            .accept_logs(logs("claude-code", CLAUDE, vec![record]))
            .unwrap();
    }
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 2));
    let call = &payloads(&run, EventType::LlmCall)[0];
    assert_eq!(
        (call["model"].as_str(), call["provider"].as_str()),
        (Some("claude-x"), Some("anthropic"))
    );
    assert_eq!(
        call["usage"]["prompt_tokens"], 130,
        "what is cached is part of the input"
    );
    assert_eq!(call["usage"]["completion_tokens"], 5);
    assert!(call["prompt"].to_string().contains("fix it"), "{call}");
    assert!(call["response"].to_string().contains("done"), "{call}");
    let tools = payloads(&run, EventType::ToolCall);
    assert_eq!(
        (tools[0]["tool_name"].as_str(), tools[0]["status"].as_str()),
        (Some("Bash"), Some("error"))
    );
    assert_eq!(tools[0]["args"]["command"], "ls", "{}", tools[0]);
    assert_eq!(
        (tools[1]["tool_name"].as_str(), tools[1]["status"].as_str()),
        (Some("Write"), Some("error"))
    );
    let first = named(&run, "chat claude-x");
    assert_eq!(first.duration_ms, Some(800));
    assert!(
        run.spans
            .iter()
            .all(|span| !span.attributes.contains_key("user.email"))
    );
}

#[test]
fn answers_without_an_id_join_the_call_before_them() {
    let call = |at: u64, sequence: i64, request: &[(&str, &str)]| {
        let mut attributes = vec![
            ("model", "claude-x"),
            ("duration_ms", "80"),
            ("output_tokens", "5"),
        ];
        attributes.extend(request);
        claude("api_request", at, sequence, &attributes)
    };
    let answer = |at: u64, sequence: i64, response: &str| {
        claude("assistant_response", at, sequence, &[("response", response)])
    };
    for ids in [
        [("request_id", "req_1"), ("request_id", "req_2")],
        [("x", "1"), ("x", "2")],
    ] {
        let bench = Bench::new();
        let records = vec![
            claude("user_prompt", 0, 1, &[("prompt", "fix it")]),
            call(100, 2, &ids[..1]),
            answer(101, 3, "first"),
            call(300, 4, &ids[1..]),
            answer(301, 5, "second"),
            // No call is left for it.
            answer(302, 6, "third"),
        ];
        bench
            .collector
            .accept_logs(logs("claude-code", CLAUDE, records))
            .unwrap();
        bench.collector.close();
        let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
        let calls = payloads(&run, EventType::LlmCall);
        let responses: Vec<String> = calls.iter().map(|call| call["response"].to_string()).collect();
        assert_eq!(responses.len(), 2);
        assert!(
            responses[0].contains("first") && responses[1].contains("second"),
            "{responses:?}"
        );
    }
}

#[test]
fn a_log_without_a_time_was_when_it_was_observed() {
    let starts = |observed_only: bool| {
        let bench = Bench::new();
        let mut records = claude_session();
        for record in &mut records {
            record.observed_time_unix_nano = record.time_unix_nano;
            if observed_only {
                record.time_unix_nano = 0;
            }
        }
        bench
            .collector
            .accept_logs(logs("claude-code", CLAUDE, records))
            .unwrap();
        bench.collector.close();
        let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
        run.spans
            .iter()
            .map(|span| span.start_time.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(true), starts(false));
}

#[test]
fn sending_a_session_twice_changes_nothing() {
    let bench = Bench::new();
    let all = || logs("claude-code", CLAUDE, claude_session());
    bench.collector.accept_logs(all()).unwrap();
    bench.collector.accept_logs(all()).unwrap();
    let spans = bench.collector.summary().spans;
    assert_eq!(bench.collector.close().duplicates, spans);
}

#[test]
fn a_call_that_is_logged_and_sent_counts_once() {
    let bench = Bench::new();
    let mut sent = span(9, 5, 4, "claude_code.llm_request", 100, 900);
    sent = with(
        sent,
        &[
            ("span.type", "llm_request"),
            ("model", "claude-x"),
            ("session.id", "session-1"),
            ("request_id", "req_1"),
            ("input_tokens", "10"),
            ("output_tokens", "5"),
            ("cache_read_tokens", "100"),
            ("cache_creation_tokens", "20"),
        ],
    );
    let interaction = with(
        span(9, 4, 0, "claude_code.interaction", 0, 1000),
        &[("session.id", "session-1")],
    );
    bench
        .collector
        .accept_logs(logs("claude-code", CLAUDE, claude_session()))
        .unwrap();
    bench.send(vec![sent, interaction]);
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
    assert_eq!(run.meta.counts.llm_calls, 2, "the one, and the one that failed");
    let call = &payloads(&run, EventType::LlmCall)[0];
    assert_eq!(call["usage"]["prompt_tokens"], 130, "{call}");
    assert!(call["response"].to_string().contains("done"), "{call}");
    assert_eq!(bench.statuses().len(), 1);
}

#[test]
fn what_was_let_run_is_part_of_its_call_and_set_up_is_no_step() {
    let bench = Bench::new();
    let mut records = claude_session();
    records.push(claude("plugin_loaded", 1, 8, &[("plugin_name", "p")]));
    bench
        .collector
        .accept_logs(logs("claude-code", CLAUDE, records))
        .unwrap();
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
    let names: Vec<&str> = run.spans.iter().map(|span| span.name.as_str()).collect();
    assert!(
        !names.contains(&"tool_decision") && !names.contains(&"plugin_loaded"),
        "{names:?}"
    );
    let tool = run
        .spans
        .iter()
        .find(|span| span.name == "execute_tool Bash")
        .unwrap();
    assert_eq!(tool.attributes["tool_decision.decision"], "accept");
    let refused = payloads(&run, EventType::ToolCall);
    assert_eq!(
        refused.len(),
        2,
        "what somebody refused is a call that failed: {refused:?}"
    );
}

#[test]
fn codex_completes_twice_and_is_counted_once() {
    let bench = Bench::new();
    let event = |name: &str, at_ms: u64, pairs: &[(&str, &str)]| {
        let mut all = vec![
            attribute("conversation.id", text("c-1")),
            attribute("model", text("gpt-5-codex")),
        ];
        all.extend(pairs.iter().map(|(key, value)| attribute(key, text(value))));
        log(name, at_ms, all)
    };
    let records = vec![
        event("codex.conversation_starts", 0, &[("provider_name", "openai")]),
        event("codex.user_prompt", 1, &[("prompt", "list the files")]),
        event(
            "codex.api_request",
            100,
            &[
                ("duration_ms", "50"),
                ("http.response.status_code", "500"),
                ("error.message", "oops"),
            ],
        ),
        event(
            "codex.api_request",
            300,
            &[("duration_ms", "100"), ("http.response.status_code", "200")],
        ),
        event(
            "codex.sse_event",
            310,
            &[("event.kind", "response.output_text.delta"), ("duration_ms", "1")],
        ),
        event(
            "codex.sse_event",
            900,
            &[("event.kind", "response.completed"), ("duration_ms", "3")],
        ),
        event(
            "codex.sse_event",
            901,
            &[
                ("event.kind", "response.completed"),
                ("input_token_count", "50"),
                ("output_token_count", "7"),
                ("cached_token_count", "40"),
                ("reasoning_token_count", "3"),
            ],
        ),
        event(
            "codex.tool_result",
            1200,
            &[
                ("tool_name", "shell"),
                ("call_id", "call_1"),
                ("arguments", r#"{"command":["ls"]}"#),
                ("output", "a.txt"),
                ("success", "true"),
                ("duration_ms", "30"),
            ],
        ),
    ];
    bench
        .collector
        .accept_logs(logs("codex_cli_rs", "codex_otel", records))
        .unwrap();
    let summary = bench.collector.close();
    assert_eq!(summary.ignored_logs, 2);
    let run = loaded(&bench, CodingAgent::Codex, "c-1");
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 1));
    let calls = payloads(&run, EventType::LlmCall);
    assert_eq!(calls[0]["status"], "error");
    assert_eq!(
        (
            calls[1]["usage"]["prompt_tokens"].as_u64(),
            calls[1]["usage"]["completion_tokens"].as_u64()
        ),
        (Some(50), Some(7))
    );
    let completed = run
        .spans
        .iter()
        .find(|span| span.attributes.contains_key("gen_ai.usage.input_tokens"))
        .unwrap();
    assert_eq!(
        completed.start_time.text(),
        "2026-01-01T00:00:00.200000Z",
        "with the request"
    );
    let tool = &payloads(&run, EventType::ToolCall)[0];
    assert_eq!(
        (tool["tool_name"].as_str(), tool["status"].as_str()),
        (Some("shell"), Some("ok"))
    );
}

#[test]
fn traces_of_one_conversation_are_one_run() {
    let bench = Bench::new();
    let gemini = |trace: u64| {
        let call = with(chat(trace.into(), trace, 0), &[("session.id", "s-1")]);
        let mut request = request(vec![call]);
        request[0].resource.as_mut().unwrap().attributes[0] = attribute("service.name", text("gemini-cli"));
        request
    };
    for trace in [11, 12] {
        bench.collector.accept_spans(gemini(trace)).unwrap();
    }
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::GeminiCli, "s-1");
    assert_eq!(run.meta.counts.llm_calls, 2);
    assert_eq!(run.meta.run_name.as_deref(), Some("gemini-cli"));
    let traces = run
        .spans
        .iter()
        .filter(|span| span.attributes.contains_key("tracer.source_trace_id"));
    assert_eq!(traces.count(), 2);
}

/// What the Gemini CLI says of one call of 2 s: its span, the log of the answer, and the details event, which names no span.
fn gemini_call(at_ms: u64, thoughts: i64) -> (Vec<ResourceSpans>, Vec<ResourceLogs>) {
    let mut span = with(
        span(
            u128::from(at_ms) + 21,
            at_ms + 21,
            0,
            "llm_call",
            at_ms,
            at_ms + 2000,
        ),
        &[
            ("session.id", "s-1"),
            ("gen_ai.request.model", "gemini-3-flash"),
            ("gen_ai.operation.name", "llm_call"),
        ],
    );
    span.attributes.extend(
        [
            ("gen_ai.usage.input_tokens", 50),
            ("gen_ai.usage.output_tokens", 7),
        ]
        .map(|(key, count)| attribute(key, int(count))),
    );
    let mut spans = request(vec![span]);
    spans[0].resource.as_mut().unwrap().attributes[0] = attribute("service.name", text("gemini-cli"));
    let session = attribute("session.id", text("s-1"));
    let answer = vec![
        session.clone(),
        attribute("model", text("gemini-3-flash-001")),
        attribute("duration_ms", int(1990)),
        attribute("input_token_count", int(50)),
        attribute("output_token_count", int(7)),
        attribute("cached_content_token_count", int(30)),
        attribute("thoughts_token_count", int(thoughts)),
        attribute("response_text", text("[{\"candidates\":[]}]")),
    ];
    let output = r#"[{"role":"system","parts":[{"type":"text","content":"done"}]}]"#;
    let details = vec![
        session,
        attribute("gen_ai.operation.name", text("generate_content")),
        attribute("gen_ai.response.id", text(&format!("response-{at_ms}"))),
        attribute("gen_ai.output.messages", text(output)),
        attribute("gen_ai.usage.output_tokens", int(7)),
    ];
    let records = vec![
        log("gemini_cli.api_response", at_ms + 1990, answer),
        log("gen_ai.client.inference.operation.details", at_ms + 1991, details),
    ];
    (spans, logs("gemini-cli", "gemini-cli", records))
}

fn gemini_usage(call: &Value) -> [Option<u64>; 4] {
    [
        "prompt_tokens",
        "completion_tokens",
        "cache_read_tokens",
        "reasoning_tokens",
    ]
    .map(|count| call["usage"][count].as_u64())
}

#[test]
fn a_call_of_gemini_counts_once_however_it_is_reported() {
    for (with_spans, with_logs) in [(true, true), (true, false), (false, true)] {
        for logs_first in [true, false] {
            let bench = Bench::new();
            for at_ms in [0, 3000] {
                let (spans, logs) = gemini_call(at_ms, 0);
                let send_logs = |logs| bench.collector.accept_logs(logs).unwrap();
                if with_logs && logs_first {
                    send_logs(logs.clone());
                }
                if with_spans {
                    bench.collector.accept_spans(spans).unwrap();
                }
                if with_logs && !logs_first {
                    send_logs(logs);
                }
            }
            assert_eq!(bench.collector.close().ignored_logs, 0);
            let run = loaded(&bench, CodingAgent::GeminiCli, "s-1");
            assert_eq!((run.meta.counts, run.meta.counts.llm_calls), (run.counts(), 2));
            let calls = payloads(&run, EventType::LlmCall);
            let cached = with_logs.then_some(30);
            let reasoning = with_logs.then_some(0);
            for call in &calls {
                assert_eq!(
                    gemini_usage(call),
                    [Some(50), Some(7), cached, reasoning],
                    "{call}"
                );
                assert_eq!(call["response"].to_string().contains("done"), with_logs, "{call}");
            }
            let ids = ["response-0", "response-3000"].map(|id| {
                let has_it =
                    |span: &&SpanRecord| span.attributes.get("gen_ai.response.id") == Some(&id.into());
                run.spans.iter().filter(has_it).count()
            });
            assert_eq!(
                ids,
                [usize::from(with_logs); 2],
                "each call has the ID of its answer"
            );
        }
    }
}

#[test]
fn the_reasoning_of_gemini_is_output() {
    let bench = Bench::new();
    let (spans, logs) = gemini_call(0, 5);
    bench.collector.accept_logs(logs).unwrap();
    bench.collector.accept_spans(spans).unwrap();
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::GeminiCli, "s-1");
    let calls = payloads(&run, EventType::LlmCall);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert_eq!(gemini_usage(&calls[0]), [Some(50), Some(12), Some(30), Some(5)]);
}

#[test]
fn details_that_are_alone_are_the_call() {
    let bench = Bench::new();
    let (_, mut logs) = gemini_call(0, 0);
    logs[0].scope_logs[0].log_records.remove(0);
    let request = log(
        "gen_ai.client.inference.operation.details",
        0,
        vec![
            attribute("session.id", text("s-1")),
            attribute("gen_ai.input.messages", text("[]")),
        ],
    );
    logs[0].scope_logs[0].log_records.push(request);
    bench.collector.accept_logs(logs).unwrap();
    assert_eq!(bench.collector.close().ignored_logs, 1, "a request is no call");
    let run = loaded(&bench, CodingAgent::GeminiCli, "s-1");
    let calls = payloads(&run, EventType::LlmCall);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert_eq!(gemini_usage(&calls[0])[1], Some(7));
}

#[test]
fn other_logs_are_ignored_and_counted() {
    let bench = Bench::new();
    bench
        .collector
        .accept_logs(logs(
            "shop",
            "app",
            vec![log("", 1, vec![]), log("gen_ai.choice", 2, vec![])],
        ))
        .unwrap();
    assert_eq!(bench.collector.close().ignored_logs, 2);
    assert!(bench.statuses().is_empty());
}

#[test]
fn a_session_that_rested_goes_on() {
    let mut bench = Bench::new();
    let send = |bench: &Bench, records| {
        bench
            .collector
            .accept_logs(logs("claude-code", CLAUDE, records))
            .unwrap()
    };
    send(&bench, claude_session());
    bench.collector.close();
    bench.restart();
    let directory = loaded(&bench, CodingAgent::ClaudeCode, "session-1").directory;
    let before = std::fs::read(directory.join("meta.json")).unwrap();
    send(&bench, claude_session());
    assert_eq!(bench.statuses(), [RunStatus::Ok], "a repetition changes nothing");
    assert_eq!(std::fs::read(directory.join("meta.json")).unwrap(), before);
    let more = claude(
        "api_request",
        7_200_000,
        8,
        &[
            ("model", "claude-x"),
            ("output_tokens", "1"),
            ("duration_ms", "5"),
        ],
    );
    send(&bench, vec![more]);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.collector.close();
    let run = loaded(&bench, CodingAgent::ClaudeCode, "session-1");
    assert_eq!((run.meta.counts.llm_calls, run.meta.late_spans()), (3, 0));
    assert_eq!(run.meta.counts, run.counts());
}
