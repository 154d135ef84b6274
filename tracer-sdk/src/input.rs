//! Opening files that somebody else may have put there: with a clone, an archive, or by another program.
//!
//! Whatever has the name of our file can be a device without an end, a pipe without a writer, or larger than the
//! memory. Only regular files are read, and of each only up to a limit.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Policy for a symbolic link in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// To a regular file: a project may share its settings, its policy.
    Follow,
    /// Never: an emitter writes no links.
    Refuse,
}

/// Why a file cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// There is none.
    Missing,
    /// Something else is in its place, in words: `a pipe`.
    NotRegular(&'static str),
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

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Missing => io::ErrorKind::NotFound.into(),
            OpenError::NotRegular(what) => io::Error::other(format!("is {what}, and no regular file")),
            OpenError::Io(error) => error,
        }
    }
}

/// Opens a regular file for reading, and never waits for a writer.
pub fn open(path: &Path, links: LinkPolicy) -> Result<File, OpenError> {
    // Asked before opening, because opening a device can have effects.
    regular(
        match links {
            LinkPolicy::Follow => path.metadata()?,
            LinkPolicy::Refuse => path.symlink_metadata()?,
        }
        .file_type(),
    )?;
    let file = options(links).open(path)?;
    // Asked again of what was opened, because it may have been exchanged in between.
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn regular(found: FileType) -> Result<(), OpenError> {
    if found.is_file() {
        return Ok(());
    }
    Err(OpenError::NotRegular(if found.is_dir() {
        "a folder"
    } else if found.is_symlink() {
        "a symbolic link"
    } else {
        special(found)
    }))
}

#[cfg(unix)]
fn special(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "a device"
}

#[cfg(unix)]
fn options(links: LinkPolicy) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    let no_links = match links {
        LinkPolicy::Follow => 0,
        LinkPolicy::Refuse => libc::O_NOFOLLOW,
    };
    // Without `O_NONBLOCK`, opening a pipe would wait until somebody writes to it.
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | no_links);
    options
}

#[cfg(not(unix))]
fn options(_: LinkPolicy) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

/// Reads a small file that a project brings along, such as a policy or a baseline: a regular file, or a symbolic link to
/// one, of at most `max_bytes`. Never waits, and never reads more than that.
///
/// ```
/// use tracer_runs::read_input;
///
/// let folder = tempfile::tempdir()?;
/// let policy = folder.path().join("policy.yaml");
/// std::fs::write(&policy, "version: 2\n")?;
/// assert_eq!(read_input(&policy, 1024)?, b"version: 2\n");
/// assert_eq!(
///     read_input(&policy, 4).unwrap_err().to_string(),
///     "it is longer than 4 bytes; a regular file of at most 4 bytes is read",
/// );
/// assert_eq!(
///     read_input(folder.path(), 1024 * 1024).unwrap_err().to_string(),
///     "it is a folder; a regular file of at most 1 MiB is read",
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// What the system says, with its [`kind`](io::Error::kind) for a missing file; or what is in the place of the file, and
/// what is allowed there.
pub fn read_input(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_input(path, max_bytes)?;
    // It may grow meanwhile, and some files of the system do not know their length.
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_long(max_bytes));
    }
    Ok(bytes)
}

/// Opens a file that a project brings along, to read it bit by bit: a regular file, or a symbolic link to one, of at most
/// `max_bytes`. Never waits. The file may grow while it is read: [`take`](Read::take) no more than that.
///
/// ```
/// use tracer_runs::open_input;
///
/// let folder = tempfile::tempdir()?;
/// let cassette = folder.path().join("refund.jsonl");
/// std::fs::write(&cassette, "{}\n")?;
/// assert_eq!(open_input(&cassette, 1024)?.metadata()?.len(), 3);
/// assert_eq!(
///     open_input(folder.path(), 1024).unwrap_err().to_string(),
///     "it is a folder; a regular file of at most 1 KiB is read",
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As [`read_input`].
pub fn open_input(path: &Path, max_bytes: u64) -> io::Result<File> {
    let file = open(path, LinkPolicy::Follow).map_err(|error| match error {
        OpenError::NotRegular(what) => refused(what, max_bytes),
        error => error.into(),
    })?;
    if file.metadata()?.len() > max_bytes {
        return Err(too_long(max_bytes));
    }
    Ok(file)
}

fn refused(what: &str, max_bytes: u64) -> io::Error {
    let most = size(max_bytes);
    io::Error::other(format!("it is {what}; a regular file of at most {most} is read"))
}

fn too_long(max_bytes: u64) -> io::Error {
    refused(&format!("longer than {}", size(max_bytes)), max_bytes)
}

fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;
    match bytes {
        bytes if bytes >= GIB && bytes % GIB == 0 => format!("{} GiB", bytes / GIB),
        bytes if bytes >= MIB && bytes % MIB == 0 => format!("{} MiB", bytes / MIB),
        bytes if bytes >= KIB && bytes % KIB == 0 => format!("{} KiB", bytes / KIB),
        bytes => format!("{bytes} bytes"),
    }
}
