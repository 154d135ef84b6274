//! `tracer list` by status, name and age.

use std::fs;

use serde_json::json;

use crate::list::without_sums;
use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, meta, spans, with_status};

fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "billing-agent", 2, "error");
    sandbox.run(THIRD, "support-bot", 3, "running");
    let mut looped = meta(&"c".repeat(32), "support-agent", 4, "ok");
    looped["counts"]["loop_warnings"] = json!(1);
    let log = spans(&"c".repeat(32), "support-agent", 4, "ok");
    sandbox.files(&"c".repeat(32), &looped.to_string(), &log);
    sandbox.files(&"d".repeat(32), "no json", "");
    let directory = sandbox.run(&"e".repeat(32), "killed", 5, "running");
    fs::write(directory.join(".live"), "{\"run_name\":\"killed\"}\n").unwrap();
    sandbox
}

/// The first characters of the IDs that are listed.
fn listed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let outcome = sandbox.tracer(&[&["list"], arguments].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let mut ids: Vec<&str> = outcome
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').nth(1)?.get(..5))
        .collect();
    ids.sort_unstable();
    ids.join(" ")
}

#[test]
fn runs_are_filtered_by_how_they_stand() {
    let sandbox = store();
    for (status, expected) in [
        ("ok", "aaaa1"),
        ("failed", "aaaa2"),
        ("error", "aaaa2"),
        ("running", "bbbb3"),
        ("loop", "ccccc"),
        ("damaged", "ddddd"),
        ("interrupted", "eeeee"),
        ("ok,failed,loop", "aaaa1 aaaa2 ccccc"),
    ] {
        assert_eq!(
            listed(&sandbox, &[&format!("status:{status}")]),
            expected,
            "{status}"
        );
    }
    sandbox
        .tracer(&["list", "status:fine"])
        .fails(2, &["interrupted", "damaged"]);
}

#[test]
fn runs_are_filtered_by_name() {
    let sandbox = store();
    assert_eq!(listed(&sandbox, &["name~SUPPORT"]), "aaaa1 bbbb3 ccccc");
    assert_eq!(listed(&sandbox, &["name:*-agent"]), "aaaa1 aaaa2 ccccc");
    assert_eq!(listed(&sandbox, &["name~support", "status:loop"]), "ccccc");
}

#[test]
fn filters_by_age_keep_damaged_runs() {
    let sandbox = store();
    assert_eq!(
        listed(&sandbox, &["since:2026-01-01T00:04:00Z"]),
        "ccccc ddddd eeeee"
    );
    assert_eq!(listed(&sandbox, &["since:1h", "name~agent"]), "");
    sandbox
        .tracer(&["list", "since:soon"])
        .fails(2, &["2h", "2026-11-01"]);
}

#[test]
fn json_is_filtered_alike() {
    let json = without_sums(store().tracer(&["list", "--json", "name~billing"]).json());
    assert_eq!(
        json["runs"],
        json!([with_status(meta(SECOND, "billing-agent", 2, "error"), "failed")])
    );
}

#[test]
fn what_is_not_listed_is_said_with_the_filters() {
    let sandbox = store();
    let some = sandbox.tracer(&["list", "name~\"support agent's\"", "status:ok"]);
    assert!(
        some.stderr.contains("no runs match (6 recorded)"),
        "{}",
        some.stderr
    );
    let some = sandbox.tracer(&["list", "name~agent", "status:ok,loop", "--limit", "1"]);
    assert!(
        some.stderr
            .contains("1 of 2 matching runs; list all: tracer list --limit all 'name~agent status:ok,loop'"),
        "{}",
        some.stderr
    );
}
