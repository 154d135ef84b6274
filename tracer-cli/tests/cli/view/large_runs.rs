//! Large runs: their indexes are kept, and believed only while their logs are the same.

use std::fs::{self, File};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::sandbox::{FIRST, Sandbox, meta, spans};

use super::client::{PATIENCE, Viewer};

/// A run with a log of 17 MB, most of them blank.
fn large_run() -> Sandbox {
    let sandbox = Sandbox::new();
    let blank = (" ".repeat(65_535) + "\n").repeat(260);
    let log = blank + &spans(FIRST, "agent", 1, "ok");
    sandbox.files(FIRST, &meta(FIRST, "agent", 1, "ok").to_string(), &log);
    // A log that was changed just before it is read may change again without a trace, and its index is not kept.
    thread::sleep(Duration::from_millis(300));
    sandbox
}

/// What a viewer that has just started says of the run.
fn answers(sandbox: &Sandbox) -> Vec<Vec<u8>> {
    let viewer = Viewer::start(sandbox);
    ["overview", "columns", "rows?from=1&limit=3", "transcript"]
        .iter()
        .map(|part| {
            let answer = viewer.get(&format!("/api/runs/{FIRST}/{part}"));
            assert_eq!(answer.status, 200, "{part}: {answer:?}");
            answer.body
        })
        .collect()
}

fn index(sandbox: &Sandbox) -> PathBuf {
    sandbox.data_dir().join(format!("cache/indexes/{FIRST}.index"))
}

/// A sandbox whose run has a kept index, and what was answered without.
fn with_kept_index() -> (Sandbox, Vec<Vec<u8>>) {
    let sandbox = large_run();
    let viewer = Viewer::start(&sandbox);
    let overview = format!("/api/runs/{FIRST}/overview");
    assert_eq!(viewer.get(&overview).status, 200);
    let began = SystemTime::now();
    while !index(&sandbox).is_file() {
        assert!(began.elapsed().unwrap() < PATIENCE, "its index is not kept");
        thread::sleep(Duration::from_millis(20));
    }
    drop(viewer);
    let kept = index(&sandbox);
    let aside = kept.with_extension("aside");
    fs::rename(&kept, &aside).unwrap();
    let expected = answers(&sandbox);
    fs::rename(&aside, &kept).unwrap();
    (sandbox, expected)
}

#[test]
fn a_large_run_is_opened_by_its_kept_index_after_a_restart() {
    let (sandbox, expected) = with_kept_index();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    // A file that is written anew is another one; one that is used is marked as used.
    let file = File::options().write(true).open(index(&sandbox)).unwrap();
    file.set_modified(long_ago).unwrap();
    assert_eq!(answers(&sandbox), expected);
    assert_ne!(file.metadata().unwrap().modified().unwrap(), long_ago);
    let deleted = sandbox.tracer(&["delete", "--yes", FIRST]);
    assert_eq!(deleted.code, Some(0));
    assert!(!index(&sandbox).exists());
}

#[test]
fn a_kept_index_that_is_wrong_costs_time_only() {
    let (sandbox, expected) = with_kept_index();
    let kept = fs::read(index(&sandbox)).unwrap();
    let mut changed = kept.clone();
    changed[kept.len() / 2] ^= 1;
    for wrong in [&kept[..kept.len() / 2], &changed, b"", b"no index"] {
        fs::write(index(&sandbox), wrong).unwrap();
        assert_eq!(answers(&sandbox), expected);
    }
    // The log is another one.
    fs::write(index(&sandbox), &kept).unwrap();
    let log = sandbox.run_dir(FIRST).join("spans.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("search_kb", "search_db")).unwrap();
    let changed = answers(&sandbox);
    assert_ne!(changed, expected);
    fs::remove_dir_all(sandbox.data_dir().join("cache")).unwrap();
    assert_eq!(answers(&sandbox), changed);
}
