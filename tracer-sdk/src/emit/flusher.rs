//! The thread that writes what waits in batches while the program does nothing else: the only one that the SDK ever starts,
//! and only where batching was asked for (decisions, section 5).
//!
//! It lives while a batched run does. No other thread waits for it: it ends with the process, a forked child starts its
//! own, and where none can be started what waits is written with the next span.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::Builder;
use std::time::Duration;

use super::recording::RecordingGuard;
use super::run_state::registry;
use crate::settings::BATCH_INTERVAL;

/// The name of the thread.
const NAME: &str = "tracer-flush";
/// Interval of its checks, and the time that a span waits before it is written: both together are the longest wait.
const INTERVAL: Duration = match BATCH_INTERVAL.checked_div(2) {
    Some(half) => half,
    None => BATCH_INTERVAL,
};
/// No process has this number.
const NONE: u32 = 0;

/// The process whose thread is running. A forked child finds its parent's number, because the thread stayed there.
static RUNNING_IN: AtomicU32 = AtomicU32::new(NONE);

/// Starts the thread, unless it is running: called when a batched run has begun.
pub(crate) fn start() {
    if !claim() {
        return;
    }
    if Builder::new()
        .name(NAME.to_owned())
        .spawn(flush_while_needed)
        .is_err()
    {
        RUNNING_IN.store(NONE, Ordering::Release);
    }
}

/// Claims the thread of this process. Returns whether the caller is the one to run it.
fn claim() -> bool {
    let process = std::process::id();
    RUNNING_IN.swap(process, Ordering::AcqRel) != process
}

fn flush_while_needed() {
    // Records that a file system of the program makes meanwhile are dropped.
    let _recording = RecordingGuard::mark();
    loop {
        std::thread::sleep(INTERVAL);
        let runs = registry::batched_runs();
        for run in &runs {
            run.flush_what_waited(INTERVAL);
        }
        if runs.is_empty() {
            RUNNING_IN.store(NONE, Ordering::Release);
            // A run that began meanwhile has found this thread running.
            if registry::batched_runs().is_empty() || !claim() {
                return;
            }
        }
    }
}
