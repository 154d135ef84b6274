//! [`ImportError`]: why spans of another program could not be stored.

use std::io;
use std::path::{Path, PathBuf};

use crate::InvalidRun;
use thiserror::Error;
use tracer_format::Problem;

/// Why spans of another program could not be stored.
///
/// ```
/// use tracer_runs::import::{ImportError, Importer};
/// use tracer_sdk::settings::Settings;
///
/// let folder = tempfile::tempdir()?;
/// let importer = Importer::new(&Settings::with_data_dir(folder.path()));
/// let trace_id = "10000000000000000000000000000001".parse().unwrap();
/// assert!(matches!(importer.resume(trace_id), Ok(None))); // nothing is there yet
///
/// std::fs::create_dir_all(folder.path().join("runs").join("10000000000000000000000000000001"))?;
/// assert!(matches!(importer.resume(trace_id), Err(ImportError::NotImported)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A run with this ID is there, and another program recorded it into this data directory itself.
    #[error("the run was recorded here by its own program")]
    NotImported,
    /// Another process is recording the run.
    #[error("another process is recording the run")]
    RunActive,
    /// The run on disk has damage, so that nothing can be added.
    #[error("the run is damaged{}", problems.first().map(|first| format!(": {first}")).unwrap_or_default())]
    RunDamaged {
        /// Problems of the damaged run.
        problems: Vec<Problem>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ImportError {
    /// Makes an error of the system one at a path.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

impl From<InvalidRun> for ImportError {
    fn from(invalid: InvalidRun) -> Self {
        Self::RunDamaged {
            problems: invalid.problems,
        }
    }
}
