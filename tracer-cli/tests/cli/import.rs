//! `tracer import`: files of spans and logs become runs, once.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox};

const START: u64 = 1_767_225_600_000_000_000;

fn span(trace: u32, id: u32, parent: u32, name: &str, attributes: &Value) -> Value {
    let attributes: Vec<Value> = attributes
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect();
    let parent = if parent == 0 {
        String::new()
    } else {
        format!("{parent:016x}")
    };
    json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": name, "kind": 1,
        "startTimeUnixNano": START.to_string(), "endTimeUnixNano": (START + 5_000_000).to_string(), "attributes": attributes,
    })
}

fn request(spans: &[Value]) -> Value {
    let service = json!({"key": "service.name", "value": {"stringValue": "weather-app"}});
    json!({"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": spans}]}]})
}

fn agent(trace: u32) -> Value {
    span(
        trace,
        1,
        0,
        "invoke_agent weather",
        &json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"}),
    )
}

fn chat(trace: u32) -> Value {
    let attributes = json!({
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", "gen_ai.provider.name": "openai",
        "gen_ai.input.messages": r#"[{"role":"user","parts":[{"type":"text","content":"rain in Rome?"}]}]"#,
    });
    span(trace, 2, 1, "chat gpt-5", &attributes)
}

fn runs(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.tracer(&["list", "--json"]).json();
    list["runs"].as_array().unwrap().clone()
}

#[test]
fn a_file_of_spans_becomes_runs_once() {
    let sandbox = Sandbox::new();
    let lines = format!(
        "{}\n{}\n",
        request(&[chat(1)]),
        request(&[agent(1), agent(2), chat(2)])
    );
    std::fs::write(sandbox.path("traces.jsonl"), lines).unwrap();
    let first = sandbox.tracer(&["import", "traces.jsonl"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stdout.contains("2 new runs, 4 new spans"), "{first:?}");
    let before = runs(&sandbox);
    assert_eq!(before.len(), 2);
    assert_eq!(
        (before[0]["run_name"].as_str(), before[0]["run_status"].as_str()),
        (Some("weather"), Some("ok"))
    );
    assert_eq!(before[0]["counts"]["llm_calls"], 1);
    let second = sandbox.tracer(&["import", "traces.jsonl"]);
    assert!(
        second.stdout.contains("0 new runs, 0 new spans, 4 known before"),
        "{second:?}"
    );
    assert_eq!(runs(&sandbox), before);
    for run in before {
        let directory = sandbox.run_dir(run["trace_id"].as_str().unwrap());
        let valid = sandbox.tracer(&["validate-trace", "--strict", directory.to_str().unwrap()]);
        assert_eq!(valid.code, Some(0), "{valid:?}");
    }
}

#[test]
fn what_tracer_exports_it_imports() {
    let source = Sandbox::new();
    std::fs::write(source.path("one.json"), request(&[agent(7), chat(7)]).to_string()).unwrap();
    source.tracer(&["import", "one.json"]);
    let exported = source.tracer(&["export", "latest", "--format", "otlp-json", "--out", "-"]);
    let target = Sandbox::new();
    std::fs::write(target.path("exported.json"), exported.stdout).unwrap();
    let imported = target.tracer(&["import", "exported.json"]);
    assert!(imported.stdout.contains("1 new run, 2 new spans"), "{imported:?}");
    assert_eq!(runs(&target)[0]["counts"], runs(&source)[0]["counts"]);
    let again = source.tracer(&["import", "one.json"]);
    assert!(again.stdout.contains("0 new runs"), "{again:?}");
}

#[test]
fn compressed_standard_input_is_read() {
    let sandbox = Sandbox::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(request(&[agent(3), chat(3)]).to_string().as_bytes())
        .unwrap();
    let bytes = gzip.finish().unwrap();
    let mut command = sandbox.command(&["import", "-", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    let report = outcome.json();
    assert_eq!(
        (&report["files"][0]["runs"], &report["files"][0]["spans"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(report["runs"], json!([format!("{:032x}", 3)]));
}

#[test]
fn a_damaged_line_does_not_cost_the_others() {
    let sandbox = Sandbox::new();
    let lines = format!(
        "{}\n{{\"resourceSpans\": [\n{}\n",
        request(&[chat(1)]),
        request(&[agent(1)])
    );
    std::fs::write(sandbox.path("torn.jsonl"), lines).unwrap();
    let outcome = sandbox.tracer(&["import", "torn.jsonl"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.stdout.contains("1 new run, 2 new spans, 1 unreadable"),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains("line 2"), "{outcome:?}");
    assert_eq!(runs(&sandbox).len(), 1);
}

#[test]
fn what_is_no_agent_is_named_and_kept_on_request() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("web.json"),
        request(&[span(5, 1, 0, "GET /", &json!({}))]).to_string(),
    )
    .unwrap();
    let outcome = sandbox.tracer(&["import", "web.json"]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("1 trace without a model call"),
        "{outcome:?}"
    );
    assert!(runs(&sandbox).is_empty());
    sandbox.tracer(&["import", "--all-traces", "web.json"]);
    assert_eq!(runs(&sandbox).len(), 1);
}

#[test]
fn content_is_left_out_on_request() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("one.json"),
        request(&[agent(7), chat(7)]).to_string(),
    )
    .unwrap();
    sandbox.tracer(&["import", "--no-content", "one.json"]);
    let log = std::fs::read_to_string(sandbox.run_dir(&format!("{:032x}", 7)).join("spans.jsonl")).unwrap();
    assert!(
        !log.contains("Rome") && log.contains("__OMITTED__ (13 bytes)") && log.contains("gpt-5"),
        "{log}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_before_anything_is_imported() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("one.json"),
        request(&[agent(7), chat(7)]).to_string(),
    )
    .unwrap();
    sandbox
        .tracer(&["import", "one.json", "missing.json"])
        .fails(2, &["missing.json"]);
    sandbox
        .tracer(&["import", "one.json", "."])
        .fails(2, &["failed to read"]);
    assert!(runs(&sandbox).is_empty());
}
