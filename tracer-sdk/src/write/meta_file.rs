//! Writing `meta.json`: always whole, by a temporary file and a rename in the same folder (decisions, section 5).

use std::io;
use std::path::Path;

use serde::Serialize;

use super::files::{FileSystem, open_own, write_all};
use tracer_format::{
    Counts, Dropped, META_FILE, RecordedStatus, SPEC_VERSION, Timestamp, TraceId, is_default,
};

/// The metadata that an emitter writes (specification, `meta.json`).
#[derive(Debug, Serialize)]
pub(crate) struct MetaFile<'a> {
    pub(crate) spec_version: &'static str,
    pub(crate) trace_id: TraceId,
    pub(crate) run_name: &'a str,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) status: RecordedStatus,
    pub(crate) counts: Counts,
    /// Additive: `false` where the counts are not those of the projection, so that readers count.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub(crate) counts_exact: bool,
    /// Additive: spans that could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dropped: Option<Dropped>,
    /// Additive: parts of records that are past what a record keeps.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) left_out: u64,
    /// Additive: how many of the blocks that were warned of are loops, so that a list of runs need not read their spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loops: Option<u64>,
    /// Additive: spans that had not ended when the run did, and have not since.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) unfinished_spans: u64,
    /// Additive: records that found no run while this one and others were live.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) unattached: u64,
}

impl<'a> MetaFile<'a> {
    /// The metadata of a run that has started.
    pub(crate) fn running(trace_id: TraceId, run_name: &'a str, started_at: Timestamp) -> Self {
        Self {
            spec_version: SPEC_VERSION,
            trace_id,
            run_name,
            started_at,
            ended_at: None,
            duration_ms: None,
            status: RecordedStatus::Running,
            counts: Counts::default(),
            counts_exact: true,
            dropped: None,
            left_out: 0,
            loops: None,
            unfinished_spans: 0,
            unattached: 0,
        }
    }

    /// Replaces the file in `directory`; when it fails the old one is untouched.
    pub(crate) fn replace(&self, file_system: &dyn FileSystem, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        replace_text(file_system, directory, &text)
    }
}

/// Replaces the `meta.json` in `directory`; when it fails the old one is untouched.
pub(crate) fn replace_text(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = directory.join(format!(".{META_FILE}.{}.tmp", std::process::id()));
    let outcome = write_new(file_system, &temporary, text)
        .and_then(|()| file_system.rename(&temporary, &directory.join(META_FILE)));
    if outcome.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&temporary);
    }
    outcome
}

/// Writes the `meta.json` of a directory that nobody reads yet; when it fails there is none.
#[cfg(feature = "import")]
pub(crate) fn write_unread(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let path = directory.join(META_FILE);
    let written = write_new(file_system, &path, text);
    if written.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&path);
    }
    written
}

fn write_new(file_system: &dyn FileSystem, path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = open_own(file_system, path)?;
    write_all(file.as_mut(), text)
}
