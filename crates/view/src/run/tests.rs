//! Runs of any shape: numbered as the terminal numbers them, and extended as if they were opened anew.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use tracer_runs::{RunDirectory, RunReader, Strictness};
use tracer_sdk::format::{EventType, Record};
use tracer_sdk::prices::Prices;

use super::open_run::OpenRun;
use tracer_insight::run_steps::RowSource;

const RUN: &str = "10000000000000000000000000000001";

fn open(directory: RunDirectory) -> OpenRun {
    OpenRun::open(directory, Prices::default())
}

fn id(number: u8) -> String {
    format!("{:016x}", u64::from(number) + 1)
}

/// A span; the first one is the root, unless it is nested in something.
fn line(number: u8, parent: Option<u8>, second: u8, is_tool: bool, is_open: bool) -> Value {
    let event = |name: &str, after: u8| json!({"name": name, "timestamp": format!("2026-01-01T00:00:{:02}Z", second + after), "attributes": {}});
    json!({
        "trace_id": RUN, "span_id": id(number), "parent_span_id": parent.map(id), "name": "step", "kind": "INTERNAL",
        "start_time": format!("2026-01-01T00:00:{second:02}Z"),
        "end_time": (!is_open).then(|| format!("2026-01-01T00:00:{:02}Z", second + 20)),
        "duration_ms": 1, "attributes": if is_tool { json!({"tracer.tool_name": "search"}) } else { json!({}) },
        "events": [event("exception", 9), event("other", 1), event("state", 2)],
        "status_code": "OK", "status_description": "",
    })
}

fn lines(log: &[Value]) -> String {
    log.iter()
        .fold(String::new(), |lines, line| lines + &line.to_string() + "\n")
}

fn meta(status: &str) -> Value {
    json!({
        "spec_version": "0.2.0", "trace_id": RUN, "run_name": "nightly", "started_at": "2026-01-01T00:00:00.000000Z",
        "ended_at": null, "duration_ms": null, "status": status,
        "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0},
    })
}

fn directory(log: &[Value], status: &str) -> (tempfile::TempDir, RunDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(RUN);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("meta.json"), meta(status).to_string()).unwrap();
    fs::write(path.join("spans.jsonl"), lines(log)).unwrap();
    let trace_id = RUN.parse().unwrap();
    (folder, RunDirectory { trace_id, path })
}

fn spans() -> impl Strategy<Value = Vec<Value>> {
    let span = (
        0u8..8,
        prop::option::weighted(0.8, 0u8..9),
        0u8..20,
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    prop::collection::vec(span, 0..12).prop_map(|spans| {
        spans
            .into_iter()
            .map(|(number, parent, second, is_tool, is_open)| line(number, parent, second, is_tool, is_open))
            .collect()
    })
}

/// Spans that are nested in spans which end later, and now and then in none that is there.
fn tree() -> impl Strategy<Value = Vec<Value>> {
    let span = (prop::option::weighted(0.9, 1u8..5), 0u8..20, any::<bool>());
    prop::collection::vec(span, 0..12).prop_map(|spans| {
        (0u8..)
            .zip(spans)
            .map(|(number, (above, second, is_tool))| {
                line(number, above.map(|above| number + above), second, is_tool, false)
            })
            .collect()
    })
}

proptest! {
    // Whatever a log holds: second spans with one ID, spans nested in nothing or in each other, several roots.
    #[test]
    fn steps_are_the_records_of_the_projection_in_order(log in spans(), status in prop::sample::select(vec!["ok", "error", "running"])) {
        let (_folder, directory) = directory(&log, status);
        let records = RunReader::open(&directory.path, Strictness::Lenient).unwrap().records;
        let records = records.map(Result::unwrap).filter(|record| record.event_type() != EventType::RunEnd);
        let mut expected: Vec<Record> = records.collect();
        if let Some(root) = expected.iter().position(|record| record.event_type() == EventType::RunStart) {
            expected.remove(root);
        }
        let run = open(directory);
        prop_assert_eq!(run.steps.len(), expected.len());
        for (number, expected) in (1..).zip(expected) {
            let row = run.steps.timeline.row_of_step(number).and_then(|row| run.steps.timeline.get(row)).unwrap();
            let record = run.steps.read_row(row).unwrap().map(|read| read.record);
            prop_assert_eq!(run.steps.event_id(row), Some(expected.event_id.clone()));
            prop_assert_eq!(run.steps.row_of(&expected.event_id), run.steps.timeline.row_of_step(number));
            prop_assert_eq!(record, Some(expected));
        }
        // Parents come before what is nested in them, one level above.
        for (place, row) in run.steps.timeline.rows.iter().enumerate() {
            if let Some(parent) = run.steps.timeline.get(row.parent as usize) {
                prop_assert!((row.parent as usize) < place);
                prop_assert_eq!(parent.depth + 1, row.depth);
            } else {
                prop_assert_eq!(row.depth, 0);
            }
        }
    }

    #[test]
    fn an_extended_run_equals_the_run_opened_anew(log in tree(), first in 0usize..12) {
        check_growth(&log, first.min(log.len()))?;
    }
}

/// A log that grows is arranged as if it had been read at once, and every row before the first change is as it was.
fn check_growth(log: &[Value], first: usize) -> Result<(), TestCaseError> {
    let (_folder, directory) = directory(&log[..first], "running");
    let mut run = open(directory.clone());
    let (offset, before) = (run.steps.index.bytes_read(), run.steps.timeline.rows.clone());
    fs::write(directory.path.join("spans.jsonl"), lines(log)).unwrap();
    prop_assert!(run.update().unwrap());
    let anew = open(directory);
    prop_assert_eq!(&run.steps.timeline.rows, &anew.steps.timeline.rows);
    let from = run.first_change(offset);
    let behind_run = usize::from(run.steps.timeline.get(0).is_some_and(|row| row.number == 0));
    if before.first().is_some_and(|row| row.number == 0) == (behind_run == 1) {
        let rows = before
            .iter()
            .zip(&run.steps.timeline.rows)
            .take(from)
            .skip(behind_run);
        for (before, now) in rows {
            prop_assert_eq!(before.source, now.source);
        }
    }
    Ok(())
}

#[test]
fn a_row_that_moves_with_a_new_parent_is_a_change() {
    let log = [
        line(0, None, 0, false, false),
        line(2, Some(6), 7, false, false),
        line(5, None, 8, false, false),
        // New: 2 is nested in 6, which began before it, and 6 in 7, which began after both.
        line(6, Some(7), 0, false, false),
        line(7, None, 9, false, false),
    ];
    check_growth(&log, 3).unwrap();
}

#[test]
fn a_call_in_flight_is_a_row_and_a_run_without_a_root_has_one() {
    let (_folder, directory) = directory(&[line(2, Some(1), 3, true, false)], "running");
    let live = format!(
        "{}\n{}\n",
        json!({"run_name": "nightly", "started_at": "2026-01-01T00:00:00.000000Z", "pid": 1}),
        json!({"span_id": id(5), "parent_span_id": id(1), "name": "gpt-5", "type": "LLM_CALL", "start_time": "2026-01-01T00:00:04Z"}),
    );
    fs::write(directory.path.join(".live"), live).unwrap();
    let run = open(directory);
    let sources: Vec<RowSource> = run.steps.timeline.rows.iter().map(|row| row.source).collect();
    assert_eq!(
        sources,
        [RowSource::Run, RowSource::Span(0), RowSource::InFlight(0)]
    );
    assert_eq!(run.steps.status.as_str(), "interrupted");
    assert_eq!(run.steps.row_of("run"), Some(0));
    assert_eq!(run.steps.row_of(&id(5)), Some(2));
}
