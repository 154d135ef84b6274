//! Files that the user names for output: an ordinary file is replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tracer_gate::files;
use tracer_sdk::format::{RUNS_FOLDER, TraceId};

use crate::error::CliError;

/// Kind of file behind a path.
enum OutputTarget {
    /// The file that standard output or standard error is redirected to: appended to, so that no output is lost.
    Stream(File),
    /// A pipe or a device: opened and written to.
    Special,
    /// A file that is replaced or created.
    File {
        path: PathBuf,
        permissions: Option<fs::Permissions>,
    },
}

impl OutputTarget {
    /// The target of a path. Without `follows_links` a link at the path fails: it may come with a project and point to any
    /// file of the user's.
    fn of(path: &Path, follows_links: bool) -> io::Result<Self> {
        let found = fs::metadata(path);
        if let Ok(existing) = &found
            && let Some(stream) = standard_stream(existing)
        {
            return Ok(Self::Stream(stream));
        }
        let target = match found {
            Ok(existing) if existing.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(existing) if !existing.is_file() => return Ok(Self::Special),
            _ if !follows_links && path.is_symlink() => {
                return Err(io::Error::other(
                    "it is a symbolic link, and links are not followed here",
                ));
            }
            // The target of the link is replaced, not the link.
            Ok(existing) => Self::File {
                path: fs::canonicalize(path)?,
                permissions: Some(existing.permissions()),
            },
            Err(_) => Self::File {
                path: path.to_owned(),
                permissions: None,
            },
        };
        match target {
            Self::File { path, .. } if is_in_a_run(&path) => Err(io::Error::other(
                "it is in the folder of a run, which holds the run's own files",
            )),
            target => Ok(target),
        }
    }
}

/// Standard output or standard error, when they are this file.
#[cfg(unix)]
fn standard_stream(existing: &fs::Metadata) -> Option<File> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let is_it = |stream: &File| {
        let stream = stream.metadata();
        stream.is_ok_and(|stream| {
            stream.is_file() && (stream.dev(), stream.ino()) == (existing.dev(), existing.ino())
        })
    };
    let (output, error) = (io::stdout(), io::stderr());
    [output.as_fd(), error.as_fd()]
        .into_iter()
        // The copy writes where the stream is, and appends where it does.
        .filter_map(|stream| stream.try_clone_to_owned().ok().map(File::from))
        .find(is_it)
}

#[cfg(not(unix))]
fn standard_stream(_: &fs::Metadata) -> Option<File> {
    None
}

/// Checks if a file lies in a run directory, whatever the store: `runs/<trace ID>/…`.
fn is_in_a_run(path: &Path) -> bool {
    let is_run = |folder: &Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        let above = folder.parent().and_then(Path::file_name);
        name.is_some_and(|name| name.parse::<TraceId>().is_ok())
            && above.is_some_and(|above| above == RUNS_FOLDER)
    };
    fs::canonicalize(folder_of(path)).is_ok_and(|folder| folder.ancestors().any(is_run))
}

/// Writes a file through `write`; the file gets its name only when everything is on the disk.
pub(crate) fn write<Written, Failure: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Written, Failure>,
) -> Result<Written, Failure> {
    write_to(OutputTarget::of(path, true)?, path, write)
}

fn write_to<Written, Failure: From<io::Error>>(
    target: OutputTarget,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Written, Failure>,
) -> Result<Written, Failure> {
    match target {
        OutputTarget::Stream(stream) => write_through(&stream, write),
        OutputTarget::Special => write_through(&OpenOptions::new().write(true).open(path)?, write),
        OutputTarget::File { path, permissions } => replace(&path, permissions, write),
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

/// Writes a temporary file in the same folder and renames it, so that a reader never sees half a document and a full disk destroys nothing.
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

/// A temporary file that is deleted unless persisted, with the permissions of any new file of the user.
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

/// Error of writing a file.
#[derive(Debug)]
pub(crate) enum NewFileError {
    /// The file exists already.
    Exists(PathBuf),
    /// The file cannot be written.
    Write(PathBuf, io::Error),
}

impl NewFileError {
    /// The file at `path` exists already.
    pub(crate) fn exists(path: impl Into<PathBuf>) -> Self {
        Self::Exists(path.into())
    }
}

impl From<NewFileError> for CliError {
    fn from(error: NewFileError) -> Self {
        match error {
            NewFileError::Exists(path) => Self::input(format!("`{}` exists already", path.display()))
                .with_hint("overwrite it with --force, or choose another file"),
            NewFileError::Write(path, error) => Self::input(format!("failed to write `{}`", path.display()))
                .with_source(error)
                .with_hint("choose a file in a writable folder"),
        }
    }
}

/// Checks that a file can be written, before its content is paid for: in its folder, or else in the nearest one above, where
/// [`write_new`] makes it. Leaves nothing.
pub(crate) fn prepare(path: &Path) -> Result<(), NewFileError> {
    let failed = |error| NewFileError::Write(path.to_owned(), error);
    match OutputTarget::of(path, false).map_err(failed)? {
        // Only writing shows whether a stream, a pipe or a device accepts data.
        OutputTarget::Stream(_) | OutputTarget::Special => Ok(()),
        OutputTarget::File { path, .. } => {
            let mut folder = folder_of(&path);
            while !files::is_there(folder) && folder != Path::new(".") {
                folder = folder_of(folder);
            }
            beside(folder).map(drop).map_err(failed)
        }
    }
}

/// Writes a whole file and creates its folder if it is missing; overwrites a file only with `force`.
pub(crate) fn write_new(path: &Path, force: bool, content: &[u8]) -> Result<(), NewFileError> {
    let failed = |error| NewFileError::Write(path.to_owned(), error);
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(failed)?;
    if force {
        let target = OutputTarget::of(path, false).map_err(failed)?;
        return write_to(target, path, |writer| writer.write_all(content)).map_err(failed);
    }
    if is_in_a_run(path) {
        return Err(failed(io::Error::other(
            "it is in the folder of a run, which holds the run's own files",
        )));
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

/// Writes a file at a fixed path in the project, such as `.tracer/policy.yaml`. No folder of the path may be a link,
/// which could point anywhere.
pub(crate) fn write_in_project(path: &Path, force: bool, content: &[u8]) -> Result<(), NewFileError> {
    let folders = folder_of(path).ancestors();
    match folders
        .filter(|folder| !folder.as_os_str().is_empty())
        .find(|folder| folder.is_symlink())
    {
        Some(link) => {
            let error = io::Error::other(format!("{} is a symbolic link", link.display()));
            Err(NewFileError::Write(path.to_owned(), error))
        }
        None => write_new(path, force, content),
    }
}
