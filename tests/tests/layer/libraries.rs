//! What rig, genai and rmcp report, as they reported it.

use serde_json::json;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::layer::LayerBuilder;
use tracing::Level;

use crate::replay::replay;
use crate::setup::{json, names, only, program_name, records, run, runs, runs_of};

#[test]
fn an_agent_of_rig_is_a_run() {
    let run = run(|| replay("rig-default"));
    assert_eq!(run.meta.run_name.as_deref(), Some("calc"));
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    assert_eq!(names(&run), ["chat", "execute_tool", "chat", "calc"]);
    let root = run.spans.last().unwrap();
    assert!(
        run.spans[..3]
            .iter()
            .all(|span| span.parent_span_id == Some(root.span_id))
    );
    assert_eq!(root.attributes["gen_ai.operation.name"], "invoke_agent");
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 1));
}

#[test]
fn tokens_of_the_agent_are_not_added() {
    let run = run(|| replay("rig-default"));
    let tokens: Vec<_> = records(&run, EventType::LlmCall)
        .iter()
        .map(|record| json(&record.payload)["usage"]["total_tokens"].clone())
        .collect();
    assert_eq!(tokens, [18, 18]);
    // What the agent adds up is kept as it was sent.
    assert_eq!(
        run.spans.last().unwrap().attributes["gen_ai.usage.input_tokens"],
        22
    );
}

#[test]
fn content_of_rig_comes_from_its_log_without_a_switch() {
    let run = run(|| replay("rig-default-trace"));
    let calls = records(&run, EventType::LlmCall);
    let first = json(&calls[0].payload);
    assert_eq!(first["model"], "gpt-5.2");
    assert_eq!(first["temperature"], 0.2);
    assert_eq!(first["stop_reason"], "tool_calls");
    assert_eq!(first["prompt"]["messages"][1]["content"], "What is 2+3?");
    assert_eq!(
        json(&calls[1].payload)["response"]["choices"][0]["message"]["content"],
        "The answer is 5."
    );
    let tool = json(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["tool_name"], "add");
    assert_eq!(tool["args"], json!({"x": 2, "y": 3}));
    assert_eq!(tool["result"], json!({"value": 5}));
    let joined = run.spans.iter().find(|span| span.name == "execute_tool").unwrap();
    assert_eq!(joined.attributes["tracer.joined"], "arguments");
    let reported = run
        .spans
        .iter()
        .find(|span| span.parent_span_id == Some(joined.span_id));
    assert_eq!(reported.unwrap().attributes["tracer.derived"], true);
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 1));
}

#[test]
fn rig_learns_that_its_log_is_wanted() {
    // It asks before it makes the text of a request.
    let asked = |layer: fn(LayerBuilder) -> LayerBuilder| {
        let mut answers = (false, false);
        runs_of(layer, || {
            answers = (
                tracing::enabled!(target: "rig::completions", Level::TRACE),
                tracing::enabled!(target: "shop", Level::TRACE),
            );
        });
        answers
    };
    assert_eq!(asked(|layer| layer), (true, false));
    assert_eq!(asked(|layer| layer.bodies(false)), (false, false));
}

#[test]
fn content_by_rigs_own_switch_is_kept_as_sent() {
    let run = run(|| replay("rig-content"));
    let first = &run.spans[0].attributes;
    let messages: serde_json::Value =
        serde_json::from_str(first["gen_ai.input.messages"].as_str().unwrap()).unwrap();
    assert_eq!(messages[1]["parts"][0]["content"], "What is 2+3?");
    let tool = json(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["args"], json!({"x": 2, "y": 3}));
    assert!(!run.spans[1].attributes.contains_key("tracer.joined"));
}

#[test]
fn the_responses_route_of_rig_is_read_too() {
    let run = run(|| replay("rig-responses-trace"));
    let calls = records(&run, EventType::LlmCall);
    assert_eq!(calls.len(), 2);
    assert_eq!(json(&calls[0].payload)["stop_reason"], "completed");
    let tool = json(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["args"], json!({"x": 2, "y": 3}));
    assert_eq!(tool["result"], json!({"value": 5}));
}

#[test]
fn a_stream_of_rig_counts_once() {
    let run = run(|| replay("rig-stream-trace"));
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 1));
    let first = json(&records(&run, EventType::LlmCall)[0].payload);
    assert_eq!(first["usage"]["prompt_tokens"], 11);
    assert_eq!(first["prompt"]["stream"], true);
}

#[test]
fn a_failed_call_of_rig_is_incomplete() {
    for case in ["rig-fail500-content", "rig-stream-fail500-content"] {
        let run = run(|| replay(case));
        let call = json(&records(&run, EventType::LlmCall)[0].payload);
        assert_eq!(call["status"], "error", "{case}");
        assert_eq!(call["error"]["error_type"], "incomplete", "{case}");
        assert_eq!(run.spans[0].attributes["tracer.inferred"], "error", "{case}");
        // The agent has nothing to say after its call failed.
        assert_eq!(run.meta.status, RecordedStatus::Error, "{case}");
    }
}

#[test]
fn a_failed_tool_of_rig_is_failed() {
    let run = run(|| replay("rig-ambient-content-both"));
    let tools = records(&run, EventType::ToolCall);
    let tool = |name: &str| {
        let payloads = tools.iter().map(|tool| json(&tool.payload));
        payloads
            .into_iter()
            .find(|payload| payload["tool_name"] == name)
            .unwrap()
    };
    assert_eq!(tool("add")["status"], "ok");
    assert_eq!(tool("boom")["error"]["error_type"], "other");
}

#[test]
fn a_span_around_rig_is_the_run() {
    let run = run(|| replay("rig-ambient"));
    assert_eq!(run.meta.run_name.as_deref(), Some("my_run"));
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (2, 1));
}

#[test]
fn a_call_of_genai_is_a_run_of_its_own() {
    let run = run(|| replay("genai-default"));
    assert_eq!(run.meta.run_name.as_deref(), Some(program_name().as_str()));
    let call = json(&records(&run, EventType::LlmCall)[0].payload);
    assert_eq!(
        (&call["model"], &call["stop_reason"]),
        (&json!("gpt-5.2"), &json!("stop"))
    );
    assert_eq!(run.spans[0].kind.as_str(), "CLIENT");
    assert!(!run.spans[0].attributes.contains_key("otel.kind"));
}

#[test]
fn messages_of_genai_are_kept_as_sent() {
    let run = run(|| replay("genai-content-ambient"));
    assert_eq!(run.meta.run_name.as_deref(), Some("my_run"));
    let output = run.spans[0].attributes["gen_ai.output.messages"]
        .as_str()
        .unwrap();
    assert!(output.contains("The answer is 5."), "{output}");
}

#[test]
fn a_failed_call_of_genai_names_its_status() {
    let run = run(|| replay("genai-fail500"));
    let call = json(&records(&run, EventType::LlmCall)[0].payload);
    assert_eq!(call["error"]["error_type"], "500");
    assert!(!run.spans[0].attributes.contains_key("tracer.inferred"));
}

#[test]
fn connections_of_rmcp_are_no_runs() {
    assert!(runs(|| replay("rmcp")).is_empty());
}

#[test]
fn without_content_only_sizes_and_tokens_stay() {
    for case in ["rig-content", "rig-default-trace", "genai-stream-content"] {
        let run = only(runs_of(|layer| layer.content(false), || replay(case)));
        let text = serde_json::to_string(&run.spans).unwrap();
        for secret in ["2+3", "calculator", "The answer"] {
            assert!(!text.contains(secret), "{case}: {secret} in {text}");
        }
        let call = json(&records(&run, EventType::LlmCall)[0].payload);
        assert_eq!(call["status"], "ok", "{case}");
    }
}

#[test]
fn bodies_can_be_left_alone() {
    let run = only(runs_of(
        |layer| layer.bodies(false),
        || replay("rig-default-trace"),
    ));
    assert!(run.spans.iter().all(|span| span.events.is_empty()));
}
