//! The folder of one trial: its copy of the workspace, its data directory, its temporary files. It is gone with the
//! trial, whatever the trial did in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A new folder with what a trial finds in it.
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tracer-trial-").tempdir()?;
        let scratch = Self { folder };
        for part in [scratch.workspace(), scratch.data_dir(), scratch.temporary()] {
            fs::create_dir(part)?;
        }
        Ok(scratch)
    }

    /// Folder of the copy of the workspace.
    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Data directory of the trial.
    pub(super) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Folder of the trial's temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// Removes what no trace is in, which may be large.
    pub(crate) fn remove_all_but_data(&self) {
        // What cannot be removed now is tried again with the folder.
        let _ = remove(&self.workspace());
        let _ = remove(&self.temporary());
    }

    /// Removes the folder. The error names it: somebody has to remove it by hand.
    pub(super) fn close(self) -> Result<(), (PathBuf, io::Error)> {
        let path = self.folder.path().to_owned();
        remove(&path).map_err(|error| (path, error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // `close` reports the error.
        let _ = remove(self.folder.path());
    }
}

/// Removes a folder, also where a trial took away the permission to.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow_removal(folder);
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Gives the user all permissions on a folder and those in it; links are not followed.
fn allow_removal(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What this does not help with, the removal tells.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    let entries = fs::read_dir(folder).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            allow_removal(&entry.path());
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_removed_whatever_the_trial_left_in_it() {
        let scratch = Scratch::new().unwrap();
        let locked = scratch.workspace().join("a/b");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("file"), "x").unwrap();
        for folder in [locked.clone(), scratch.workspace().join("a")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).unwrap();
        }
        let folder = scratch.folder.path().to_owned();
        scratch.remove_all_but_data();
        assert!(!scratch.workspace().exists());
        scratch.close().unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_the_trial_removed_is_gone() {
        let scratch = Scratch::new().unwrap();
        fs::remove_dir_all(scratch.folder.path()).unwrap();
        scratch.close().unwrap();
    }

    #[test]
    fn a_link_is_removed_and_not_what_it_points_to() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "x").unwrap();
        let scratch = Scratch::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), scratch.workspace().join("link")).unwrap();
        scratch.close().unwrap();
        assert!(outside.path().join("kept").exists());
    }
}
