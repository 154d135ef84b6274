//! `tracer view` as a command: what it prints, and what it refuses.

use serde_json::Value;

use crate::sandbox::{FIRST, Sandbox};

use super::client::Viewer;

#[test]
fn it_opens_the_named_or_newest_run() {
    let sandbox = Sandbox::without_data_directory();
    let waiting = Viewer::start(&sandbox);
    assert_eq!(waiting.json("/api/runs")["runs"], Value::Array(Vec::new()));
    assert_eq!(waiting.get("/").status, 200);
    sandbox.run(FIRST, "agent", 1, "ok");
    assert_eq!(waiting.json("/api/runs")["runs"][0]["trace_id"], FIRST);
    let named = Viewer::start_with(&sandbox, &["aaaa1111"]);
    assert_eq!(named.reported["run_id"], FIRST);
}

#[test]
fn missing_runs_and_foreign_addresses_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    sandbox
        .tracer(&["view", "--no-browser", "nothing"])
        .fails(2, &["no run has an ID"]);
    sandbox
        .tracer(&["view", "--no-browser", "--host", "192.0.2.1"])
        .fails(2, &["failed to listen on `192.0.2.1:8712`", "--port 0"]);
}

#[test]
fn the_next_free_port_is_taken() {
    let sandbox = Sandbox::new();
    let first = Viewer::start(&sandbox);
    let port = first.address.port().to_string();
    let second = Viewer::start_with_port(&sandbox, &port);
    assert!(second.address.port() > first.address.port());
    assert_eq!(second.get("/").status, 200);
}
