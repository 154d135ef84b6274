//! Trash for deleted runs that may be wanted again, next to the runs.
//!
//! Each process that deletes holds a shared lock: the system unlocks it however a process ends, and the one that gets it
//! exclusively is the last.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::error::MaintenanceError;
use super::remove::{remove_leftovers, remove_run};
use crate::file;
use crate::{Liveness, RunDirectory, RunStore};
use parking_lot::Mutex;
use tracer_format::TraceId;
use tracer_sdk::disk::{Disk, FileSystem, OpenMode};

/// The folder, next to that of the runs.
const FOLDER: &str = "trash";
/// The file in it that is locked.
const LOCK: &str = ".lock";

/// The trash of a data directory. For readers, a run in it is no run.
///
/// Any process restores from it. The last process that deleted into it empties it.
///
/// ```
/// use tracer_runs::maintenance::Trash;
/// use tracer_runs::RunStore;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let store = RunStore::new(folder.path());
/// let run = store.newest()?;
/// let trash = Trash::new(&store);
/// trash.put(&run)?;
/// assert!(store.list()?.is_empty());
/// trash.restore(run.trace_id)?;
/// assert_eq!(store.newest()?, run);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trash {
    folder: PathBuf,
    runs_dir: PathBuf,
    /// Locked, shared, from the first run that this process puts there.
    lock: Mutex<Option<File>>,
}

impl Trash {
    /// The trash of a store, which need not be there yet.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let store = tracer_runs::RunStore::new(folder.path());
    /// assert_eq!(tracer_runs::maintenance::Trash::new(&store).empty()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(store: &RunStore) -> Self {
        Self {
            folder: store.data_dir().join(FOLDER),
            runs_dir: store.runs_dir(),
            lock: Mutex::new(None),
        }
    }

    /// Puts a run there.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let store = tracer_runs::RunStore::new(folder.path());
    /// tracer_runs::maintenance::Trash::new(&store).put(&store.newest()?)?;
    /// assert!(store.list()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MaintenanceError`]: the run may still be recorded, or it cannot be moved.
    pub fn put(&self, run: &RunDirectory) -> Result<(), MaintenanceError> {
        let listed = run.clone().read_summary();
        match listed.probe_liveness() {
            Liveness::Running => return Err(MaintenanceError::RunActive),
            Liveness::Unknown if listed.meta.is_ok() => return Err(MaintenanceError::LivenessUnknown),
            Liveness::Unknown | Liveness::Ended | Liveness::Interrupted => {}
        }
        let mut lock = self.lock.lock();
        // Somebody may have taken the folder away.
        if !self.is_there()? || lock.is_none() {
            *lock = Some(self.lock_shared()?);
        }
        let inside = self.inside(run.trace_id);
        if inside.path.symlink_metadata().is_ok() {
            // An older one with this ID was deleted before.
            remove_run(&inside)?;
        }
        Disk.rename(&run.path, &inside.path)
            .map_err(MaintenanceError::at(&run.path))
    }

    /// Takes a run out again. `false` says that it is not there any more.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let store = tracer_runs::RunStore::new(folder.path());
    /// let id = store.newest()?.trace_id;
    /// assert!(!tracer_runs::maintenance::Trash::new(&store).restore(id)?); // it was never deleted
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MaintenanceError::Io`] when it cannot be moved, or a run with its ID is there.
    pub fn restore(&self, trace_id: TraceId) -> Result<bool, MaintenanceError> {
        let inside = self.inside(trace_id);
        if !self.is_there()? || !inside.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(false);
        }
        let path = self.runs_dir.join(trace_id.to_string());
        if path.symlink_metadata().is_ok() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(MaintenanceError::at(&path)(exists));
        }
        Disk.rename(&inside.path, &path)
            .map_err(MaintenanceError::at(&path))?;
        Ok(true)
    }

    /// Lets go of the trash, and deletes permanently what is in it, unless another process has deleted into it and is there
    /// still; gives the number of runs.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let store = tracer_runs::RunStore::new(folder.path());
    /// let trash = tracer_runs::maintenance::Trash::new(&store);
    /// trash.put(&store.newest()?)?;
    /// assert_eq!(trash.empty()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MaintenanceError::Io`] when something cannot be removed.
    pub fn empty(&self) -> Result<u64, MaintenanceError> {
        drop(self.lock.lock().take());
        if !self.is_there()? {
            return Ok(0);
        }
        let Ok(lock) = file::open(&self.folder.join(LOCK)) else {
            return Ok(0);
        };
        // Another process is there, or that cannot be known.
        if lock.try_lock().is_err() {
            return Ok(0);
        }
        let (mut removed, mut failed) = (0, None);
        for entry in fs::read_dir(&self.folder).map_err(MaintenanceError::at(&self.folder))? {
            let entry = entry.map_err(MaintenanceError::at(&self.folder))?;
            let name = entry.file_name();
            // Other entries of the folder are not ours, and a link is never followed.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Some(trace_id) = name
                .to_str()
                .filter(|_| is_folder)
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            // One that cannot be removed keeps no other.
            match remove_run(&self.inside(trace_id)) {
                Ok(()) => removed += 1,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        removed += remove_leftovers(&self.folder)?;
        failed.map_or(Ok(removed), Err)
    }

    /// Returns whether there is a trash folder; a link in its place is an error.
    fn is_there(&self) -> Result<bool, MaintenanceError> {
        match self.folder.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(true),
            Ok(_) => Err(MaintenanceError::at(&self.folder)(io::Error::other(
                "is no folder",
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(MaintenanceError::at(&self.folder)(error)),
        }
    }

    fn lock_shared(&self) -> Result<File, MaintenanceError> {
        let path = self.folder.join(LOCK);
        let made = Disk
            .create_directories(&self.folder)
            .and_then(|()| Disk.open(&path, OpenMode::Append));
        made.map_err(MaintenanceError::at(&path))?;
        let file = file::open(&path).map_err(|error| MaintenanceError::at(&path)(error.into()))?;
        // On a file system without locks nothing is emptied.
        let _ = file.lock_shared();
        Ok(file)
    }

    fn inside(&self, trace_id: TraceId) -> RunDirectory {
        RunDirectory {
            trace_id,
            path: self.folder.join(trace_id.to_string()),
        }
    }
}
