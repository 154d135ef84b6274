//! Run directories, whole and damaged, and what the strict and the lenient reader make of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{InvalidRun, LoadedRun, RunReader, RunStore, SpanStream, Strictness};
use tracer_format::{EventType, RecordedStatus};

const RUN: &str = "10000000000000000000000000000001";

/// A `meta.json` with a status.
pub(super) fn meta(status: &str) -> String {
    json!({
        "spec_version": "0.2.0", "trace_id": RUN, "run_name": "nightly",
        "started_at": "2026-01-01T00:00:00.000000Z", "ended_at": null, "duration_ms": null, "status": status,
        "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0},
    })
    .to_string()
}

/// A store with runs, each with its ID and start.
pub(super) fn store_with(runs: &[(&str, &str)]) -> (TempDir, RunStore) {
    let data = tempfile::tempdir().unwrap();
    let store = RunStore::new(data.path());
    fs::create_dir(store.runs_dir()).unwrap();
    for (id, started_at) in runs {
        let directory = store.runs_dir().join(id);
        fs::create_dir(&directory).unwrap();
        let meta = meta("ok")
            .replace(RUN, id)
            .replace("2026-01-01T00:00:00.000000Z", started_at);
        fs::write(directory.join("meta.json"), meta).unwrap();
        let root = span(1, None).to_string().replace(RUN, id);
        fs::write(directory.join("spans.jsonl"), root).unwrap();
    }
    (data, store)
}

pub(super) fn span(id: u64, parent: Option<u64>) -> Value {
    json!({
        "trace_id": RUN, "span_id": format!("{id:016x}"), "parent_span_id": parent.map(|id| format!("{id:016x}")),
        "name": "step", "kind": "INTERNAL", "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:00.100000Z", "duration_ms": 100, "attributes": {"tracer.tool_name": "search"},
        "events": [], "status_code": "OK", "status_description": "",
    })
}

/// The lines of a root and a child.
fn spans() -> String {
    format!("{}\n{}\n", span(2, Some(1)), span(1, None))
}

pub(super) fn directory(meta: &str, spans: impl AsRef<[u8]>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("meta.json"), meta).unwrap();
    fs::write(directory.path().join("spans.jsonl"), spans).unwrap();
    directory
}

fn places(invalid: &InvalidRun) -> Vec<String> {
    invalid
        .problems
        .iter()
        .map(|problem| format!("{} {}", problem.code, problem.location))
        .collect()
}

fn spans_of(run: &RunReader) -> SpanStream {
    run.records.clone().into_spans()
}

fn lenient(path: &Path) -> Result<RunReader, InvalidRun> {
    RunReader::open(path, Strictness::Lenient)
}

fn refused(path: &Path) -> Vec<String> {
    places(&LoadedRun::read(path).unwrap_err())
}

#[test]
fn a_valid_run_is_read_from_its_directory_or_its_metadata() {
    let directory = directory(&meta("ok"), spans());
    for path in [directory.path().to_owned(), directory.path().join("meta.json")] {
        let run = LoadedRun::read(&path).unwrap();
        assert_eq!(run.directory, directory.path());
        assert_eq!(run.meta.run_name.as_deref(), Some("nightly"));
        assert_eq!((run.spans.len(), run.cut_tail), (2, None));
        assert_eq!(run.counts().tool_calls, 1);
        assert_eq!(run.records().last().unwrap().event_type(), EventType::RunEnd);
    }
    let lenient = lenient(directory.path()).unwrap();
    assert_eq!(lenient.problems, []);
    let records: Vec<_> = lenient.records.map(Result::unwrap).collect();
    assert_eq!(records, LoadedRun::read(directory.path()).unwrap().records());
}

#[test]
fn every_line_that_is_odd_has_a_decided_answer() {
    let root = span(1, None).to_string();
    let nested = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let accepted: [Vec<u8>; 5] = [
        format!("{root}\n").into(),
        root.clone().into(),
        format!("\n\r\n  \t\n{root}\r\n\n").into(),
        root.replace("00:00:00.000000Z", "00:00:60z").into(),
        root.replace("2026-01-01T00:00:00.000000Z", "2026-01-01t01:30:00.1+01:30")
            .into(),
    ];
    for text in accepted {
        let directory = directory(&meta("ok"), &text);
        let run = LoadedRun::read(directory.path());
        assert_eq!(
            run.map(|run| run.spans.len()),
            Ok(1),
            "{}",
            String::from_utf8_lossy(&text)
        );
    }
    let malformed: [Vec<u8>; 9] = [
        b"{".to_vec(),
        b"not json".to_vec(),
        b"\0\0\0\0".to_vec(),
        root.replace("\"step\"", "NaN").into(),
        root.replace("100,", "-Infinity,").into(),
        root.replace("100,", "1e400,").into(),
        root.replace("{\"tracer.tool_name\":\"search\"}", &nested).into(),
        [b"{\"name\": \"\xff\"}".as_slice(), b"\n"].concat(),
        format!("{root} {root}").into(),
    ];
    for text in malformed {
        let text = [b"\n\n", text.as_slice(), b"\n\n", root.as_bytes()].concat();
        let directory = directory(&meta("ok"), &text);
        assert_eq!(
            refused(directory.path()),
            ["malformed_json spans.jsonl:3"],
            "{}",
            String::from_utf8_lossy(&text)
        );
    }
    let marked = directory(&meta("ok"), format!("\u{feff}{root}\n"));
    let invalid = LoadedRun::read(marked.path()).unwrap_err();
    assert_eq!(places(&invalid), ["malformed_json spans.jsonl:1"]);
    assert!(invalid.problems[0].message.contains("byte order mark"));
}

#[test]
fn all_problems_are_listed_in_file_order_without_values() {
    let mut wrong = span(2, Some(9));
    wrong["kind"] = json!("sk-secret");
    wrong["events"] = json!([{"name": "x", "timestamp": "sk-secret", "attributes": {}}]);
    let mut foreign = span(3, Some(1));
    foreign["trace_id"] = json!("20000000000000000000000000000002");
    let text = format!(
        "{}\n\n{wrong}\n{foreign}\n{}\n{}\n",
        span(1, None),
        span(3, Some(1)),
        span(4, None)
    );
    let meta = meta("ok")
        .replace("\"nightly\"", "7")
        .replace("\"errors\":0", "\"errors\":-1");
    let directory = directory(&meta, text);
    let invalid = LoadedRun::read(directory.path()).unwrap_err();
    assert_eq!(
        places(&invalid),
        [
            "invalid_type meta.json.run_name",
            "invalid_value meta.json.counts.errors",
            "invalid_value spans.jsonl:3.kind",
            "invalid_datetime spans.jsonl:3.events[0].timestamp",
            "missing_parent spans.jsonl:3.parent_span_id",
            "trace_id_mismatch spans.jsonl:4.trace_id",
            "duplicate_span_id spans.jsonl:5.span_id",
            "multiple_roots spans.jsonl:6.parent_span_id",
        ],
    );
    assert!(!format!("{invalid:?} {invalid}").contains("sk-secret"));
    assert_eq!(
        invalid.to_string(),
        "the run is refused: meta.json.run_name: must be a string (invalid_type), and 7 more problems"
    );
    assert_eq!(invalid.trace_id.unwrap().to_string(), RUN);
    assert_eq!(
        (invalid.status, invalid.span_count),
        (Some(RecordedStatus::Ok), Some(4))
    );
    assert!(!invalid.is_input());
}

#[test]
fn a_completed_run_is_whole() {
    for (text, expected) in [
        (String::new(), "empty_spans spans.jsonl"),
        ("\n\n".to_owned(), "empty_spans spans.jsonl"),
        (format!("{}\n", span(1, Some(1))), "missing_root spans.jsonl"),
        (
            format!("{}\n{{\"trace_id\"", span(1, None)),
            "malformed_json spans.jsonl:2",
        ),
    ] {
        let directory = directory(&meta("error"), text);
        assert_eq!(refused(directory.path())[0], expected);
    }
}

#[test]
fn a_running_run_may_be_cut_and_lack_its_root_parents_and_spans() {
    let child = span(2, Some(1)).to_string();
    for (text, spans, cut_tail) in [
        (String::new(), 0, None),
        (format!("{child}\n"), 1, None),
        (child.clone(), 1, None),
        (format!("{child}\n{{\"trace_id\": \"1000"), 1, Some(18)),
        (format!("{child}\n\0\0\0"), 1, Some(3)),
    ] {
        let directory = directory(&meta("running"), &text);
        let run = LoadedRun::read(directory.path()).unwrap();
        assert_eq!((run.spans.len(), run.cut_tail), (spans, cut_tail), "{text:?}");
    }
    let in_a_character = [child.as_bytes(), b"\n{\"name\": \"\xc3"].concat();
    assert_eq!(
        LoadedRun::read(directory(&meta("running"), in_a_character).path())
            .unwrap()
            .cut_tail,
        Some(11)
    );

    let torn_before_the_end = directory(&meta("running"), format!("{{\"trace_id\"\n{child}\n"));
    assert_eq!(
        refused(torn_before_the_end.path()),
        ["malformed_json spans.jsonl:1"]
    );
}

#[test]
fn the_log_of_a_running_run_may_not_be_there_yet() {
    let directory = directory(&meta("running"), "");
    fs::remove_file(directory.path().join("spans.jsonl")).unwrap();
    assert_eq!(LoadedRun::read(directory.path()).unwrap().spans, []);
}

#[test]
fn what_is_missing_or_no_run_is_an_input_error() {
    let completed = directory(&meta("ok"), spans());
    let nowhere = completed.path().join("nowhere");
    let invalid = LoadedRun::read(&nowhere).unwrap_err();
    assert_eq!(
        places(&invalid),
        [format!("path_not_found {}", nowhere.display())]
    );
    assert!(invalid.is_input());
    let spans_file = completed.path().join("spans.jsonl");
    assert_eq!(
        refused(&spans_file),
        [format!("unsupported_path {}", spans_file.display())]
    );
    let below_a_file = spans_file.join("x");
    assert_eq!(
        refused(&below_a_file),
        [format!("path_not_found {}", below_a_file.display())]
    );

    fs::remove_file(&spans_file).unwrap();
    let invalid = LoadedRun::read(completed.path()).unwrap_err();
    assert_eq!(places(&invalid), ["missing_file spans.jsonl"]);
    assert!(invalid.is_input() && invalid.span_count.is_none() && invalid.trace_id.is_some());
    fs::remove_file(completed.path().join("meta.json")).unwrap();
    assert_eq!(
        refused(completed.path()),
        ["missing_file meta.json", "missing_file spans.jsonl"]
    );
}

#[test]
fn the_format_before_this_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["events.jsonl", "run.json"] {
        fs::write(directory.path().join(file), "{}").unwrap();
        let invalid = LoadedRun::read(directory.path()).unwrap_err();
        assert_eq!(places(&invalid), [format!("legacy_format {file}")]);
        assert_eq!(
            refused(&directory.path().join(file)),
            [format!("legacy_format {file}")]
        );
        assert!(!invalid.is_input());
        assert_eq!(lenient(directory.path()).unwrap_err(), invalid);
    }
    fs::write(directory.path().join("meta.json"), meta("ok")).unwrap();
    fs::write(directory.path().join("spans.jsonl"), spans()).unwrap();
    assert!(
        LoadedRun::read(directory.path()).is_ok(),
        "files of others beside ours are fine"
    );
}

#[test]
fn a_version_that_is_not_understood_is_refused_by_both_readers() {
    let directory = directory(
        &meta("ok").replace("0.2.0", "1.0.0"),
        "{ \"whatever\": \"1.0 writes\" }",
    );
    assert_eq!(
        refused(directory.path()),
        ["unsupported_version meta.json.spec_version"]
    );
    assert_eq!(
        places(&lenient(directory.path()).unwrap_err()),
        refused(directory.path())
    );
}

#[test]
fn a_run_in_the_directory_of_another_run_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let directory: PathBuf = parent.path().join("20000000000000000000000000000002");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("meta.json"), meta("ok")).unwrap();
    fs::write(directory.join("spans.jsonl"), spans()).unwrap();
    assert_eq!(refused(&directory), ["trace_id_mismatch meta.json.trace_id"]);
    let named = parent.path().join(RUN);
    fs::rename(&directory, &named).unwrap();
    assert!(LoadedRun::read(&named).is_ok());
}

#[test]
fn a_damaged_run_gives_what_can_be_read() {
    let mut foreign = span(3, Some(1));
    foreign["trace_id"] = json!("20000000000000000000000000000002");
    let text = format!(
        "{}\nbroken\n{foreign}\n{}\n{}\n",
        span(1, None),
        span(2, Some(1)),
        span(2, Some(1))
    );
    let salvaged = lenient(directory(&meta("ok"), &text).path()).unwrap();
    let ids: Vec<String> = spans_of(&salvaged)
        .map(|span| span.unwrap().span_id.to_string())
        .collect();
    assert_eq!(ids, ["0000000000000001", "0000000000000002"]);
    let codes: Vec<&str> = salvaged
        .problems
        .iter()
        .map(|problem| problem.code.as_str())
        .collect();
    assert_eq!(
        codes,
        ["malformed_json", "trace_id_mismatch", "duplicate_span_id"]
    );
    assert_eq!(salvaged.status, Some(RecordedStatus::Ok));

    let without_meta = lenient(directory("{", spans()).path()).unwrap();
    assert_eq!((&without_meta.meta, without_meta.span_count), (&None, 2));
    assert_eq!(without_meta.trace_id.unwrap().to_string(), RUN);

    let nothing = directory("{", "broken");
    assert_eq!(
        places(&lenient(nothing.path()).unwrap_err()),
        ["malformed_json meta.json", "malformed_json spans.jsonl:1"]
    );
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_read_and_a_pipe_does_not_hold_the_reader() {
    let other = directory(&meta("ok"), spans());
    for file in ["meta.json", "spans.jsonl"] {
        let target = other.path().join(file);
        let make: [&dyn Fn(&Path); 3] = [
            &|path| fs::create_dir(path).unwrap(),
            &|path| std::os::unix::fs::symlink(&target, path).unwrap(),
            &|path| {
                assert!(
                    std::process::Command::new("mkfifo")
                        .arg(path)
                        .status()
                        .unwrap()
                        .success()
                );
            },
        ];
        for make in make {
            let directory = directory(&meta("ok"), spans());
            let path = directory.path().join(file);
            fs::remove_file(&path).unwrap();
            make(&path);
            let invalid = LoadedRun::read(directory.path()).unwrap_err();
            assert_eq!(places(&invalid), [format!("unreadable_file {file}")]);
            assert!(invalid.problems[0].message.contains("is not a regular file"));
            assert!(invalid.is_input());
        }
    }
}
