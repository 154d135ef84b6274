//! `tracer validate-trace`.

use std::fs;

use serde_json::json;

use crate::sandbox::{FIRST, Sandbox, contents, meta};

fn path(sandbox: &Sandbox) -> String {
    sandbox.run_dir(FIRST).display().to_string()
}

#[test]
fn a_valid_trace_is_valid_in_words_and_in_json() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "first", 1, "ok");
    let before = contents(&sandbox.data_dir());
    let text = sandbox.tracer(&["validate-trace", &path(&sandbox)]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        text.stdout,
        format!("✓ valid  {FIRST}  version 0.2.0  status ok  3 spans\n")
    );
    for target in [directory.clone(), directory.join("meta.json")] {
        let json_outcome = sandbox.tracer(&["validate-trace", &target.display().to_string(), "--json"]);
        assert_eq!(json_outcome.code, Some(0), "{json_outcome:?}");
        assert_eq!(
            json_outcome.json(),
            json!({
                "valid": true, "trace_id": FIRST, "spec_version": "0.2.0", "status": "ok", "span_count": 3,
                "diagnostics": [], "warnings": [],
            })
        );
    }
    assert_eq!(contents(&sandbox.data_dir()), before);
}

#[test]
fn a_run_is_validated_by_its_id() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let by_path = sandbox.tracer(&["validate-trace", &path(&sandbox)]);
    for run in [&FIRST[..8], FIRST, "first", "latest"] {
        let by_id = sandbox.tracer(&["validate-trace", run]);
        assert_eq!(
            (by_id.code, &by_id.stdout),
            (Some(0), &by_path.stdout),
            "{by_id:?}"
        );
    }
    sandbox.files(FIRST, "{}", "secret payload\n");
    let damaged = sandbox.tracer(&["validate-trace", &FIRST[..8]]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    sandbox
        .tracer(&["validate-trace", "0000"])
        .fails(2, &["failed to read a run from `0000`", "the ID of a run"]);
}

#[test]
fn problems_are_listed_without_payloads() {
    let sandbox = Sandbox::new();
    let mut broken = meta(FIRST, "first", 1, "ok");
    broken["status"] = json!("secret payload");
    broken.as_object_mut().unwrap().remove("started_at");
    sandbox.files(FIRST, &broken.to_string(), "secret payload\n");
    let text = sandbox.tracer(&["validate-trace", &path(&sandbox)]);
    assert_eq!(text.code, Some(1));
    for problem in [
        "meta.json.status: ",
        "(invalid_value)",
        "meta.json.started_at: ",
        "(missing_field)",
        "spans.jsonl:1: ",
        "(malformed_json)",
    ] {
        assert!(
            text.stdout.contains(problem),
            "{problem:?} is not in {:?}",
            text.stdout
        );
    }
    assert!(text.stdout.starts_with("✗ invalid  "), "{}", text.stdout);
    assert!(!text.stdout.contains("secret") && !text.stderr.contains("secret"));

    let outcome = sandbox.tracer(&["validate-trace", &path(&sandbox), "--json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let json = outcome.json();
    assert_eq!(json["valid"], false);
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "diagnostics",
            "span_count",
            "spec_version",
            "status",
            "trace_id",
            "valid",
            "warnings"
        ]
    );
    let diagnostics = json["diagnostics"].as_array().unwrap();
    assert!(diagnostics.len() >= 3);
    for diagnostic in diagnostics {
        let keys: Vec<&String> = diagnostic.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "location", "message"]);
    }
}

#[test]
fn a_path_that_cannot_be_read_is_bad_input() {
    let sandbox = Sandbox::new();
    sandbox
        .tracer(&["validate-trace", "nowhere"])
        .fails(2, &["error: ", "nowhere", "path_not_found"]);
    let json = sandbox.tracer(&["validate-trace", "nowhere", "--json"]);
    assert_eq!((json.code, json.stderr.as_str()), (Some(2), ""));
    assert_eq!(json.json()["diagnostics"][0]["code"], "path_not_found");

    let directory = sandbox.run(FIRST, "first", 1, "ok");
    fs::remove_file(directory.join("spans.jsonl")).unwrap();
    sandbox
        .tracer(&["validate-trace", &path(&sandbox)])
        .fails(2, &["missing_file", "spans.jsonl"]);
    sandbox.tracer(&["validate-trace"]).fails(2, &["PATH"]);
}

#[test]
fn settings_do_not_matter_to_it() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    fs::write(sandbox.path(".tracer/config.toml"), "no toml at all [").unwrap();
    assert_eq!(sandbox.tracer(&["validate-trace", &path(&sandbox)]).code, Some(0));
}
