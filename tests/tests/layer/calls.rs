//! What is kept of a model or tool call: fields that come late, the values' types, times, results of tools.

use std::thread;
use std::time::Duration;

use serde_json::json;
use tracer_sdk::format::EventType;
use tracing::field::{Empty, display};
use tracing::{info_span, trace};

use crate::setup::{json as payload, names, records, run, span};

#[test]
fn values_keep_their_types() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.usage.input_tokens = 11_u64,
            gen_ai.request.seed = -4_i64,
            gen_ai.request.temperature = 0.5,
            gen_ai.request.stream = true,
            gen_ai.response.id = %"r-1",
            gen_ai.request.top_p = f64::NAN,
            code.line.number = 7,
            thread.id = 1,
        );
    });
    let attributes = &span(&run, "chat").attributes;
    assert_eq!(attributes["gen_ai.usage.input_tokens"], 11);
    assert_eq!(attributes["gen_ai.request.seed"], -4);
    assert_eq!(attributes["gen_ai.request.temperature"], 0.5);
    assert_eq!(attributes["gen_ai.request.stream"], true);
    assert_eq!(attributes["gen_ai.response.id"], "r-1");
    assert_eq!(attributes["gen_ai.request.top_p"], "NaN");
    assert_eq!(attributes["otel.scope.name"], "layer::calls");
    assert!(!attributes.contains_key("code.line.number") && !attributes.contains_key("thread.id"));
}

#[test]
fn a_late_field_replaces_an_early_one() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let chat = info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.completion = "",
            gen_ai.request.model = Empty
        );
        chat.record("gen_ai.request.model", display("gpt-5"));
        chat.record("gen_ai.completion", "5");
    });
    let attributes = &span(&run, "chat").attributes;
    assert_eq!(
        (
            &attributes["gen_ai.completion"],
            &attributes["gen_ai.request.model"]
        ),
        (&json!("5"), &json!("gpt-5"))
    );
}

#[test]
fn a_tools_time_begins_when_it_is_entered() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let tool = info_span!("tool", gen_ai.operation.name = "execute_tool");
        thread::sleep(Duration::from_millis(40));
        tool.in_scope(|| ());
    });
    assert!(span(&run, "tool").duration_ms.unwrap() < 40);
}

#[test]
fn a_streams_time_ends_with_its_last_word() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let chat = info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.stream = true,
            gen_ai.usage.output_tokens = Empty
        );
        chat.record("gen_ai.usage.output_tokens", 7_u64);
        thread::sleep(Duration::from_millis(40));
    });
    assert!(span(&run, "chat").duration_ms.unwrap() < 40);
}

#[test]
fn a_secret_in_a_librarys_field_is_redacted() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.input.messages =
                r#"[{"role":"user","content":"Authorization: Bearer abcdefghijklmnop123456"}]"#,
            api_key = "k-1",
        );
    });
    let text = serde_json::to_string(&run.spans).unwrap();
    assert!(
        !text.contains("abcdefghijklmnop") && !text.contains("k-1"),
        "{text}"
    );
}

/// A model call whose request and reply are logged.
fn chat(messages: &serde_json::Value) {
    let request = json!({"messages": messages});
    info_span!("chat", gen_ai.operation.name = "chat").in_scope(|| {
        trace!(target: "rig::completions", "request: {request}");
        trace!(target: "rig::completions", "reply: {}", json!({"choices": []}));
    });
}

/// A tool that has run, with the ID `c1`.
fn weather_tool() {
    info_span!(
        "tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = "weather",
        gen_ai.tool.call.id = "c1"
    )
    .in_scope(|| ());
}

#[test]
fn a_request_that_names_no_result_leaves_it_to_the_next() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        chat(&json!([]));
        weather_tool();
        // Another conversation of the run asks before the one that has the result.
        chat(&json!([{"role": "user", "content": "Which ferry leaves first?"}]));
        chat(&json!([{"role": "tool", "tool_call_id": "c1", "content": "7 C"}]));
    });
    let tool = payload(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["result"], "7 C");
    // It is written when it has run: a program that is killed keeps it.
    assert_eq!(names(&run), ["chat", "tool", "chat", "weather", "chat", "calc"]);
}

#[test]
fn an_agent_that_takes_over_brings_the_result() {
    let agent = |name: &str| {
        info_span!(
            "invoke_agent",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = name
        )
    };
    let run = run(|| {
        let _run = info_span!("run", agent.name = "desk").entered();
        agent("front").in_scope(|| {
            chat(&json!([]));
            weather_tool();
        });
        agent("back").in_scope(|| chat(&json!([{"role": "tool", "tool_call_id": "c1", "content": "7 C"}])));
    });
    let tool = payload(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["result"], "7 C");
}

#[test]
fn agents_at_once_keep_the_calls_that_have_equal_ids() {
    let log = |agent: &tracing::Span, request: &serde_json::Value, reply: &serde_json::Value| {
        info_span!(parent: agent, "chat", gen_ai.operation.name = "chat").in_scope(|| {
            trace!(target: "rig::completions", "request: {request}");
            trace!(target: "rig::completions", "reply: {reply}");
        });
    };
    let run = run(|| {
        let _run = info_span!("run", agent.name = "both").entered();
        let agents = ["Oslo", "Paris"].map(|city| {
            let agent = info_span!(
                "invoke_agent",
                gen_ai.operation.name = "invoke_agent",
                gen_ai.agent.name = city
            );
            (city, agent)
        });
        for (city, agent) in &agents {
            let call = json!({"id": "weather:0", "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}});
            log(
                agent,
                &json!({"messages": []}),
                &json!({"choices": [{"message": {"tool_calls": [call]}}]}),
            );
        }
        for (_, agent) in &agents {
            info_span!(
                parent: agent,
                "tool",
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = "weather",
                gen_ai.tool.call.id = "weather:0"
            );
        }
        for (city, agent) in agents.iter().rev() {
            let result =
                json!({"role": "tool", "tool_call_id": "weather:0", "content": format!("{city}: 7 C")});
            log(agent, &json!({"messages": [result]}), &json!({"choices": []}));
        }
    });
    let tools: Vec<_> = records(&run, EventType::ToolCall)
        .iter()
        .map(|tool| payload(&tool.payload))
        .map(|tool| (tool["args"]["city"].clone(), tool["result"].clone()))
        .collect();
    let of = |city: &str| (json!(city), json!(format!("{city}: 7 C")));
    assert_eq!(tools, [of("Oslo"), of("Paris")]);
}

#[test]
fn a_tool_without_a_next_request_is_written_at_the_end() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!("chat", gen_ai.operation.name = "chat", gen_ai.response.id = "r").in_scope(|| {
            trace!(target: "rig::completions", "request: {}", json!({"messages": []}));
            let call = json!({"id": "c1", "function": {"name": "add", "arguments": "{\"x\":2}"}});
            trace!(target: "rig::completions", "reply: {}", json!({"choices": [{"message": {"tool_calls": [call]}}]}));
        });
        info_span!(
            "tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = "add",
            gen_ai.tool.call.id = "c1"
        );
    });
    let tool = payload(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!((&tool["args"], &tool["result"]), (&json!({"x": 2}), &json!(null)));
    assert_eq!(span(&run, "tool").attributes["tracer.joined"], "arguments");
}

#[test]
fn a_body_that_is_no_json_is_left_alone() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let _chat = info_span!("chat", gen_ai.operation.name = "chat").entered();
        trace!(target: "rig::completions", "request: {{\"model\": ");
        trace!(target: "rig::completions", "reply: }}{{");
        trace!(target: "rig::completions", "nothing at all");
    });
    assert!(span(&run, "chat").events.is_empty());
}
