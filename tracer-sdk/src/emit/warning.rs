//! The one thing that the SDK ever prints: a single warning on standard error, once per process.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

static WARNED: AtomicBool = AtomicBool::new(false);

/// Warns, unless the process was warned before. A standard error that is closed is no reason to fail.
pub(crate) fn warn_once(what: &dyn std::fmt::Display) {
    if !WARNED.swap(true, Ordering::Relaxed) {
        let message = format!("tracer: {what} (this is told once; the program goes on)\n");
        let _ = std::io::stderr().lock().write_all(message.as_bytes());
    }
}
