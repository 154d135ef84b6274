//! Trash for deleted runs that may be wanted again, next to the runs.
//!
//! Each process that deletes has a place of its own, so that none empties another's. A lock shows whether a process is
//! gone: the system unlocks it however a process ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::MaintenanceError;
use super::remove::{remove_run, remove_tree};
use crate::{Liveness, RunDirectory, RunStore};
use parking_lot::Mutex;
use tracer_format::TraceId;
use tracer_sdk::disk::{Disk, FileSystem, OpenFile, OpenMode};

/// The folder, next to that of the runs.
const FOLDER: &str = "trash";
/// In a place, the file whose lock says that the process is there which deletes into it.
const LOCK: &str = ".lock";
/// Name prefix of a place that is not made yet.
const UNMADE: char = '.';

/// The trash of a data directory, as one process deletes into it. For readers, a run in it is no run.
///
/// What this process has deleted is its own until it ends: others restore it and empty the rest.
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
    /// Made with the first run that is put there.
    own: Mutex<Option<TrashFolder>>,
}

/// Place into which one process puts runs.
#[derive(Debug)]
struct TrashFolder {
    path: PathBuf,
    /// Locked as long as the process is there.
    _lock: Box<dyn OpenFile>,
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
            own: Mutex::new(None),
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
        let mut own = self.own.lock();
        let place = match own.as_ref() {
            // Somebody may have taken it away.
            Some(place) if is_directory(&place.path) => place,
            _ => own.insert(self.make_place()?),
        };
        let inside = inside(&place.path, run.trace_id);
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
        let own = self.own.lock().as_ref().map(|own| own.path.clone());
        let mut places = self.places()?;
        // A run that this process deleted takes precedence.
        places.sort_by_key(|place| Some(place) != own.as_ref());
        let found = places
            .into_iter()
            .map(|place| inside(&place, trace_id))
            .find(|inside| is_directory(&inside.path));
        let Some(inside) = found else { return Ok(false) };
        let path = self.runs_dir.join(trace_id.to_string());
        if path.symlink_metadata().is_ok() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(MaintenanceError::at(&path)(exists));
        }
        Disk.rename(&inside.path, &path)
            .map_err(MaintenanceError::at(&path))?;
        Ok(true)
    }

    /// Deletes permanently what was put there by this process and by processes that are gone; gives the number of runs.
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
        let own = self.own.lock().take();
        let (mut removed, mut failed) = (0, None);
        for place in self.places()? {
            let lock = match &own {
                Some(own) if own.path == place => None,
                _ => match locked(&place) {
                    Ok(Some(lock)) => Some(lock),
                    // Its process is there, or that cannot be known.
                    Ok(None) | Err(_) => continue,
                },
            };
            // One that cannot be removed keeps no other.
            match runs_in(&place).and_then(|runs| remove_tree(&place, &Disk).map(|()| runs)) {
                Ok(runs) => removed += runs,
                Err(error) => failed = failed.or(Some(error)),
            }
            drop(lock);
        }
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

    /// The places of all processes.
    fn places(&self) -> Result<Vec<PathBuf>, MaintenanceError> {
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        let mut places = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(MaintenanceError::at(&self.folder))? {
            let entry = entry.map_err(MaintenanceError::at(&self.folder))?;
            let is_made = !entry.file_name().to_string_lossy().starts_with(UNMADE);
            let path = entry.path();
            // Other entries of the folder are not ours.
            let is_place = entry.file_type().is_ok_and(|kind| kind.is_dir())
                && path
                    .join(LOCK)
                    .symlink_metadata()
                    .is_ok_and(|lock| lock.is_file());
            if is_made && is_place {
                places.push(path);
            }
        }
        Ok(places)
    }

    /// Makes a place that is locked when others see it first.
    fn make_place(&self) -> Result<TrashFolder, MaintenanceError> {
        /// Distinguishes the folders of one process.
        static MADE: AtomicU64 = AtomicU64::new(0);

        self.is_there()?;
        Disk.create_directories(&self.folder)
            .map_err(MaintenanceError::at(&self.folder))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{:x}-{number}", std::process::id(), now.as_nanos());
        let unmade = self.folder.join(format!("{UNMADE}{name}"));
        Disk.create_directory(&unmade)
            .map_err(MaintenanceError::at(&unmade))?;
        let lock = Disk
            .open(&unmade.join(LOCK), OpenMode::New)
            .map_err(MaintenanceError::at(&unmade))?;
        // On a file system without locks, other processes leave the place alone.
        let _ = lock.try_lock();
        let path = self.folder.join(name);
        Disk.rename(&unmade, &path).map_err(MaintenanceError::at(&path))?;
        Ok(TrashFolder { path, _lock: lock })
    }
}

/// The lock of a place whose process is gone.
fn locked(place: &Path) -> io::Result<Option<Box<dyn OpenFile>>> {
    let lock = Disk.open(&place.join(LOCK), OpenMode::Append)?;
    Ok(lock.try_lock()?.then_some(lock))
}

fn runs_in(place: &Path) -> Result<u64, MaintenanceError> {
    let entries = fs::read_dir(place).map_err(MaintenanceError::at(place))?;
    let is_run = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.parse::<TraceId>().is_ok())
    };
    Ok(entries.flatten().filter(is_run).count() as u64)
}

fn inside(place: &Path, trace_id: TraceId) -> RunDirectory {
    RunDirectory {
        trace_id,
        path: place.join(trace_id.to_string()),
    }
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
