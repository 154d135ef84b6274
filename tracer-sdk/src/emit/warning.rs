//! The one thing that the SDK ever prints: a single warning on standard error, once per process.

use std::sync::atomic::{AtomicBool, Ordering};

use super::standard_error;
use crate::write::draft::cut_to;

static WARNED: AtomicBool = AtomicBool::new(false);

/// The longest warning: what every system writes to a pipe in one piece.
const MAX_BYTES: usize = 512;

/// Warns, unless the process was warned before. A standard error that is closed or full is no reason to fail or to wait.
pub(crate) fn warn_once(what: &dyn std::fmt::Display) {
    if !WARNED.swap(true, Ordering::Relaxed) {
        const END: &str = " (this warning appears once; the program goes on)\n";
        let message = format!("tracer: {what}");
        let message = format!("{}{END}", cut_to(&message, MAX_BYTES - END.len()));
        let _ = standard_error::write(message.as_bytes());
    }
}
