//! Runs written by hand, for the tests of this crate.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracer_insight::units::now;
use tracer_runs::CancelToken;

use crate::query::RunQuery;
use crate::{DatabaseError, FactsStore, ListedRun, RunCatalog, RunOrder, SelectedRuns};

/// A data directory.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// A span of a run.
#[derive(Debug, Clone)]
pub(crate) struct SampleSpan(pub(crate) Value);

pub(crate) const ROOT: &str = "00f067aa0ba902b7";

pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}000000000000000000000001")
}

fn time(second: u32, milliseconds: u32) -> String {
    format!(
        "2026-01-01T{:02}:{:02}:{:02}.{milliseconds:03}000Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

fn event(name: &str, attributes: &Value) -> Value {
    json!({"name": name, "timestamp": time(0, 0), "attributes": attributes})
}

impl SampleSpan {
    fn new(number: u32, name: &str, milliseconds: u32, attributes: &Value, events: &Value) -> Self {
        Self(json!({
            "span_id": format!("{:016x}", number + 1), "parent_span_id": ROOT, "name": name, "kind": "INTERNAL",
            "start_time": time(number, 0), "end_time": time(number, milliseconds), "duration_ms": milliseconds,
            "attributes": attributes, "events": events, "status_code": "OK", "status_description": "",
        }))
    }

    pub(crate) fn tool(number: u32, name: &str, arguments: &Value, result: &Value) -> Self {
        let events = json!([
            event("tracer.tool.args", &json!({"args": arguments.to_string()})),
            event("tracer.tool.result", &json!({"result": result.to_string()})),
        ]);
        Self::new(
            number,
            name,
            20,
            &json!({"tracer.tool_name": name, "tracer.status": "ok"}),
            &events,
        )
    }

    pub(crate) fn model(number: u32, model: &str, prompt: &str, answer: &str) -> Self {
        let attributes = json!({
            "gen_ai.system": "local", "gen_ai.operation.name": "chat", "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": 400, "gen_ai.usage.output_tokens": 35,
            "gen_ai.usage.cache_read.input_tokens": 100, "tracer.status": "ok",
        });
        let events = json!([
            event("gen_ai.user.message", &json!({"content": prompt})),
            event("gen_ai.assistant.message", &json!({"content": answer})),
        ]);
        Self::new(number, model, 200, &attributes, &events)
    }

    /// The same, which took this long.
    pub(crate) fn taking(mut self, milliseconds: u32) -> Self {
        let start = self.0["start_time"].as_str().unwrap_or_default();
        let end = start.replace(".000000Z", &format!(".{milliseconds:03}000Z"));
        self.0["end_time"] = json!(end);
        self.0["duration_ms"] = json!(milliseconds);
        self
    }

    /// The same, failed.
    pub(crate) fn failed(mut self, error: &str, message: &str) -> Self {
        self.0["status_code"] = json!("ERROR");
        self.0["attributes"]["tracer.status"] = json!("error");
        self.0["attributes"]["tracer.error_type"] = json!(error);
        self.0["attributes"]["tracer.error_message"] = json!(message);
        self
    }
}

/// A run that is described before it is written.
#[derive(Debug, Clone)]
pub(crate) struct SampleRun {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) status: &'static str,
    pub(crate) spans: Vec<SampleSpan>,
    pub(crate) root: Value,
    pub(crate) error: Option<(&'static str, &'static str)>,
    /// When it started, in seconds after midnight.
    pub(crate) second: u32,
}

impl SampleRun {
    pub(crate) fn new(number: u32, name: &str) -> Self {
        Self {
            number,
            name: name.to_owned(),
            status: "ok",
            spans: Vec::new(),
            root: json!({}),
            error: None,
            second: number,
        }
    }

    pub(crate) fn span(mut self, span: SampleSpan) -> Self {
        self.spans.push(span);
        self
    }

    pub(crate) fn failed(mut self, error: &'static str, message: &'static str) -> Self {
        self.status = "error";
        self.error = Some((error, message));
        self
    }

    pub(crate) fn running(mut self) -> Self {
        self.status = "running";
        self
    }

    /// An attribute of the root.
    pub(crate) fn attribute(mut self, key: &str, value: &str) -> Self {
        self.root[key] = json!(value);
        self
    }

    pub(crate) fn meta(&self) -> Value {
        let completed = self.status != "running";
        let kind = |key: &str| {
            self.spans
                .iter()
                .filter(|span| span.0["attributes"].get(key).is_some())
                .count()
        };
        json!({
            "spec_version": "0.2.0", "trace_id": id(self.number), "run_name": self.name,
            "started_at": time(self.second, 0), "ended_at": completed.then(|| time(self.second, 400)),
            "duration_ms": completed.then_some(400), "status": self.status,
            "counts": {
                "llm_calls": kind("gen_ai.request.model"), "tool_calls": kind("tracer.tool_name"),
                "errors": u32::from(self.error.is_some()), "loop_warnings": 0,
            },
        })
    }

    pub(crate) fn log(&self) -> String {
        let mut spans: Vec<Value> = self.spans.iter().map(|span| span.0.clone()).collect();
        if self.status != "running" {
            let mut root = self.root.clone();
            root["tracer.run_name"] = json!(self.name);
            let failure = self.error.map(|(error, message)| {
                event(
                    "exception",
                    &json!({"tracer.error_type": error, "tracer.error_message": message}),
                )
            });
            spans.push(json!({
                "span_id": ROOT, "parent_span_id": null, "name": self.name, "kind": "INTERNAL",
                "start_time": time(self.second, 0), "end_time": time(self.second, 400), "duration_ms": 400,
                "attributes": root, "events": failure.into_iter().collect::<Vec<_>>(),
                "status_code": if self.error.is_some() { "ERROR" } else { "OK" }, "status_description": "",
            }));
        }
        let line = |mut span: Value| {
            span["trace_id"] = json!(id(self.number));
            span.to_string() + "\n"
        };
        spans.into_iter().map(line).collect()
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("runs")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn directory(&self, number: u32) -> PathBuf {
        self.path().join("runs").join(id(number))
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("cache/facts-12.sqlite")
    }

    pub(crate) fn catalog(&self) -> RunCatalog {
        opened(&FactsStore::new(self.path()))
    }

    /// Writes a run, in the place of what was there.
    pub(crate) fn write(&self, run: &SampleRun) {
        let directory = self.directory(run.number);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("spans.jsonl"), run.log()).unwrap();
        fs::write(directory.join("meta.json"), run.meta().to_string()).unwrap();
    }
}

/// All runs of a store.
pub(crate) fn opened(store: &FactsStore) -> RunCatalog {
    let survey = store.survey().unwrap();
    survey.open(&CancelToken::default(), |_| ()).unwrap()
}

/// All runs of a store, the newest first; asked again where the database turns out to be damaged, as commands do.
pub(crate) fn listed(store: &FactsStore) -> Vec<ListedRun> {
    let list = || {
        let runs = store.survey().unwrap().open(&CancelToken::default(), |_| ())?;
        newest(&runs)
    };
    match list() {
        Err(error) if error.is_made_again() => list().unwrap(),
        listed => listed.unwrap(),
    }
}

/// All runs, the newest first.
pub(crate) fn newest(runs: &RunCatalog) -> Result<Vec<ListedRun>, DatabaseError> {
    let cancel = CancelToken::default();
    let all = runs.select(&RunQuery::default(), true, now(), &cancel, |_| ())?;
    runs.page(&all, RunOrder::default(), 0, usize::MAX)
}

/// The runs that a query selects.
pub(crate) fn selected(runs: &RunCatalog, query: &RunQuery) -> SelectedRuns {
    let selection = runs.select(query, true, now(), &CancelToken::default(), |_| ());
    selection.unwrap()
}

/// The same in an order.
pub(crate) fn ordered(runs: &RunCatalog, query: &str, order: RunOrder) -> Vec<ListedRun> {
    let selection = selected(runs, &query.parse().unwrap());
    runs.page(&selection, order, 0, usize::MAX).unwrap()
}

/// Chats of three sessions and a run of none, from the first second of a day to the sixth.
pub(crate) fn chats() -> (Sandbox, RunCatalog) {
    let sandbox = Sandbox::new();
    let tool = |number| SampleSpan::tool(number, "search", &json!({}), &json!({}));
    let read = |number| SampleSpan::tool(number, "Read", &json!({}), &json!({}));
    let chat = |number, session| SampleRun::new(number, "chat").attribute("gen_ai.conversation.id", session);
    sandbox.write(&chat(1, "a").span(tool(1)));
    sandbox.write(&chat(2, "b"));
    let alone = SampleRun::new(3, "Alone")
        .span(read(1))
        .span(read(2))
        .span(tool(3));
    sandbox.write(&alone);
    sandbox.write(&chat(4, "a"));
    sandbox.write(&chat(5, "c"));
    sandbox.write(&chat(6, "b").failed("Timeout", "late"));
    let runs = sandbox.catalog();
    (sandbox, runs)
}

/// The second of the day in which each run started.
pub(crate) fn seconds(runs: &[ListedRun]) -> Vec<i64> {
    let second = |run: &ListedRun| run.row.started_us.unwrap() / 1_000_000 % 86_400;
    runs.iter().map(second).collect()
}
