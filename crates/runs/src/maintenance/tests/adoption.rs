//! Taking a trial's run into a store.

use std::path::PathBuf;

use super::super::MaintenanceError;
use super::super::adopt::adopt_run_on;
use super::super::remove::remove_leftovers;
use super::*;
use crate::RunStore;
use tracer_format::GateTrial;

fn mark() -> GateTrial {
    GateTrial {
        id: "gate".to_owned(),
        trial: 2,
    }
}

fn own(store: &Store) -> RunStore {
    RunStore::new(store.data.path().join("own"))
}

fn names(folder: PathBuf) -> Vec<String> {
    fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| {
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        },
    )
}

#[test]
fn an_adopted_run_is_the_trials_to_the_letter_but_for_its_mark() {
    let store = interrupted();
    let adopted = adopt_run_on(&store.run, &own(&store), &mark(), &Disk).unwrap();
    for name in ["spans.jsonl", ".live"] {
        assert_eq!(fs::read_to_string(adopted.path.join(name)).ok(), store.read(name));
    }
    let mut meta: Value = serde_json::from_slice(&fs::read(adopted.path.join("meta.json")).unwrap()).unwrap();
    let gate = meta.as_object_mut().unwrap().remove("gate");
    assert_eq!(gate, Some(json!({"id": "gate", "trial": 2})));
    assert_eq!(meta, store.meta());
}

#[test]
fn a_run_of_the_store_is_never_replaced() {
    let store = interrupted();
    adopt_run_on(&store.run, &own(&store), &mark(), &Disk).unwrap();
    let again = adopt_run_on(&store.run, &own(&store), &mark(), &Disk);
    assert!(matches!(again, Err(MaintenanceError::RunExists)), "{again:?}");
}

#[test]
fn damaged_metadata_is_kept_as_it_was_left() {
    let store = Store::with(&[("meta.json", "{\"trace_id\":"), ("spans.jsonl", "")]);
    let adopted = adopt_run_on(&store.run, &own(&store), &mark(), &Disk).unwrap();
    let kept = fs::read_to_string(adopted.path.join("meta.json")).unwrap();
    assert_eq!(kept, "{\"trace_id\":");
}

#[cfg(unix)]
#[test]
fn a_link_in_a_trials_run_is_not_followed() {
    let store = interrupted();
    std::os::unix::fs::symlink("/etc/passwd", store.path().join("secrets")).unwrap();
    let adopted = adopt_run_on(&store.run, &own(&store), &mark(), &Disk).unwrap();
    assert!(adopted.path.join("secrets").symlink_metadata().is_err());
}

#[test]
fn an_adoption_that_fails_anywhere_leaves_the_store_as_it_was() {
    with_every_fault(
        interrupted,
        |store, disk| adopt_run_on(&store.run, &own(store), &mark(), disk).is_ok(),
        |store, done| {
            let runs_dir = own(store).runs_dir();
            if done {
                assert_eq!(names(runs_dir), [RUN]);
            } else {
                // What a disk that fails twice would leave is no run, and is taken away with the leftovers.
                remove_leftovers(&runs_dir).ok();
                assert_eq!(names(runs_dir), Vec::<String>::new());
            }
        },
    );
}
