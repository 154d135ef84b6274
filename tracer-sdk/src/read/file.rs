//! Opening the files of a run: regular files only, never through a symbolic link, never waiting for a writer.

use std::fs::File;
use std::io;
use std::path::Path;

pub(super) use crate::input::OpenError;
use crate::input::{self, Links};

use super::call_off;

/// Opens a file of a run for reading.
pub(super) fn open(path: &Path) -> Result<File, OpenError> {
    call_off::check_current()?;
    input::open(path, Links::Refuse)
}

/// The same for those who change runs, with what the system says.
pub(crate) fn open_run_file(path: &Path) -> io::Result<File> {
    open(path).map_err(io::Error::from)
}
