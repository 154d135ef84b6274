//! Which files belong to a folder: Git knows it, or else their names decide. What was listed may have been
//! replaced since, so it is checked again when it is needed.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use walkdir::{DirEntry, WalkDir};

use crate::InputError;

/// Folders that are made from what belongs to a workspace.
const BUILD_FOLDERS: [&str; 4] = ["__pycache__", "node_modules", "target", "venv"];
/// Files that say the same of the folder that they are in: caches, and virtual environments of Python.
const BUILD_MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The files below a folder that Git tracks, and those that it neither tracks nor ignores.
pub(super) fn listed_by_git(root: &Path) -> Result<Vec<PathBuf>, InputError> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git(root, &arguments).map_err(|error| {
        InputError::new(format!(
            "git cannot list the files of {}: {error}",
            root.display()
        ))
        .with_hint("set that right, or run the trials in the folder itself: --in-place")
    })?;
    Ok(listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(path)
        .collect())
}

/// The commit that is checked out; `None` before the first one.
pub(super) fn commit(root: &Path) -> Option<String> {
    let reported = git(root, &["rev-parse", "--verify", "--quiet", "HEAD"]).ok()?;
    Some(String::from_utf8(reported).ok()?.trim().to_owned())
}

fn git(root: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()?;
    if status.success() {
        return Ok(stdout);
    }
    let said = String::from_utf8_lossy(&stderr);
    Err(io::Error::other(
        said.lines().next().unwrap_or_default().to_owned(),
    ))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a name may be none")]
fn path(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path(name: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(name).ok().map(PathBuf::from)
}

/// The files below a folder that Git knows nothing of.
pub(super) fn found(root: &Path) -> Result<Vec<PathBuf>, InputError> {
    let belongs = |entry: &DirEntry| entry.depth() == 0 || !(is_hidden(entry) || is_build_folder(entry));
    let mut files = Vec::new();
    for entry in WalkDir::new(root).into_iter().filter_entry(belongs) {
        let entry = entry.map_err(|error| {
            InputError::new(format!("cannot look at the workspace: {error}"))
                .with_hint("check the permissions, or run the trials in the folder itself: --in-place")
        })?;
        if !entry.file_type().is_dir() {
            let path = entry.path();
            files.push(path.strip_prefix(root).unwrap_or(path).to_owned());
        }
    }
    Ok(files)
}

/// Entry at the place of a listed file.
#[derive(Debug)]
pub(super) enum Listed {
    /// A regular file, opened: what is read is what was checked.
    File(File),
    /// A link, and what it points to.
    Link(PathBuf),
    /// Nothing that belongs to the workspace: it was removed, or it is a folder, a pipe or a device, or a folder above
    /// it is a link, behind which lies what belongs to somebody else. Git still lists what it tracked there.
    Nothing,
}

/// Checks a file of a workspace, named relative to its root.
pub(super) fn look_at(root: &Path, file: &Path) -> io::Result<Listed> {
    let mut path = root.to_owned();
    for folder in file.parent().unwrap_or(Path::new("")).components() {
        // A list that leads out of the workspace is not followed.
        let Component::Normal(name) = folder else {
            return Ok(Listed::Nothing);
        };
        path.push(name);
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(Listed::Nothing);
        }
    }
    let path = root.join(file);
    let kind = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if is_missing(&error) => return Ok(Listed::Nothing),
        Err(error) => return Err(error),
    };
    if kind.is_symlink() {
        return fs::read_link(&path).map(Listed::Link);
    }
    if !kind.is_file() {
        return Ok(Listed::Nothing);
    }
    let opened = open_without_following(&path)?;
    // It may have been replaced by a pipe or a device just now.
    Ok(if opened.metadata()?.is_file() {
        Listed::File(opened)
    } else {
        Listed::Nothing
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens a file to read it; a link is refused, and a pipe does not block.
#[cfg(unix)]
fn open_without_following(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    File::options().read(true).custom_flags(flags.bits()).open(path)
}

#[cfg(not(unix))]
fn open_without_following(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn is_build_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_dir()
        && (BUILD_FOLDERS.iter().any(|name| entry.file_name() == *name)
            || BUILD_MARKS.iter().any(|name| entry.path().join(name).exists()))
}
