//! Trash for deleted runs that may be wanted again, next to the runs.
//!
//! Each process that deletes holds a shared lock: the system unlocks it however a process ends, and the one that gets it
//! exclusively is the last.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::error::MaintenanceError;
use super::remove::{remove_leftovers, remove_run};
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
#[derive(Debug)]
pub struct Trash {
    folder: PathBuf,
    runs_dir: PathBuf,
    /// Locked, shared, from the first run that this process puts there.
    lock: Mutex<Option<File>>,
}

impl Trash {
    /// The trash of a store, which need not be there yet.
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
    /// # Errors
    ///
    /// [`MaintenanceError::Io`] when something cannot be removed.
    pub fn empty(&self) -> Result<u64, MaintenanceError> {
        drop(self.lock.lock().take());
        if !self.is_there()? {
            return Ok(0);
        }
        let Some(_lock) = lock_exclusively(&self.folder)? else {
            return Ok(0);
        };
        let (mut removed, mut failed) = (0, None);
        for entry in fs::read_dir(&self.folder).map_err(MaintenanceError::at(&self.folder))? {
            let entry = entry.map_err(MaintenanceError::at(&self.folder))?;
            let name = entry.file_name();
            // Other entries of the folder are not ours, and a link is never followed.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Some(name) = name.to_str().filter(|_| is_folder) else {
                continue;
            };
            let Ok(trace_id) = name.parse() else { continue };
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
        Disk.create_directories(&self.folder)
            .map_err(MaintenanceError::at(&self.folder))?;
        let file = open_lock(&self.folder)?;
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

/// Opens the lock of a folder, which is made when it is missing. Only a file that can be written is locked on NFS.
fn open_lock(folder: &Path) -> Result<File, MaintenanceError> {
    let path = folder.join(LOCK);
    let checked = Disk.open(&path, OpenMode::Append);
    let file = checked.and_then(|_| File::options().read(true).append(true).open(&path));
    file.map_err(MaintenanceError::at(&path))
}

/// The lock of a folder; `None` while another process has it, and on a file system without locks.
fn lock_exclusively(folder: &Path) -> Result<Option<File>, MaintenanceError> {
    let file = open_lock(folder)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(TryLockError::Error(error)) => Err(MaintenanceError::at(&folder.join(LOCK))(error)),
    }
}
