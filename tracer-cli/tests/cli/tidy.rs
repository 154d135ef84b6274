//! `tracer repair`, `rename`, `delete` and `prune`.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, contents};

const LIVE: &str = concat!(
    r#"{"run_name":"busy","started_at":"2026-01-01T00:01:00.000000Z","pid":1}"#,
    "\n",
    r#"{"span_id":"00000000000000b2","parent_span_id":"00f067aa0ba902b7","name":"gpt-5","type":"LLM_CALL","start_time":"2026-01-01T00:01:00.300000Z"}"#,
    "\n",
);

/// A run whose process died in a model call, with a torn last line.
fn interrupted() -> Sandbox {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "busy", 1, "running");
    fs::write(directory.join(".live"), LIVE).unwrap();
    let log = directory.join("spans.jsonl");
    let torn = fs::read_to_string(&log).unwrap() + "{\"trace_id\"";
    fs::write(log, torn).unwrap();
    sandbox
}

/// Three runs that ended, the third the newest.
fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "error");
    sandbox.run(THIRD, "third", 3, "ok");
    sandbox
}

fn left(sandbox: &Sandbox) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(sandbox.data_dir().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn meta(sandbox: &Sandbox, id: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.run_dir(id).join("meta.json")).unwrap()).unwrap()
}

#[test]
fn a_repaired_run_is_valid_listed_and_exported() {
    let sandbox = interrupted();
    let before = contents(&sandbox.data_dir());
    let planned = sandbox.tracer(&["repair", FIRST, "--dry-run"]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(planned.stdout.contains("would repair aaaa1111"), "{planned:?}");
    assert_eq!(contents(&sandbox.data_dir()), before, "--dry-run changes nothing");

    let repaired = sandbox.tracer(&["repair", FIRST]);
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
    for reported in [
        "repaired aaaa1111",
        "spans.jsonl.broken",
        "11 bytes of a torn last line",
        "status error",
    ] {
        assert!(
            repaired.stdout.contains(reported),
            "{reported:?} is not in {repaired:?}"
        );
    }
    let path = sandbox.run_dir(FIRST).display().to_string();
    let valid = sandbox.tracer(&["validate-trace", &path, "--strict", "--json"]);
    assert_eq!(
        (valid.code, &valid.json()["warnings"]),
        (Some(0), &json!([])),
        "{valid:?}"
    );
    let export = sandbox.tracer(&["export", FIRST, "--out", "-"]).json();
    assert_eq!(export["run"]["counts"]["llm_calls"], 2);
    assert_eq!(
        export["events"].as_array().unwrap().last().unwrap()["payload"]["status"],
        "error"
    );

    let again = sandbox.tracer(&["repair", FIRST]);
    assert_eq!(again.code, Some(0));
    assert!(again.stdout.contains("needs no repair"), "{again:?}");
}

#[test]
fn what_was_done_is_printed_as_json() {
    let outcome = interrupted().tracer(&["repair", "--json"]).json();
    assert_eq!(
        outcome,
        json!({"trace_id": FIRST, "repaired": true, "cut_bytes": 11, "spans_added": 2, "status": "error",
               "ended_at": "2026-01-01T00:01:00.300000Z"})
    );
}

#[test]
fn a_run_that_is_recorded_or_damaged_otherwise_is_not_repaired() {
    let sandbox = interrupted();
    let live = fs::File::open(sandbox.run_dir(FIRST).join(".live")).unwrap();
    live.lock().unwrap();
    sandbox
        .tracer(&["repair", FIRST])
        .fails(2, &["still going on", "hint: "]);
    drop(live);
    fs::write(sandbox.run_dir(FIRST).join("spans.jsonl"), "secret\n[]\n").unwrap();
    let before = contents(&sandbox.data_dir());
    let refused = sandbox.tracer(&["repair", FIRST]);
    refused.fails(
        1,
        &[
            "damaged in a way",
            "spans.jsonl:1",
            "spans.jsonl:2",
            "validate-trace",
        ],
    );
    assert!(!refused.stderr.contains("secret"));
    assert_eq!(contents(&sandbox.data_dir()), before);

    let unknown = Sandbox::new();
    unknown.run(SECOND, "python", 1, "running");
    unknown.tracer(&["repair", SECOND]).fails(2, &["nothing shows"]);
}

#[test]
fn a_renamed_run_keeps_everything_else() {
    let sandbox = three();
    let path = sandbox.run_dir(FIRST).join("meta.json");
    let mut expected = meta(&sandbox, FIRST);
    expected["labels"] = json!({"b": [1]});
    fs::write(&path, expected.to_string()).unwrap();
    let outcome = sandbox.tracer(&["rename", FIRST, "token=abcdefgh12345678 nightly"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!outcome.stdout.contains("abcdefgh12345678"), "{outcome:?}");
    let renamed = meta(&sandbox, FIRST);
    assert_ne!(renamed["run_name"], "first");
    expected["run_name"] = renamed["run_name"].clone();
    assert_eq!(renamed, expected);
    sandbox
        .tracer(&["rename", FIRST, " "])
        .fails(2, &["name is empty"]);
    sandbox
        .tracer(&["rename", "dddd", "x"])
        .fails(2, &["no run has an ID"]);
}

#[test]
fn deletion_is_confirmed_and_all_or_none() {
    let sandbox = three();
    sandbox
        .tracer(&["delete", FIRST])
        .fails(2, &["needs a confirmation", "--yes"]);
    sandbox
        .tracer(&["delete", FIRST, "dddd", "--yes"])
        .fails(2, &["no run has an ID"]);
    assert_eq!(left(&sandbox), [FIRST, SECOND, THIRD]);
    let outcome = sandbox.tracer(&["delete", FIRST, "bbbb", FIRST, "--yes"]);
    assert_eq!(outcome.stdout, "✓ deleted 2 runs\n");
    assert_eq!(left(&sandbox), [SECOND]);
    sandbox.tracer(&["delete"]).fails(2, &["RUN_ID"]);
}

#[test]
fn a_live_run_is_deleted_by_force_only() {
    let sandbox = interrupted();
    let live = fs::File::open(sandbox.run_dir(FIRST).join(".live")).unwrap();
    live.lock().unwrap();
    sandbox
        .tracer(&["delete", FIRST, "--yes"])
        .fails(2, &["still recording", "--force"]);
    assert_eq!(sandbox.tracer(&["prune", "--keep", "0", "--yes"]).code, Some(0));
    assert_eq!(left(&sandbox), [FIRST]);
    assert_eq!(
        sandbox.tracer(&["delete", FIRST, "--yes", "--force"]).code,
        Some(0)
    );
    assert_eq!(left(&sandbox), [""; 0]);

    let unknown = Sandbox::new();
    unknown.run(SECOND, "python", 1, "running");
    unknown
        .tracer(&["delete", SECOND, "--yes"])
        .fails(2, &["may still be recording", "--force"]);
}

#[test]
fn pruning_removes_what_its_rules_choose() {
    for (rules, expected) in [
        (vec!["--keep", "1"], vec![THIRD]),
        (vec!["--status", "error"], vec![FIRST, THIRD]),
        (vec!["--older-than", "1d", "--keep", "2"], vec![SECOND, THIRD]),
        (vec!["--max-size", "1kB"], vec![]),
        (vec!["--max-size", "1GB"], vec![FIRST, SECOND, THIRD]),
    ] {
        let sandbox = three();
        let planned = sandbox.tracer(&[vec!["prune", "--dry-run"], rules.clone()].concat());
        assert_eq!((planned.code, left(&sandbox).len()), (Some(0), 3), "{planned:?}");
        let outcome = sandbox.tracer(&[vec!["prune", "--yes"], rules.clone()].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(left(&sandbox), expected, "{rules:?}: {outcome:?}");
    }
}

#[test]
fn pruning_wants_a_rule_and_a_yes() {
    let sandbox = three();
    sandbox
        .tracer(&["prune"])
        .fails(2, &["no rule selects the runs", "--older-than"]);
    sandbox
        .tracer(&["prune", "--yes"])
        .fails(2, &["no rule selects the runs"]);
    sandbox
        .tracer(&["prune", "--keep", "1"])
        .fails(2, &["needs a confirmation"]);
    sandbox
        .tracer(&["prune", "--older-than", "soon"])
        .fails(2, &["3d"]);
    sandbox
        .tracer(&["prune", "--status", "running"])
        .fails(2, &["interrupted"]);
    assert_eq!(left(&sandbox).len(), 3);
}

#[test]
fn what_a_removal_left_is_taken_away_by_pruning() {
    let sandbox = three();
    let leftover = sandbox.data_dir().join("runs").join(format!(".{FIRST}.removed"));
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join("spans.jsonl"), "").unwrap();
    assert_eq!(sandbox.tracer(&["prune", "--keep", "2", "--yes"]).code, Some(0));
    assert_eq!(left(&sandbox), [SECOND, THIRD]);
}
