//! `tracer export`.

use std::fs;

use serde_json::Value;

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox, contents, meta};

fn one() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox
}

#[track_caller]
fn is_the_envelope(export: &Value) {
    let keys: Vec<&String> = export.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["events", "run", "spec_version"]);
    assert_eq!(export["spec_version"], "0.2.0");
    assert_eq!(export["run"], meta(FIRST, "first", 1, "ok"));
    let types: Vec<&str> = export["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event_type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["RUN_START", "TOOL_CALL", "LLM_CALL", "RUN_END"]);
    assert_eq!(export["events"][1]["payload"]["args"]["query"], "refund policy");
}

#[test]
fn the_envelope_goes_to_a_file() {
    let sandbox = one();
    let outcome = sandbox.tracer(&["export", FIRST, "--out", "run.json"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""));
    assert!(outcome.stderr.contains("run.json"), "{}", outcome.stderr);
    let text = fs::read_to_string(sandbox.path("run.json")).unwrap();
    assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
    is_the_envelope(&serde_json::from_str(&text).unwrap());
}

#[test]
fn standard_output_is_where_no_file_is_named() {
    let sandbox = one();
    let outcome = sandbox.tracer(&["export"]);
    assert_eq!(outcome.code, Some(0));
    is_the_envelope(&outcome.json());
    assert!(outcome.stdout.ends_with("}\n"));
    assert!(
        outcome.stderr.contains("newest run, aaaa1111"),
        "{}",
        outcome.stderr
    );
    let named = sandbox.tracer(&["export", FIRST, "--out", "-"]);
    assert_eq!((named.stdout, named.stderr.as_str()), (outcome.stdout, ""));
}

#[test]
fn an_existing_file_is_replaced_whole_or_not_at_all() {
    let sandbox = one();
    fs::write(sandbox.path("run.json"), "x".repeat(100_000)).unwrap();
    assert_eq!(sandbox.tracer(&["export", "--out", "run.json"]).code, Some(0));
    is_the_envelope(&serde_json::from_slice(&fs::read(sandbox.path("run.json")).unwrap()).unwrap());

    fs::write(sandbox.run_dir(FIRST).join("spans.jsonl"), "no json\n").unwrap();
    fs::write(sandbox.path("run.json"), "kept").unwrap();
    let before = contents(&sandbox.path("."));
    assert_eq!(sandbox.tracer(&["export", "--out", "run.json"]).code, Some(1));
    assert_eq!(
        contents(&sandbox.path(".")),
        before,
        "nothing is changed and nothing is left behind"
    );
}

#[test]
fn an_invalid_run_is_refused_with_its_problems() {
    let sandbox = one();
    fs::write(
        sandbox.run_dir(FIRST).join("spans.jsonl"),
        "{\"secret\": 1\n\n[]\n",
    )
    .unwrap();
    let outcome = sandbox.tracer(&["export", FIRST, "--out", "-"]);
    outcome.fails(
        1,
        &[
            "error: ",
            "spans.jsonl:1: ",
            "spans.jsonl:3",
            "hint: ",
            "tracer show aaaa1111",
        ],
    );
    assert!(!outcome.stderr.contains("secret"));
}

#[test]
fn a_missing_file_of_the_run_is_bad_input() {
    let sandbox = one();
    fs::remove_file(sandbox.run_dir(FIRST).join("spans.jsonl")).unwrap();
    sandbox
        .tracer(&["export", FIRST, "--out", "-"])
        .fails(2, &["missing_file", "spans.jsonl"]);
}

#[test]
fn a_target_that_cannot_be_written_is_said() {
    let sandbox = one();
    for target in ["no/such/folder/run.json", "data"] {
        let outcome = sandbox.tracer(&["export", "--out", target]);
        outcome.fails(2, &["error: failed to write", target]);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_ordinary_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    let sandbox = one();
    assert_eq!(sandbox.tracer(&["export", "--out", "/dev/null"]).code, Some(0));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());

    fs::write(sandbox.path("real.json"), "old").unwrap();
    fs::set_permissions(sandbox.path("real.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.json", sandbox.path("link.json")).unwrap();
    assert_eq!(sandbox.tracer(&["export", "--out", "link.json"]).code, Some(0));
    assert!(
        fs::symlink_metadata(sandbox.path("link.json"))
            .unwrap()
            .is_symlink()
    );
    is_the_envelope(&serde_json::from_slice(&fs::read(sandbox.path("real.json")).unwrap()).unwrap());
    assert_eq!(
        fs::metadata(sandbox.path("real.json"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o640
    );
}

#[test]
fn a_running_run_is_exported_as_far_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.run(SECOND, "busy", 1, "running");
    let outcome = sandbox.tracer(&["export", SECOND, "--out", "-"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.json()["events"].as_array().map(Vec::len), Some(2));
    assert!(
        outcome.stderr.contains("the run has not ended"),
        "{}",
        outcome.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let sandbox = one();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox
        .command(&["export", FIRST, "--out", "-"])
        .stdout(full())
        .output()
        .unwrap();
    let outcome = Outcome::from(output);
    outcome.fails(10, &["error: failed to write to standard output"]);
    sandbox
        .tracer(&["export", FIRST, "--out", "/dev/full"])
        .fails(2, &["error: failed to write `/dev/full`"]);
}
