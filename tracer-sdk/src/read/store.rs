//! A data directory: which runs it holds, told from their metadata alone (specification, *Run directory*).

#![expect(
    clippy::disallowed_types,
    reason = "what is read of a run once belongs to the value that was listed, which a forked child makes anew"
)]

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::filter::RunStatus;
use super::gather::read_meta_file;
use super::live_file::read_live_file;
use super::liveness::{Liveness, probe_liveness};
use super::load::{InvalidRun, LoadedRun, open_run};
use super::log_ends;
use super::salvage::{SalvagedRun, salvage_run};
use crate::format::{Problem, ProblemCode, RUNS_FOLDER, RecordedStatus, RunMeta, Timestamp, TraceId};
use readers::{Placed, in_turns, read_all};

mod readers;

#[cfg(test)]
mod tests;

/// A data directory with its runs.
///
/// ```
/// use tracer_sdk::read::{RunStore, StoreError};
///
/// let directory = tempfile::tempdir()?;
/// let store = RunStore::new(directory.path());
/// assert!(matches!(store.list(), Err(StoreError::Missing { path }) if path == store.runs_dir()));
///
/// std::fs::create_dir(store.runs_dir())?;
/// assert!(store.list()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStore {
    data_dir: PathBuf,
}

impl RunStore {
    /// The store in a data directory, which need not be there yet.
    ///
    /// ```
    /// use tracer_sdk::read::RunStore;
    ///
    /// let store = RunStore::new("/home/me/.tracer");
    /// assert_eq!(store.runs_dir(), std::path::Path::new("/home/me/.tracer/runs"));
    /// ```
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
        }
    }

    /// The data directory.
    ///
    /// ```
    /// use tracer_sdk::read::RunStore;
    ///
    /// let store = RunStore::new("/home/me/.tracer");
    /// assert_eq!(store.data_dir(), std::path::Path::new("/home/me/.tracer"));
    /// ```
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The folder with one directory per run.
    ///
    /// ```
    /// use tracer_sdk::read::RunStore;
    ///
    /// assert!(RunStore::new("/home/me/.tracer").runs_dir().ends_with("runs"));
    /// ```
    #[must_use]
    pub fn runs_dir(&self) -> PathBuf {
        self.data_dir.join(RUNS_FOLDER)
    }

    /// The directories of all runs, by ID. Anything else in the folder is passed over: files, symbolic links, and names
    /// that are no trace ID.
    ///
    /// ```
    /// # let (folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let directories = tracer_sdk::read::RunStore::new(data_dir).directories()?;
    /// assert_eq!(directories[0].path, directory);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder is missing or cannot be read.
    pub fn directories(&self) -> Result<Vec<RunDirectory>, StoreError> {
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
    /// Where a run cannot tell when it started, the time at which its directory was last changed stands in.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let runs = tracer_sdk::read::RunStore::new(data_dir).list()?;
    /// let meta = runs[0].meta.as_ref().expect("it can be read");
    /// assert_eq!(meta.run_name.as_deref(), Some("support-agent"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder is missing or cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list_newest(usize::MAX)
    }

    /// The newest runs, at most `limit`, as [`RunStore::list`] gives them.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let store = tracer_sdk::read::RunStore::new(data_dir);
    /// assert_eq!(store.list_newest(20)?.len(), 1);
    /// assert!(store.list_newest(0)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// The inode number, where there is one: it tells the order in which directories lie.
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

/// Where a run lies.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// # let data_dir = folder.path();
/// let run = tracer_sdk::read::RunStore::new(data_dir).newest()?;
/// assert!(run.path.ends_with(run.trace_id.to_string()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    /// The run's ID, which is the name of the directory.
    pub trace_id: TraceId,
    /// The directory.
    pub path: PathBuf,
}

impl RunDirectory {
    /// The directory of a run in the folder of all runs.
    fn in_folder(runs_dir: &Path, trace_id: TraceId) -> Self {
        Self {
            trace_id,
            path: runs_dir.join(trace_id.to_string()),
        }
    }

    /// Reads the run's `meta.json`.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let run = tracer_sdk::read::RunStore::new(data_dir).newest()?.read_summary();
    /// assert!(run.meta.is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_summary(self) -> RunSummary {
        let reading = read_meta_file(&self.path);
        let meta = match reading.meta {
            Some(meta) if reading.problems.is_empty() => Ok(meta),
            _ => self.not_written_yet(reading.problems),
        };
        RunSummary {
            directory: self,
            meta,
            log: OnceLock::new(),
        }
    }

    /// A run that has no `meta.json` yet tells in its `.live` what it is.
    fn not_written_yet(&self, problems: Vec<Problem>) -> Result<RunMeta, Vec<Problem>> {
        let is_missing = problems
            .iter()
            .any(|problem| problem.code == ProblemCode::MissingFile);
        let live = is_missing.then(|| read_live_file(&self.path)).flatten();
        live.map(|live| live.as_meta(self.trace_id)).ok_or(problems)
    }

    /// Reads the run and refuses it when it has a problem, see [`open_run`].
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let run = tracer_sdk::read::RunStore::new(data_dir).newest()?.open()?;
    /// assert_eq!(run.spans.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] with every problem.
    pub fn open(&self) -> Result<LoadedRun, InvalidRun> {
        open_run(&self.path)
    }

    /// Reads whatever can be read of the run, see [`salvage_run`].
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let run = tracer_sdk::read::RunStore::new(data_dir).newest()?.salvage()?;
    /// assert!(run.problems.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] when there is nothing to show.
    pub fn salvage(&self) -> Result<SalvagedRun, InvalidRun> {
        salvage_run(&self.path)
    }
}

/// A run as a list shows it.
///
/// ```
/// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// # let data_dir = folder.path();
/// use tracer_sdk::read::Liveness;
///
/// let run = &tracer_sdk::read::RunStore::new(data_dir).list()?[0];
/// assert_eq!((run.meta.is_ok(), run.probe_liveness()), (true, Liveness::Ended));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Where the run lies.
    pub directory: RunDirectory,
    /// Its metadata, or what is wrong with that.
    pub meta: Result<RunMeta, Vec<Problem>>,
    /// What is wrong at the ends of its log, once that was asked for.
    log: OnceLock<Vec<Problem>>,
}

impl RunSummary {
    /// When the run started, if it can tell.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let run = &tracer_sdk::read::RunStore::new(data_dir).list()?[0];
    /// assert!(run.started().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.meta.as_ref().ok().map(|meta| meta.started_at.instant())
    }

    /// Whether the run is still going on.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{Liveness, RunStore};
    ///
    /// let run = &RunStore::new(data_dir).list()?[0];
    /// assert_eq!(run.probe_liveness(), Liveness::Ended);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn probe_liveness(&self) -> Liveness {
        let status = self
            .meta
            .as_ref()
            .map_or(RecordedStatus::Running, |meta| meta.status);
        probe_liveness(&self.directory.path, status)
    }

    /// What keeps the run from being what its metadata says: problems of `meta.json` or, when that can be read, of the
    /// first and the last line of the log. Empty for most damaged logs too: only [`validate`](super::validate()) reads
    /// all of one.
    ///
    /// The log is looked at once, at the first call.
    ///
    /// ```
    /// # let (folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::RunStore;
    ///
    /// assert!(RunStore::new(data_dir).list()?[0].problems().is_empty());
    /// std::fs::write(directory.join("spans.jsonl"), "garbage\n")?;
    /// let run = &RunStore::new(data_dir).list()?[0];
    /// assert_eq!(run.problems()[0].location, "spans.jsonl:1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match &self.meta {
            Ok(meta) => self
                .log
                .get_or_init(|| log_ends::problems(&self.directory.path, meta)),
            Err(problems) => problems,
        }
    }

    /// Looks at the logs of many runs at once, as [`RunSummary::problems`] otherwise does one by one.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunSummary, RunStatus, RunStore};
    ///
    /// let runs = RunStore::new(data_dir).list()?;
    /// RunSummary::check_all_logs(&runs);
    /// assert_eq!(runs[0].status(), RunStatus::Ok); // without another look
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_all_logs(runs: &[Self]) {
        in_turns(runs, |taken| {
            for run in taken {
                let _ = run.problems();
            }
        });
    }

    /// The status of the run, in the one vocabulary of everything that shows runs.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// use tracer_sdk::read::{RunStatus, RunStore};
    ///
    /// assert_eq!(RunStore::new(data_dir).list()?[0].status(), RunStatus::Ok);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.meta {
            Ok(meta) if self.problems().is_empty() => {
                let is_interrupted = || self.probe_liveness() == Liveness::Interrupted;
                RunStatus::recorded(meta, is_interrupted, || self.has_looped())
            }
            _ => RunStatus::Damaged,
        }
    }

    /// Whether somebody records the run, or may do so: it is not to be changed or removed.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// assert!(!tracer_sdk::read::RunStore::new(data_dir).list()?[0].may_be_live());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn may_be_live(&self) -> bool {
        match self.probe_liveness() {
            Liveness::Running => true,
            // Without metadata nothing says that it runs.
            Liveness::Unknown => self.meta.is_ok(),
            Liveness::Ended | Liveness::Interrupted => false,
        }
    }
}

/// Why a data directory cannot be listed.
///
/// ```
/// use tracer_sdk::read::{RunStore, StoreError};
///
/// let error = RunStore::new("no/such/folder").list().unwrap_err();
/// assert!(matches!(error, StoreError::Missing { .. }));
/// assert_eq!(error.to_string(), "there are no runs: no/such/folder/runs does not exist");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no data directory, or no folder of runs in it: nothing has been recorded there.
    Missing {
        /// The folder that was looked for.
        path: PathBuf,
    },
    /// The folder cannot be read.
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { path } => {
                write!(formatter, "there are no runs: {} does not exist", path.display())
            }
            Self::Unreadable { path, source } => {
                write!(formatter, "{} cannot be read: {source}", path.display())
            }
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Missing { .. } => None,
            Self::Unreadable { source, .. } => Some(source),
        }
    }
}
