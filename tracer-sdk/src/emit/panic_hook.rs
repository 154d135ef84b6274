//! The panic hook: it notes what a panic said for the run that it ends, and calls the hook that was there before.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::Context;
use super::panic::{self, Panic, text_of};
use super::recording::RecordingGuard;

/// Chains the hook, once per process.
pub(crate) fn install_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // The standard library refuses to change hooks on a thread that is panicking.
    if std::thread::panicking() {
        return;
    }
    // No thread waits for the one that does it: in a forked child it may be gone.
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        note_for_run(info);
        previous(info);
        panic::hooks_done();
    }));
}

fn note_for_run(info: &PanicHookInfo<'_>) {
    panic::count_panic();
    // A panic in the user's code that a recorder called is caught by the recorder.
    let Some(_recording) = RecordingGuard::enter() else {
        return;
    };
    let Some(context) = Context::of_thread() else {
        return;
    };
    context.run.count_panic();
    let mut panic = Panic::now(text_of(info.payload()));
    if let Some(place) = info.location() {
        // As the places of other errors are written: without the column.
        panic.error = panic.error.at(format_args!("{}:{}", place.file(), place.line()));
    }
    panic::note(panic, Backtrace::force_capture());
    if cfg!(panic = "abort") {
        // Nothing unwinds: this is the last moment to end the run, and this panic is the one that ends it.
        let end = context.run.clock.now();
        context.run.end(Some(panic::aborting_panic().error), end);
    }
}
