//! The runs of a team's bucket on this machine: their facts in a database, and the files of those that were opened. All of it is a cache, and can be deleted at any time.
//!
//! [`StoreMirror`] is the folder, laid out like a data directory; [`MirrorWriter`] takes over what a bucket lists;
//! [`TeamStore`] is what a [`FactsStore`](crate::FactsStore) reads as well as the runs of this machine.

mod line;
mod writer;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracer_runs::RunDirectory;
use tracer_sdk::disk::private_folder;
use tracer_sdk::format::{RUNS_FOLDER, Timestamp, TraceId};

use crate::database::RunDatabase;
use crate::database_file::DatabaseError;
pub use line::{FACTS_LINE_VERSION, LineProblem, MAX_FACTS_LINE_BYTES, MirrorLine};
pub use writer::MirrorWriter;

/// A mirror of a bucket on this machine.
///
/// ```
/// use tracer_catalog::StoreMirror;
///
/// let folder = tempfile::tempdir()?;
/// let mirror = StoreMirror::new(folder.path().join("mirror"), "s3://team/agents");
/// assert_eq!(mirror.origin(), "s3://team/agents");
/// assert!(mirror.synced_at().is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StoreMirror {
    folder: PathBuf,
    origin: Arc<str>,
}

impl StoreMirror {
    /// The mirror in a folder, which need not be there; `origin` is the URL of the bucket, without credentials.
    pub fn new(folder: impl Into<PathBuf>, origin: &str) -> Self {
        Self {
            folder: folder.into(),
            origin: origin.into(),
        }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The URL of the bucket.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The directory of a run, once it is fetched.
    #[must_use]
    pub fn directory(&self, run: TraceId) -> RunDirectory {
        RunDirectory {
            trace_id: run,
            path: self.folder.join(RUNS_FOLDER).join(run.to_string()),
        }
    }

    /// True of the directory of a run here, fetched or not.
    pub(crate) fn holds(&self, directory: &RunDirectory) -> bool {
        directory.path.starts_with(&self.folder)
    }

    /// When it was synchronized; `None` when it never was to the end.
    #[must_use]
    pub fn synced_at(&self) -> Option<Timestamp> {
        let at = |row: &rusqlite::Row<'_>| row.get(0).map(Timestamp::from_unix_microseconds);
        self.database()?.first("SELECT at FROM synced", [], at).ok()?
    }

    /// The database, unless nothing was ever synchronized, or it cannot be opened.
    pub(crate) fn database(&self) -> Option<RunDatabase> {
        self.open_database().ok().flatten()
    }

    /// The database; `None` when nothing was ever synchronized.
    pub(crate) fn open_database(&self) -> Result<Option<RunDatabase>, DatabaseError> {
        let opened = self.folder.is_dir().then(|| RunDatabase::of_bucket(&self.folder));
        opened.transpose()
    }

    /// Opens it for what a bucket lists, and makes it where it is missing.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: it cannot be written.
    pub fn writer(&self) -> Result<MirrorWriter, DatabaseError> {
        let made = private_folder().recursive(true).create(&self.folder);
        made.map_err(|source| DatabaseError::Unopened {
            path: self.folder.clone(),
            source,
        })?;
        Ok(MirrorWriter::new(RunDatabase::of_bucket(&self.folder)?))
    }
}

/// Why the files of a run cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The bucket cannot be reached now.
    #[error("the bucket cannot be reached: {0}")]
    Unreachable(String),
    /// The bucket does not give it.
    #[error("{0}")]
    Refused(String),
    /// It is not in the bucket any more.
    #[error("it is not in the bucket any more")]
    Gone,
    /// The bucket has something else in its place.
    #[error("what the bucket has of it is damaged: {0}")]
    Damaged(String),
    /// This machine cannot keep it.
    #[error("it cannot be kept here: {0}")]
    NotKept(String),
}

/// The files of a run, which stay where they are as long as this lives.
pub struct RunLease {
    /// Their directory.
    pub directory: RunDirectory,
    _held: Option<Box<dyn Any + Send + Sync>>,
}

impl RunLease {
    /// Files that stay as long as `held` lives.
    pub fn new(directory: RunDirectory, held: impl Any + Send + Sync) -> Self {
        Self {
            directory,
            _held: Some(Box::new(held)),
        }
    }

    /// Files that are never removed for room.
    pub(crate) fn unheld(directory: RunDirectory) -> Self {
        Self {
            directory,
            _held: None,
        }
    }
}

impl fmt::Debug for RunLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RunLease").field(&self.directory).finish()
    }
}

/// Brings runs of a bucket to this machine.
pub trait FetchRuns: fmt::Debug + Send + Sync {
    /// The files of a run in this state or a newer one, fetched unless they are here.
    ///
    /// # Errors
    ///
    /// [`FetchError::Unreachable`] and [`FetchError::Refused`] of a bucket that does not answer or does not give it,
    /// [`FetchError::Gone`] when it was removed, [`FetchError::Damaged`] when the bucket has something else in its place, and
    /// [`FetchError::NotKept`] when this machine cannot store it.
    fn fetch(&self, run: TraceId, generation: u64) -> Result<RunLease, FetchError>;

    /// True of a run of the data directory and of the bucket that has changed here since it was sent.
    fn has_changed_here(&self, directory: &RunDirectory) -> bool;
}

/// The runs of a team's bucket, read as well as those of this machine.
#[derive(Debug)]
pub struct TeamStore {
    mirror: StoreMirror,
    fetcher: Arc<dyn FetchRuns>,
    unfetched: AtomicU64,
}

impl TeamStore {
    /// The runs of a mirror, and the client that fetches their files.
    pub fn new(mirror: StoreMirror, fetcher: Arc<dyn FetchRuns>) -> Self {
        Self {
            mirror,
            fetcher,
            unfetched: AtomicU64::new(0),
        }
    }

    /// The URL of the bucket, without credentials.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.mirror.origin()
    }

    /// The number of runs that could not be fetched since the last call.
    pub fn take_unfetched(&self) -> u64 {
        self.unfetched.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn mirror(&self) -> &StoreMirror {
        &self.mirror
    }

    pub(crate) fn has_changed_here(&self, directory: &RunDirectory) -> bool {
        self.fetcher.has_changed_here(directory)
    }

    pub(crate) fn fetch(&self, run: TraceId, generation: i64) -> Result<RunLease, FetchError> {
        let fetched = self.fetcher.fetch(run, generation.unsigned_abs());
        if fetched.is_err() {
            self.unfetched.fetch_add(1, Ordering::Relaxed);
        }
        fetched
    }
}
