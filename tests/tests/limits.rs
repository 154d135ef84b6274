//! What a system allows a process: how long its files are, and how many it has open (decisions, section 5; reliability
//! G1).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![cfg(unix)]

use serde_json::Value;
use tracer_tests::{DataDir, Program};

const TRACED: &str = env!("CARGO_BIN_EXE_traced");

#[test]
fn a_limit_of_files_never_kills_wherever_it_lies() {
    let data = DataDir::new();
    let output = Program::new(TRACED, &data).args(["limit-files"]).output();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(said.lines().count(), 3 * 7, "{said}");
    let at_the_end = said.lines().find(|line| line.starts_with("spans.jsonl 0 0: "));
    assert_ne!(
        at_the_end,
        Some("spans.jsonl 0 0: 0"),
        "spans were lost, and counted"
    );
    // The metadata is shorter than the log, so that it says why.
    let meta = data.run_dirs().into_iter().find_map(|run| {
        let meta: Value = serde_json::from_slice(&std::fs::read(run.join("meta.json")).ok()?).unwrap();
        (meta["run_name"] == "spans.jsonl 0 0").then_some(meta)
    });
    let reason = meta.unwrap()["dropped"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "file too large");
}
