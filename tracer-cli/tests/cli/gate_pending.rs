//! `tracer accept`: what a failed test of `assert_baseline!` left beside its baseline.

use std::fs;

use serde_json::Value;

use crate::sandbox::{FIRST, SECOND, Sandbox};

const ACCEPT: [&str; 5] = ["accept", "--baseline", "b.json", "--reason", "it must escalate"];

/// A baseline, and another behaviour that waits beside it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "support-agent", 2, "ok");
    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    let log = sandbox.run_dir(SECOND).join("spans.jsonl");
    let changed = fs::read_to_string(&log).unwrap().replace("search_kb", "escalate");
    fs::write(log, changed).unwrap();
    sandbox.tracer(&["baseline", SECOND, "--out", "b.json.new"]);
    sandbox
}

#[test]
fn what_waits_becomes_the_baseline_with_its_reason_and_waits_no_longer() {
    let sandbox = sandbox();
    let accepted = sandbox.tracer(&ACCEPT);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    let baseline: Value = serde_json::from_slice(&fs::read(sandbox.path("b.json")).unwrap()).unwrap();
    assert_eq!(baseline["trials"][0]["run_id"], SECOND);
    assert_eq!(baseline["acceptance"]["reason"], "it must escalate");
    assert!(!sandbox.path("b.json.new").exists());
    // Without a pending file the latest run is accepted.
    let again = sandbox.tracer(&ACCEPT);
    assert!(again.stdout.contains("already matches"), "{again:?}");
}

#[test]
fn what_waits_is_read_as_strictly_as_any_baseline() {
    let sandbox = sandbox();
    fs::write(sandbox.path("b.json.new"), "{}").unwrap();
    let before = fs::read(sandbox.path("b.json")).unwrap();
    sandbox.tracer(&ACCEPT).fails(2, &["b.json.new", "hint: "]);
    assert_eq!(fs::read(sandbox.path("b.json")).unwrap(), before);
}
