//! Why a run was not changed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tracer_format::Problem;

/// Why a run was not changed, or not to the end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// The run is still being recorded, or another process is changing it.
    #[error("the run is still going on")]
    RunActive,
    /// The run is recorded as running, and nothing shows whether it is: its emitter keeps no `.live`.
    #[error("the run is recorded as running, and nothing shows whether it still is")]
    LivenessUnknown,
    /// The run has ended, and nothing was left undone.
    #[error("the run has ended, and nothing was left undone")]
    AlreadyComplete,
    /// The store has a run with this ID already.
    #[error("the store has a run with this ID already")]
    RunExists,
    /// The run has damage that an interruption does not explain.
    #[error("the run is damaged in a way that no interruption explains")]
    RunDamaged {
        /// The problems.
        problems: Vec<Problem>,
        /// Number of further problems.
        more_problems: u64,
    },
    /// A file cannot be read or written.
    #[error("failed to access `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl MaintenanceError {
    /// An I/O error at a path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
