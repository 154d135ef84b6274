//! Opening the files of a run: regular files only, never through a symbolic link, never waiting for a writer.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::cancel;
use crate::format::{Problem, ProblemCode};
pub(super) use crate::input::OpenError;
use crate::input::{self, LinkPolicy};

/// Opens a file of a run for reading.
pub(super) fn open(path: &Path) -> Result<File, OpenError> {
    cancel::check_current()?;
    input::open(path, LinkPolicy::Refuse)
}

/// The same for code that changes runs, with the system's error.
pub(crate) fn open_run_file(path: &Path) -> io::Result<File> {
    open(path).map_err(io::Error::from)
}

/// Whether both are one file.
pub(super) fn is_same(before: &Metadata, after: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        before.dev() == after.dev() && before.ino() == after.ino()
    }
    #[cfg(not(unix))]
    {
        before.created().ok() == after.created().ok()
    }
}

/// Identity, size and times of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogStamp {
    length: u64,
    times: [Option<SystemTime>; 2],
    identity: [u64; 2],
}

impl LogStamp {
    /// The stamp of an open file, as it is now.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            times: [metadata.modified().ok(), changed(metadata)],
            identity: identity(metadata),
        }
    }
}

/// The time of the last change of a file's inode, which no program sets back; elsewhere when it was made.
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
        let nanoseconds = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(seconds + nanoseconds)
    }
    #[cfg(not(unix))]
    {
        metadata.created().ok()
    }
}

fn identity(metadata: &Metadata) -> [u64; 2] {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        [metadata.dev(), metadata.ino()]
    }
    #[cfg(not(unix))]
    {
        [0, u64::from(metadata.is_file())]
    }
}

/// The problem of a run whose file `name` cannot be opened or read.
pub(super) fn problem(name: &str, error: &OpenError) -> Problem {
    match error {
        OpenError::Missing => Problem::new(
            ProblemCode::MissingFile,
            name,
            "is missing; a run directory holds meta.json and spans.jsonl",
        ),
        OpenError::NotRegular(_) => Problem::new(
            ProblemCode::UnreadableFile,
            name,
            "is not a regular file; symbolic links, pipes and folders are not read in its place",
        ),
        OpenError::Io(error) => Problem::new(
            ProblemCode::UnreadableFile,
            name,
            format!("cannot be read: {error}"),
        ),
    }
}
