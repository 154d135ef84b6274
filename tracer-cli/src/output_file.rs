//! Writing a file that the user named: an ordinary file is replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

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
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beside = beside(folder)?;
    let written = write_through(beside.as_file(), write)?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    Ok(written)
}

/// A new file that vanishes unless it is kept, with the permissions that any new file of the user has.
fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tracer-export-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
