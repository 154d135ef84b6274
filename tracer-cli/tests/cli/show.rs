//! `tracer show`, and how a run is selected.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::json;

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox, THIRD, spans};

#[test]
fn the_newest_run_is_shown_and_named_on_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.run(SECOND, "newest", 9, "ok");
    sandbox.run(FIRST, "older", 1, "ok");
    let outcome = sandbox.tracer(&["show"]);
    assert_eq!(outcome.code, Some(0));
    let expected = [
        "✓ newest  aaaa2222  ok  400 ms  2026-01-01 00:09:00 UTC",
        "  Ended ok: search_kb → demo-model.",
        "  2 steps · 1 model call · 1 tool call · 447 tokens (412 in, 35 out)",
        "",
        "#    +TIME      DUR  STEP",
        "1  10.0 ms  20.0 ms  ⚒ search_kb   query=\"refund policy\" → hits=2",
        "2  40.0 ms   200 ms  ✦ demo-model  \"Draft a reply\" → \"Dear Ada\"  412→35 tok",
    ];
    assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected);
    assert!(
        outcome.stderr.contains("newest run, aaaa2222"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("tracer export aaaa2222 --out"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_prefix_selects_and_an_ambiguous_one_lists_the_candidates() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "ok");
    sandbox.run(THIRD, "third", 3, "ok");
    for selector in [THIRD, "bbbb3333", "b"] {
        let outcome = sandbox.tracer(&["show", selector]);
        assert_eq!(outcome.code, Some(0));
        assert!(outcome.stdout.starts_with("✓ third"), "{outcome:?}");
    }
    sandbox.tracer(&["show", "aaaa"]).fails(
        2,
        &["\"aaaa\"", "aaaa1111", "first", "aaaa2222", "second", "hint: "],
    );
}

#[test]
fn an_unknown_prefix_names_the_nearest_runs() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(THIRD, "third", 3, "ok");
    sandbox
        .tracer(&["show", "aaaa9"])
        .fails(2, &["\"aaaa9\"", "aaaa1111", "first", "tracer list"]);
    for bad in ["", "../../etc", "zz\u{1b}[2J"] {
        let outcome = sandbox.tracer(&["show", bad]);
        outcome.fails(2, &["error: "]);
        assert!(!outcome.stderr.contains('\u{1b}'));
    }
}

#[test]
fn no_runs_and_no_data_directory_have_a_next_step() {
    for command in [&["show"][..], &["export", "--out", "-"]] {
        Sandbox::new()
            .tracer(command)
            .fails(2, &["error: no runs in", "hint: ", "tracer demo"]);
        Sandbox::without_data_directory()
            .tracer(command)
            .fails(2, &["error: ", "hint: ", "tracer demo"]);
    }
}

#[test]
fn a_running_run_is_shown_without_its_root() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "busy", 1, "running");
    let torn = spans(FIRST, "busy", 1, "running") + "{\"trace_id\": \"aaaa";
    fs::write(directory.join("spans.jsonl"), torn).unwrap();
    let outcome = sandbox.tracer(&["show", FIRST]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stdout.starts_with("● busy  aaaa1111  running"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("the last finished step is #2 demo-model"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn show_names_an_interrupted_run() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "killed", 1, "running");
    fs::write(directory.join(".live"), "{\"run_name\":\"killed\"}\n").unwrap();
    let outcome = sandbox.tracer(&["show"]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stdout.starts_with("◌ killed  aaaa1111  interrupted"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome
            .stdout
            .contains("Interrupted: its process is gone; the last finished step is #2 demo-model.")
    );
}

#[test]
fn a_begun_run_shows_its_open_call() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run_dir(FIRST);
    fs::create_dir_all(&directory).unwrap();
    let begun = json!({"run_name": "busy", "started_at": "2026-01-01T00:01:00.000000Z", "pid": 1});
    let call = json!({
        "span_id": "1111111111111111", "parent_span_id": "00f067aa0ba902b7", "name": "search_kb", "type": "TOOL_CALL",
        "start_time": "2026-01-01T00:01:00.010000Z",
    });
    fs::write(directory.join(".live"), format!("{begun}\n{call}\n")).unwrap();
    let live = fs::File::open(directory.join(".live")).unwrap();
    live.lock().unwrap();
    let outcome = sandbox.tracer(&["show", FIRST]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stdout.starts_with("● busy  aaaa1111  running"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("; now in #1 search_kb."),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("1  10.0 ms  open  ⚒ search_kb\n"),
        "{}",
        outcome.stdout
    );
    assert_eq!(
        sandbox.tracer(&["show", "--json"]).json()["in_flight"][0]["name"],
        "search_kb"
    );
    assert!(
        sandbox
            .tracer(&["list"])
            .stdout
            .contains(&format!("running\t{FIRST}\t"))
    );

    drop(live);
    let outcome = sandbox.tracer(&["show", FIRST]);
    let reported = "Interrupted: its process is gone; it was in #1 search_kb.";
    assert!(outcome.stdout.contains(reported), "{}", outcome.stdout);
    assert!(
        sandbox
            .tracer(&["list"])
            .stdout
            .contains(&format!("interrupted\t{FIRST}\t"))
    );
}

#[test]
fn a_damaged_run_shows_what_is_readable() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "damaged", 1, "ok");
    let good = spans(FIRST, "damaged", 1, "ok");
    fs::write(
        directory.join("spans.jsonl"),
        format!("{{\"secret\": \"payload\n{good}"),
    )
    .unwrap();
    let outcome = sandbox.tracer(&["show"]);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stdout.contains("⚒ search_kb"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("spans.jsonl:1: "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("secret"));
    assert!(
        outcome.stderr.contains("tracer validate-trace"),
        "{}",
        outcome.stderr
    );

    fs::write(directory.join("meta.json"), "no json").unwrap();
    let outcome = sandbox.tracer(&["show"]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stdout.contains("damaged") && outcome.stdout.contains("meta.json: "),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("⚒ search_kb"), "{}", outcome.stdout);
}

#[test]
fn json_has_the_records_and_the_problems() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "damaged", 1, "ok");
    let good = spans(FIRST, "damaged", 1, "ok");
    fs::write(directory.join("spans.jsonl"), format!("no json\n{good}")).unwrap();
    let outcome = sandbox.tracer(&["show", "--json"]);
    assert_eq!(outcome.code, Some(0));
    let json = outcome.json();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "events",
            "in_flight",
            "problems",
            "run",
            "run_status",
            "spec_version",
            "status",
            "tags"
        ]
    );
    assert_eq!(json["problems"][0]["location"], "spans.jsonl:1");
    assert_eq!(json["events"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["status"], "ok");
}

#[test]
fn colour_is_there_when_it_is_asked_for_only() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = sandbox.command(arguments);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains("\u{1b}[")
    };
    assert!(!coloured(&["show"], &[]));
    assert!(coloured(&["show", "--color=always"], &[]));
    assert!(coloured(&["--color", "always", "show"], &[("NO_COLOR", "1")]));
    assert!(coloured(&["show"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(
        &["show"],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(!coloured(&["show", "--color=never"], &[("CLICOLOR_FORCE", "1")]));
}

/// A run with more steps than are laid out at once, and more lines than a pipe holds.
fn long_run(sandbox: &Sandbox) {
    const STEPS: usize = 3_000;
    const ROOT: &str = "00f067aa0ba902b7";
    let directory = sandbox.run(FIRST, "long", 1, "running");
    let line = |number: usize| {
        let span = json!({"trace_id": FIRST, "span_id": format!("{:016x}", number + 1), "parent_span_id": ROOT,
            "name": "search", "kind": "INTERNAL", "start_time": "2026-01-01T00:01:00Z", "end_time": null,
            "duration_ms": null, "attributes": {"tracer.tool_name": "search", "tracer.note": "x".repeat(200)},
            "events": [], "status_code": "OK", "status_description": ""});
        format!("{span}\n")
    };
    let log: String = (1..=STEPS).map(line).collect();
    fs::write(directory.join("spans.jsonl"), log).unwrap();
}

/// Shows all of that run; `meanwhile` happens when a part of it has been shown, and the rest waits to be read.
fn shown_while(sandbox: &Sandbox, meanwhile: impl FnOnce()) -> Outcome {
    let mut command = sandbox.command(&["show", FIRST, "--all"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut stdout = String::new();
    output.read_line(&mut stdout).unwrap();
    meanwhile();
    output.read_to_string(&mut stdout).unwrap();
    let mut outcome: Outcome = child.wait_with_output().unwrap().into();
    outcome.stdout = stdout;
    outcome
}

#[test]
fn a_log_that_is_cut_while_it_is_shown_is_said() {
    let sandbox = Sandbox::new();
    long_run(&sandbox);
    let log = sandbox.run_dir(FIRST).join("spans.jsonl");
    let outcome = shown_while(&sandbox, || fs::write(log, "").unwrap());
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("has changed while it was read") && outcome.stderr.contains("hint: "));
}

/// Where a file that is open can be deleted, it can be read to its end.
#[cfg(unix)]
#[test]
fn a_data_directory_that_vanishes_while_it_is_shown_takes_nothing_away() {
    let sandbox = Sandbox::new();
    long_run(&sandbox);
    let outcome = shown_while(&sandbox, || fs::remove_dir_all(sandbox.data_dir()).unwrap());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("\n3000  "), "the last step is missing");
}
