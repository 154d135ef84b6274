//! Standard error for the one warning, written at once or never.
//!
//! It waits neither for another thread that holds the standard library's lock nor for a reader that does not read, and
//! no signal is raised.

use std::io;

/// Writes a message in one piece, or gives it up.
#[cfg(unix)]
pub(super) fn write(message: &[u8]) -> io::Result<()> {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;

    use crate::write::files::{room_in, within};

    // The same open file as the program's: its flags are not changed.
    let mut shared = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let kind = shared.metadata()?.file_type();
    if kind.is_socket() {
        rustix::net::send(&shared, message, without_waiting())?;
    } else if kind.is_file() {
        // Through the program's own position in the file.
        let room = room_in(&shared)?;
        shared.write_all(within(room, message)?)?;
    } else if would_stop_the_program(&shared) {
        return Err(io::ErrorKind::WouldBlock.into());
    } else if let Ok(mut own) = opened_again(kind.is_fifo()) {
        own.write_all(message)?;
    } else if is_ready(&shared)? {
        shared.write_all(message)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn write(message: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut io::stderr(), message)
}

#[cfg(unix)]
fn without_waiting() -> rustix::net::SendFlags {
    use rustix::net::SendFlags;
    let flags = SendFlags::DONTWAIT;
    #[cfg(not(target_vendor = "apple"))]
    let flags = flags | SendFlags::NOSIGNAL;
    flags
}

/// Returns whether this is a terminal that stops programs that write to it from the background.
#[cfg(unix)]
fn would_stop_the_program(file: &std::fs::File) -> bool {
    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};
    tcgetattr(file).is_ok_and(|modes| modes.local_modes.contains(LocalModes::TOSTOP))
        && tcgetpgrp(file).is_ok_and(|foreground| foreground != getpgrp())
}

/// The pipe or terminal, opened a second time: what is written there does not wait for room. A pipe is opened for
/// reading, too: as long as it has a reader, writing raises no signal.
#[cfg(target_os = "linux")]
fn opened_again(is_pipe: bool) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .read(is_pipe)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open("/proc/thread-self/fd/2")
}

/// Elsewhere such a name gives the same open file again.
#[cfg(all(unix, not(target_os = "linux")))]
fn opened_again(_is_pipe: bool) -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether there is room for a short message and somebody to read it. That may change until it is written,
/// which is why this is checked only where the file cannot be opened again.
#[cfg(unix)]
fn is_ready(file: &std::fs::File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut files = [PollFd::new(file, PollFlags::OUT)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut files, Some(&at_once))?;
    Ok(files.iter().all(|file| file.revents() == PollFlags::OUT))
}
