//! A data directory with its runs: listed by their metadata alone, filtered, and selected by ID or name (specification,
//! *Run directory*).

mod filter;
mod listing;
mod parallel;
mod select;
mod status;
mod summary;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use filter::{NamePattern, RunFilter, matches_glob};
use listing::{Placed, read_all};
pub use select::{SelectError, steps_before_latest};
pub use status::RunStatus;
pub use summary::{RunDirectory, RunSummary, has_looped};
use thiserror::Error;
use tracer_format::{RUNS_FOLDER, TraceId};

/// A data directory with its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStore {
    data_dir: PathBuf,
}

impl RunStore {
    /// The store in a data directory, which need not be there yet.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
        }
    }

    /// The data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The folder with one directory per run.
    #[must_use]
    pub fn runs_dir(&self) -> PathBuf {
        self.data_dir.join(RUNS_FOLDER)
    }

    /// The directories of all runs, by ID. Anything else in the folder is passed over: files, symbolic links, and names
    /// that are no trace ID.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder is missing or cannot be read.
    pub fn list_directories(&self) -> Result<Vec<RunDirectory>, StoreError> {
        let mut ids: Vec<TraceId> = self.entries()?.into_iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        let runs_dir = self.runs_dir();
        Ok(ids
            .into_iter()
            .map(|id| RunDirectory::in_folder(&runs_dir, id))
            .collect())
    }

    /// The IDs of all runs in no order, each with where its directory lies on the disk.
    fn entries(&self) -> Result<Vec<(u64, TraceId)>, StoreError> {
        let runs_dir = self.runs_dir();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Missing {
                path: runs_dir.clone(),
            },
            _ => StoreError::Unreadable {
                path: runs_dir.clone(),
                source: error,
            },
        };
        let mut entries = Vec::new();
        for entry in fs::read_dir(&runs_dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let id = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<TraceId>().ok());
            // A run that is deleted meanwhile is no run.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let (Some(trace_id), true) = (id, is_directory) {
                entries.push((place_on_disk(&entry), trace_id));
            }
        }
        Ok(entries)
    }

    /// All runs, the newest first, those of one instant by ID. Only `meta.json` is read, and a damaged one is an entry
    /// with its problems, never a failure.
    ///
    /// A run without a readable start is placed by the time at which its directory was last changed.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder is missing or cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list_newest(usize::MAX)
    }

    /// The newest runs, at most `limit`, as [`RunStore::list`] gives them.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder is missing or cannot be read.
    pub fn list_newest(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let mut entries = self.entries()?;
        // A disk that has to be asked answers much faster in its own order.
        entries.sort_unstable();
        let mut runs = read_all(&self.runs_dir(), &entries);
        let newest_first = |one: &Placed, other: &Placed| {
            let by_id = || one.1.directory.trace_id.cmp(&other.1.directory.trace_id);
            other.0.cmp(&one.0).then_with(by_id)
        };
        if limit < runs.len() {
            runs.select_nth_unstable_by(limit, newest_first);
            runs.truncate(limit);
        }
        runs.sort_unstable_by(newest_first);
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }
}

/// The inode number, where there is one: it gives the order of directories on the disk.
fn place_on_disk(entry: &fs::DirEntry) -> u64 {
    #[cfg(unix)]
    {
        std::os::unix::fs::DirEntryExt::ino(entry)
    }
    #[cfg(not(unix))]
    {
        let _ = entry;
        0
    }
}

/// Why a data directory cannot be listed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no data directory, or no folder of runs in it: nothing has been recorded there.
    #[error("there are no runs: {} does not exist", path.display())]
    Missing {
        /// The folder that was looked for.
        path: PathBuf,
    },
    /// The folder cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
