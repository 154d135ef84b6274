//! Repair, removal and renaming on a disk, with every operation failing once.

mod adoption;
mod changes;
mod repairs;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::RunDirectory;
use tracer_sdk::disk::Disk;
use tracer_sdk::disk::{Fault, Faulty};

const RUN: &str = "10000000000000000000000000000001";
const ROOT: &str = "00000000000000aa";
const EIO: i32 = 5;

struct Store {
    data: TempDir,
    run: RunDirectory,
}

impl Store {
    fn with(files: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("runs").join(RUN);
        fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Self {
            data,
            run: RunDirectory {
                trace_id: RUN.parse().unwrap(),
                path,
            },
        }
    }

    fn path(&self) -> &Path {
        &self.run.path
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path().join(name)).ok()
    }

    fn meta(&self) -> Value {
        serde_json::from_str(&self.read("meta.json").unwrap()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn meta(status: &str) -> String {
    json!({
        "spec_version": "0.2.0", "trace_id": RUN, "run_name": "nightly",
        "started_at": "2026-01-01T00:00:00.000000Z", "ended_at": null, "duration_ms": null, "status": status,
        "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}, "labels": {"a": 1.50},
    })
    .to_string()
}

/// A tool call that took a second, from `second` on.
fn line(id: &str, parent: Option<&str>, second: u32) -> String {
    let span = json!({
        "trace_id": RUN, "span_id": id, "parent_span_id": parent, "name": "search", "kind": "INTERNAL",
        "start_time": format!("2026-01-01T00:00:{second:02}.000000Z"),
        "end_time": format!("2026-01-01T00:00:{:02}.000000Z", second + 1), "duration_ms": 1000,
        "attributes": if parent.is_some() { json!({"tracer.tool_name": "search"}) } else { json!({}) },
        "events": [], "status_code": "OK", "status_description": "",
    });
    format!("{span}\n")
}

const LIVE: &str = concat!(
    r#"{"run_name":"nightly","started_at":"2026-01-01T00:00:00.000000Z","pid":1}"#,
    "\n",
    r#"{"span_id":"00000000000000b1","parent_span_id":"00000000000000aa","name":"plan","type":"UNKNOWN","start_time":"2026-01-01T00:00:01.000000Z"}"#,
    "\n",
    r#"{"span_id":"00000000000000b2","parent_span_id":"00000000000000b1","name":"gpt-5","type":"LLM_CALL","start_time":"2026-01-01T00:00:09.500000Z"}"#,
    "\n",
);

/// A run that died in a model call: one tool call has ended, the next line is torn.
fn interrupted() -> Store {
    let torn = "{\"trace_id\":\"1000";
    let log = line("00000000000000c1", Some("00000000000000b1"), 3) + torn;
    Store::with(&[
        ("meta.json", &meta("running")),
        ("spans.jsonl", &log),
        (".live", LIVE),
    ])
}

/// Does something with each operation failing in turn, then again with none failing.
fn with_every_fault(make: fn() -> Store, act: fn(&Store, &Faulty) -> bool, check: fn(&Store, bool)) {
    for position in 0.. {
        for fault in [Fault::Error(EIO), Fault::ShortWrite] {
            let store = make();
            let disk = Faulty::new(Arc::new(Disk)).failing_once(position, fault);
            let done = act(&store, &disk);
            check(&store, done);
            if disk.operations().len() as u64 <= position {
                assert!(position > 0, "nothing was done");
                return;
            }
        }
    }
}
