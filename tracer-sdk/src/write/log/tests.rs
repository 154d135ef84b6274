//! Tests of the log that several processes share: who waits, who gives up, and what never lands behind the end; and of what
//! is made of a write that failed.

use super::super::faulty::{Fault, Faulty, Hook, Operation};
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

#[test]
fn a_line_waits_while_another_process_keeps_the_lock_and_only_the_first_one_takes_its_time() {
    let memory = memory();
    let disk = Faulty::new(Arc::new(memory.clone()));
    let mut log = shared_log(&(Arc::new(disk.clone()) as Arc<dyn FileSystem>));
    let lock_tries = || {
        let mut operations = disk.operations();
        operations.retain(|operation| *operation == Operation::Lock);
        operations.len()
    };
    let other = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
    assert!(other.try_lock().unwrap());
    assert_eq!(outcome(&log.append(b"one\n")), (0, None));
    assert_eq!(lock_tries(), MAX_LOCK_TRIES);
    assert_eq!(outcome(&log.append(b"two\n")), (0, None));
    assert_eq!(lock_tries(), MAX_LOCK_TRIES + 1, "a stopped process stops nobody");
    assert_eq!(text(&memory), "");
    other.unlock().unwrap();
    assert_eq!(outcome(&log.append(b"three\n")), (3, None));
    assert_eq!(text(&memory), "one\ntwo\nthree\n");
}

#[test]
fn lines_that_still_wait_for_the_lock_at_the_end_are_lost_and_counted() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    let other = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
    assert!(other.try_lock().unwrap());
    log.append(b"one\n");
    log.append(b"two\n");
    let (written, lost) = outcome(&log.flush_or_lose());
    assert_eq!(
        (written, lost),
        (
            0,
            Some((2, "another process keeps the lock of the run's log".to_owned()))
        )
    );
    assert_eq!(text(&memory), "");
}

#[test]
fn whoever_ends_the_run_does_not_depend_on_the_lock() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    let other = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
    assert!(other.try_lock().unwrap());
    log.append(b"one\n");
    log.lock_to_end();
    assert_eq!(outcome(&log.flush()), (1, None));
    log.append_now(b"root\n").unwrap();
    assert_eq!(text(&memory), "one\nroot\n");
}

#[test]
fn without_the_lock_nothing_is_appended_to_half_a_line() {
    let memory = memory();
    let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
    let mut other = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
    assert!(other.try_lock().unwrap());
    other.write(b"half a li").unwrap();
    log.lock_to_end();
    assert!(log.append_now(b"root\n").is_err());
    assert_eq!(text(&memory), "half a li");
    other.unlock().unwrap();
    log.append_now(b"root\n").unwrap();
    assert_eq!(text(&memory), "root\n");
}

#[test]
fn nothing_is_appended_once_the_run_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let [live, meta] = [".live", "meta.json"].map(|name| folder.path().join(name));
    std::fs::write(&live, "").unwrap();
    std::fs::write(&meta, r#"{"status": "running", "counts": {}}"#).unwrap();
    for owner in [Owner::Live(live.clone()), Owner::Meta(meta.clone())] {
        let memory = memory();
        let mut log = shared_log(&(Arc::new(memory.clone()) as Arc<dyn FileSystem>));
        log.set_owner(owner);
        assert_eq!(outcome(&log.append(b"one\n")), (1, None));
        let _ = std::fs::remove_file(&live);
        std::fs::write(&meta, r#"{"status": "ok"}"#).unwrap();
        let ended = Some((1, "the run has ended".to_owned()));
        assert_eq!(outcome(&log.append(b"two\n")), (0, ended));
        assert_eq!(text(&memory), "one\n");
        std::fs::write(&meta, r#"{"status": "running", "counts": {}}"#).unwrap();
    }
}

#[test]
fn a_line_that_came_to_lie_behind_the_end_is_taken_back_and_one_before_it_stays() {
    for root_comes_first in [true, false] {
        late_line(root_comes_first);
    }
}

/// A process is stopped right before its write, or right after it, and meanwhile the run ends without its lock.
fn late_line(root_comes_first: bool) {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join(".live");
    std::fs::write(&live, "").unwrap();
    let memory = memory();
    let end = Hook(Arc::new({
        let (memory, live) = (memory.clone(), live.clone());
        move |_: &[u8]| {
            let mut file = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
            file.write(b"root\n").unwrap();
            std::fs::remove_file(&live).unwrap();
        }
    }));
    let mut disk = Faulty::new(Arc::new(memory.clone()));
    if root_comes_first {
        disk.before_write = end;
    } else {
        disk.after_write = end;
    }
    let mut log = shared_log(&(Arc::new(disk) as Arc<dyn FileSystem>));
    log.set_owner(Owner::Live(live));
    let (written, lost) = outcome(&log.append(b"late\n"));
    let lost = lost.map(|(lines, _)| lines);
    if root_comes_first {
        assert_eq!((written, lost), (0, Some(1)));
        assert_eq!(text(&memory), "root\n");
    } else {
        // Whoever ended the run counts it: the log has grown since it was read.
        assert_eq!((written, lost), (1, None));
        assert_eq!(text(&memory), "late\nroot\n");
    }
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

#[test]
fn half_a_line_is_cut_off_only_under_the_lock() {
    let locked_by_another = || {
        let memory = memory();
        let mut other = memory.open(Path::new(LOG), OpenMode::Append).unwrap();
        assert!(other.try_lock().unwrap());
        other.write(b"zero\n").unwrap();
        (memory, other)
    };
    let ending = |disk: &Arc<dyn FileSystem>| {
        let mut log = shared_log(disk);
        log.lock_to_end();
        log
    };
    let (memory, _other) = locked_by_another();
    let counting = Faulty::new(Arc::new(memory));
    let disk: Arc<dyn FileSystem> = Arc::new(counting.clone());
    ending(&disk).write(LINES).unwrap();
    let write = position_of_write(&counting);

    let (memory, other) = locked_by_another();
    let mut log = ending(&failing(&memory, &[(write, Fault::ShortWrite)]));
    assert_eq!(log.write(LINES).unwrap_err().kept, "one\n".len());
    assert_eq!(text(&memory), "zero\none\ntwo");
    other.unlock().unwrap();
    log.write(b"four\n").unwrap();
    assert_eq!(text(&memory), "zero\none\nfour\n");
}
