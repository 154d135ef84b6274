//! Watching runs: what the stream says while a log grows.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::sandbox::{FIRST, Sandbox, meta, spans};

use super::client::Viewer;

/// A stream of events that is read as it comes.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(viewer: &Viewer, query: &str) -> Self {
        let mut stream = viewer.connect();
        let request = format!(
            "GET /api/stream{query} HTTP/1.1\r\nHost: {}\r\n{}\r\n",
            viewer.address,
            viewer.cookie()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().contains(" 200 "));
        while !events.line().is_empty() {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The name and the data of the next event.
    fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let line = self.line();
            // The sizes of chunks and empty lines stand between.
            match line.split_once(": ") {
                Some(("event", reported)) => reported.clone_into(&mut name),
                Some(("data", reported)) => return (name, serde_json::from_str(reported).unwrap()),
                _ => {}
            }
        }
    }

    /// Waits until the subject has this version.
    fn until(&mut self, version: impl Fn() -> Value) {
        loop {
            let (name, change) = self.next();
            assert_eq!(name, "change");
            if change["version"] == version() {
                return;
            }
        }
    }
}

fn append(sandbox: &Sandbox, lines: &str) {
    let log = sandbox.run_dir(FIRST).join("spans.jsonl");
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(lines.as_bytes()).unwrap();
}

/// The number of the first row in an answer with columns, and how many rows it has.
fn rows_since(viewer: &Viewer, offset: usize) -> (u32, u32) {
    let columns = viewer
        .get(&format!("/api/runs/{FIRST}/columns?since={offset}"))
        .body;
    let number = |at: usize| u32::from_le_bytes(columns[at..at + 4].try_into().unwrap());
    (number(20), number(8))
}

#[test]
fn a_growing_run_is_reported_and_gives_the_rows_that_changed() {
    let sandbox = Sandbox::new();
    let whole = spans(FIRST, "agent", 1, "ok");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let running = meta(FIRST, "agent", 1, "running").to_string();
    sandbox.files(FIRST, &running, lines[0]);
    let viewer = Viewer::start(&sandbox);
    let mut events = Events::of(&viewer, &format!("?run={FIRST}"));
    let overview = || viewer.json(&format!("/api/runs/{FIRST}/overview"));
    events.until(|| overview()["version"].clone());
    assert_eq!(rows_since(&viewer, lines[0].len()), (2, 0));

    append(&sandbox, &lines[1][..20]);
    append(&sandbox, &lines[1][20..]);
    events.until(|| overview()["version"].clone());
    assert_eq!(rows_since(&viewer, lines[0].len()), (2, 1));
    let read = lines[0].len() + lines[1].len();
    assert_eq!(rows_since(&viewer, read), (3, 0));

    append(&sandbox, lines[2]);
    std::fs::write(
        sandbox.run_dir(FIRST).join("meta.json"),
        meta(FIRST, "agent", 1, "ok").to_string(),
    )
    .unwrap();
    events.until(|| overview()["version"].clone());
    assert_eq!(overview()["run_status"], "ok");
    // The root is the first row.
    assert_eq!(rows_since(&viewer, read), (0, 3));

    std::fs::remove_dir_all(sandbox.run_dir(FIRST)).unwrap();
    while events.next().0 != "deleted" {}
}

#[test]
fn a_client_with_an_old_version_hears_of_the_new_one_at_once() {
    let sandbox = Sandbox::new();
    let viewer = Viewer::start(&sandbox);
    let version = viewer.json("/api/table")["version"].as_str().unwrap().to_owned();
    sandbox.run(FIRST, "agent", 1, "ok");
    let (name, change) = Events::of(&viewer, &format!("?version={version}")).next();
    assert_eq!(name, "change");
    assert_ne!(change["version"], version);
}

#[test]
fn new_and_deleted_runs_change_the_table() {
    let sandbox = Sandbox::new();
    let viewer = Viewer::start(&sandbox);
    let version = || viewer.json("/api/table")["version"].clone();
    let mut events = Events::of(&viewer, &format!("?version={}", version().as_str().unwrap()));
    sandbox.run(FIRST, "agent", 1, "ok");
    events.until(version);
    std::fs::remove_dir_all(sandbox.run_dir(FIRST)).unwrap();
    events.until(version);
    assert_eq!(viewer.json("/api/table")["total"], 0);
}
