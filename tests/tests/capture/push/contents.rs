//! What is in the requests: the spans as they are exported, in bounded batches, with or without what was said.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use serde_json::{Value, json};
use tracer_sdk::format::SpanId;
use tracer_sdk::tool_call;
use tracer_tests::{Collector, DataDir, Program};

use super::{TRACER, ids, options, push, push_content, push_with, record, recorded_ids, settings};

/// The root of the only run.
fn root_id(data: &DataDir) -> SpanId {
    let spans = data.finished().run.spans;
    spans.iter().find(|span| span.is_root()).unwrap().span_id
}

/// Spans in a request of JSON, by their ID.
fn by_id(request: &Value) -> BTreeMap<String, Value> {
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    let spans = spans.unwrap().iter().cloned();
    spans
        .map(|span| (span["spanId"].as_str().unwrap().to_owned(), span))
        .collect()
}

#[test]
fn pushed_and_exported_spans_are_the_same_json() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let collector = Collector::start([]);
    let variables = [("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")];
    push_with(&data, &settings(&collector, &variables), options())
        .outcome
        .unwrap();
    let exported = Program::new(TRACER, &data)
        .args(["export", "--format", "otlp-json", "--out", "-"])
        .output();
    let exported: Value = serde_json::from_slice(&exported.stdout).unwrap();
    let sent: Value = serde_json::from_slice(&collector.requests()[0].body).unwrap();
    assert_eq!(by_id(&sent).len(), 3);
    assert_eq!(by_id(&sent), by_id(&exported));
}

#[test]
fn protobuf_and_json_say_the_same() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let (protobuf, json) = (Collector::start([]), Collector::start([]));
    push(&data, &protobuf);
    let variables = [("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")];
    push_with(&data, &settings(&json, &variables), options())
        .outcome
        .unwrap();
    assert_eq!(protobuf.requests()[0].resources(), json.requests()[0].resources());
}

/// The text attributes of the first resource of each request.
fn resource(collector: &Collector, group: usize) -> BTreeMap<String, String> {
    let resources = collector.requests()[0].resources();
    let attributes = resources[group].resource.clone().unwrap().attributes.into_iter();
    attributes
        .filter_map(|pair| match pair.value?.value? {
            Any::StringValue(text) => Some((pair.key, text)),
            _ => None,
        })
        .collect()
}

#[test]
fn the_service_is_the_run_or_where_the_span_came_from() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let run = &data.run_dirs()[0];
    let id = data.finished().run.meta.trace_id;
    let root = root_id(&data);
    let foreign = json!({"trace_id": id, "span_id": "7777777777777777", "parent_span_id": root,
        "name": "chat", "kind": "CLIENT", "start_time": "2026-01-01T00:00:01Z", "end_time": "2026-01-01T00:00:02Z",
        "duration_ms": 1000, "attributes": {"service.name": "planner", "service.version": "7", "gen_ai.system": "openai"},
        "events": [], "status_code": "OK", "status_description": ""});
    let mut log = fs::read_to_string(run.join("spans.jsonl")).unwrap();
    writeln!(log, "{foreign}").unwrap();
    fs::write(run.join("spans.jsonl"), log).unwrap();

    let collector = Collector::start([]);
    assert_eq!(push(&data, &collector).sent_spans, 4);
    let own = resource(&collector, 0);
    assert_eq!(own["service.name"], "support-agent");
    assert_eq!(own["telemetry.sdk.name"], "tracer");
    let foreign = resource(&collector, 1);
    assert_eq!(foreign["service.name"], "planner");
    assert_eq!(foreign["service.version"], "7");
    assert!(!foreign.contains_key("gen_ai.system"));
}

/// The line of a model call that a library recorded, with tokens and costs in its attributes and in an event.
fn library_call(data: &DataDir, library: &str, span_id: &str, cost: f64) -> String {
    let id = data.finished().run.meta.trace_id;
    let usage = json!({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3});
    let mut attributes = usage.clone();
    for (key, value) in [
        ("otel.scope.name", json!(library)),
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.request.model", json!("gpt-5")),
        ("gen_ai.response.id", json!("response-1")),
        ("llm.cost.total", json!(cost)),
    ] {
        attributes[key] = value;
    }
    let span = json!({"trace_id": id, "span_id": span_id, "parent_span_id": root_id(data),
        "name": "chat", "kind": "CLIENT", "start_time": "2026-01-01T00:00:01Z", "end_time": "2026-01-01T00:00:02Z",
        "duration_ms": 1000, "attributes": attributes,
        "events": [{"name": "gen_ai.client.inference.operation.details", "timestamp": "2026-01-01T00:00:02Z", "attributes": usage}],
        "status_code": "OK", "status_description": ""});
    format!("{span}\n")
}

/// What the collector got of the library's calls, as text: the library, its tokens wherever they are, and what it repeats.
fn library_calls(collector: &Collector) -> Vec<String> {
    let mut calls = Vec::new();
    for span in collector.spans() {
        let of_events = span.events.iter().flat_map(|event| &event.attributes);
        let text = |key: &str| {
            let found = span.attributes.iter().find(|attribute| attribute.key == key);
            match found?.value.clone()?.value? {
                Any::StringValue(text) => Some(text),
                _ => None,
            }
        };
        let Some(library) = text("otel.scope.name") else {
            continue;
        };
        let counts = span.attributes.iter().chain(of_events);
        let counts =
            counts.filter(|attribute| attribute.key.contains(".usage.") || attribute.key.contains("cost"));
        let same = text("tracer.same_call").unwrap_or_default();
        let model = text("gen_ai.request.model").unwrap_or_default();
        calls.push(
            format!("{library} {model}: {} counts {same}", counts.count())
                .trim_end()
                .to_owned(),
        );
    }
    calls
}

#[test]
fn a_repeated_call_is_sent_without_its_tokens() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let log = data.run_dirs()[0].join("spans.jsonl");
    let (one, other) = ("7777777777777777", "8888888888888888");
    let lines = library_call(&data, "one", one, 0.1) + &library_call(&data, "other", other, 0.1);
    fs::write(&log, fs::read_to_string(&log).unwrap() + &lines).unwrap();

    let sent = [
        "one gpt-5: 6 counts".to_owned(),
        format!("other gpt-5: 0 counts {one}"),
    ];
    for (protocol, with_content) in [
        ("http/protobuf", true),
        ("http/json", true),
        ("http/protobuf", false),
    ] {
        let collector = Collector::start([]);
        let variables = [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
        push_content(&data, &settings(&collector, &variables), with_content, options())
            .outcome
            .unwrap();
        assert_eq!(library_calls(&collector), sent, "{protocol}");
    }
}

#[test]
fn what_repeats_a_call_that_was_sent_has_no_tokens() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let log = data.run_dirs()[0].join("spans.jsonl");
    let append = |line: &str| fs::write(&log, fs::read_to_string(&log).unwrap() + line).unwrap();
    let first = library_call(&data, "one", "7777777777777777", 0.1);
    let later = library_call(&data, "other", "8888888888888888", 0.2);
    let collector = Collector::start([]);
    append(&first);
    assert_eq!(push(&data, &collector).sent_spans, 4);
    append(&later);
    assert_eq!(push(&data, &collector).sent_spans, 1);
    let expected = ["one gpt-5: 6 counts", "other gpt-5: 0 counts 7777777777777777"];
    assert_eq!(library_calls(&collector), expected);
}

#[test]
fn an_export_has_the_tokens_of_a_call_once() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let log = data.run_dirs()[0].join("spans.jsonl");
    let lines = library_call(&data, "one", "7777777777777777", 0.1)
        + &library_call(&data, "other", "8888888888888888", 0.1);
    let id = data.finished().run.meta.trace_id.to_string();
    fs::write(&log, fs::read_to_string(&log).unwrap() + &lines).unwrap();
    let exported = Program::new(TRACER, &data)
        .args(["export", &id, "--format", "otlp-json", "--out", "-"])
        .output();
    let exported = by_id(&serde_json::from_slice(&exported.stdout).unwrap());
    let keys = |id: &str| -> Vec<String> {
        let attributes = exported[id]["attributes"].as_array().unwrap().iter();
        attributes
            .map(|attribute| attribute["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(keys("7777777777777777").contains(&"gen_ai.usage.input_tokens".to_owned()));
    let repeated = keys("8888888888888888");
    assert!(repeated.contains(&"tracer.same_call".to_owned()), "{repeated:?}");
    assert!(
        !repeated
            .iter()
            .any(|key| key.contains("usage") || key.contains("cost")),
        "{repeated:?}"
    );
}

#[test]
fn a_long_run_is_sent_in_bounded_requests() {
    let data = DataDir::new();
    data.run("long").in_scope(|| {
        for number in 0..1_500_u32 {
            tool_call("count").args(&number).record().unwrap();
        }
    });
    let collector = Collector::start([]);
    let summary = push(&data, &collector);
    let recorded = recorded_ids(&data);
    assert_eq!((summary.runs, summary.sent_spans), (1, recorded.len() as u64));
    assert_eq!(ids(&collector.spans()), recorded);
    let requests = collector.requests();
    let sizes: Vec<usize> = requests.iter().map(|request| request.spans().len()).collect();
    assert_eq!(sizes, [512, 512, recorded.len() - 1024]);
}

#[test]
fn large_spans_fill_a_request_by_their_bytes() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let run = data.run_dirs()[0].clone();
    let id = data.finished().run.meta.trace_id;
    let root = root_id(&data);
    let mut log = fs::read_to_string(run.join("spans.jsonl")).unwrap();
    for number in 1..=12 {
        let span = json!({"trace_id": id, "span_id": format!("{number:016x}"), "parent_span_id": root,
            "name": "read", "kind": "INTERNAL", "start_time": "2026-01-01T00:00:01Z", "end_time": "2026-01-01T00:00:02Z",
            "duration_ms": 1000, "attributes": {"note": "x".repeat(3_000_000)}, "events": [],
            "status_code": "OK", "status_description": ""});
        writeln!(log, "{span}").unwrap();
    }
    fs::write(run.join("spans.jsonl"), log).unwrap();
    let collector = Collector::start([]);
    assert_eq!(push(&data, &collector).sent_spans, 15);
    let requests = collector.requests();
    assert!(requests.len() >= 6, "{}", requests.len());
    assert!(
        requests
            .iter()
            .all(|request| request.body.len() <= 8 * 1024 * 1024)
    );
}

#[test]
fn without_content_nothing_that_was_said_leaves() {
    let data = DataDir::new();
    data.run("support-agent").in_scope(|| {
        tracer_sdk::llm_call("gpt-5")
            .prompt("s4id: prompt")
            .response("s4id: answer")
            .usage(tracer_sdk::format::Usage::new(12, 30))
            .record()
            .unwrap();
        tool_call("search")
            .args(&"s4id: args")
            .result(&"s4id: result")
            .record()
            .unwrap();
        tracer_sdk::state(&"s4id: state").record().unwrap();
        tool_call("broken")
            .fail(&std::io::Error::other("s4id: error"))
            .record()
            .unwrap();
    });
    let collector = Collector::start([]);
    let variables = [("OTEL_EXPORTER_OTLP_COMPRESSION", "none")];
    let pushed = push_content(&data, &settings(&collector, &variables), false, options());
    assert_eq!(pushed.outcome.unwrap().sent_spans, 5);
    let body = String::from_utf8_lossy(&collector.requests()[0].body).into_owned();
    assert!(!body.contains("s4id"), "{body}");
    let spans = collector.spans();
    let attributes: Vec<(&str, &Any)> = spans
        .iter()
        .flat_map(|span| &span.attributes)
        .filter_map(|pair| Some((pair.key.as_str(), pair.value.as_ref()?.value.as_ref()?)))
        .collect();
    for (key, value) in [
        ("gen_ai.request.model", Any::StringValue("gpt-5".to_owned())),
        ("gen_ai.usage.input_tokens", Any::IntValue(12)),
        ("gen_ai.tool.name", Any::StringValue("search".to_owned())),
    ] {
        assert!(attributes.contains(&(key, &value)), "{key} in {attributes:?}");
    }
}
