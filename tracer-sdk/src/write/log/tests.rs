//! Tests of the log that several processes share, and of writes that fail.

use super::super::faulty::{Fault, Faulty, Operation};
use super::super::memory::Memory;
use super::*;
use std::path::Path;

const LOG: &str = "/runs/spans.jsonl";

fn memory() -> Memory {
    let memory = Memory::new();
    memory.create_directories(Path::new("/runs")).unwrap();
    memory
}

fn shared_log(file_system: &Arc<dyn FileSystem>) -> SpanLog {
    let mut log = SpanLog::new(Arc::clone(file_system), LOG.into(), None);
    log.share();
    log
}

fn text(memory: &Memory) -> String {
    String::from_utf8(memory.read(Path::new(LOG)).unwrap_or_default()).unwrap()
}

/// How many lines were written, how many are lost, and why.
fn outcome(appended: &AppendOutcome) -> (u64, Option<(u64, String)>) {
    let lost = appended.lost.as_ref();
    (
        appended.written,
        lost.map(|(lines, error)| (*lines, error.to_string())),
    )
}

/// A second process that appends to the log.
fn other(memory: &Memory) -> Box<dyn OpenFile> {
    memory.open(Path::new(LOG), OpenMode::Append).unwrap()
}

#[test]
fn nobody_waits_for_a_process_that_keeps_the_lock_of_the_log() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    let other = other(&memory);
    assert!(other.try_lock().unwrap());
    assert_eq!(outcome(&log.append(b"one\n")), (1, None));
    assert_eq!(text(&memory), "one\n");
}

#[test]
fn behind_a_line_of_another_process_an_append_begins_with_a_newline() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    assert_eq!(outcome(&log.append(b"one\n")), (1, None));
    assert!(!log.has_changed());
    other(&memory).write(b"two\n").unwrap();
    assert!(log.has_changed());
    for line in [b"three\n", b"four!\n"] {
        assert_eq!(outcome(&log.append(line)), (1, None));
    }
    assert_eq!(text(&memory), "one\ntwo\n\nthree\nfour!\n");
    assert!(log.has_changed() && !log.was_cut());
}

#[test]
fn the_torn_line_of_a_process_that_was_killed_becomes_blanks() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    log.append(b"one\n");
    other(&memory).write(b"two\nhalf a li").unwrap();
    assert_eq!(outcome(&log.append(b"three\n")), (1, None));
    assert_eq!(text(&memory), "one\ntwo\n        \n\nthree\n");
}

#[test]
fn a_log_that_was_cut_is_not_taken_for_one_that_others_wrote_into() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    log.append(b"one\n");
    other(&memory).cut(0).unwrap();
    assert!(log.was_cut());
    log.append(b"two, which is longer\n");
    assert!(log.was_cut(), "it stays so");
}

#[test]
fn a_short_write_beside_others_leaves_whole_lines() {
    let count = Faulty::new(Arc::new(memory()));
    shared_log(&(Arc::new(count.clone()) as Arc<dyn FileSystem>))
        .write(LINES)
        .unwrap();
    let write = position_of_write(&count);
    for (fault, kept, left) in [
        (Fault::ShortWrite, "one\n".len(), "zero\n\none\n \n"),
        (Fault::TornWrite(EIO), "one\n".len(), "zero\n\none\n \n"),
    ] {
        let memory = memory();
        other(&memory).write(b"zero\n").unwrap();
        let mut log = shared_log(&failing(&memory, &[(write, fault)]));
        assert_eq!(log.write(LINES).unwrap_err().kept, kept);
        assert_eq!(text(&memory), left);
        log.mend().unwrap();
        log.write(b"four\n").unwrap();
        let lines = text(&memory);
        let lines: Vec<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines, ["zero", "one", "four"], "{fault:?}");
    }
}

#[test]
fn a_process_that_joined_sees_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let [live, meta] = [".live", "meta.json"].map(|name| folder.path().join(name));
    std::fs::write(&live, "").unwrap();
    std::fs::write(&meta, r#"{"status": "running", "counts": {}}"#).unwrap();
    let disk: Arc<dyn FileSystem> = Arc::new(memory());
    let [mut by_live, mut by_meta] = [(); 2].map(|()| shared_log(&disk));
    by_live.set_owner(Owner::Live(live.clone()));
    by_meta.set_owner(Owner::Meta(meta.clone()));
    assert!(!by_live.has_run_ended() && !by_meta.has_run_ended());
    std::fs::remove_file(&live).unwrap();
    std::fs::write(&meta, r#"{"status": "ok"}"#).unwrap();
    assert!(by_live.has_run_ended() && by_meta.has_run_ended());
}

const EIO: i32 = 5;
const LINES: &[u8] = b"one\ntwo\nthree\n";

/// The position of the first write of a log that others do not share.
fn first_write() -> u64 {
    let counting = Faulty::new(Arc::new(memory()));
    let mut log = SpanLog::new(Arc::new(counting.clone()), LOG.into(), None);
    log.write(LINES).unwrap();
    position_of_write(&counting)
}

fn position_of_write(counting: &Faulty) -> u64 {
    let mut operations = (0..).zip(counting.operations());
    let write = operations.find(|(_, operation)| *operation == Operation::Write);
    write.unwrap().0
}

/// The disk with these faults, each at its operation.
fn failing(memory: &Memory, faults: &[(u64, Fault)]) -> Arc<dyn FileSystem> {
    let mut disk: Arc<dyn FileSystem> = Arc::new(memory.clone());
    for (position, fault) in faults {
        disk = Arc::new(Faulty::new(disk).failing_once(*position, *fault));
    }
    disk
}

/// How many bytes of [`LINES`] a write with these faults keeps, what is in the file then, and after another line.
fn recovered(faults: &[(u64, Fault)]) -> (usize, String, String) {
    let memory = memory();
    let mut log = SpanLog::new(failing(&memory, faults), LOG.into(), None);
    let kept = log.write(LINES).map_or_else(|fault| fault.kept, |()| LINES.len());
    let left = text(&memory);
    log.write(b"four\n").unwrap();
    (kept, left, text(&memory))
}

#[test]
fn the_file_says_which_lines_a_failed_write_left() {
    for (fault, kept) in [
        (Fault::Error(EIO), ""),
        (Fault::ShortWrite, "one\n"),
        (Fault::TornWrite(EIO), "one\n"),
        // All of it is there: nothing is lost, whatever the system said.
        (Fault::FalseError(EIO), "one\ntwo\nthree\n"),
    ] {
        let after = format!("{kept}four\n");
        assert_eq!(
            recovered(&[(first_write(), fault)]),
            (kept.len(), kept.to_owned(), after),
            "{fault:?}"
        );
    }
}

#[test]
fn a_write_that_nobody_can_ask_about_is_lost_and_cut_off() {
    let torn = (first_write(), Fault::TornWrite(EIO));
    let no_length = (first_write() + 1, Fault::Error(EIO));
    assert_eq!(
        recovered(&[torn, no_length]),
        (0, String::new(), "four\n".to_owned())
    );
    // What cannot be cut at once is cut before the next line: the second fault meets the next question.
    assert_eq!(
        recovered(&[torn, no_length, no_length]),
        (0, "one\ntwo".to_owned(), "four\n".to_owned())
    );
}
