//! Renaming and removing.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::super::remove::{directory_bytes, remove_leftovers, remove_run_on};
use super::super::rename::rename_run_on;
use super::super::*;
use super::*;
use tracer_sdk::disk::Redactor;
use tracer_sdk::settings::Settings;

#[test]
fn a_run_that_somebody_records_is_not_touched() {
    let store = interrupted();
    let live = fs::File::open(store.path().join(".live")).unwrap();
    live.lock().unwrap();
    assert!(matches!(repair(store.path()), Err(MaintenanceError::RunActive)));
    assert!(matches!(
        rename(&store, "other", &Disk),
        Err(MaintenanceError::RunActive)
    ));
    drop(live);

    let log = fs::File::open(store.path().join("spans.jsonl")).unwrap();
    log.lock().unwrap();
    assert!(matches!(repair(store.path()), Err(MaintenanceError::RunActive)));
    assert_eq!(store.names(), [".live", "meta.json", "spans.jsonl"]);
}

/// A run with a folder that its emitter knows nothing of.
fn with_a_folder() -> Store {
    let store = interrupted();
    fs::create_dir(store.path().join("notes")).unwrap();
    fs::write(store.path().join("notes/one"), "1").unwrap();
    store
}

#[test]
fn a_removal_that_fails_anywhere_hides_nothing() {
    with_every_fault(
        with_a_folder,
        |store, disk| match remove_run_on(&store.run, disk) {
            Ok(()) => true,
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains(&store.path().display().to_string()), "{message}");
                false
            }
        },
        |store, done| {
            let runs: PathBuf = store.path().parent().unwrap().to_owned();
            assert_eq!(store.path().exists(), !done);
            assert_eq!(
                fs::read_dir(&runs).unwrap().count(),
                usize::from(!done),
                "nothing is hidden"
            );
            if done {
                return;
            }
            let names = store.names();
            if names.iter().any(|name| name == "notes") {
                assert_eq!(
                    names,
                    [".live", "meta.json", "notes", "spans.jsonl"],
                    "its own files go last"
                );
            }
            // It can be tried again.
            remove_run(&store.run).unwrap();
            assert_eq!(fs::read_dir(runs).unwrap().count(), 0);
        },
    );
}

#[test]
fn a_removal_that_was_stopped_leaves_what_is_taken_away_later() {
    let store = interrupted();
    let runs: PathBuf = store.path().parent().unwrap().to_owned();
    fs::rename(store.path(), runs.join(format!(".{RUN}.removed"))).unwrap();
    assert_eq!(remove_leftovers(&runs).unwrap(), 1);
    assert_eq!(fs::read_dir(runs).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_trash_that_is_a_link_is_never_followed() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("20000000000000000000000000000002");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("meta.json"), "kept").unwrap();
    let store = Store::with(&[("meta.json", &meta("ok")), ("spans.jsonl", "")]);
    std::os::unix::fs::symlink(outside.path(), store.data.path().join("trash")).unwrap();
    let runs = crate::RunStore::new(store.data.path());
    let trash = Trash::new(&runs);
    // Whether that is an error or nothing to do: what is outside stays as it is, and so does the run.
    assert!(trash.put(&store.run).is_err());
    let _ = trash.restore("20000000000000000000000000000002".parse().unwrap());
    let _ = trash.empty();
    assert_eq!(store.names(), ["meta.json", "spans.jsonl"]);
    assert_eq!(runs.list().unwrap().len(), 1, "nothing came in");
    assert_eq!(fs::read_to_string(victim.join("meta.json")).unwrap(), "kept");
    assert_eq!(
        fs::read_dir(outside.path()).unwrap().count(),
        1,
        "nothing went out"
    );
}

#[test]
fn a_trash_whose_lock_cannot_be_opened_is_an_error() {
    let store = interrupted();
    fs::create_dir_all(store.data.path().join("trash/.lock")).unwrap();
    let trash = Trash::new(&crate::RunStore::new(store.data.path()));
    assert!(matches!(trash.empty(), Err(MaintenanceError::Io { .. })));
}

fn rename(
    store: &Store,
    name: &str,
    disk: &dyn tracer_sdk::disk::FileSystem,
) -> Result<String, MaintenanceError> {
    let redactor = Redactor::of_process(&Settings::with_data_dir(store.data.path()));
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
    assert_eq!(directory_bytes(store.path()), 12);
    remove_run(&store.run).unwrap();
    assert!(!store.path().exists());
}
