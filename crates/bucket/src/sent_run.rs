//! [`SentRun`]: what the journal remembers of a run in a bucket.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tracer_sdk::format::{META_FILE, SPANS_FILE};

/// State of a run that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentRun {
    /// Stamp of its files when they were sent.
    pub(crate) files: String,
    /// Hash of the log as it was sent.
    pub(crate) sha256: String,
    pub(crate) generation: u64,
    /// The object of facts that is to list it: named before it is written, so that a shipper that was killed can look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) facts: Option<String>,
    /// `true` when the facts are there, too: nothing is left to do.
    pub(crate) complete: bool,
}

/// Stamp of the files of a run: sizes and times. A run that has not ended has none.
pub(crate) fn files_stamp(directory: &Path) -> Option<String> {
    let part = |name: &str| {
        let metadata = fs::symlink_metadata(directory.join(name)).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        metadata
            .is_file()
            .then(|| format!("{}@{}", metadata.len(), modified.as_nanos()))
    };
    Some(format!("{} {}", part(META_FILE)?, part(SPANS_FILE)?))
}
