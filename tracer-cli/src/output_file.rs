//! Writing a file that the user named: an ordinary file is replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Gives `write` what to write to; the file has its name only when everything is on the disk.
pub(crate) fn write<Written, Failure: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Written, Failure>,
) -> Result<Written, Failure> {
    match fs::metadata(path) {
        // A pipe or a device is written to; only an ordinary file can be replaced.
        Ok(existing) if !existing.is_file() => {
            write_through(&OpenOptions::new().write(true).open(path)?, write)
        }
        // What a link points to is replaced, not the link.
        Ok(existing) => replace(&fs::canonicalize(path)?, Some(existing.permissions()), write),
        Err(_) => replace(path, None, write),
    }
}

fn write_through<Written, Failure: From<io::Error>>(
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> Result<Written, Failure>,
) -> Result<Written, Failure> {
    let mut writer = BufWriter::with_capacity(256 * 1024, file);
    let written = write(&mut writer)?;
    writer.flush()?;
    Ok(written)
}

/// Writes beside the file and renames, so that a reader never sees half a document and a full disk costs nothing.
fn replace<Written, Failure: From<io::Error>>(
    path: &Path,
    permissions: Option<fs::Permissions>,
    write: impl FnOnce(&mut dyn Write) -> Result<Written, Failure>,
) -> Result<Written, Failure> {
    let beside = beside(folder_of(path))?;
    let written = write_through(beside.as_file(), write)?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    Ok(written)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new file that vanishes unless it is kept, with the permissions that any new file of the user has.
fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tracer-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Why a file that should be new was not written.
#[derive(Debug)]
pub(crate) enum NewFileError {
    /// There is one already.
    Exists(PathBuf),
    /// The disk does not take it.
    Write(PathBuf, io::Error),
}

impl NewFileError {
    /// There is a file already.
    pub(crate) fn exists(path: impl Into<PathBuf>) -> Self {
        Self::Exists(path.into())
    }
}

impl From<NewFileError> for CliError {
    fn from(error: NewFileError) -> Self {
        match error {
            NewFileError::Exists(path) => Self::input(format!("{} exists already", path.display()))
                .with_hint(
                    "write over it with --force, or name another file where there is an option for that",
                ),
            NewFileError::Write(path, error) => {
                Self::input(format!("cannot write {}: {error}", path.display()))
                    .with_hint("name a file in a folder that you can write to")
            }
        }
    }
}

/// Finds out whether a file can be written, before what is to be in it is paid for. The folder is made where it is
/// missing.
pub(crate) fn prepare(path: &Path) -> Result<(), NewFileError> {
    let failed = |error| NewFileError::Write(path.to_owned(), error);
    match fs::metadata(path) {
        Ok(existing) if existing.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
        // A pipe or a device takes what it takes.
        Ok(existing) if !existing.is_file() => Ok(()),
        _ => {
            let folder = folder_of(path);
            fs::create_dir_all(folder)
                .and_then(|()| beside(folder))
                .map(drop)
                .map_err(failed)
        }
    }
}

/// Writes a file whole, in a folder that is made where it is missing; over another file only with `force`.
pub(crate) fn write_new(path: &Path, force: bool, content: &[u8]) -> Result<(), NewFileError> {
    let failed = |error| NewFileError::Write(path.to_owned(), error);
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(failed)?;
    if force {
        return write(path, |writer| writer.write_all(content)).map_err(failed);
    }
    let mut beside = beside(folder).map_err(failed)?;
    beside
        .write_all(content)
        .and_then(|()| beside.as_file().sync_all())
        .map_err(failed)?;
    beside
        .persist_noclobber(path)
        .map(drop)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => NewFileError::exists(path),
            _ => failed(error.error),
        })
}
