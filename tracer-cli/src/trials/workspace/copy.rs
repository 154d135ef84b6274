//! A fresh copy of a workspace.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

use super::Workspace;

/// Copies the files of a workspace into an empty folder: with their permissions and times, links as links, and without
/// what was removed and other repositories in it. A link into the workspace becomes one into the copy.
pub(crate) fn copy(workspace: &Workspace, target: &Path, is_stopped: impl Fn() -> bool) -> io::Result<()> {
    for file in &workspace.files {
        if is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (from, to) = (workspace.root.join(file), target.join(file));
        let kind = match from.symlink_metadata() {
            Ok(metadata) => metadata.file_type(),
            // Git still lists what was removed.
            Err(error) if is_missing(&error) => continue,
            Err(error) => return Err(about(&from, &error)),
        };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
        }
        if kind.is_symlink() {
            copy_link(&from, &to, &workspace.root, target).map_err(|error| about(&from, &error))?;
        } else if kind.is_file() {
            copy_file(&from, &to).map_err(|error| about(&from, &error))?;
        }
    }
    Ok(())
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The error with the file that it is about.
fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    // Build tools tell by the time whether a file was changed. A copy that may not be written to keeps its own time.
    let modified = from.symlink_metadata()?.modified()?;
    if let Ok(copy) = File::options().write(true).open(to) {
        copy.set_times(FileTimes::new().set_modified(modified))?;
    }
    Ok(())
}

fn copy_link(from: &Path, to: &Path, root: &Path, copy: &Path) -> io::Result<()> {
    let points_to = fs::read_link(from)?;
    // What a trial writes through it must not land in the original.
    let points_to: PathBuf = match points_to.strip_prefix(root) {
        Ok(inside) => copy.join(inside),
        Err(_) => points_to,
    };
    link(&points_to, to)
}

#[cfg(unix)]
fn link(points_to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(points_to, link)
}

#[cfg(windows)]
fn link(points_to: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(points_to, link)
}
