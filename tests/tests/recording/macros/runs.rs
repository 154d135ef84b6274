//! Functions that start a run, each in a process of its own.

use std::process::Output;

use serde_json::json;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, Finished, Program};

fn run(program: &str) -> (DataDir, Output) {
    let data = DataDir::new();
    let output = Program::new(env!("CARGO_BIN_EXE_traced_functions"), &data)
        .args([program])
        .output();
    (data, output)
}

fn recorded(program: &str) -> (Finished, String) {
    let (data, output) = run(program);
    (data.finished(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn unnamed_runs_are_named_by_place() {
    let (recording, _) = recorded("unnamed");
    let name = recording.run.meta.run_name.as_deref().unwrap();
    assert!(
        name.starts_with("src/bin/traced_functions.rs:unnamed - "),
        "{name}"
    );
    assert_eq!(recording.parent_name("search"), name);
    assert_eq!(recording.status(), RecordedStatus::Ok);
}

#[test]
fn a_run_fails_with_the_error_that_its_function_returns() {
    let (recording, output) = recorded("named");
    assert_eq!(output, "failed: no nightly\n");
    assert_eq!(recording.run.meta.run_name.as_deref(), Some("agent nightly"));
    assert_eq!(recording.status(), RecordedStatus::Error);
    assert_eq!(recording.payload(EventType::Error)["message"], "no nightly");
}

#[test]
fn a_run_keeps_its_question_and_its_answer() {
    let (recording, output) = recorded("asked");
    assert_eq!(output, "Because?\n");
    let start = &recording.records[0];
    assert_eq!(start.question(), Some(&json!("Why?")));
    assert_eq!(start.answer(), Some(&json!("Because?")));
}

#[test]
fn the_guardrails_of_the_attribute_stop_the_run() {
    let (recording, output) = recorded("guarded");
    assert_eq!(output.matches("searched").count(), 2);
    assert!(output.contains("returned Err("), "{output}");
    assert_eq!(recording.status(), RecordedStatus::Error);
    let error = recording.payload(EventType::Error);
    assert_eq!(error["error_type"], "GuardrailExceeded");
    assert!(
        error["message"].as_str().unwrap().contains("max_tool_calls"),
        "{error}"
    );
}

#[test]
fn a_panic_ends_run_and_program() {
    let (data, output) = run("panicking");
    assert_eq!(output.status.code(), Some(101));
    assert!(String::from_utf8_lossy(&output.stderr).contains("out of cheese"));
    let recording = data.finished();
    assert_eq!(recording.status(), RecordedStatus::Error);
    assert_eq!(recording.payload(EventType::Error)["error_type"], "panic");
}

#[test]
fn calls_and_spans_outside_of_a_run_record_nothing() {
    let (data, output) = run("unattached");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "searched\nreturned 10\n"
    );
    assert!(data.run_dirs().is_empty());
}

#[test]
fn a_loop_stops_a_run_and_with_shape_its_warning_does() {
    for (program, reported) in [("looping", 3), ("shaped", 0)] {
        let (recording, output) = recorded(program);
        assert_eq!(output.matches("searched").count(), 3, "{program}: {output}");
        assert_eq!(
            output.matches("printed the time").count(),
            reported,
            "{program}: {output}"
        );
        let error = recording.payload(EventType::Error);
        assert_eq!(error["error_type"], "LoopAbort", "{program}: {output}");
    }
}

#[test]
fn a_tool_without_parameters_records_that_it_was_asked_nothing() {
    let (recording, _) = recorded("looping");
    let calls = recording.all(EventType::ToolCall);
    let args: Vec<_> = calls
        .iter()
        .map(|record| payload(record)["args"].clone())
        .collect();
    assert_eq!(args[3..], [json!({}), json!({}), json!({})]);
}
