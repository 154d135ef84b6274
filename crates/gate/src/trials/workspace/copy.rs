//! A fresh copy of a workspace.
//!
//! Nothing here may ever write to what the user has, whatever the workspace holds and whatever changes it meanwhile:
//! in the copy every folder is one that this copy made and every file is one that was not there before, so no link on
//! the way of a target is ever followed.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::files::{Listed, look_at};

/// Copies the files of a workspace into an empty folder: with their permissions and times, links as links, and without
/// what was removed, what lies behind a link, and other repositories in it. A link into the workspace becomes one into
/// the copy.
pub(crate) fn copy(workspace: &Workspace, target: &Path, is_stopped: impl Fn() -> bool) -> io::Result<()> {
    let mut copy = WorkspaceCopy {
        root: &workspace.root,
        target,
        folders: BTreeSet::new(),
    };
    for file in &workspace.files {
        if is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        copy.take(file)
            .map_err(|error| about(&workspace.root.join(file), &error))?;
    }
    Ok(())
}

struct WorkspaceCopy<'a> {
    root: &'a Path,
    target: &'a Path,
    /// The folders that this copy made, relative to the target.
    folders: BTreeSet<PathBuf>,
}

impl WorkspaceCopy<'_> {
    fn take(&mut self, file: &Path) -> io::Result<()> {
        let listed = look_at(self.root, file)?;
        if matches!(listed, Listed::Nothing) {
            return Ok(());
        }
        let Some(folder) = file.parent() else {
            return Ok(());
        };
        if !self.make_folder(folder)? {
            return Ok(());
        }
        let to = self.target.join(file);
        let made = match listed {
            Listed::File(from) => copy_file(from, &to),
            Listed::Link(points_to) => link(&self.redirected(points_to), &to),
            Listed::Nothing => Ok(()),
        };
        match made {
            // Where names differ in case only, the file is there already, under the name that was listed first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// Makes a folder of the copy; `false` when something else has its place, which was listed first: a link.
    fn make_folder(&mut self, folder: &Path) -> io::Result<bool> {
        if folder.as_os_str().is_empty() || self.folders.contains(folder) {
            return Ok(true);
        }
        if !self.make_folder(folder.parent().unwrap_or(Path::new("")))? {
            return Ok(false);
        }
        let made = self.target.join(folder);
        let is_ours = match fs::create_dir(&made) {
            Ok(()) => true,
            // A folder, where names differ in case only: no other process makes any here.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::symlink_metadata(&made)?.is_dir()
            }
            Err(error) => return Err(error),
        };
        if is_ours {
            self.folders.insert(folder.to_owned());
        }
        Ok(is_ours)
    }

    /// Target of a link of the copy: what a trial writes through it must not land in the original.
    fn redirected(&self, points_to: PathBuf) -> PathBuf {
        match points_to.strip_prefix(self.root) {
            Ok(inside) => self.target.join(inside),
            Err(_) => points_to,
        }
    }
}

/// The error with the file that it is about.
fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn copy_file(mut from: File, to: &Path) -> io::Result<()> {
    let mut copy = File::create_new(to)?;
    io::copy(&mut from, &mut copy)?;
    let metadata = from.metadata()?;
    // Build tools tell by the time whether a file was changed.
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
    copy.set_permissions(metadata.permissions())
}

#[cfg(unix)]
fn link(points_to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(points_to, link)
}

#[cfg(windows)]
fn link(points_to: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(points_to, link)
}
