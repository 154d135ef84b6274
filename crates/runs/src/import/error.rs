//! [`ImportError`]: why spans of another program could not be stored.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::InvalidRun;
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
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// A run with this ID is there, and another program recorded it into this data directory itself.
    NotImported,
    /// Another process is recording the run.
    RunActive,
    /// The run on disk has damage, so that nothing can be added.
    RunDamaged {
        /// Problems of the damaged run.
        problems: Vec<Problem>,
    },
    /// A file could not be read or written.
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

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotImported => formatter.write_str("the run was recorded here by its own program"),
            Self::RunActive => formatter.write_str("another process is recording the run"),
            Self::RunDamaged { problems } => match problems.first() {
                Some(first) => write!(formatter, "the run is damaged: {first}"),
                None => formatter.write_str("the run is damaged"),
            },
            Self::Io { path, source } => write!(formatter, "{}: {source}", path.display()),
        }
    }
}

impl Error for ImportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
