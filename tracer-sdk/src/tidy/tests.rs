//! Repair, removal and renaming on a disk, with every operation failing once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::remove::remove_run_on;
use super::rename::rename_run_on;
use super::repair::repair_on;
use super::*;
use crate::format::{Counts, RunStatus};
use crate::read::{RunDirectory, open_run, validate};
use crate::write::faulty::{Fault, Faulty};
use crate::write::files::Disk;
use crate::write::redact::{RedactionSettings, Redactor};

const RUN: &str = "10000000000000000000000000000001";
const ROOT: &str = "00000000000000aa";
const EIO: i32 = 5;

struct Store {
    _data: TempDir,
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
            _data: data,
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

#[track_caller]
fn is_repaired(store: &Store) {
    let report = validate(store.path());
    assert_eq!((report.problems, report.warnings), (vec![], vec![]));
    assert!(store.read(".live").is_none());
}

#[test]
fn an_interrupted_run_is_completed_and_its_log_kept_as_it_was() {
    let store = interrupted();
    let before = store.read("spans.jsonl");
    let planned = plan_repair(store.path()).unwrap();
    assert_eq!(store.read("spans.jsonl"), before, "planning changes nothing");
    assert_eq!(repair(store.path()).unwrap(), planned);

    is_repaired(&store);
    assert_eq!(store.read("spans.jsonl.broken"), before);
    assert_eq!(planned.cut, Some(17));
    let meta = store.meta();
    assert_eq!(
        (&meta["status"], &meta["ended_at"], &meta["duration_ms"]),
        (
            &json!("error"),
            &json!("2026-01-01T00:00:09.500000Z"),
            &json!(9500)
        )
    );
    let counts = json!({"llm_calls": 1, "tool_calls": 1, "errors": 1, "loop_warnings": 0});
    assert_eq!(meta["counts"], counts);
    assert!(
        store
            .read("meta.json")
            .unwrap()
            .contains(r#""labels": {"a":1.5}"#)
    );

    let run = open_run(store.path()).unwrap();
    let told: Vec<(String, &str)> = run
        .records()
        .iter()
        .map(|record| (record.event_id.clone(), record.event_type().as_str()))
        .collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(id, word)| (id.as_str(), *word)).collect();
    assert_eq!(
        told,
        [
            (ROOT, "RUN_START"),
            ("00000000000000b1", "UNKNOWN"),
            ("00000000000000c1", "TOOL_CALL"),
            ("00000000000000b2", "LLM_CALL"),
            ("00000000000000aa.0", "ERROR"),
            ("00000000000000aa.end", "RUN_END"),
        ]
    );
    assert!(matches!(repair(store.path()), Err(TidyError::Ended)));
}

#[test]
fn a_run_that_died_before_its_first_line_is_completed_from_its_live_file() {
    let header = LIVE.lines().next().unwrap();
    let store = Store::with(&[(".live", &format!("{header}\n"))]);
    repair(store.path()).unwrap();
    is_repaired(&store);
    assert_eq!(store.names(), ["meta.json", "spans.jsonl"]);
    assert_eq!(store.meta()["run_name"], "nightly");
}

#[test]
fn a_root_that_was_written_decides_how_the_run_ended() {
    let log = line("00000000000000c1", Some(ROOT), 3) + &line(ROOT, None, 0);
    let store = Store::with(&[
        ("meta.json", &meta("running")),
        ("spans.jsonl", &log),
        (".live", "{}\n"),
    ]);
    let completion = repair(store.path()).unwrap().completion.unwrap();
    assert_eq!((completion.status, completion.spans.len()), (RunStatus::Ok, 0));
    assert_eq!(
        completion.counts,
        Counts {
            tool_calls: 1,
            ..Counts::default()
        }
    );
    is_repaired(&store);
}

#[test]
fn parents_that_nobody_tells_of_are_stood_in_for() {
    let log =
        line("00000000000000c1", Some(ROOT), 1) + &line("00000000000000c2", Some("00000000000000d1"), 5);
    let log = log.trim_end().to_owned();
    let store = Store::with(&[
        ("meta.json", &meta("running")),
        ("spans.jsonl", &log),
        (".live", "{}\n"),
    ]);
    let completion = repair(store.path()).unwrap().completion.unwrap();
    let spans: Vec<String> = completion
        .spans
        .iter()
        .map(|span| span.span_id.to_string())
        .collect();
    assert_eq!(spans, ["00000000000000d1", ROOT]);
    is_repaired(&store);
}

#[test]
fn a_run_that_ended_and_left_its_live_file_only_loses_that() {
    let log = line(ROOT, None, 0);
    let ended = meta("ok")
        .replace(
            "\"ended_at\":null",
            "\"ended_at\":\"2026-01-01T00:00:01.000000Z\"",
        )
        .replace("\"duration_ms\":null", "\"duration_ms\":1000");
    let store = Store::with(&[("meta.json", &ended), ("spans.jsonl", &log), (".live", LIVE)]);
    assert_eq!(repair(store.path()).unwrap().completion, None);
    is_repaired(&store);
    assert_eq!(store.names(), ["meta.json", "spans.jsonl"]);
    assert_eq!(store.read("meta.json"), Some(ended));
}

#[test]
fn what_no_interruption_explains_is_refused_and_left_as_it_is() {
    let good = line("00000000000000c1", Some(ROOT), 1);
    let damaged = format!("{good}no json\n{good}");
    let store = Store::with(&[
        ("meta.json", &meta("running")),
        ("spans.jsonl", &damaged),
        (".live", LIVE),
    ]);
    let before = (store.names(), store.read("spans.jsonl"), store.read("meta.json"));
    let Err(TidyError::Damaged { problems, .. }) = repair(store.path()) else {
        panic!("not refused")
    };
    assert_eq!(problems[0].location, "spans.jsonl:2");
    assert_eq!(
        (store.names(), store.read("spans.jsonl"), store.read("meta.json")),
        before
    );

    let unknown = Store::with(&[("meta.json", &meta("running")), ("spans.jsonl", &good)]);
    assert!(matches!(repair(unknown.path()), Err(TidyError::Unknown)));
}

#[test]
fn a_run_that_somebody_records_is_not_touched() {
    let store = interrupted();
    let live = fs::File::open(store.path().join(".live")).unwrap();
    live.lock().unwrap();
    assert!(matches!(repair(store.path()), Err(TidyError::Live)));
    assert!(matches!(rename(&store, "other", &Disk), Err(TidyError::Live)));
    drop(live);

    let log = fs::File::open(store.path().join("spans.jsonl")).unwrap();
    log.lock().unwrap();
    assert!(matches!(repair(store.path()), Err(TidyError::Live)));
    assert_eq!(store.names(), [".live", "meta.json", "spans.jsonl"]);
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

#[test]
fn a_repair_that_fails_anywhere_is_taken_up_again() {
    with_every_fault(
        interrupted,
        |store, disk| repair_on(store.path(), disk).is_ok(),
        |store, done| {
            if !done {
                repair(store.path()).unwrap();
            }
            is_repaired(store);
            assert_eq!(store.names(), ["meta.json", "spans.jsonl", "spans.jsonl.broken"]);
            assert!(store.read("spans.jsonl.broken").unwrap().ends_with("\"1000"));
        },
    );
}

#[test]
fn a_removal_that_fails_anywhere_leaves_the_run_whole_or_none() {
    with_every_fault(
        interrupted,
        |store, disk| remove_run_on(&store.run, disk).is_ok(),
        |store, done| {
            let runs: PathBuf = store.path().parent().unwrap().to_owned();
            if store.path().exists() {
                assert!(!done);
                assert_eq!(store.names(), [".live", "meta.json", "spans.jsonl"]);
                return;
            }
            let left = remove_leftovers(&runs).unwrap();
            assert_eq!(left == 0, done);
            assert_eq!(fs::read_dir(runs).unwrap().count(), 0);
        },
    );
}

fn rename(
    store: &Store,
    name: &str,
    disk: &dyn crate::write::files::FileSystem,
) -> Result<String, TidyError> {
    let redactor = Redactor::new(&RedactionSettings::default(), []);
    rename_run_on(&store.run, name, &redactor, disk)
}

#[test]
fn a_name_is_redacted_and_changes_nothing_else() {
    let store = interrupted();
    let name = rename(&store, "with password=hunter2hunter2", &Disk).unwrap();
    assert!(
        name.contains("__REDACTED__") && !name.contains("hunter2"),
        "{name}"
    );
    let mut expected: Value = serde_json::from_str(&meta("running")).unwrap();
    expected["run_name"] = json!(name);
    assert_eq!(store.meta(), expected);
}

#[test]
fn a_renaming_that_fails_anywhere_leaves_the_old_name_or_the_new_one() {
    with_every_fault(
        interrupted,
        |store, disk| rename(store, "new", disk).is_ok(),
        |store, done| {
            assert_eq!(store.meta()["run_name"], if done { "new" } else { "nightly" });
        },
    );
}

#[test]
fn the_size_of_a_run_is_that_of_its_files() {
    let store = Store::with(&[("meta.json", "12345"), ("spans.jsonl", "123")]);
    fs::create_dir(store.path().join("more")).unwrap();
    fs::write(store.path().join("more/file"), "1234").unwrap();
    assert_eq!(size_of(store.path()), 12);
    remove_run(&store.run).unwrap();
    assert!(!store.path().exists());
}
