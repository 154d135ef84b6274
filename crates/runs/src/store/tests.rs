//! Which runs a store lists, in which order, and what it passes over.

use super::*;
use crate::Liveness;
use crate::tests::{meta, store_with};

#[test]
fn runs_are_listed_newest_first_by_instant_then_by_id() {
    let (_data, store) = store_with(&[
        ("30000000000000000000000000000003", "2026-01-02T00:30:00+02:00"),
        ("10000000000000000000000000000001", "2026-01-01T00:00:00.1Z"),
        ("20000000000000000000000000000002", "2026-01-01T00:00:00.100000Z"),
        ("40000000000000000000000000000004", "2026-01-01T23:00:00Z"),
    ]);
    let ids: Vec<String> = store
        .list()
        .unwrap()
        .iter()
        .map(|run| run.directory.trace_id.to_string()[..1].to_owned())
        .collect();
    assert_eq!(ids, ["4", "3", "1", "2"]);
}

#[test]
fn a_damaged_run_is_an_entry_and_sorted_by_when_it_was_changed() {
    let (_data, store) = store_with(&[("10000000000000000000000000000001", "2000-01-01T00:00:00Z")]);
    let damaged = store.runs_dir().join("20000000000000000000000000000002");
    fs::create_dir(&damaged).unwrap();
    fs::write(damaged.join("meta.json"), "{").unwrap();
    let empty = store.runs_dir().join("30000000000000000000000000000003");
    fs::create_dir(&empty).unwrap();
    let foreign = store.runs_dir().join("40000000000000000000000000000004");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("meta.json"), meta("ok")).unwrap();

    let runs = store.list().unwrap();
    assert_eq!(runs.len(), 4);
    let problem = |id: &str| {
        let run = runs
            .iter()
            .find(|run| run.directory.trace_id.to_string().starts_with(id))
            .unwrap();
        run.meta.as_ref().unwrap_err()[0].code.as_str()
    };
    assert_eq!(
        [problem("2"), problem("3"), problem("4")],
        ["malformed_json", "missing_file", "trace_id_mismatch"]
    );
    assert!(
        runs.last().unwrap().meta.is_ok(),
        "the damaged runs were changed after the year 2000"
    );
}

#[test]
fn what_is_no_run_directory_is_passed_over() {
    let (_data, store) = store_with(&[("10000000000000000000000000000001", "2026-01-01T00:00:00Z")]);
    let runs_dir = store.runs_dir();
    for name in [
        "notes",
        "ABCDEF00000000000000000000000001",
        "00000000000000000000000000000000",
        ".meta.json.7.tmp",
    ] {
        fs::create_dir(runs_dir.join(name)).unwrap();
    }
    fs::write(runs_dir.join("20000000000000000000000000000002"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        runs_dir.join("10000000000000000000000000000001"),
        runs_dir.join("30000000000000000000000000000003"),
    )
    .unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_folder_that_is_missing_and_one_that_cannot_be_read_are_two_things() {
    let data = tempfile::tempdir().unwrap();
    let missing = RunStore::new(data.path().join("nowhere"));
    assert!(matches!(missing.list(), Err(StoreError::Missing { path }) if path == missing.runs_dir()));
    let store = RunStore::new(data.path());
    assert!(matches!(store.list(), Err(StoreError::Missing { .. })));
    fs::write(store.runs_dir(), "a file").unwrap();
    assert!(matches!(store.list(), Err(StoreError::Unreadable { .. })));
}

#[test]
fn a_run_without_metadata_yet_is_alive_while_its_lock_is_held() {
    let (_data, store) = store_with(&[]);
    let directory = store.runs_dir().join("10000000000000000000000000000001");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(".live"), "{}\n").unwrap();
    let live = fs::File::open(directory.join(".live")).unwrap();
    live.lock().unwrap();
    assert_eq!(store.list().unwrap()[0].probe_liveness(), Liveness::Running);
    drop(live);
    assert_eq!(store.list().unwrap()[0].probe_liveness(), Liveness::Interrupted);
}

#[test]
fn many_runs_are_listed_each_once() {
    let ids: Vec<String> = (1..300).map(|number| format!("{number:032x}")).collect();
    let runs: Vec<(&str, &str)> = ids
        .iter()
        .map(|id| (id.as_str(), "2026-01-01T00:00:00Z"))
        .collect();
    let (_data, store) = store_with(&runs);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 299);
    let listed: std::collections::HashSet<_> = listed.iter().map(|run| run.directory.trace_id).collect();
    assert_eq!(listed.len(), ids.len());
}
