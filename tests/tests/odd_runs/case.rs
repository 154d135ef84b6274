//! A run directory that is odd in one way, and how it is checked.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tracer_runs::{LoadedRun, RunReader, Strictness, validate};
use tracer_sdk::format::Problem;
use tracer_sdk::spans_to_events;

/// The run that all of these are.
pub(crate) const RUN: &str = "10000000000000000000000000000001";

/// What the lenient readers answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lenient {
    /// There is nothing to show.
    Refused,
    /// This many spans are shown.
    Shows(usize),
    /// This many spans are shown, and this many bytes of a last line were left out.
    Cut(usize, u64),
}

/// A directory, what is wrong with it, and what is shown of it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) run: Odd,
    /// `code location` of each problem.
    pub(crate) problems: Vec<String>,
    /// `code location` of each warning.
    pub(crate) warnings: Vec<String>,
    pub(crate) lenient: Lenient,
}

/// A case whose problems are given, space between code and location.
pub(crate) fn case(name: impl Into<String>, run: Odd, problems: &[&str], lenient: Lenient) -> Case {
    Case {
        name: name.into(),
        run,
        problems: problems.iter().map(|&problem| problem.to_owned()).collect(),
        warnings: Vec::new(),
        lenient,
    }
}

impl Case {
    pub(crate) fn warns(mut self, warnings: &[&str]) -> Self {
        self.warnings = warnings.iter().map(|&warning| warning.to_owned()).collect();
        self
    }

    /// Builds the directory and asks every reader.
    pub(crate) fn check(self) {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join(RUN);
        fs::create_dir(&directory).unwrap();
        for change in self.run.build(&directory) {
            change(&directory);
        }
        let reported = |problems: &[Problem]| -> Vec<String> {
            let place = |location: &str| location.replace(&directory.display().to_string(), "DIRECTORY");
            problems
                .iter()
                .map(|problem| format!("{} {}", problem.code, place(&problem.location)))
                .collect()
        };
        let name = &self.name;

        let report = validate(&directory);
        assert_eq!(reported(&report.problems), self.problems, "{name}");
        assert_eq!(reported(&report.warnings), self.warnings, "{name}: warnings");
        let strict = report.clone().strict();
        assert_eq!(
            strict.problem_count(),
            report.problem_count() + report.warning_count()
        );
        let opened = LoadedRun::read(&directory);
        let streamed = RunReader::open(&directory, Strictness::Strict);
        if self.problems.is_empty() {
            let opened = opened.unwrap_or_else(|invalid| panic!("{name}: {invalid}"));
            let streamed: Vec<_> = streamed.unwrap().records.map(Result::unwrap).collect();
            assert_eq!(streamed, opened.records(), "{name}");
        } else {
            assert_eq!(
                reported(&opened.unwrap_err().problems),
                self.problems,
                "{name}: opened"
            );
            assert_eq!(
                reported(&streamed.unwrap_err().problems),
                self.problems,
                "{name}: streamed"
            );
        }

        match RunReader::open(&directory, Strictness::Lenient) {
            Ok(run) => {
                let expected = match self.lenient {
                    Lenient::Refused => panic!("{name}: is shown"),
                    Lenient::Shows(spans) => (spans, None),
                    Lenient::Cut(spans, bytes) => (spans, Some(bytes)),
                };
                assert_eq!((run.span_count, run.cut_tail), expected, "{name}");
                let mut spans: Vec<_> = run.records.clone().into_spans().map(Result::unwrap).collect();
                assert_eq!(spans.len(), run.span_count, "{name}");
                // As they are in the file, which decides between records of one instant.
                let log = directory.join("spans.jsonl");
                let is_file = log.symlink_metadata().is_ok_and(|found| found.is_file());
                let lines = if is_file {
                    fs::read_to_string(&log).unwrap_or_default()
                } else {
                    String::new()
                };
                spans.sort_by_key(|span| lines.find(&format!("\"span_id\":\"{}\"", span.span_id)));
                let records: Vec<_> = run.records.map(Result::unwrap).collect();
                assert_eq!(records, spans_to_events(&spans), "{name}: records");
            }
            Err(invalid) => assert_eq!(self.lenient, Lenient::Refused, "{name}: {invalid}"),
        }
    }
}

type Change = Box<dyn FnOnce(&Path) + Send>;

/// What stands in the two files, and what is changed in the directory after they are written.
pub(crate) struct Odd {
    meta: Vec<u8>,
    log: Vec<u8>,
    changes: Vec<Change>,
}

/// A run of a root and a tool call with nothing wrong.
pub(crate) fn run() -> Odd {
    Odd {
        meta: meta().to_string().into_bytes(),
        log: format!("{}\n{}\n", child(), root()).into_bytes(),
        changes: Vec::new(),
    }
}

/// The same run while it is running: the root is not there yet.
pub(crate) fn running() -> Odd {
    let meta = patched(
        meta(),
        json!({"status": "running", "ended_at": null, "duration_ms": null}),
    );
    run().meta(meta.to_string()).log(format!("{}\n", child()))
}

impl Odd {
    /// Puts other bytes into `meta.json`.
    pub(crate) fn meta(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.meta = bytes.into();
        self
    }

    /// Changes fields of `meta.json`.
    pub(crate) fn meta_with(self, fields: Value) -> Self {
        let meta = patched(serde_json::from_slice(&self.meta).unwrap(), fields);
        self.meta(meta.to_string())
    }

    /// Leaves a field of `meta.json` out.
    pub(crate) fn meta_without(self, field: &str) -> Self {
        let mut meta: Value = serde_json::from_slice(&self.meta).unwrap();
        meta.as_object_mut().unwrap().remove(field);
        self.meta(meta.to_string())
    }

    /// Puts other bytes into `spans.jsonl`.
    pub(crate) fn log(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.log = bytes.into();
        self
    }

    /// Puts a line between the child and the root.
    pub(crate) fn line(self, line: impl Into<Vec<u8>>) -> Self {
        let log = [
            child().to_string().into_bytes(),
            line.into(),
            root().to_string().into_bytes(),
        ];
        self.log(log.join(&b'\n'))
    }

    /// Changes the directory after the files are written.
    pub(crate) fn then(mut self, change: impl FnOnce(&Path) + Send + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    fn build(self, directory: &Path) -> Vec<Change> {
        fs::write(directory.join("meta.json"), self.meta).unwrap();
        fs::write(directory.join("spans.jsonl"), self.log).unwrap();
        self.changes
    }
}

/// The metadata of the run.
pub(crate) fn meta() -> Value {
    json!({
        "spec_version": "0.2.0", "trace_id": RUN, "run_name": "nightly", "started_at": "2026-01-01T00:00:00.000000Z",
        "ended_at": "2026-01-01T00:00:00.200000Z", "duration_ms": 200, "status": "ok",
        "counts": {"llm_calls": 0, "tool_calls": 1, "errors": 0, "loop_warnings": 0},
    })
}

/// The root of the run, `…01`.
pub(crate) fn root() -> Value {
    json!({
        "trace_id": RUN, "span_id": "0000000000000001", "parent_span_id": null, "name": "nightly", "kind": "INTERNAL",
        "start_time": "2026-01-01T00:00:00.000000Z", "end_time": "2026-01-01T00:00:00.200000Z", "duration_ms": 200,
        "attributes": {}, "events": [], "status_code": "OK", "status_description": "",
    })
}

/// A tool call below the root, `…02`.
pub(crate) fn child() -> Value {
    patched(
        root(),
        json!({
            "span_id": "0000000000000002", "parent_span_id": "0000000000000001", "name": "search",
            "start_time": "2026-01-01T00:00:00.050000Z", "end_time": "2026-01-01T00:00:00.100000Z", "duration_ms": 50,
            "attributes": {"tracer.tool_name": "search"},
            "events": [{"name": "tracer.tool.args", "timestamp": "2026-01-01T00:00:00.050000Z",
                        "attributes": {"args": "{}"}}],
        }),
    )
}

/// A span below the root that is no call, `…03`, with some fields changed.
pub(crate) fn other(fields: Value) -> Value {
    let other = patched(
        child(),
        json!({"span_id": "0000000000000003", "name": "plan", "attributes": {}}),
    );
    patched(other, fields)
}

/// A value of each type of JSON but a string.
pub(crate) fn other_than_a_text() -> [Value; 9] {
    [
        json!(null),
        json!(true),
        json!(false),
        json!(3),
        json!(-3),
        json!(0.5),
        json!(1e300),
        json!(["000000000000000a"]),
        json!({"id": "000000000000000a"}),
    ]
}

/// An object with some fields changed.
pub(crate) fn patched(mut object: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else {
        panic!("fields are an object")
    };
    object.as_object_mut().unwrap().extend(fields);
    object
}
