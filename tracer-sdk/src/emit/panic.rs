//! Message of a panic, kept for the run that it ends.
//!
//! A note belongs to the unwinding that its panic started. `resume_unwind` starts one without a hook, so that a note may be
//! of a panic that was caught long ago. Where this SDK calls the user's code it sees the payload itself. A guard that is
//! dropped does not: it takes the note only if nothing else can have happened, and otherwise knows no more than that the
//! thread panicked.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::error::ErrorInfo;

/// The error type of a panic.
const PANIC: &str = "panic";

/// Number of panics of this process.
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
    origin: UnwindingOrigin,
    /// Number of panics of other threads when the hooks were done.
    panics_of_others: u64,
}

/// Certainty about the unwinding that a note belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnwindingOrigin {
    /// Its payload was seen.
    Seen,
    /// The thread had no other note.
    Only,
    /// The thread had another note: this panic may be one within a destructor, which is caught there.
    Unclear,
}

thread_local! {
    static LAST: Cell<Option<Note>> = const { Cell::new(None) };
    /// Number of panics of this thread.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// Number of panics of other threads.
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

/// Resolution of a panic's frames to names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameNames {
    Resolved,
    LeftOut,
}

/// The beginning of something that a panic may end.
#[derive(Debug)]
pub(crate) struct PanicWatch {
    panicking: bool,
    panics_of_run: u64,
    panics_of_thread: u64,
}

impl PanicWatch {
    /// From now on, for what belongs to a run whose threads have had this many panics.
    pub(crate) fn start(panics_of_run: u64) -> Self {
        forget();
        Self {
            panicking: std::thread::panicking(),
            panics_of_run,
            panics_of_thread: OWN.try_with(Cell::get).unwrap_or(0),
        }
    }

    /// The panic that has begun since and that this thread is unwinding from. Its frames are for what ends a run:
    /// resolving them takes tens of milliseconds, which a program that continues must not wait for.
    pub(crate) fn panic(&self, panics_of_run: u64, frames: FrameNames) -> Option<Panic> {
        if self.panicking || !std::thread::panicking() {
            return None;
        }
        let in_run = panics_of_run.saturating_sub(self.panics_of_run);
        let own = OWN
            .try_with(Cell::get)
            .unwrap_or(0)
            .saturating_sub(self.panics_of_thread);
        let is_believed = |note: &Note| match note.origin {
            UnwindingOrigin::Seen => true,
            // The payload of another thread may be the one that is resumed here: of one that worked for this run, or of
            // one that panicked since.
            UnwindingOrigin::Only => in_run <= own && note.panics_of_others == panics_of_others(),
            UnwindingOrigin::Unclear => false,
        };
        Some(last_panic(is_believed, frames))
    }
}

/// The panic that this thread is unwinding from, for what does not know when it began. Its frames are not resolved.
#[cfg(feature = "tracing")]
pub(crate) fn unwinding() -> Option<Panic> {
    let is_believed = |note: &Note| match note.origin {
        UnwindingOrigin::Seen => true,
        UnwindingOrigin::Only => note.panics_of_others == panics_of_others(),
        UnwindingOrigin::Unclear => false,
    };
    std::thread::panicking().then(|| last_panic(is_believed, FrameNames::LeftOut))
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
    let message = text_of(payload);
    let _ = LAST.try_with(|last| {
        let note = last
            .take()
            .filter(|note| note.panic.error.message == message)
            .unwrap_or_else(|| Note {
                panic: Panic::now(message),
                backtrace: None,
                origin: UnwindingOrigin::Seen,
                panics_of_others: 0,
            });
        last.set(Some(Note {
            origin: UnwindingOrigin::Seen,
            ..note
        }));
    });
}

impl Panic {
    pub(super) fn now(message: &str) -> Self {
        Self {
            error: ErrorInfo::new(PANIC, message),
            at: Instant::now(),
        }
    }
}

/// Message of a panic: its payload, if that is text.
pub(super) fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => Some(*text),
        None => payload.downcast_ref::<String>().map(String::as_str),
    };
    text.unwrap_or("a panic whose payload is not text")
}

/// Counts a panic of this thread.
pub(super) fn count_panic() {
    PANICS.fetch_add(1, Ordering::Relaxed);
    let _ = OWN.try_with(|own| own.set(own.get() + 1));
}

/// Notes a panic of this thread, whose frames are not resolved yet.
pub(super) fn note(panic: Panic, backtrace: Backtrace) {
    let _ = LAST.try_with(|last| {
        let origin = match last.take() {
            None => UnwindingOrigin::Only,
            Some(_) => UnwindingOrigin::Unclear,
        };
        last.set(Some(Note {
            panic,
            backtrace: Some(backtrace),
            origin,
            panics_of_others: panics_of_others(),
        }));
    });
}

/// The hooks of a panic are done: while one prints, others panic.
pub(super) fn hooks_done() {
    let _ = LAST.try_with(|last| {
        let note = last.take().map(|note| Note {
            panics_of_others: panics_of_others(),
            ..note
        });
        last.set(note);
    });
}

/// The panic that the program is about to abort with.
pub(super) fn aborting_panic() -> Panic {
    last_panic(|_| true, FrameNames::Resolved)
}

/// The panic that this thread is unwinding from, as noted if the note may be believed. It may end several spans, and
/// the run around them.
fn last_panic(is_believed: impl FnOnce(&Note) -> bool, frames: FrameNames) -> Panic {
    let note = LAST.try_with(Cell::take).ok().flatten();
    let Some(mut note) = note.filter(is_believed) else {
        // Or the program replaced the hook.
        return Panic::now("the thread panicked");
    };
    let backtrace = match frames {
        FrameNames::Resolved => note.backtrace.take(),
        FrameNames::LeftOut => None,
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

/// Maximum number of frame lines that are kept.
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
