//! A place for runs that were deleted and may be wanted again, beside the runs.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::error::TidyError;
use super::remove::{remove_leftovers, remove_run};
use crate::format::TraceId;
use crate::read::{Liveness, RunDirectory, RunStore};
use crate::write::files::{Disk, FileSystem};

/// The folder, beside that of the runs.
const FOLDER: &str = "trash";

/// The trash of a data directory. For readers, a run in it is no run.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// # let data_dir = folder.path();
/// use tracer_sdk::read::RunStore;
/// use tracer_sdk::tidy::Trash;
///
/// let store = RunStore::new(data_dir);
/// let run = store.newest()?;
/// let trash = Trash::of(&store);
/// trash.put(&run)?;
/// assert!(store.list()?.is_empty());
/// trash.restore(run.trace_id)?;
/// assert_eq!(store.newest()?, run);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trash {
    folder: PathBuf,
    runs_dir: PathBuf,
}

impl Trash {
    /// The trash of a store, which need not be there yet.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let store = tracer_sdk::read::RunStore::new(data_dir);
    /// assert_eq!(tracer_sdk::tidy::Trash::of(&store).empty()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(store: &RunStore) -> Self {
        Self {
            folder: store.data_dir().join(FOLDER),
            runs_dir: store.runs_dir(),
        }
    }

    /// Puts a run there.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let store = tracer_sdk::read::RunStore::new(data_dir);
    /// tracer_sdk::tidy::Trash::of(&store).put(&store.newest()?)?;
    /// assert!(store.list()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TidyError`]: the run still goes on, as far as anybody can tell, or it cannot be moved.
    pub fn put(&self, run: &RunDirectory) -> Result<(), TidyError> {
        let listed = run.clone().listed();
        match listed.liveness() {
            Liveness::Running => return Err(TidyError::Live),
            Liveness::Unknown if listed.meta.is_ok() => return Err(TidyError::Unknown),
            Liveness::Unknown | Liveness::Ended | Liveness::Interrupted => {}
        }
        self.is_there()?;
        Disk.create_directories(&self.folder)
            .map_err(TidyError::at(&self.folder))?;
        let inside = self.inside(run.trace_id);
        if inside.path.symlink_metadata().is_ok() {
            // An older one with this ID was deleted before.
            remove_run(&inside)?;
        }
        Disk.rename(&run.path, &inside.path)
            .map_err(TidyError::at(&run.path))
    }

    /// Takes a run out again. `false` says that it is not there any more.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let store = tracer_sdk::read::RunStore::new(data_dir);
    /// let id = store.newest()?.trace_id;
    /// assert!(!tracer_sdk::tidy::Trash::of(&store).restore(id)?); // it was never deleted
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TidyError::Io`] when it cannot be moved, or a run with its ID is there.
    pub fn restore(&self, trace_id: TraceId) -> Result<bool, TidyError> {
        if !self.is_there()? {
            return Ok(false);
        }
        let inside = self.inside(trace_id);
        if !inside.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(false);
        }
        let path = self.runs_dir.join(trace_id.to_string());
        if path.symlink_metadata().is_ok() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(TidyError::at(&path)(exists));
        }
        Disk.rename(&inside.path, &path).map_err(TidyError::at(&path))?;
        Ok(true)
    }

    /// Removes what is there, for good, and tells of how many runs.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let store = tracer_sdk::read::RunStore::new(data_dir);
    /// let trash = tracer_sdk::tidy::Trash::of(&store);
    /// trash.put(&store.newest()?)?;
    /// assert_eq!(trash.empty()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TidyError::Io`] when something cannot be removed.
    pub fn empty(&self) -> Result<u64, TidyError> {
        if !self.is_there()? {
            return Ok(0);
        }
        let entries = fs::read_dir(&self.folder).map_err(TidyError::at(&self.folder))?;
        let mut removed = 0;
        for entry in entries {
            let entry = entry.map_err(TidyError::at(&self.folder))?;
            let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(trace_id) = id
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                remove_run(&self.inside(trace_id))?;
                removed += 1;
            }
        }
        remove_leftovers(&self.folder)?;
        Ok(removed)
    }

    /// Whether there is a trash; a link in its place leads to what is none.
    fn is_there(&self) -> Result<bool, TidyError> {
        match self.folder.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(true),
            Ok(_) => Err(TidyError::at(&self.folder)(io::Error::other("is no folder"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TidyError::at(&self.folder)(error)),
        }
    }

    fn inside(&self, trace_id: TraceId) -> RunDirectory {
        RunDirectory {
            trace_id,
            path: self.folder.join(trace_id.to_string()),
        }
    }
}
