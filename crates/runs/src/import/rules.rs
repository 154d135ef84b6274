//! State shared by all runs of an importer: directories, rules, unfinished runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::ImportError;
use tracer_format::{RUNS_FOLDER, TraceId};
use tracer_sdk::disk::ForeignLimits;
use tracer_sdk::disk::Redactor;
use tracer_sdk::disk::{FileSystem, OpenMode};

/// The folder of traces that may become a run, next to the folder of the runs.
const STAGING_FOLDER: &str = "staging";
/// The ending of the file there whose name is that of a run which has not ended.
pub(super) const UNFINISHED_ENDING: &str = "run";
/// The additive key of `meta.json` that every imported run has.
pub(super) const IMPORTED: &str = "imported";

/// State that all runs of an importer share.
#[derive(Debug)]
pub(super) struct ImportRules {
    pub(super) file_system: Arc<dyn FileSystem>,
    pub(super) data_directory: PathBuf,
    pub(super) redactor: Arc<Redactor>,
    pub(super) limits: ForeignLimits,
}

impl ImportRules {
    pub(super) fn runs(&self) -> PathBuf {
        self.data_directory.join(RUNS_FOLDER)
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.data_directory.join(STAGING_FOLDER)
    }

    fn unfinished_file(&self, trace_id: TraceId) -> PathBuf {
        self.staging().join(format!("{trace_id}.{UNFINISHED_ENDING}"))
    }

    pub(super) fn is_unfinished(&self, trace_id: TraceId) -> bool {
        self.unfinished_file(trace_id).symlink_metadata().is_ok()
    }

    /// Notes that a run has not ended, so that the next process finds it without reading all runs.
    pub(super) fn mark_unfinished(&self, trace_id: TraceId) -> Result<(), ImportError> {
        let path = self.unfinished_file(trace_id);
        let create = || self.file_system.open(&path, OpenMode::Append).map(drop);
        create()
            .or_else(|_| {
                self.file_system.create_directories(&self.staging())?;
                create()
            })
            .map_err(ImportError::at(&path))
    }

    /// A run has ended, or is gone.
    pub(super) fn forget_unfinished(&self, trace_id: TraceId) {
        // One that stays names a run that has ended, which the next process finds and takes away.
        let _ = self.file_system.remove(&self.unfinished_file(trace_id));
    }
}
