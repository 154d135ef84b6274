//! An interrupted run is completed, and nothing else is touched.

use serde_json::json;

use super::super::repair::repair_on;
use super::super::*;
use super::*;
use crate::{LoadedRun, validate};
use tracer_format::{Counts, RecordedStatus};

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

    let run = LoadedRun::read(store.path()).unwrap();
    let spans: Vec<(String, &str)> = run
        .records()
        .iter()
        .map(|record| (record.event_id.clone(), record.event_type().as_str()))
        .collect();
    let spans: Vec<(&str, &str)> = spans.iter().map(|(id, word)| (id.as_str(), *word)).collect();
    assert_eq!(
        spans,
        [
            (ROOT, "RUN_START"),
            ("00000000000000b1", "UNKNOWN"),
            ("00000000000000c1", "TOOL_CALL"),
            ("00000000000000b2", "LLM_CALL"),
            ("00000000000000aa.0", "ERROR"),
            ("00000000000000aa.end", "RUN_END"),
        ]
    );
    assert!(matches!(
        repair(store.path()),
        Err(MaintenanceError::AlreadyComplete)
    ));
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
    assert_eq!(
        (completion.status, completion.spans.len()),
        (RecordedStatus::Ok, 0)
    );
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
fn unknown_parents_get_a_placeholder() {
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
    let Err(MaintenanceError::RunDamaged { problems, .. }) = repair(store.path()) else {
        panic!("not refused")
    };
    assert_eq!(problems[0].location, "spans.jsonl:2");
    assert_eq!(
        (store.names(), store.read("spans.jsonl"), store.read("meta.json")),
        before
    );

    let unknown = Store::with(&[("meta.json", &meta("running")), ("spans.jsonl", &good)]);
    assert!(matches!(
        repair(unknown.path()),
        Err(MaintenanceError::LivenessUnknown)
    ));
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
fn a_run_that_was_cut_anywhere_is_completed() {
    let log =
        line("00000000000000c1", Some("00000000000000b1"), 3) + &line("00000000000000c2", Some(ROOT), 5);
    let ends = log
        .match_indices('\n')
        .flat_map(|(newline, _)| [newline, newline + 1]);
    for length in (0..log.len()).step_by(47).chain(ends) {
        let (kept, _) = log.split_at(length);
        let store = Store::with(&[
            ("meta.json", &meta("running")),
            ("spans.jsonl", kept),
            (".live", LIVE),
        ]);
        repair(store.path()).unwrap_or_else(|error| panic!("cut after {length} bytes: {error}"));
        is_repaired(&store);
        assert_eq!(store.read("spans.jsonl.broken").as_deref(), Some(kept));
    }
}
