//! What a panic said, kept for the run that it ends: a hook that notes it and calls the hook that was there before.
//!
//! A note belongs to the unwinding that its panic started. `resume_unwind` starts one without a hook, so that a note may be
//! of a panic that was caught long ago. Where this SDK calls the user's code it sees the payload itself. A guard that is
//! dropped does not: it takes the note only if nothing else can have happened, and otherwise knows no more than that the
//! thread panicked.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::context::Context;
use super::error::ErrorInfo;
use super::recording::Recording;
use super::run_state::RunState;

/// The error type of a panic.
const PANIC: &str = "panic";

/// How many panics this process has had.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// A panic that this thread is unwinding from.
#[derive(Debug, Clone)]
pub(crate) struct Panic {
    pub(crate) error: ErrorInfo,
    /// When it happened: printing and unwinding take a while.
    pub(crate) at: Instant,
}

struct Note {
    panic: Panic,
    /// Captured cheaply; resolved to names only when a run really ended by this panic, and then once.
    backtrace: Option<Backtrace>,
    origin: Origin,
    /// How many panics other threads had had when the hooks were done.
    panics_of_others: u64,
}

/// How much is known of the unwinding that a note belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Its payload was seen.
    Seen,
    /// The thread had no other note.
    Only,
    /// The thread had another note: this panic may be one within a destructor, which is caught there.
    Unclear,
}

thread_local! {
    static LAST: Cell<Option<Note>> = const { Cell::new(None) };
    /// How many panics this thread has had.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// How many panics other threads have had.
fn panics_of_others() -> u64 {
    let own = OWN.try_with(Cell::get).unwrap_or(0);
    PANICS.load(Ordering::Relaxed).saturating_sub(own)
}

/// This thread is not unwinding: whatever panicked before was caught.
pub(crate) fn forget() {
    if PANICS.load(Ordering::Relaxed) > 0 && !std::thread::panicking() {
        let _ = LAST.try_with(Cell::take);
    }
}

/// Whether the frames of a panic are resolved to names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frames {
    Resolved,
    LeftOut,
}

/// The beginning of something that a panic may end.
#[derive(Debug)]
pub(crate) struct Watch {
    panicking: bool,
    panics_of_run: u64,
    panics_of_thread: u64,
}

impl Watch {
    /// From now on, for what belongs to a run.
    pub(crate) fn start(run: &RunState) -> Self {
        forget();
        Self {
            panicking: std::thread::panicking(),
            panics_of_run: run.panics.load(Ordering::Relaxed),
            panics_of_thread: OWN.try_with(Cell::get).unwrap_or(0),
        }
    }

    /// The panic that has begun since and that this thread is unwinding from. Its frames are for what ends a run:
    /// resolving them takes tens of milliseconds, which a program that goes on must not wait for.
    pub(crate) fn panic(&self, run: &RunState, frames: Frames) -> Option<Panic> {
        if self.panicking || !std::thread::panicking() {
            return None;
        }
        let in_run = run
            .panics
            .load(Ordering::Relaxed)
            .saturating_sub(self.panics_of_run);
        let own = OWN
            .try_with(Cell::get)
            .unwrap_or(0)
            .saturating_sub(self.panics_of_thread);
        let is_believed = |note: &Note| match note.origin {
            Origin::Seen => true,
            // The payload of another thread may be the one that is resumed here: of one that worked for this run, or of
            // one that panicked since.
            Origin::Only => in_run <= own && note.panics_of_others == panics_of_others(),
            Origin::Unclear => false,
        };
        Some(last_panic(is_believed, frames))
    }
}

/// Runs the user's code, and sees the payload of a panic that leaves it.
#[inline]
pub(crate) fn watched<R>(work: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        see(payload.as_ref());
        resume_unwind(payload)
    })
}

/// The thread unwinds with this payload, whatever it panicked of before.
fn see(payload: &(dyn Any + Send)) {
    let Some(message) = text_of(payload) else { return };
    let _ = LAST.try_with(|last| {
        let note = last
            .take()
            .filter(|note| note.panic.error.message == message)
            .unwrap_or_else(|| Note {
                panic: Panic::now(message),
                backtrace: None,
                origin: Origin::Seen,
                panics_of_others: 0,
            });
        last.set(Some(Note {
            origin: Origin::Seen,
            ..note
        }));
    });
}

impl Panic {
    fn now(message: &str) -> Self {
        Self {
            error: ErrorInfo::new(PANIC, message),
            at: Instant::now(),
        }
    }
}

/// What a panic said, if it was text.
fn text_of(payload: &(dyn Any + Send)) -> Option<&str> {
    match payload.downcast_ref::<&str>() {
        Some(text) => Some(text),
        None => payload.downcast_ref::<String>().map(String::as_str),
    }
}

/// Chains the hook, once per process.
pub(crate) fn install_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // The standard library refuses to change hooks on a thread that is panicking.
    if std::thread::panicking() {
        return;
    }
    // Nobody waits for the thread that does it: in a forked child it may be gone.
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        note(info);
        previous(info);
        // To print takes a while, in which others panic.
        let _ = LAST.try_with(|last| {
            let note = last.take().map(|note| Note {
                panics_of_others: panics_of_others(),
                ..note
            });
            last.set(note);
        });
    }));
}

fn note(info: &PanicHookInfo<'_>) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    let _ = OWN.try_with(|own| own.set(own.get() + 1));
    // A panic in the user's code that a recorder called is caught by the recorder.
    let Some(_recording) = Recording::enter() else {
        return;
    };
    let Some(context) = Context::of_thread() else {
        return;
    };
    context.run.panics.fetch_add(1, Ordering::Relaxed);
    let mut panic = Panic::now(text_of(info.payload()).unwrap_or("a panic whose payload is not text"));
    if let Some(place) = info.location() {
        panic.error = panic.error.at(place);
    }
    let backtrace = Some(Backtrace::force_capture());
    let _ = LAST.try_with(|last| {
        let origin = match last.take() {
            None => Origin::Only,
            Some(_) => Origin::Unclear,
        };
        last.set(Some(Note {
            panic,
            backtrace,
            origin,
            panics_of_others: panics_of_others(),
        }));
    });
    if cfg!(panic = "abort") {
        // Nothing unwinds: this is the last moment to end the run, and this panic is the one that ends it.
        let end = context.run.clock.now();
        context
            .run
            .end_aborted(last_panic(|_| true, Frames::Resolved).error, end);
    }
}

/// What is noted of the panic that this thread is unwinding from, if the note may be believed. It may end several spans,
/// and the run around them.
fn last_panic(is_believed: impl FnOnce(&Note) -> bool, frames: Frames) -> Panic {
    let note = LAST.try_with(Cell::take).ok().flatten();
    let Some(mut note) = note.filter(is_believed) else {
        // Or the program replaced the hook.
        return Panic::now("the thread panicked");
    };
    let backtrace = match frames {
        Frames::Resolved => note.backtrace.take(),
        Frames::LeftOut => None,
    };
    if let Some(frames) = backtrace.and_then(|backtrace| program_frames(&backtrace.to_string())) {
        let stack = note.panic.error.stack.get_or_insert_default();
        if !stack.is_empty() {
            stack.push('\n');
        }
        stack.push_str(&frames);
    }
    let panic = note.panic.clone();
    let _ = LAST.try_with(|last| last.set(Some(note)));
    panic
}

/// How many lines of frames are kept.
const MAX_LINES: usize = 60;

/// The frames of the program: what lies above them belongs to panicking itself, and what lies below to the runtime.
fn program_frames(backtrace: &str) -> Option<String> {
    const MACHINERY: [&str; 5] = [
        "core::panicking::",
        "std::panicking::",
        "rust_begin_unwind",
        "core::option::",
        "core::result::",
    ];
    let is_place = |line: &str| line.trim_start().starts_with("at ");
    let frames = backtrace
        .lines()
        .skip_while(|line| !line.contains("core::panicking::"))
        .skip_while(|line| is_place(line) || MACHINERY.iter().any(|part| line.contains(part)))
        .take_while(|line| !line.contains("__rust_begin_short_backtrace"))
        .take(MAX_LINES);
    let text: Vec<&str> = frames.collect();
    (!text.is_empty()).then(|| text.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_frames_of_the_program_are_kept() {
        let backtrace = "   0: std::backtrace::Backtrace::force_capture\n   1: core::panicking::panic_fmt\n             \
             at library/core/panicking.rs:80:14\n   2: agent::answer\n             at src/main.rs:9:5\n   \
             3: std::sys::backtrace::__rust_begin_short_backtrace\n   4: main";
        let kept = program_frames(backtrace).unwrap();
        assert_eq!(kept, "   2: agent::answer\n             at src/main.rs:9:5");
    }
}
