//! Spans that libraries write for inner steps of their own are no rows.

use serde_json::{Value, json};

use super::{attributes, child, event, failed, root};
use crate::{Payload, Record, SpanRecord, StatusCode};

const LLAMA_INDEX: &str = "openinference.instrumentation.llama_index";

/// A span: its number, that of its parent (1 is the root), its name, its kind and its content.
fn span(number: u64, parent: u64, name: &str, kind: &str, content: Option<&str>) -> SpanRecord {
    let mut stored = attributes(json!({"openinference.span.kind": kind, "otel.scope.name": LLAMA_INDEX}));
    stored.extend(content.map(|content| ("input.value".to_owned(), json!(content))));
    SpanRecord {
        span_id: format!("{number:016x}").parse().unwrap(),
        parent_span_id: Some(format!("{parent:016x}").parse().unwrap()),
        status_code: StatusCode::Unset,
        ..child(name, Value::Object(stored))
    }
}

/// The rows, each as `name in parent`.
fn rows(mut spans: Vec<SpanRecord>) -> Vec<String> {
    spans.push(SpanRecord {
        span_id: "0000000000000001".parse().unwrap(),
        ..root(json!({}))
    });
    let records = super::spans_to_events(&spans);
    let shown = records
        .iter()
        .filter(|record| record.parent_id.is_some() && !record.is_leftover());
    let name = |id: &str| {
        let parent = records.iter().find(|record| record.event_id == id);
        parent.map_or("?", |record| &*record.name)
    };
    let words = |record: &Record| {
        format!(
            "{} in {}",
            record.name,
            name(record.parent_id.as_deref().unwrap_or(""))
        )
    };
    shown.map(words).collect()
}

#[test]
fn what_is_in_an_inner_step_stands_in_what_is_around_it() {
    let run = || {
        vec![
            span(2, 1, "FunctionAgent.run", "CHAIN", Some("{}")),
            span(3, 2, "BaseWorkflowAgent.run_agent_step", "CHAIN", Some("{}")),
            span(4, 3, "OpenAI._prepare_chat_with_tools", "LLM", Some("{}")),
            span(5, 3, "OpenAI.achat", "LLM", Some("{}")),
            span(6, 2, "BaseWorkflowAgent.call_tool", "CHAIN", Some("{}")),
            span(7, 6, "BaseWorkflowAgent.call_tool", "CHAIN", Some("{}")),
            span(8, 7, "FunctionTool.acall", "TOOL", Some("{}")),
            span(9, 2, "MyFlow.call_tool", "CHAIN", Some("{}")),
        ]
    };
    let expected = [
        "FunctionAgent.run in run",
        "OpenAI.achat in FunctionAgent.run",
        "FunctionTool.acall in FunctionAgent.run",
        "MyFlow.call_tool in FunctionAgent.run",
    ];
    assert_eq!(rows(run()), expected);
    let mut backwards = run();
    backwards.reverse();
    let mut shown = rows(backwards);
    shown.sort_unstable();
    let mut expected = expected.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(shown, expected, "lines in another order");
}

#[test]
fn adapters_are_no_rows_and_a_tool_is_called_without_its_method() {
    let of_dspy = |number, parent, name, kind| {
        let mut span = span(number, parent, name, kind, Some("{}"));
        span.attributes["otel.scope.name"] = json!("openinference.instrumentation.dspy");
        span
    };
    let spans = || {
        vec![
            of_dspy(2, 1, "ReAct.aforward", "CHAIN"),
            of_dspy(3, 2, "Predict.aforward", "CHAIN"),
            of_dspy(4, 3, "Predict(StringSignature).forward", "CHAIN"),
            of_dspy(5, 4, "ChatAdapter.acall", "CHAIN"),
            of_dspy(6, 5, "LM.acall", "LLM"),
            of_dspy(7, 2, "get_weather.acall", "TOOL"),
            of_dspy(8, 2, "weather.of_a_city", "TOOL"),
        ]
    };
    assert_eq!(
        rows(spans())[..3],
        [
            "ReAct.aforward in run",
            "Predict(StringSignature).forward in ReAct.aforward",
            "LM.acall in Predict(StringSignature).forward",
        ]
    );
    let records = super::spans_to_events(&spans());
    let tools = records.iter().filter_map(|record| match &record.payload {
        Payload::ToolCall { tool_name, .. } => Some(tool_name.as_str()),
        _ => None,
    });
    assert_eq!(tools.collect::<Vec<_>>(), ["get_weather", "weather.of_a_city"]);
}

#[test]
fn pieces_of_a_stream_are_no_rows() {
    let of_mastra = |number, parent, name, operation| {
        let mut span = span(number, parent, name, "", None);
        span.attributes = attributes(json!({
            "gen_ai.operation.name": operation,
            "otel.scope.name": "@mastra/otel-exporter",
        }));
        span
    };
    let mut other = of_mastra(2, 1, "agent_step 0", "agent_step");
    other.attributes["otel.scope.name"] = json!("my.own");
    assert_eq!(rows(vec![other]), ["agent_step 0 in run"]);
    assert_eq!(
        rows(vec![
            of_mastra(2, 1, "invoke_agent weather", "invoke_agent"),
            of_mastra(3, 2, "model_generation gpt-5-mini", "model_generation"),
            of_mastra(4, 3, "agent_step 0", "agent_step"),
            of_mastra(5, 4, "chat gpt-5-mini", "chat"),
            of_mastra(6, 5, "chunk text", "model_chunk"),
            of_mastra(7, 2, "look it up", "workflow_step"),
        ]),
        [
            "invoke_agent weather in run",
            "chat gpt-5-mini in invoke_agent weather",
            "look it up in invoke_agent weather",
        ]
    );
}

#[test]
fn one_that_failed_and_one_of_another_library_stay() {
    let alone = || span(2, 1, "BaseWorkflowAgent.setup_agent", "CHAIN", Some("{}"));
    assert_eq!(rows(vec![alone()]), Vec::<String>::new());
    assert_eq!(rows(vec![failed(alone(), "no tools")]).len(), 1);
    let mut other = alone();
    other.attributes["otel.scope.name"] = json!("my.own");
    assert_eq!(rows(vec![other]).len(), 1);
}

#[test]
fn a_span_without_content_in_one_of_its_name_is_no_row() {
    let twice = |kind: &str, outer: Option<&str>, inner: Option<&str>, name: &str| {
        rows(vec![
            span(2, 1, "Agent workflow", kind, outer),
            span(3, 2, name, "CHAIN", inner),
            span(4, 3, "turn", "CHAIN", None),
        ])
    };
    let one = ["Agent workflow in run", "turn in Agent workflow"];
    assert_eq!(twice("AGENT", None, None, "Agent workflow"), one);
    assert_eq!(twice("CHAIN", None, None, "Agent workflow"), one);
    assert_eq!(twice("AGENT", Some("{}"), None, "Agent workflow"), one);
    assert_eq!(twice("AGENT", None, None, "Another").len(), 3);
    assert_eq!(twice("AGENT", None, Some("{}"), "Agent workflow").len(), 3);
    assert_eq!(twice("CHAIN", Some("{}"), None, "Agent workflow").len(), 3);
}

#[test]
fn a_span_with_facts_of_another_kind_stays() {
    let with = |key: &str| {
        let mut inner = span(3, 2, "Agent workflow", "CHAIN", None);
        inner.attributes.insert(key.to_owned(), json!(7));
        rows(vec![span(2, 1, "Agent workflow", "AGENT", None), inner]).len()
    };
    for key in [
        "llm.system",
        "otel.scope.version",
        "service.name",
        "tracer.after_end",
        "tracer.orphan",
    ] {
        assert_eq!(with(key), 1, "{key}");
    }
    for key in [
        "llm.token_count.total",
        "metadata",
        "tag.tags",
        "my.own",
        "evaluations.0.evaluation.score",
    ] {
        assert_eq!(with(key), 2, "{key}");
    }
    let mut inner = span(3, 2, "Agent workflow", "CHAIN", None);
    inner.events.push(event("noted", json!({})));
    assert_eq!(
        rows(vec![span(2, 1, "Agent workflow", "AGENT", None), inner]).len(),
        2
    );
}

#[test]
fn spans_in_each_other_come_to_an_end() {
    let circle = [(3, 4, "init_run"), (4, 3, "setup_agent")].map(|(number, parent, method)| {
        span(
            number,
            parent,
            &format!("FunctionAgent.{method}"),
            "CHAIN",
            Some("{}"),
        )
    });
    let mut spans = circle.to_vec();
    spans.push(span(5, 4, "get_weather", "TOOL", Some("{}")));
    for _ in 0..8 {
        // The first of them by ID, in each order of a hash table.
        assert_eq!(rows(spans.clone()), ["get_weather in FunctionAgent.init_run"]);
    }
}
