//! Opening the files of a run: regular files only, never through a symbolic link, never waiting for a writer.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Why a file of a run cannot be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// There is none.
    Missing,
    /// A folder, a symbolic link, a pipe or a device stands in its place.
    NotRegular,
    /// The system refuses.
    Io(io::Error),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Opens a file of a run for reading.
pub(super) fn open(path: &Path) -> Result<File, OpenError> {
    // Asked before opening, because opening a device can have effects.
    if !path.symlink_metadata()?.is_file() {
        return Err(OpenError::NotRegular);
    }
    let file = options().open(path)?;
    // Asked again of what was opened, because it may have been exchanged in between.
    if !file.metadata()?.is_file() {
        return Err(OpenError::NotRegular);
    }
    Ok(file)
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    // Without `O_NONBLOCK`, opening a pipe would wait until somebody writes to it.
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

#[cfg(not(unix))]
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}
