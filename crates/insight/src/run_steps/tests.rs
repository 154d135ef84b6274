//! Steps of a run that several reporters tell of.

use std::fs;

use serde_json::{Value, json};
use tracer_runs::{LogIndex, spans_to_events};

use super::*;
use crate::calls::CallList;
use crate::testing::run_with;

/// A run in which a library and the proxy report one call, with a span nested in the library's report.
fn reported_twice(folder: &std::path::Path) -> RunDirectory {
    let (mut meta, mut spans) = run_with(&[]);
    meta["counts"]["llm_calls"] = json!(1);
    let mut add = |number: u64, parent: u64, name: &str, attributes: Value| {
        let mut span = spans[0].clone();
        span["span_id"] = json!(format!("{number:016x}"));
        span["parent_span_id"] = json!(format!("{parent:016x}"));
        span["name"] = json!(name);
        span["start_time"] = json!(format!("2026-01-01T00:00:00.{number:06}Z"));
        span["status_code"] = json!("UNSET");
        span["attributes"] = attributes;
        spans.push(span);
    };
    let chat = |more: Value| {
        let mut chat = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
            "gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7});
        chat.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        chat
    };
    add(2, 1, "agent", json!({"gen_ai.operation.name": "invoke_agent"}));
    add(
        3,
        2,
        "chat gpt-5",
        chat(json!({"otel.scope.name": "library", "error.type": "Odd"})),
    );
    add(4, 3, "POST", json!({"http.request.method": "POST"}));
    add(
        6,
        1,
        "chat gpt-5",
        chat(json!({"tracer.source": "proxy", "tracer.inferred": "parent"})),
    );
    let root = spans.remove(0);
    spans.push(root);
    let directory = folder.join("000000000000000000000000000000b1");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("meta.json"), meta.to_string()).unwrap();
    let lines: Vec<String> = spans.iter().map(|span| format!("{span}\n")).collect();
    fs::write(directory.join("spans.jsonl"), lines.concat()).unwrap();
    RunDirectory {
        trace_id: "000000000000000000000000000000b1".parse().unwrap(),
        path: directory,
    }
}

/// The rows of agents at once, whose calls are written in turns: each step's number and name.
fn numbered_rows(calls: usize) -> Vec<(u32, String)> {
    let (meta, mut spans) = run_with(&[("a", json!({})), ("b", json!({}))]);
    for (number, agent) in (4..).zip([2, 3].iter().cycle().take(calls)) {
        let mut span = spans[0].clone();
        span["span_id"] = json!(format!("{number:016x}"));
        span["parent_span_id"] = json!(format!("{agent:016x}"));
        span["name"] = json!(format!("call of {agent}"));
        span["start_time"] = json!(format!("2026-01-01T00:00:00.{number:06}Z"));
        spans.push(span);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("meta.json"), meta.to_string()).unwrap();
    let lines: Vec<String> = spans.iter().map(|span| format!("{span}\n")).collect();
    fs::write(folder.path().join("spans.jsonl"), lines.concat()).unwrap();
    let directory = RunDirectory {
        trace_id: "000000000000000000000000000000b1".parse().unwrap(),
        path: folder.path().to_owned(),
    };
    let run = RunSteps::open(directory, Prices::default());
    let steps = run.timeline.rows.iter().filter(|row| row.number > 0);
    let named = steps.map(|row| (row.number, run.read_row(row).unwrap().unwrap().record.name));
    named.collect()
}

#[test]
fn steps_of_agents_at_once_keep_their_numbers() {
    let named = |rows: &[(u32, &str)]| -> Vec<(u32, String)> {
        rows.iter()
            .map(|(number, name)| (*number, (*name).to_owned()))
            .collect()
    };
    let two = [(1, "a"), (3, "call of 2"), (2, "b"), (4, "call of 3")];
    assert_eq!(numbered_rows(2), named(&two));
    // By the order of rows #2 and #4 would be other steps now.
    let four = [
        (1, "a"),
        (3, "call of 2"),
        (5, "call of 2"),
        (2, "b"),
        (4, "call of 3"),
        (6, "call of 3"),
    ];
    assert_eq!(numbered_rows(4), named(&four));
}

#[test]
fn a_report_of_a_call_is_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let directory = reported_twice(folder.path());
    let run = RunSteps::open(directory.clone(), Prices::default());
    let sources = run.read_steps(1..=run.len()).unwrap();
    let steps: Vec<(String, usize)> = crate::steps::steps(&sources, None)
        .iter()
        .map(|step| (step.name(), step.depth))
        .collect();
    let expected = [("agent", 0), ("gpt-5", 1), ("POST", 2)].map(|(name, depth)| (name.to_owned(), depth));
    assert_eq!(steps, expected);

    let row = |id: &str| run.row_of(id).and_then(|row| run.timeline.get(row)).unwrap();
    let (call, repeat) = (row("0000000000000006"), row("0000000000000003"));
    assert_eq!(call, repeat, "whoever asks for the report is given the call");

    let spans: Vec<SpanRecord> = {
        let index = LogIndex::open(&directory.path, None, false).unwrap();
        (0..index.len())
            .map(|at| index.read_span(at).unwrap().unwrap())
            .collect()
    };
    let records = spans_to_events(&spans);
    assert_eq!(records.len(), 6, "the envelope has every span");
    assert_eq!(CallList::of(&records).len(), 1);
}

/// A failed run of these steps, each with its name, its attributes and the error that it failed with.
fn failed_run(folder: &std::path::Path, steps: &[(&str, Value, Option<&str>)], error: &str) -> RunSteps {
    let trace_id = "10000000000000000000000000000001";
    let span = |number: usize, name: &str, attributes: &Value, error: Option<&str>| {
        let id = |number: usize| format!("{number:016x}");
        let time = |ms: usize| format!("2026-01-01T00:00:{:02}.{:03}Z", ms / 1_000, ms % 1_000);
        let is_root = number == steps.len() + 1;
        let end = number * 5;
        let start = if is_root { 0 } else { end - 3 };
        let failure = error.map(|message| {
            json!({"name": "exception", "timestamp": time(end), "attributes": {
                "tracer.error_type": "AgentError", "tracer.error_message": message}})
        });
        json!({
            "trace_id": trace_id, "span_id": id(number), "parent_span_id": (!is_root).then(|| id(steps.len() + 1)),
            "name": name, "kind": "INTERNAL", "start_time": time(start), "end_time": time(end),
            "duration_ms": end - start, "attributes": attributes, "events": failure.as_slice(),
            "status_code": if error.is_some() { "ERROR" } else { "OK" }, "status_description": "",
        })
    };
    let meta = json!({
        "spec_version": "0.2.0", "trace_id": trace_id, "run_name": "agent", "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:00:02Z", "duration_ms": 2000, "status": "error",
        "counts": {"llm_calls": 0, "tool_calls": 1, "errors": 1, "loop_warnings": 0},
    });
    let path = folder.join(trace_id);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("meta.json"), meta.to_string()).unwrap();
    let spans = (1..)
        .zip(steps)
        .map(|(number, (name, attributes, error))| span(number, name, attributes, *error));
    let root = span(steps.len() + 1, "agent", &json!({}), Some(error));
    let lines: String = spans.chain([root]).map(|span| span.to_string() + "\n").collect();
    fs::write(path.join("spans.jsonl"), lines).unwrap();
    let trace_id = trace_id.parse().unwrap();
    let run = RunSteps::open(RunDirectory { trace_id, path }, Prices::default());
    assert_eq!((run.len(), run.status), (steps.len() + 1, RunStatus::Failed));
    run
}

/// The sentence of a list, which is that of the run's own page.
fn failure_in_a_list(run: &RunSteps) -> String {
    let listed = run.read_failure().unwrap();
    let sources = run.read_key_steps().unwrap();
    assert_eq!(
        listed,
        failure(run.status, &steps::steps(&sources, run.started()))
    );
    listed.unwrap().sentence.plain()
}

#[test]
fn a_list_says_of_a_failure_what_the_run_itself_says() {
    let folder = tempfile::tempdir().unwrap();
    let call = |error| ("search", json!({"tracer.tool_name": "search"}), error);
    let span = || ("step", json!({}), None);
    for tools in [1, 3_000] {
        let run = failed_run(folder.path(), &vec![call(None); tools], "gave up");
        let expected = format!("Failed after #{tools} search: AgentError: gave up.");
        assert_eq!(failure_in_a_list(&run), expected);
    }
    for spans in [157, 3_000] {
        let mut steps = vec![span(); spans];
        steps.insert(250.min(spans), call(None));
        let expected = format!(
            "Failed after #{} search: AgentError: gave up.",
            251.min(spans + 1)
        );
        assert_eq!(
            failure_in_a_list(&failed_run(folder.path(), &steps, "gave up")),
            expected
        );
        let mut steps = vec![call(Some("no answer")); 41];
        steps.extend(vec![span(); spans]);
        let expected = "Failed at #41 search, after 41 attempts: AgentError: no answer.";
        assert_eq!(
            failure_in_a_list(&failed_run(folder.path(), &steps, "no answer")),
            expected
        );
        // Its first attempts are in the middle, which is not read.
        let mut steps = vec![span(); spans];
        steps.extend(vec![call(Some("no answer")); 41]);
        steps.extend(vec![span(); spans]);
        let found = failure_in_a_list(&failed_run(folder.path(), &steps, "no answer"));
        let expected = format!(
            "Failed at #{} search, after 41 attempts: AgentError: no answer.",
            spans + 41
        );
        assert_eq!(found, expected);
    }
}
