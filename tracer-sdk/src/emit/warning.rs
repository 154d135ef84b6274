//! The one thing that the SDK ever prints: a single warning on standard error, once per process.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

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
        let _ = write_now(message.as_bytes());
    }
}

/// Writes to standard error if that is ready: without the standard library's lock, which another thread may hold, and without
/// waiting for a reader.
#[cfg(unix)]
fn write_now(message: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::os::fd::AsFd;

    use crate::write::files::{room_in, within};

    let mut own = std::fs::File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let mut files = [PollFd::new(&own, PollFlags::OUT)];
    poll(&mut files, Some(&Timespec::default()))?;
    if files.iter().any(|file| file.revents() != PollFlags::OUT) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    // Where a file has reached its limit, writing to it raises a signal.
    let is_file = own.metadata()?.is_file();
    own.write_all(if is_file {
        within(room_in(&own)?, message)?
    } else {
        message
    })
}

#[cfg(not(unix))]
fn write_now(message: &[u8]) -> io::Result<()> {
    io::stderr().write_all(message)
}
