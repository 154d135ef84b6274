//! What a panic said, kept for the run that it ends: a hook that notes it and calls the hook that was there before.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::time::Instant;

use super::context::Context;
use super::error::ErrorInfo;

/// The error type of a panic.
const PANIC: &str = "panic";

/// A panic that this thread is unwinding from.
#[derive(Debug, Clone)]
pub(crate) struct Panic {
    pub(crate) error: ErrorInfo,
    /// When it happened: printing and unwinding take a while.
    pub(crate) at: Instant,
}

struct Note {
    panic: Panic,
    /// Captured cheaply; resolved to names only when a span or run really ended by this panic, and then once for all
    /// that it ends.
    backtrace: Option<Backtrace>,
}

thread_local! {
    static LAST: Cell<Option<Note>> = const { Cell::new(None) };
}

/// Chains the hook, once per process.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    // The standard library refuses to change hooks on a thread that is panicking.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note(info);
            previous(info);
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    let Some(context) = Context::of_thread() else {
        return;
    };
    let payload = info.payload();
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic whose payload is not text".to_owned(),
    };
    let error = ErrorInfo::new(PANIC, message);
    let panic = Panic {
        error: match info.location() {
            Some(place) => error.at(place),
            None => error,
        },
        at: Instant::now(),
    };
    let note = Note {
        panic,
        backtrace: Some(Backtrace::force_capture()),
    };
    let _ = LAST.try_with(|last| last.set(Some(note)));
    if cfg!(panic = "abort") {
        // Nothing unwinds: this is the last moment to end the run.
        let end = context.run.clock.now();
        context.run.end_aborted(last_panic().error, end);
    }
}

/// The panic that this thread is unwinding from. It may end several spans, and the run around them.
pub(crate) fn last_panic() -> Panic {
    let Some(mut note) = LAST.try_with(Cell::take).ok().flatten() else {
        // The program replaced the hook.
        return Panic {
            error: ErrorInfo::new(PANIC, "the thread panicked"),
            at: Instant::now(),
        };
    };
    if let Some(frames) = note
        .backtrace
        .take()
        .and_then(|backtrace| frames(&backtrace.to_string()))
    {
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
fn frames(backtrace: &str) -> Option<String> {
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
        let kept = frames(backtrace).unwrap();
        assert_eq!(kept, "   2: agent::answer\n             at src/main.rs:9:5");
    }
}
