//! `tracer run --cassette`: replayed trials as evidence of their own kind.

use std::process::{Command, Output};

use serde_json::Value;

use super::{conversation, recorded_conversation, script};
use crate::record::{EXPORTER, Recorder};

const KEEPS_TO_ITS_TOOLS: &str =
    "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n  no_loops: {kind: invariant}\n";
const FORBIDS_LOOKUPS: &str =
    "version: 2\nmetrics:\n  forbidden_tools: {kind: invariant, none_of: [lookup_order, search]}\n";

/// Runs the gate in the recorder's folder, with this policy. Gives the report, and what the command did.
fn gate(recorder: &Recorder, policy: &str, options: &[&str], tasks: &[&str]) -> (Value, Output) {
    recorder.write("policy.yaml", policy);
    let output = recorder
        .tracer()
        .args(["run", "--policy", "policy.yaml", "--json-out", "report.json"])
        .args(options)
        .arg("--")
        .arg(EXPORTER)
        .args(tasks)
        .output()
        .unwrap();
    let text =
        std::fs::read(recorder.path("report.json")).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (serde_json::from_slice(&text).unwrap(), output)
}

#[test]
fn one_replayed_trial_is_enough_to_pass() {
    let (recorder, provider) = recorded_conversation();
    let (report, output) = gate(
        &recorder,
        KEEPS_TO_ITS_TOOLS,
        &["--cassette", "agent.jsonl"],
        &["ask-script"],
    );
    assert_eq!(
        (report["verdict"].as_str(), output.status.code()),
        (Some("pass"), Some(0)),
        "{report:#}"
    );
    assert_eq!(report["trials"].as_array().unwrap().len(), 1);
    assert_eq!(report["environment"]["evidence"], "replayed", "{report:#}");
    let text = report.to_string();
    assert!(text.contains("2 of 2 recorded calls used"), "{report:#}");
    assert!(
        text.contains("a changed prompt or model needs a new recording"),
        "{report:#}"
    );
    assert_eq!(provider.connections(), 2, "only the recording connected");
}

#[test]
fn a_miss_is_inconclusive_and_fails_whatever_the_policy_says() {
    let (recorder, _provider) = recorded_conversation();
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let (report, output) = gate(
        &recorder,
        KEEPS_TO_ITS_TOOLS,
        &["--cassette", "agent.jsonl", "--inconclusive", "pass"],
        &["ask-script"],
    );
    assert_eq!(
        (report["verdict"].as_str(), output.status.code()),
        (Some("inconclusive"), Some(1)),
        "{report:#}"
    );
    let failure = &report["trials"][0]["failure"];
    assert_eq!(failure["reason"], "cut_short", "{report:#}");
    let detail = failure["detail"].as_str().unwrap();
    assert!(
        detail.contains("messages[2].content (result of tool lookup_order, call 1)"),
        "{detail}"
    );
    let hints = String::from_utf8(output.stderr).unwrap();
    assert!(
        hints.contains("run --policy policy.yaml --inconclusive pass --cassette agent.jsonl -- "),
        "the gate is run again from the cassette: {hints}"
    );
}

#[test]
fn a_miss_fails_where_the_policy_says_so() {
    let (recorder, _provider) = recorded_conversation();
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let policy = format!("{KEEPS_TO_ITS_TOOLS}replay_miss: fail\n");
    let (report, output) = gate(
        &recorder,
        &policy,
        &["--cassette", "agent.jsonl"],
        &["ask-script"],
    );
    assert_eq!(
        (report["verdict"].as_str(), output.status.code()),
        (Some("fail"), Some(1)),
        "{report:#}"
    );
}

#[test]
fn an_old_cassette_is_a_warning() {
    let (recorder, _provider) = recorded_conversation();
    let policy = format!("{KEEPS_TO_ITS_TOOLS}cassette_max_age: 90d\n");
    let notices = |recorder: &Recorder| {
        let (report, output) = gate(recorder, &policy, &["--cassette", "agent.jsonl"], &["ask-script"]);
        assert_eq!(output.status.code(), Some(0), "{report:#}");
        report.to_string()
    };
    assert!(!notices(&recorder).contains("cassette_max_age"));
    let text = std::fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    let (head, calls) = text.split_once('\n').unwrap();
    let mut head: Value = serde_json::from_str(head).unwrap();
    for (recorded_at, expected) in [
        (
            "2020-01-01T00:00:00Z",
            " days ago, and cassette_max_age is 90 days",
        ),
        (
            "",
            "does not say when it was recorded, and cassette_max_age is 90 days",
        ),
    ] {
        head["recorded_at"] = recorded_at.into();
        recorder.write("agent.jsonl", &format!("{head}\n{calls}"));
        let text = notices(&recorder);
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
}

#[test]
fn arguments_and_answers_are_not_known_after_a_miss() {
    let (recorder, _provider) = recorded_conversation();
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let policy = "version: 2\nmetrics:\n  tool_arguments: {tool: pay, where: /amount == 1, calls: any}\n  output: {contains: shipped}\n";
    let (report, _) = gate(&recorder, policy, &["--cassette", "agent.jsonl"], &["ask-script"]);
    assert_eq!(report["verdict"], "inconclusive", "{report:#}");
    let findings = report["trials"][0]["findings"].as_object().unwrap();
    assert!(
        findings.values().all(|finding| finding["outcome"].is_null()),
        "{report:#}"
    );
}

#[test]
fn what_was_violated_before_a_miss_stays_a_failure() {
    let (recorder, _provider) = recorded_conversation();
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let (report, output) = gate(
        &recorder,
        FORBIDS_LOOKUPS,
        &["--cassette", "agent.jsonl"],
        &["ask-script"],
    );
    assert_eq!(
        (report["verdict"].as_str(), output.status.code()),
        (Some("fail"), Some(1)),
        "{report:#}"
    );
}

#[test]
fn an_agent_that_calls_a_new_tool_goes_red() {
    let (recorder, _provider) = recorded_conversation();
    let policy = FORBIDS_LOOKUPS.replace("lookup_order, search", "search");
    let options = ["--cassette", "agent.jsonl"];
    let (report, _) = gate(&recorder, &policy, &options, &["ask-script"]);
    assert_eq!(report["verdict"], "pass", "{report:#}");
    let (report, output) = gate(&recorder, &policy, &options, &["ask-script", "sdk-call"]);
    assert_eq!(
        (report["verdict"].as_str(), output.status.code()),
        (Some("fail"), Some(1)),
        "{report:#}"
    );
}

#[test]
fn an_agent_that_loops_goes_red() {
    let (recorder, _provider) = recorded_conversation();
    let options = ["--cassette", "agent.jsonl"];
    let only_ends = "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n";
    for (policy, expected) in [
        (only_ends, (Some("pass"), Some(0))),
        (KEEPS_TO_ITS_TOOLS, (Some("fail"), Some(1))),
    ] {
        let (report, output) = gate(&recorder, policy, &options, &["ask-script", "sdk-loop"]);
        assert_eq!(
            (report["verdict"].as_str(), output.status.code()),
            expected,
            "{report:#}"
        );
    }
}

#[test]
fn an_agent_that_hands_over_a_wrong_answer_goes_red() {
    let (recorder, provider) = recorded_conversation();
    recorder.write("policy.yaml", KEEPS_TO_ITS_TOOLS);
    let gate = |expected: &str| {
        // What the agent hands over is checked by the command, whose exit code is a check of its own.
        let command = format!("{EXPORTER} ask-script | grep --quiet '{expected}'");
        let output = recorder
            .tracer()
            .args(["run", "--policy", "policy.yaml", "--cassette", "agent.jsonl"])
            .args(["--", "sh", "-c", &command])
            .output()
            .unwrap();
        output.status.code()
    };
    assert_eq!(gate("It is shipped"), Some(0));
    assert_eq!(gate("It is lost"), Some(1));
    assert_eq!(provider.connections(), 2, "only the recording connected");
}

#[test]
fn replayed_trials_are_never_compared_with_live_ones() {
    let (recorder, _provider) = recorded_conversation();
    let options = ["--cassette", "agent.jsonl"];
    gate(&recorder, KEEPS_TO_ITS_TOOLS, &options, &["ask-script"]);
    let baseline = recorder
        .tracer()
        .args([
            "baseline",
            "--from-report",
            "report.json",
            "--out",
            "baseline.json",
        ])
        .output()
        .unwrap();
    assert!(baseline.status.success(), "{baseline:?}");
    let compare = |options: &[&str]| -> Output {
        let mut tracer: Command = recorder.tracer();
        tracer.args(["run", "--policy", "policy.yaml", "--baseline", "baseline.json"]);
        tracer
            .args(options)
            .args(["--", EXPORTER, "ask-script"])
            .output()
            .unwrap()
    };
    let replayed = compare(&options);
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    let live = compare(&["--capture", "--trials", "1"]);
    assert_eq!(live.status.code(), Some(2), "{live:?}");
    let stderr = String::from_utf8(live.stderr).unwrap();
    assert!(
        stderr.contains("is of replayed trials, and these are live"),
        "{stderr}"
    );
}
