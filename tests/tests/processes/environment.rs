//! What the environment says about a run: its name, where it is kept, whether it is kept; and who may read it
//! (specification, *`RUN_START`*; decisions, sections 1, 5 and 9).

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::tool_call;
use tracer_tests::{DataDir, Program};

use super::TRACED;

fn run_name(program: Program, data: &DataDir) -> String {
    program.succeed();
    let start = data.finished().payload(EventType::RunStart);
    start["run_name"].as_str().unwrap().to_owned()
}

#[test]
fn the_default_name_is_path_function_and_local_minute() {
    let data = DataDir::new();
    let name = run_name(Program::new(TRACED, &data).args(["default-name"]), &data);
    let minute = name.strip_prefix("src/bin/traced.rs:default_name - ").unwrap();
    let shape: String = minute
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00 00:00");
}

#[test]
fn the_environments_run_name_wins() {
    for (task, given, expected) in [
        ("join", "nightly", "nightly"),
        ("default-name", "nightly", "nightly"),
        ("join", "", "child"),
    ] {
        let data = DataDir::new();
        let program = Program::new(TRACED, &data)
            .args([task, "1"])
            .env("TRACER_RUN_NAME", given);
        assert_eq!(run_name(program, &data), expected);
    }
}

#[test]
fn recording_that_the_environment_turns_off_leaves_nothing_behind() {
    for off in ["0", "false", "off"] {
        let data = DataDir::new();
        Program::new(TRACED, &data)
            .args(["join", "3"])
            .env("TRACER_ENABLED", off)
            .succeed();
        assert!(!data.path().exists());
    }
}

#[test]
fn runs_default_to_the_home_folder() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::new();
    Program::new(TRACED, &data)
        .args(["join", "1"])
        .env("TRACER_DATA_DIR", "")
        .env("HOME", home.path().to_str().unwrap())
        .succeed();
    assert_eq!(fs::read_dir(home.path().join(".tracer/runs")).unwrap().count(), 1);
    assert!(!data.path().exists());
}

#[test]
fn a_program_without_home_runs_all_the_same() {
    let data = DataDir::new();
    let output = Program::new(TRACED, &data)
        .args(["join", "1"])
        .env("TRACER_DATA_DIR", "/dev/null/nowhere")
        .output();
    assert!(
        output.status.success()
            || !String::from_utf8_lossy(&output.stderr).contains("panicked at tracer-sdk")
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stderr)
            .matches("tracer: ")
            .count(),
        1,
        "warned once"
    );
}

#[test]
fn everything_is_private_to_the_user_whatever_the_umask() {
    let data = DataDir::new();
    let script = format!("umask 0; exec {TRACED} wait");
    let mut child = Program::new("sh", &data).args(["-c", &script]).start_ready();
    let directory = data.run_dirs().remove(0);
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.join(".live")), 0o600);
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(mode(&data.path()), 0o700);
    assert_eq!(mode(&data.path().join("runs")), 0o700);
    assert_eq!(mode(&directory), 0o700);
    for file in ["meta.json", "spans.jsonl"] {
        assert_eq!(mode(&directory.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_linked_span_log_is_refused() {
    let data = DataDir::new();
    let target = tempfile::NamedTempFile::new().unwrap();
    fs::write(target.path(), "somebody else's").unwrap();
    let run = data.run("linked").start();
    let directory = run.dir().unwrap();
    symlink(target.path(), directory.join("spans.jsonl")).unwrap();
    tool_call("t").record().unwrap();
    assert_eq!((run.stats().written, run.stats().dropped), (0, 1));
    run.finish();
    assert_eq!(fs::read_to_string(target.path()).unwrap(), "somebody else's");
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("meta.json")).unwrap()).unwrap();
    assert_eq!(
        (meta["status"].as_str(), meta["dropped"]["spans"].as_u64()),
        (Some("running"), Some(2))
    );
}

#[test]
fn linked_metadata_is_replaced() {
    let data = DataDir::new();
    let target = tempfile::NamedTempFile::new().unwrap();
    fs::write(target.path(), "somebody else's").unwrap();
    let run = data.run("linked").start();
    let directory = run.dir().unwrap();
    let temporary = format!(".meta.json.{}.tmp", std::process::id());
    symlink(target.path(), directory.join("meta.json")).unwrap();
    symlink(target.path(), directory.join(temporary)).unwrap();
    tool_call("t").record().unwrap();
    run.finish();
    assert_eq!(fs::read_to_string(target.path()).unwrap(), "somebody else's");
    assert_eq!(
        fs::symlink_metadata(directory.join("meta.json")).unwrap().nlink(),
        1
    );
    assert_eq!(data.finished().status(), RecordedStatus::Ok);
}
