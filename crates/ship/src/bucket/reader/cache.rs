//! [`RunCache`]: the runs that were fetched, in a mirror's folder `runs/`, each whole or not there at all.
//!
//! Each has a file `fetched.json` with what every run has. It names the state of the run, its time is that of the last use,
//! and each reader of the run has it locked: runs without a reader go first when there is no more room.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tracer_catalog::RunLease;
use tracer_runs::{RunDirectory, read_input};
use tracer_sdk::disk::{private_file, private_folder};
use tracer_sdk::format::{META_FILE, RUNS_FOLDER, SPANS_FILE, TraceId};

use super::locked;

/// The file that makes a folder a fetched run.
const FETCHED_FILE: &str = "fetched.json";
/// Version of it.
const VERSION: u32 = 1;
const MAX_FETCHED_BYTES: u64 = 64 * 1024;
/// Folder of what is being fetched, or removed.
const UNFINISHED_FOLDER: &str = "fetching";
/// Age of what a process that died has left.
const MAX_UNFINISHED: Duration = Duration::from_secs(24 * 3600);

/// State of a fetched run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FetchedRun {
    version: u32,
    pub(super) generation: u64,
    /// Bytes of its files.
    pub(super) bytes: u64,
}

impl FetchedRun {
    pub(super) fn new(generation: u64, bytes: u64) -> Self {
        Self {
            version: VERSION,
            generation,
            bytes,
        }
    }
}

/// The fetched runs of a mirror.
pub(super) struct RunCache {
    folder: PathBuf,
    /// Bytes of all of them together, unless more are in use.
    budget: u64,
    /// Bytes of all of them, once they were counted.
    total: Mutex<Option<u64>>,
}

impl RunCache {
    pub(super) fn new(folder: &Path, budget: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            budget,
            total: Mutex::default(),
        }
    }

    fn runs(&self) -> PathBuf {
        self.folder.join(RUNS_FOLDER)
    }

    fn path(&self, run: TraceId) -> PathBuf {
        self.runs().join(run.to_string())
    }

    /// A run that is here, in any state; it stays as long as the lease lives. One whose files have another size than they were
    /// fetched with is not here.
    pub(super) fn lease(&self, run: TraceId) -> Option<(FetchedRun, RunLease)> {
        let path = self.path(run);
        let file = path.join(FETCHED_FILE);
        let held = File::open(&file).ok()?;
        held.try_lock_shared().ok()?;
        // It may have been removed before it was locked.
        let bytes = read_input(&file, MAX_FETCHED_BYTES).ok()?;
        let fetched: FetchedRun = serde_json::from_slice(&bytes).ok()?;
        let sizes = [SPANS_FILE, META_FILE].map(|name| Some(fs::metadata(path.join(name)).ok()?.len()));
        let bytes: Option<u64> = sizes.into_iter().sum();
        if fetched.version != VERSION || bytes != Some(fetched.bytes) {
            return None;
        }
        // Where times cannot be set, the order is that of fetching.
        let _ = held.set_modified(SystemTime::now());
        let directory = RunDirectory { trace_id: run, path };
        Some((fetched, RunLease::new(directory, held)))
    }

    /// A folder to fetch a run into; it is removed unless it becomes the run.
    pub(super) fn begin(&self, run: TraceId) -> io::Result<UnfinishedRun> {
        let folder = self.folder.join(UNFINISHED_FOLDER);
        private_folder().recursive(true).create(&folder)?;
        let folder = tempfile::Builder::new()
            .prefix(&format!("{run}-"))
            .tempdir_in(folder)?;
        Ok(UnfinishedRun { folder })
    }

    /// Puts a fetched run in its place, once all of it is on the disk.
    pub(super) fn keep(
        &self,
        run: TraceId,
        unfinished: &UnfinishedRun,
        fetched: &FetchedRun,
    ) -> io::Result<()> {
        unfinished.write(FETCHED_FILE, &serde_json::to_vec(fetched)?)?;
        sync_folder(unfinished.folder.path())?;
        private_folder().recursive(true).create(self.runs())?;
        let path = self.path(run);
        for _ in 0..3 {
            match fs::rename(unfinished.folder.path(), &path) {
                Ok(()) => {
                    sync_folder(&self.runs())?;
                    self.grow_by(run, fetched.bytes);
                    return Ok(());
                }
                // An older state, or another process was faster.
                Err(_) if path.exists() => match self.lease(run) {
                    Some((known, _)) if known.generation >= fetched.generation => return Ok(()),
                    _ => self.remove(run)?,
                },
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("other processes fetch it again and again"))
    }

    /// Takes a run away, at once for all readers.
    fn remove(&self, run: TraceId) -> io::Result<()> {
        let aside = self.begin(run)?;
        match fs::rename(self.path(run), aside.join("removed")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes room for a run that was fetched.
    fn grow_by(&self, run: TraceId, bytes: u64) {
        let mut total = locked(&self.total);
        let sum = if let Some(known) = *total {
            known.saturating_add(bytes)
        } else {
            self.remove_unfinished();
            self.used().iter().map(|used| used.bytes).sum()
        };
        *total = Some(if sum > self.budget {
            self.make_room(run)
        } else {
            sum
        });
    }

    /// Removes what was not used for the longest time, and is not in use; what stays, in bytes.
    fn make_room(&self, but: TraceId) -> u64 {
        let mut all = self.used();
        all.sort_by_key(|used| used.last_use);
        let mut sum: u64 = all.iter().map(|used| used.bytes).sum();
        for used in all {
            if sum <= self.budget {
                break;
            }
            if used.run == but {
                continue;
            }
            let file = File::open(self.path(used.run).join(FETCHED_FILE));
            let is_free = file.as_ref().is_ok_and(|file| file.try_lock().is_ok());
            if is_free && self.remove(used.run).is_ok() {
                sum = sum.saturating_sub(used.bytes);
            }
        }
        sum
    }

    fn used(&self) -> Vec<UsedRun> {
        let Ok(entries) = fs::read_dir(self.runs()) else {
            return Vec::new();
        };
        let used = |entry: fs::DirEntry| {
            let file = entry.path().join(FETCHED_FILE);
            let fetched: FetchedRun =
                serde_json::from_slice(&read_input(&file, MAX_FETCHED_BYTES).ok()?).ok()?;
            Some(UsedRun {
                run: entry.file_name().to_str()?.parse().ok()?,
                bytes: fetched.bytes,
                last_use: fs::metadata(&file).ok()?.modified().ok()?,
            })
        };
        entries.flatten().filter_map(used).collect()
    }

    fn remove_unfinished(&self) {
        let Ok(entries) = fs::read_dir(self.folder.join(UNFINISHED_FOLDER)) else {
            return;
        };
        for entry in entries.flatten() {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            if changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > MAX_UNFINISHED)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

struct UsedRun {
    run: TraceId,
    bytes: u64,
    last_use: SystemTime,
}

/// A run that is being fetched. Its folder is removed unless it became the run.
pub(super) struct UnfinishedRun {
    folder: TempDir,
}

impl UnfinishedRun {
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        private_file().write(true).create_new(true).open(self.join(name))
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Makes the entries of a folder durable, where the system can.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
