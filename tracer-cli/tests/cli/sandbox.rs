//! A data directory with runs written by hand, and the executable run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A home, a working directory and a data directory of its own.
pub(crate) struct Sandbox {
    directory: tempfile::TempDir,
}

/// What the executable did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

impl Outcome {
    /// Standard output as JSON, which must be all that is on it.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Asserts the exit code, and a closed standard output.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "data beside an error");
        for text in said {
            assert!(self.stderr.contains(text), "{text:?} is not in {:?}", self.stderr);
        }
    }
}

impl Sandbox {
    /// With an empty data directory.
    pub(crate) fn new() -> Self {
        let sandbox = Self::without_data_directory();
        fs::create_dir_all(sandbox.data_dir().join("runs")).unwrap();
        sandbox
    }

    pub(crate) fn without_data_directory() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn run_dir(&self, id: &str) -> PathBuf {
        self.data_dir().join("runs").join(id)
    }

    /// Writes a run directory as it is given.
    pub(crate) fn files(&self, id: &str, meta: &str, spans: &str) -> PathBuf {
        let directory = self.run_dir(id);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("meta.json"), meta).unwrap();
        fs::write(directory.join("spans.jsonl"), spans).unwrap();
        directory
    }

    /// Writes a valid run that started this many minutes after midnight.
    pub(crate) fn run(&self, id: &str, name: &str, minute: u32, status: &str) -> PathBuf {
        self.files(
            id,
            &meta(id, name, minute, status).to_string(),
            &spans(id, name, minute, status),
        )
    }

    /// The command, not yet run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tracer"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .env_clear()
            .env("HOME", self.directory.path())
            .env("TRACER_DATA_DIR", self.data_dir());
        command
    }

    pub(crate) fn tracer(&self, arguments: &[&str]) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }
}

/// The metadata of a run with one tool call and one model call.
pub(crate) fn meta(id: &str, name: &str, minute: u32, status: &str) -> Value {
    let completed = status != "running";
    json!({
        "spec_version": "0.2.0",
        "trace_id": id,
        "run_name": name,
        "started_at": time(minute, 0),
        "ended_at": completed.then(|| time(minute, 400)),
        "duration_ms": completed.then_some(400),
        "status": status,
        "counts": {"llm_calls": 1, "tool_calls": 1, "errors": 0, "loop_warnings": 0},
    })
}

/// The metadata of a run as lists give it.
pub(crate) fn with_status(mut meta: Value, status: &str) -> Value {
    meta["run_status"] = json!(status);
    meta
}

/// The span log of that run; a running run has no root yet.
pub(crate) fn spans(id: &str, name: &str, minute: u32, status: &str) -> String {
    let span = |span_id: &str, parent: Option<&str>, name: &str, from: u32, to: u32, rest: (Value, Value)| {
        let (attributes, events) = rest;
        json!({
            "trace_id": id, "span_id": span_id, "parent_span_id": parent, "name": name, "kind": "INTERNAL",
            "start_time": time(minute, from), "end_time": time(minute, to), "duration_ms": to - from,
            "attributes": attributes, "events": events,
            "status_code": if status == "error" && parent.is_none() { "ERROR" } else { "OK" },
            "status_description": "",
        })
    };
    let event = |name: &str, attributes: Value| json!({"name": name, "timestamp": time(minute, 0), "attributes": attributes});
    let root = "00f067aa0ba902b7";
    let mut lines = vec![
        span(
            "1111111111111111",
            Some(root),
            "search_kb",
            10,
            30,
            (
                json!({"tracer.tool_name": "search_kb", "tracer.status": "ok"}),
                json!([
                    event(
                        "tracer.tool.args",
                        json!({"args": "{\"query\":\"refund policy\"}"})
                    ),
                    event("tracer.tool.result", json!({"result": "{\"hits\":2}"})),
                ]),
            ),
        ),
        span(
            "2222222222222222",
            Some(root),
            "demo-model",
            40,
            240,
            (
                json!({
                    "gen_ai.system": "local", "gen_ai.operation.name": "chat", "gen_ai.request.model": "demo-model",
                    "gen_ai.usage.input_tokens": 412, "gen_ai.usage.output_tokens": 35, "tracer.status": "ok",
                }),
                json!([
                    event("gen_ai.user.message", json!({"content": "Draft a reply"})),
                    event("gen_ai.assistant.message", json!({"content": "Dear Ada"})),
                ]),
            ),
        ),
    ];
    if status != "running" {
        lines.push(span(
            root,
            None,
            name,
            0,
            400,
            (json!({"tracer.run_name": name}), json!([])),
        ));
    }
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

fn time(minute: u32, millisecond: u32) -> String {
    format!(
        "2026-01-01T{:02}:{:02}:00.{millisecond:03}000Z",
        minute / 60,
        minute % 60
    )
}

/// Everything below a directory with its content, to tell that nothing was changed or left behind.
pub(crate) fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

pub(crate) const FIRST: &str = "aaaa1111000000000000000000000001";
pub(crate) const SECOND: &str = "aaaa2222000000000000000000000002";
pub(crate) const THIRD: &str = "bbbb3333000000000000000000000003";
