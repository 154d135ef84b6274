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
    fn of(viewer: &Viewer, query: &str, last: Option<&str>) -> Self {
        let mut stream = viewer.connect();
        let last = last
            .map(|last| format!("Last-Event-ID: {last}\r\n"))
            .unwrap_or_default();
        let request = format!(
            "GET /api/stream{query} HTTP/1.1\r\nHost: {}\r\n{}{last}\r\n",
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

    /// The next event of this name, with its ID.
    fn next(&mut self, wanted: &str) -> (Value, String) {
        let (mut name, mut id, mut data) = (String::new(), String::new(), String::new());
        loop {
            let line = self.line();
            // The sizes of chunks and empty lines stand between.
            match line.split_once(": ") {
                Some(("event", reported)) => reported.clone_into(&mut name),
                Some(("id", reported)) => reported.clone_into(&mut id),
                Some(("data", reported)) => reported.clone_into(&mut data),
                _ => {}
            }
            if !data.is_empty() {
                if name == wanted {
                    return (serde_json::from_str(&data).unwrap(), id);
                }
                data.clear();
                id.clear();
            }
        }
    }
}

fn append(sandbox: &Sandbox, lines: &str) {
    let log = sandbox.run_dir(FIRST).join("spans.jsonl");
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(lines.as_bytes()).unwrap();
}

#[test]
fn a_growing_run_streams_its_rows() {
    let sandbox = Sandbox::new();
    let whole = spans(FIRST, "agent", 1, "ok");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let running = meta(FIRST, "agent", 1, "running").to_string();
    sandbox.files(FIRST, &running, lines[0]);
    let viewer = Viewer::start(&sandbox);
    let mut events = Events::of(&viewer, &format!("?run={FIRST}&from={}", lines[0].len()), None);
    let (run, _) = events.next("run");
    assert_eq!(
        (&run["run_status"], &run["totals"]["steps"]),
        (&"running".into(), &1.into())
    );

    append(&sandbox, &lines[1][..20]);
    append(&sandbox, &lines[1][20..]);
    let (rows, id) = events.next("rows");
    assert_eq!((&rows["from"], &rows["row_count"]), (&2.into(), &3.into()));
    assert_eq!(rows["rows"][0]["text"]["name"], "demo-model");
    assert_eq!(id, (lines[0].len() + lines[1].len()).to_string());

    append(&sandbox, lines[2]);
    std::fs::write(
        sandbox.run_dir(FIRST).join("meta.json"),
        meta(FIRST, "agent", 1, "ok").to_string(),
    )
    .unwrap();
    let (rows, _) = events.next("rows");
    assert_eq!(rows["root"]["text"]["event_id"], "00f067aa0ba902b7");
    loop {
        let (run, _) = events.next("run");
        if run["run_status"] == "ok" {
            break;
        }
    }

    let mut resumed = Events::of(&viewer, &format!("?run={FIRST}"), Some(&id));
    let (rows, _) = resumed.next("rows");
    assert_eq!(rows["root"]["text"]["event_id"], "00f067aa0ba902b7");
    assert_eq!(rows["rows"], Value::Array(Vec::new()));

    std::fs::remove_dir_all(sandbox.run_dir(FIRST)).unwrap();
    let (deleted, _) = resumed.next("deleted");
    assert_eq!(deleted["run_id"], FIRST);
}

#[test]
fn an_old_table_must_reload() {
    let sandbox = Sandbox::new();
    let viewer = Viewer::start(&sandbox);
    let version = viewer.json("/api/table")["version"].as_str().unwrap().to_owned();
    sandbox.run(FIRST, "agent", 1, "ok");
    let (runs, _) = Events::of(&viewer, &format!("?table={version}"), None).next("runs");
    assert_eq!(runs["reload"], true);
}

#[test]
fn the_table_hears_of_new_and_deleted_runs() {
    let sandbox = Sandbox::new();
    let viewer = Viewer::start(&sandbox);
    let mut events = Events::of(&viewer, "", None);
    sandbox.run(FIRST, "agent", 1, "ok");
    let (runs, _) = events.next("runs");
    assert_eq!(runs["runs"][0]["trace_id"], FIRST);
    std::fs::remove_dir_all(sandbox.run_dir(FIRST)).unwrap();
    loop {
        let (runs, _) = events.next("runs");
        if runs["removed"] == serde_json::json!([FIRST]) {
            break;
        }
    }
}
