//! The folder in which the user calls the gate: what belongs to it, and a fresh copy of that for each trial.

mod copy;
mod files;
mod fingerprint;

use std::path::{Path, PathBuf};

use crate::InputError;
pub(super) use copy::copy;
pub(super) use fingerprint::fingerprint;

/// A folder and the files that belong to it.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// Relative to the root, in the order of their names.
    files: Vec<PathBuf>,
    commit: Option<String>,
}

impl Workspace {
    /// Reads a folder. In a Git repository its files are those that are tracked, or neither tracked nor ignored;
    /// elsewhere all but hidden ones and those of build folders. What is below `store` is never one of them: the runs of
    /// earlier trials are no part of later ones.
    pub fn look(root: &Path, store: &Path) -> Result<Self, InputError> {
        let root = root
            .canonicalize()
            .map_err(|error| InputError::new(format!("cannot look at {}: {error}", root.display())))?;
        let is_repository = root.ancestors().any(|folder| folder.join(".git").exists());
        let (mut files, commit) = if is_repository {
            (files::listed_by_git(&root)?, files::commit(&root))
        } else {
            (files::found(&root)?, None)
        };
        if let Some(store) = store
            .canonicalize()
            .ok()
            .as_deref()
            .and_then(|store| store.strip_prefix(&root).ok())
        {
            files.retain(|file| !file.starts_with(store));
        }
        files.sort_unstable();
        files.dedup();
        Ok(Self { root, files, commit })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Checks if a file, named relative to the folder, belongs to it.
    pub fn has(&self, file: &Path) -> bool {
        self.files
            .binary_search_by(|known| known.as_path().cmp(file))
            .is_ok()
    }

    /// The Git commit that is checked out.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
