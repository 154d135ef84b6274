//! Threads for reading many runs at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cancel::CancelToken;

/// Runs that a thread reads before it takes more: few, so that all threads together go through the disk in order.
const RUNS_PER_TURN: usize = 8;
/// Runs that make another thread worth its start.
const RUNS_PER_READER: usize = 64;
/// A disk answers many questions at once, and a reader of small files does nothing but wait for it: more threads than
/// there are processors; four times as many gained nothing. Each has one file open, and a process may have few: on some
/// systems 256.
pub(super) const MAX_READERS: usize = 32;

/// Number of additional reader threads, across all lists that are made at the same time: they share the process's limit
/// of open files.
static READERS: AtomicUsize = AtomicUsize::new(0);

/// One of these threads.
pub(super) struct ReaderThread;

impl ReaderThread {
    /// One more, unless there are as many as there may be.
    pub(super) fn take() -> Option<Self> {
        let more = |readers| (readers < MAX_READERS).then_some(readers + 1);
        let taken = READERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self)
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Relaxed);
    }
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
        for reader in (1..readers).map_while(|_| ReaderThread::take()) {
            // Without another thread, this one reads alone.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                let _reader = reader;
                called_off_too();
            });
        }
        turns();
    });
}
