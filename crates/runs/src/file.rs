//! Opening the files of a run: regular files only, never through a symbolic link, never waiting for a writer.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::cancel;
use tracer_format::{Problem, ProblemCode};
pub(super) use tracer_sdk::disk::OpenError;
use tracer_sdk::disk::{self, LinkPolicy};

/// Opens a file of a run for reading.
pub(super) fn open(path: &Path) -> Result<File, OpenError> {
    cancel::check_current()?;
    disk::open(path, LinkPolicy::Refuse)
}

/// The same for code that changes runs, with the system's error.
pub(crate) fn open_run_file(path: &Path) -> io::Result<File> {
    open(path).map_err(io::Error::from)
}

/// Returns whether both are the same file.
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
