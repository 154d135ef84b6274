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

/// Two changes within the resolution of a clock have one time: a file that was changed so shortly before it was looked at may
/// change again without a trace.
#[cfg(not(test))]
const FINE_CLOCK: Duration = Duration::from_millis(200);
/// Tests do not wait.
#[cfg(test)]
const FINE_CLOCK: Duration = Duration::ZERO;
/// The same where times are whole seconds, as on FAT.
const COARSE_CLOCK: Duration = Duration::from_secs(3);

/// Identity, size and times of a log: equal stamps are the same contents, if they are settled.
#[derive(Debug, Clone)]
pub(super) struct LogStamp {
    length: u64,
    numbers: [u64; 6],
    is_settled: bool,
}

impl LogStamp {
    /// The stamp of an open file, as it is now.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let since_epoch = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_else(|before| before.duration())
        };
        let modified = metadata.modified().ok();
        let changed = changed(metadata);
        let times = [modified, changed].map(|time| time.map(since_epoch).unwrap_or_default());
        let is_coarse = times.iter().any(|time| time.subsec_nanos() == 0);
        let clock = if is_coarse { COARSE_CLOCK } else { FINE_CLOCK };
        let newest = modified.max(changed);
        let age = newest.and_then(|newest| SystemTime::now().duration_since(newest).ok());
        let [modified, changed] = times;
        let [device, file] = identity(metadata);
        Self {
            length: metadata.len(),
            numbers: [
                device,
                file,
                modified.as_secs(),
                u64::from(modified.subsec_nanos()),
                changed.as_secs(),
                u64::from(changed.subsec_nanos()),
            ],
            is_settled: age.is_some_and(|age| age > clock),
        }
    }

    /// Size of the file in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether a change after the look would show in another stamp.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// All of it in numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.length).chain(self.numbers)
    }

    /// Whether both are of the same contents.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.length, self.numbers) == (other.length, other.numbers)
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
