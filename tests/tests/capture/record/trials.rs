//! `tracer run --capture`: trials of agents that record nothing themselves.

use std::process::Command;

use serde_json::Value;

use super::{EXPORTER, Recorder, TRACER};

fn gate(recorder: &Recorder, options: &[&str], command: &[&str]) -> Value {
    recorder.write(
        "policy.yaml",
        "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n",
    );
    let report = recorder.path("report.json");
    let workspace = recorder.path("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let output = Command::new(TRACER)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", recorder.directory.path())
        .env("TRACER_DATA_DIR", recorder.data.path())
        .current_dir(&workspace)
        .args(["run", "--policy", "../policy.yaml", "--json-out"])
        .arg(&report)
        .args(options)
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let text = std::fs::read(&report).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn trials_of_an_exporting_agent_are_evidence() {
    let recorder = Recorder::new();
    let report = gate(
        &recorder,
        &["--capture", "--trials", "3", "--jobs", "2"],
        &[EXPORTER, "call"],
    );
    assert_eq!(report["verdict"], "pass", "{report:#}");
    assert_eq!(report["trials"].as_array().unwrap().len(), 3);
    assert!(
        report.to_string().contains("the runs were captured"),
        "{report:#}"
    );
}

#[test]
fn without_capture_the_same_agent_leaves_no_trace() {
    let recorder = Recorder::new();
    let report = gate(&recorder, &["--trials", "1"], &["true"]);
    assert_eq!(report["trials"][0]["failure"]["reason"], "no_trace", "{report:#}");
}

#[test]
fn a_silent_trial_leaves_no_trace_and_says_why() {
    let recorder = Recorder::new();
    let report = gate(&recorder, &["--capture", "--trials", "1"], &["true"]);
    let failure = &report["trials"][0]["failure"];
    assert_eq!(failure["reason"], "no_trace", "{report:#}");
    let detail = failure["detail"].as_str().unwrap();
    assert!(detail.contains("exports no OpenTelemetry"), "{detail}");
}

#[test]
fn an_annotated_agent_is_captured_in_one_run() {
    let recorder = Recorder::new();
    let report = gate(
        &recorder,
        &["--capture", "--trials", "1"],
        &[EXPORTER, "sdk-call", "call"],
    );
    assert_eq!(report["verdict"], "pass", "{report:#}");
}

#[test]
fn a_failing_agent_fails_its_trial() {
    let recorder = Recorder::new();
    let report = gate(
        &recorder,
        &["--capture", "--trials", "1"],
        &["sh", "-c", "\"$0\" call; exit 3", EXPORTER],
    );
    assert_eq!(
        report["trials"][0]["failure"]["reason"], "process_failed",
        "{report:#}"
    );
}
