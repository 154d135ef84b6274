//! `tracer list`.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, contents, meta, with_status};

fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(SECOND, "second", 2, "error");
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(THIRD, "third", 3, "ok");
    sandbox
}

#[test]
fn runs_are_tab_separated_newest_first_when_nobody_looks() {
    let outcome = three().tracer(&["list"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(
        outcome.stdout,
        format!(
            "status\trun_id\tstarted_at\tduration_ms\tllm_calls\ttool_calls\terrors\tloop_warnings\trun_name\n\
             ok\t{THIRD}\t2026-01-01T00:03:00.000000Z\t400\t1\t1\t0\t0\tthird\n\
             failed\t{SECOND}\t2026-01-01T00:02:00.000000Z\t400\t1\t1\t0\t0\tsecond\n\
             ok\t{FIRST}\t2026-01-01T00:01:00.000000Z\t400\t1\t1\t0\t0\tfirst\n"
        )
    );
    assert_eq!(outcome.stderr, "");
}

/// The listed runs without their tokens, those of the one call that each has, and their costs, all of which are unknown.
pub(crate) fn without_sums(mut json: Value) -> Value {
    for run in json["runs"].as_array_mut().unwrap() {
        let tokens = run.as_object_mut().unwrap().remove("tokens").unwrap();
        assert_eq!(
            tokens,
            json!({"prompt_tokens": 412, "completion_tokens": 35, "total_tokens": 447})
        );
        for calls in ["failed_calls", "unknown_calls"] {
            assert_eq!(run.as_object_mut().unwrap().remove(calls), Some(json!(0)));
        }
        let cost = run.as_object_mut().unwrap().remove("cost").unwrap();
        assert_eq!(
            (&cost["usd"], &cost["words"]),
            (&Value::Null, &json!("cost unknown"))
        );
    }
    json
}

#[test]
fn json_is_the_metadata_with_status() {
    let sandbox = three();
    let mut stored = meta(FIRST, "first", 1, "ok");
    stored["team"] = json!({"kept": true});
    fs::write(sandbox.run_dir(FIRST).join("meta.json"), stored.to_string()).unwrap();
    let outcome = sandbox.tracer(&["list", "--json"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(
        without_sums(outcome.json()),
        json!({
            "spec_version": "0.2.0",
            "runs": [
                with_status(meta(THIRD, "third", 3, "ok"), "ok"),
                with_status(meta(SECOND, "second", 2, "error"), "failed"),
                with_status(stored, "ok"),
            ],
            "damaged": [],
        })
    );
}

#[test]
fn json_has_the_tokens_that_calls_report_and_the_shares_of_them() {
    let sandbox = three();
    let log = fs::read_to_string(sandbox.run_dir(FIRST).join("spans.jsonl")).unwrap();
    let counted = log.replace(
        "\"gen_ai.usage.output_tokens\":35",
        "\"gen_ai.usage.output_tokens\":35,\"gen_ai.usage.cache_read.input_tokens\":400,\
         \"gen_ai.usage.reasoning.output_tokens\":20",
    );
    assert_ne!(counted, log);
    fs::write(sandbox.run_dir(FIRST).join("spans.jsonl"), counted).unwrap();
    let without = log.replace("gen_ai.usage.", "other.");
    fs::write(
        sandbox.run_dir(SECOND).join("spans.jsonl"),
        without.replace(FIRST, SECOND),
    )
    .unwrap();
    let listed = sandbox.tracer(&["list", "--json"]).json();
    let tokens: Vec<&Value> = [0, 1, 2].map(|run| &listed["runs"][run]["tokens"]).to_vec();
    let reported = json!({"prompt_tokens": 412, "completion_tokens": 35, "total_tokens": 447});
    let mut with_shares = reported.clone();
    with_shares["cache_read_tokens"] = json!(400);
    with_shares["reasoning_tokens"] = json!(20);
    // The second reports none, which is not 0.
    assert_eq!(tokens, [&reported, &Value::Null, &with_shares]);
}

// gate, *Trials*
#[test]
fn trial_runs_are_hidden_by_default() {
    let sandbox = Sandbox::new();
    let listed = |options: &[&str]| {
        let outcome = sandbox.tracer(&[&["list"], options].concat());
        (outcome.stdout.lines().count() - 1, outcome.stderr)
    };
    for (id, trial) in [(SECOND, 1), (THIRD, 2)] {
        let mut marked = meta(id, "agent", 2, "ok");
        marked["gate"] = json!({"id": "5f0c2a9e", "trial": trial});
        sandbox.files(id, &marked.to_string(), "");
    }
    let reported = "2 runs from gate trials hidden; list them: tracer list --trials\n".to_owned();
    assert_eq!(listed(&[]), (0, reported.clone()));

    sandbox.run(FIRST, "first", 1, "ok");
    assert_eq!(listed(&[]), (1, reported));
    assert_eq!(listed(&["--trials"]), (3, String::new()));
    let json = sandbox.tracer(&["list", "--json"]);
    assert_eq!(json.json()["runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_limit_says_how_many_are_not_shown() {
    let sandbox = three();
    let outcome = sandbox.tracer(&["list", "--limit", "2"]);
    assert_eq!(outcome.stdout.lines().count(), 3);
    assert!(outcome.stderr.contains("2 of 3 runs"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("tracer list --limit all"),
        "{}",
        outcome.stderr
    );
    let json = sandbox.tracer(&["list", "--json", "--limit", "1"]);
    assert_eq!(json.json()["runs"].as_array().map(Vec::len), Some(1));
    assert!(json.stderr.contains("1 of 3 runs"));
    assert_eq!(sandbox.tracer(&["list", "--limit", "all"]).stderr, "");
    sandbox.tracer(&["list", "--limit", "0"]).fails(2, &["--limit"]);
}

#[test]
fn a_damaged_run_is_a_row_and_in_json_beside_the_others() {
    let sandbox = three();
    sandbox.files(&"c".repeat(32), "{\"status\": \"secret payload", "");
    let text = sandbox.tracer(&["list"]);
    assert_eq!(text.code, Some(0));
    assert!(
        text.stdout.contains(&format!("damaged\t{}\t", "c".repeat(32))),
        "{}",
        text.stdout
    );
    assert!(!text.stdout.contains("secret"));
    let json = sandbox.tracer(&["list", "--json"]);
    assert_eq!(json.json()["runs"].as_array().map(Vec::len), Some(3));
    let damaged = &json.json()["damaged"];
    assert_eq!(damaged.as_array().map(Vec::len), Some(1));
    assert_eq!(damaged[0]["trace_id"], "c".repeat(32));
    assert_eq!(damaged[0]["diagnostics"][0]["code"], "malformed_json");
    assert!(!json.stdout.contains("secret"));
}

#[test]
fn a_running_run_is_counted_from_its_spans() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "busy", 1, "running");
    let mut stale = meta(FIRST, "busy", 1, "running");
    stale["counts"] = json!({"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0});
    fs::write(sandbox.run_dir(FIRST).join("meta.json"), stale.to_string()).unwrap();
    let outcome = sandbox.tracer(&["list"]);
    assert!(outcome.stdout.contains(&format!(
        "running\t{FIRST}\t2026-01-01T00:01:00.000000Z\t\t1\t1\t0\t0\tbusy"
    )));
}

#[test]
fn listing_changes_no_interrupted_run() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "killed", 1, "running");
    fs::write(directory.join(".live"), "{\"run_name\":\"killed\"}\n").unwrap();
    let runs = sandbox.data_dir().join("runs");
    let before = contents(&runs);
    let outcome = sandbox.tracer(&["list"]);
    assert!(
        outcome.stdout.contains(&format!("interrupted\t{FIRST}")),
        "{}",
        outcome.stdout
    );
    assert_eq!(contents(&runs), before);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "\u{1b}]0;owned\u{7}\t\u{9b}2J\nsecond line", 1, "ok");
    for arguments in [&["list"][..], &["list", "--json"], &["list", "--color=never"]] {
        let outcome = sandbox.tracer(arguments);
        assert_eq!(outcome.code, Some(0));
        assert!(
            outcome
                .stdout
                .chars()
                .all(|char| char == '\n' || char == '\t' || !char.is_control()),
            "{:?}",
            outcome.stdout
        );
    }
    assert_eq!(sandbox.tracer(&["list"]).stdout.lines().count(), 2);
}

#[test]
fn an_empty_store_is_an_empty_list_with_a_next_step() {
    let sandbox = Sandbox::new();
    let text = sandbox.tracer(&["list"]);
    assert_eq!(text.code, Some(0));
    assert!(
        text.stderr.contains("no runs in") && text.stderr.contains("tracer demo"),
        "{}",
        text.stderr
    );
    let json = sandbox.tracer(&["list", "--json"]);
    assert_eq!(
        (json.code, json.json()),
        (
            Some(0),
            json!({"spec_version": "0.2.0", "runs": [], "damaged": []})
        )
    );
}

#[test]
fn a_missing_data_directory_is_said_with_a_next_step() {
    let sandbox = Sandbox::without_data_directory();
    let path = sandbox.data_dir();
    sandbox.tracer(&["list"]).fails(
        2,
        &["error: ", &path.display().to_string(), "hint: ", "tracer demo"],
    );
    assert!(!path.exists(), "looking creates nothing");
}

#[test]
fn the_option_wins_over_the_environment_and_is_in_the_next_commands() {
    let sandbox = Sandbox::without_data_directory();
    let other = Sandbox::new();
    other.run(FIRST, "first", 1, "ok");
    other.run(SECOND, "second", 2, "ok");
    let path = other.data_dir().display().to_string();
    let outcome = sandbox.tracer(&["list", "--limit", "1", "--data-dir", &path]);
    assert_eq!(outcome.stdout.lines().count(), 2);
    assert!(
        outcome
            .stderr
            .contains(&format!("tracer --data-dir {path} list --limit all")),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_closed_pipe_is_a_quiet_success() {
    let sandbox = Sandbox::new();
    let name = "n".repeat(2_000);
    for number in 0..100u32 {
        sandbox.run(
            &format!("{number:032x}").replacen('0', "a", 1),
            &name,
            number,
            "ok",
        );
    }
    for arguments in [
        &["list", "--limit", "all"][..],
        &["list", "--limit", "all", "--json"],
    ] {
        let mut command = sandbox.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Reads a little, as `head -1` does, and hangs up; the rest does not fit into the pipe.
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let outcome = child.wait_with_output().unwrap();
        assert_eq!(
            (outcome.status.code(), outcome.stderr.as_slice()),
            (Some(0), &b""[..])
        );
    }
}
