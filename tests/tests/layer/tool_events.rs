//! What adk-rust logs of a tool beside the tool's span: its arguments within the span, its result or error right after.

use serde_json::{Value, json};
use tracer_sdk::format::EventType;
use tracing::{Span, debug, info_span, warn};

use crate::setup::{json as payload, only, records, run, runs_of, span};
use tracer_tests::Finished;

/// The span of a tool, as adk-rust makes it.
fn tool(name: &str) -> Span {
    info_span!(target: "adk_agent::llm_agent", "", otel.name = format!("execute_tool {name}"), tool.name = %name)
}

/// What is logged within it.
fn begin(name: &str, arguments: &Value) {
    debug!(target: "adk_agent::llm_agent", { tool.name = %name, tool.args = %arguments, attempt = 0 }, "tool_call");
}

/// What is logged when it has been left.
fn end(name: &str, result: &Value) {
    debug!(target: "adk_agent::llm_agent", { tool.name = %name, tool.result = %result }, "tool_result");
}

fn agent() -> Span {
    info_span!(target: "adk_runner::runner", "agent.execute", agent.name = "weather")
}

/// Arguments and results of the tools of a run, in their order.
fn recorded_calls(run: &Finished) -> Vec<(Value, Value)> {
    let tools = records(run, EventType::ToolCall);
    let payloads = tools.iter().map(|record| payload(&record.payload));
    payloads
        .map(|tool| (tool["args"].clone(), tool["result"].clone()))
        .collect()
}

#[test]
fn arguments_and_result_come_from_the_log() {
    let run = run(|| {
        let _agent = agent().entered();
        let tool = tool("get_weather");
        tool.in_scope(|| begin("get_weather", &json!({"city": "Oslo"})));
        end("get_weather", &json!({"weather": "7 C"}));
    });
    assert_eq!(
        recorded_calls(&run),
        [(json!({"city": "Oslo"}), json!({"weather": "7 C"}))]
    );
    let tool = payload(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(
        (&tool["tool_name"], &tool["status"]),
        (&json!("get_weather"), &json!("ok"))
    );
    assert!(!span(&run, "weather").attributes.contains_key("tool.result"));
}

#[test]
fn tools_of_one_name_keep_their_own_results() {
    let run = run(|| {
        let _agent = agent().entered();
        let (oslo, paris) = (tool("get_weather"), tool("get_weather"));
        oslo.in_scope(|| begin("get_weather", &json!({"city": "Oslo"})));
        paris.in_scope(|| begin("get_weather", &json!({"city": "Paris"})));
        // The one that began last is ready first.
        paris.in_scope(|| ());
        end("get_weather", &json!("2 C"));
        drop(paris);
        oslo.in_scope(|| ());
        end("get_weather", &json!("7 C"));
    });
    assert_eq!(
        recorded_calls(&run),
        [
            (json!({"city": "Oslo"}), json!("7 C")),
            (json!({"city": "Paris"}), json!("2 C"))
        ]
    );
}

#[test]
fn a_logged_failure_is_the_tools() {
    for (is_timeout, message) in [(false, "the service is down"), (true, "the tool timed out")] {
        let run = run(|| {
            let _agent = agent().entered();
            let tool = tool("get_weather");
            tool.in_scope(|| begin("get_weather", &json!({"city": "Rome"})));
            let name = "get_weather";
            if is_timeout {
                warn!(target: "adk_agent::llm_agent", { tool.name = %name, timeout_secs = 30 }, "tool_timeout");
            } else {
                warn!(target: "adk_agent::llm_agent", { tool.name = %name, error = %"the service is down" }, "tool_error");
            }
        });
        let failed = payload(&records(&run, EventType::ToolCall)[0].payload);
        assert_eq!(
            (&failed["status"], &failed["error"]["message"]),
            (&json!("error"), &json!(message))
        );
    }
}

#[test]
fn an_attempt_that_is_repeated_is_no_failure() {
    let run = run(|| {
        let _agent = agent().entered();
        let tool = tool("get_weather");
        let name = "get_weather";
        tool.in_scope(|| begin(name, &json!({})));
        warn!(target: "adk_agent::llm_agent", { tool.name = %name, attempt = 0, error = %"busy" }, "tool execution failed, retrying");
        tool.in_scope(|| begin(name, &json!({})));
        end(name, &json!("7 C"));
    });
    let tool = payload(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!((&tool["status"], &tool["result"]), (&json!("ok"), &json!("7 C")));
}

#[test]
fn a_log_of_another_tool_is_left_alone() {
    let run = run(|| {
        let _agent = agent().entered();
        let tool = tool("get_weather");
        tool.in_scope(|| begin("get_time", &json!({"city": "Oslo"})));
        end("get_time", &json!("12:00"));
        drop(tool);
        // The span has closed.
        end("get_weather", &json!("7 C"));
    });
    assert_eq!(recorded_calls(&run), [(Value::Null, Value::Null)]);
    let text = serde_json::to_string(&run.spans).unwrap();
    assert!(!text.contains("12:00") && !text.contains("tool.args"), "{text}");
}

#[test]
fn without_content_neither_is_recorded() {
    let run = only(runs_of(
        |layer| layer.content(false),
        || {
            let _agent = agent().entered();
            let tool = tool("get_weather");
            tool.in_scope(|| begin("get_weather", &json!({"city": "Oslo"})));
            end("get_weather", &json!("sunny in Oslo"));
        },
    ));
    let text = serde_json::to_string(&run.spans).unwrap();
    assert!(!text.contains("Oslo") && text.contains("tool.args"), "{text}");
}
