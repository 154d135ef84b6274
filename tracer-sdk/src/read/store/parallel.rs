//! Threads for reading the metadata of many runs at once.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::UNIX_EPOCH;

use super::summary::{RunDirectory, RunSummary};
use crate::format::{Timestamp, TraceId};
use crate::process::Mutex;
use crate::read::cancel::CancelToken;

/// A run and when it started, or else when its directory was last changed.
pub(super) type Placed = (Option<Timestamp>, RunSummary);

/// Runs that a thread reads before it takes more: few, so that all threads together go through the disk in order.
const RUNS_PER_TURN: usize = 8;
/// Runs that make another thread worth its start.
const RUNS_PER_READER: usize = 64;
/// A disk answers many questions at once, and a reader of small files does nothing but wait for it: more threads than
/// there are processors; four times as many gained nothing. Each has one file open, and a process may have few: on some
/// systems 256.
pub(super) const MAX_READERS: usize = 32;

/// How many more threads read, for all lists that are made at the same time: what a process may open is for all of them.
static READERS: AtomicUsize = AtomicUsize::new(0);

/// One of these threads.
pub(super) struct Reader;

impl Reader {
    /// One more, unless there are as many as there may be.
    pub(super) fn take() -> Option<Self> {
        let more = |readers| (readers < MAX_READERS).then_some(readers + 1);
        let taken = READERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the metadata of every run, in several threads when there are many; in no order.
pub(super) fn read_all(runs_dir: &Path, entries: &[(u64, TraceId)]) -> Vec<Placed> {
    let placed = |(_, trace_id): &(u64, TraceId)| {
        let run = RunDirectory::in_folder(runs_dir, *trace_id).read_summary();
        (run.started().or_else(|| changed(&run.directory.path)), run)
    };
    let done = Mutex::new(Vec::with_capacity(entries.len()));
    in_turns(entries, |taken| {
        let mut read: Vec<Placed> = taken.iter().map(placed).collect();
        done.lock().append(&mut read);
    });
    done.into_inner()
}

/// Works on a few items after the other, in several threads when there are many.
pub(super) fn in_turns<Item: Sync>(items: &[Item], work: impl Fn(&[Item]) + Sync) {
    let readers = items.len().div_ceil(RUNS_PER_READER).min(MAX_READERS);
    let next = AtomicUsize::new(0);
    let turns = || {
        loop {
            let start = next.fetch_add(RUNS_PER_TURN, Ordering::Relaxed);
            let end = items.len().min(start.saturating_add(RUNS_PER_TURN));
            match items.get(start..end).filter(|taken| !taken.is_empty()) {
                Some(taken) => work(taken),
                None => break,
            }
        }
    };
    let call_off = CancelToken::current();
    let called_off_too = || match &call_off {
        Some(call_off) => call_off.within(turns),
        None => turns(),
    };
    thread::scope(|scope| {
        for reader in (1..readers).map_while(|_| Reader::take()) {
            // Without another thread, this one reads alone.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                let _reader = reader;
                called_off_too();
            });
        }
        turns();
    });
}

/// When a directory was last changed.
fn changed(path: &Path) -> Option<Timestamp> {
    let since = fs::metadata(path)
        .ok()?
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?;
    Some(Timestamp::from_unix_microseconds(
        i64::try_from(since.as_micros()).ok()?,
    ))
}
