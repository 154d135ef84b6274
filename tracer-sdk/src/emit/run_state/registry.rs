//! The runs that are live in this process, for threads without a context of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::RunState;
use crate::emit::unattached;
use crate::emit::warning::warn_once;
use crate::process::{OwnLock, PerProcess};

/// The runs of this process: those of its parent do not live in a forked child.
static LIVE: PerProcess<Live> = PerProcess::new(|process| Live {
    runs: OwnLock::new(process, Vec::new()),
    count: AtomicU64::new(0),
});

struct Live {
    runs: OwnLock<Vec<Weak<RunState>>>,
    /// Number of live runs, so that a thread without a run finds out without taking the lock.
    count: AtomicU64,
}

impl Live {
    fn change(&self, change: impl FnOnce(&mut Vec<Weak<RunState>>)) {
        if let Some(mut runs) = self.runs.lock() {
            change(&mut runs);
            self.count.store(runs.len() as u64, Ordering::Release);
        }
    }
}

/// Adds a run that threads without a context may attach to.
pub(crate) fn add(run: &Arc<RunState>) {
    let run = Arc::downgrade(run);
    LIVE.get().change(|runs| runs.push(run));
}

/// Takes a run out when it ends.
pub(crate) fn remove(run: &RunState) {
    LIVE.get().change(|runs| {
        runs.retain(|candidate| candidate.strong_count() > 0 && !std::ptr::eq(candidate.as_ptr(), run));
    });
}

/// The run of this process, when exactly one is live.
pub(crate) fn only_live_run() -> Option<Arc<RunState>> {
    let live = LIVE.existing()?;
    if live.count.load(Ordering::Acquire) != 1 {
        return None;
    }
    match live.runs.lock()?.as_slice() {
        [only] => only.upgrade(),
        _ => None,
    }
}

/// The live runs whose spans wait in batches.
pub(crate) fn batched_runs() -> Vec<Arc<RunState>> {
    let Some(runs) = LIVE.get().runs.lock() else {
        return Vec::new();
    };
    let runs = runs.iter().filter_map(Weak::upgrade);
    runs.filter(|run| run.is_batched()).collect()
}

/// Holds the lock, for tests.
#[cfg(test)]
pub(crate) fn hold() -> Option<impl Drop> {
    LIVE.get().runs.lock()
}

/// Counts a record of a thread or task that no run was given to. While several runs are live, it is lost to one of them,
/// which is warned of; outside of every run recording does nothing, and that is no mistake.
pub(crate) fn count_without_run() {
    unattached::count();
    let live = LIVE
        .existing()
        .map_or(0, |live| live.count.load(Ordering::Acquire));
    if live > 1 {
        unattached::count_ambiguous();
        warn_once(&format_args!(
            "a record found no run: {live} runs are live, and this thread or task was given none of them; spawn it with \
             `.in_current_run()`, or wrap its closure with `Context::wrap`"
        ));
    }
}
