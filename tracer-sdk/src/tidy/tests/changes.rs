//! Renaming and removing.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::super::remove::remove_run_on;
use super::super::rename::rename_run_on;
use super::super::*;
use super::*;
use crate::write::redact::{RedactionSettings, Redactor};

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
