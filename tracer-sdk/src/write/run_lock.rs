//! The lock that tells readers of a run that its process lives: one for all runs of the process, under a name in the
//! directory of each (decisions, section 5).
//!
//! The names are hard links to one file, so that a run's directory has all that tells of it, and a process needs one
//! descriptor for its runs. Where files cannot be linked, runs have locks of their own as long as there are descriptors.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::files::{FileSystem, OpenFile, OpenMode};
use super::kept_files::Permit;
use crate::process::{OwnLock, OwnProcess, PerProcess};
use tracer_format::LOCK_FILE;

/// The names of the locks that this process holds, in the order in which it took them. A receiver has a thousand.
static HELD: PerProcess<OwnLock<BTreeMap<u64, HeldLock>>> =
    PerProcess::new(|process| OwnLock::new(process, BTreeMap::new()));

/// Number of names that are tried before a new lock is made: those of removed runs lead nowhere.
const MAX_TRIES: usize = 4;

#[derive(Debug)]
struct HeldLock {
    file_system: usize,
    lock: Weak<LockedFile>,
    path: PathBuf,
}

/// A locked file; closing it gives the lock back.
#[derive(Debug)]
struct LockedFile {
    file: Box<dyn OpenFile>,
    _permit: Permit,
}

/// The lock of a run. Dropping it takes the run's name away, and the last one the lock.
#[derive(Debug)]
pub(super) struct RunLock {
    file_system: Arc<dyn FileSystem>,
    process: OwnProcess,
    path: PathBuf,
    /// Its place among those that this process holds.
    number: Option<u64>,
    /// The run's name for the lock is there.
    is_named: bool,
    lock: Arc<LockedFile>,
}

impl RunLock {
    /// Takes the lock; `None` where files cannot be locked, or no descriptor is left for it.
    pub(super) fn hold(file_system: &Arc<dyn FileSystem>, directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(LOCK_FILE);
        let lock = match shared(file_system.as_ref(), &path)? {
            Some(lock) => lock,
            None => match new(file_system.as_ref(), &path)? {
                Some(lock) => Arc::new(lock),
                None => return Ok(None),
            },
        };
        let number = HELD.get().lock().map(|mut held| {
            let number = held.last_key_value().map_or(0, |(last, _)| last + 1);
            held.insert(
                number,
                HeldLock {
                    file_system: file_system.identity(),
                    lock: Arc::downgrade(&lock),
                    path: path.clone(),
                },
            );
            number
        });
        Ok(Some(Self {
            file_system: Arc::clone(file_system),
            process: OwnProcess::current(),
            path,
            number,
            is_named: true,
            lock,
        }))
    }

    /// Takes the run's name away: it is not taken for one that is recorded, whatever else this process records.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        if self.is_named {
            self.file_system.remove(&self.path)?;
            self.is_named = false;
        }
        Ok(())
    }

    /// The run's directory has another name now, and all that is in it went along.
    pub(super) fn moved_to(&mut self, directory: &Path) {
        let path = directory.join(LOCK_FILE);
        if let Some(number) = self.number
            && let Some(mut held) = HELD.get().lock()
            && let Some(held) = held.get_mut(&number)
        {
            held.path.clone_from(&path);
        }
        self.path = path;
    }

    /// Path of the lock.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the process's descriptor.
    pub(super) fn descriptor(&self) -> Option<u32> {
        self.lock.file.descriptor()
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A forked child leaves its parent's files alone.
        if !self.process.is_surely_current() {
            return;
        }
        // Readers see in the end that the process holds it no more.
        let _ = self.remove();
        if let Some(number) = self.number
            && let Some(mut held) = HELD.get().lock()
        {
            held.remove(&number);
        }
    }
}

/// A lock that this process holds already, under a further name.
fn shared(file_system: &dyn FileSystem, path: &Path) -> io::Result<Option<Arc<LockedFile>>> {
    for (lock, name) in candidates(file_system.identity()) {
        // Another disk, a removed run, no links: whatever it is, there are other names.
        if file_system.link(&name, path).is_err() {
            continue;
        }
        if lock.file.is_at(path).unwrap_or(false) {
            return Ok(Some(lock));
        }
        // Somebody put another file under the name.
        file_system.remove(path)?;
    }
    Ok(None)
}

fn candidates(file_system: usize) -> Vec<(Arc<LockedFile>, PathBuf)> {
    let Some(held) = HELD.get().lock() else {
        return Vec::new();
    };
    let of_this = held.values().rev().filter(|held| held.file_system == file_system);
    of_this
        .filter_map(|held| Some((held.lock.upgrade()?, held.path.clone())))
        .take(MAX_TRIES)
        .collect()
}

fn new(file_system: &dyn FileSystem, path: &Path) -> io::Result<Option<LockedFile>> {
    let Some(permit) = Permit::take() else {
        return Ok(None);
    };
    let file = file_system.open(path, OpenMode::New)?;
    let locked = match file.try_lock() {
        Ok(true) => {
            return Ok(Some(LockedFile {
                file,
                _permit: permit,
            }));
        }
        Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    };
    // The error that matters is the first one.
    let _ = file_system.remove(path);
    locked
}
